------------------------------ MODULE GraphWindow ------------------------------
(***************************************************************************)
(* Window, with every labelled edge written down as TLC finds it: one JSON *)
(* object a line, {"a": action, "p": parameters, "s": state, "t": successor}*)
(* appended to the file that the environment names in GRAPH. Package pack  *)
(* runs this and makes a committed graph of it; see tla/README.md.         *)
(*                                                                         *)
(* The state that is written is what a server knows. The history `ever` is *)
(* left out: no decision depends on it, so states that differ in it alone  *)
(* have the same edges (the packer checks that they do). An event of a     *)
(* stream that was forgotten keeps only its place.                         *)
(***************************************************************************)
EXTENDS Window, TLC, Json, IOUtils

ViewIn(s) == IF HasView(s) THEN ViewOf(s).at ELSE "none"

State == [
  seq     |-> seq,
  next    |-> next,
  window  |-> [i \in 1..Len(window) |->
                IF Recorded(window[i].s) THEN <<window[i].seq, window[i].s, window[i].n>> ELSE <<window[i].seq>>],
  streams |-> [i \in 1..(MaxStream + 1) |->
                LET s == i - 1 IN
                [st |-> st[s], floor |-> <<floor[s].seq, floor[s].n>>, head |-> <<head[s].seq, head[s].n>>,
                 handed |-> handed[s], view |-> ViewIn(s)]]]

Edge == [a |-> TLCGet("action")'.name, p |-> TLCGet("action")'.context, s |-> State, t |-> State']

Append2File(line) ==
  Serialize(line \o "\n", IOEnv.GRAPH, [format |-> "TXT", charset |-> "UTF-8", openOptions |-> <<"WRITE", "CREATE", "APPEND">>])

\* An action constraint that constrains nothing.
Export == Append2File(ToJson(Edge)).exitValue = 0
=============================================================================
