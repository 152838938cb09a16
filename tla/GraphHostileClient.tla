-------------------------- MODULE GraphHostileClient --------------------------
(***************************************************************************)
(* HostileClient, with every labelled edge written down as TLC finds it:   *)
(* see GraphWindow, and GraphHostileServer for the G before the names. The *)
(* client's variables stand still here and are not written.                *)
(***************************************************************************)
EXTENDS HostileClient, TLC, Json, IOUtils

Forgets == newest' = [e \in Epochs |-> IF sess'[e].st = "gone" THEN 0 ELSE newest[e]]

GRequest(e, c, attempt, dedup, verdict, pos) == Request(e, c, attempt, dedup, verdict, pos) /\ TRUE
GInitialize(e)       == Initialize(e) /\ TRUE
GPost(k, e, verdict) == Post(k, e, verdict) /\ TRUE
GEmit(e)             == Emit(e) /\ Forgets
GFinish(e)           == Finish(e) /\ Forgets
GEvictOldest(e)      == EvictOldest(e) /\ Forgets
GEndSession(e)       == EndSession(e) /\ Forgets
GSend(v)             == Send(v) /\ Forgets
GEndView(v)          == EndView(v) /\ Forgets

GraphNext ==
  \/ \E e \in Epochs, c \in Strangers, attempt \in Attempts, dedup \in Declares, verdict \in Answers, pos \in Ordinals :
       GRequest(e, c, attempt, dedup, verdict, pos)
  \/ \E e \in Epochs : GInitialize(e) \/ GEmit(e) \/ GFinish(e) \/ GEvictOldest(e) \/ GEndSession(e)
  \/ \E k \in Calls, e \in Epochs, verdict \in {"executed", "session_unknown"} : GPost(k, e, verdict)
  \/ \E v \in ViewValues : GSend(v) \/ GEndView(v)

GraphSpec == Init /\ newest = [e \in Epochs |-> 0] /\ [][GraphNext]_hostileVars

OnlyHostileSteps == [][HostileNext]_hostileVars

ViewOf(e) ==
  LET of == {v \in views : v.e = e} IN
  IF of = {} THEN "none" ELSE (CHOOSE v \in of : TRUE).pos

State == [sess |-> sess, views |-> [e \in Epochs |-> ViewOf(e)], executed |-> executed, newest |-> newest]

\* An action without parameters has no context.
Params == LET action == TLCGet("action")' IN IF "context" \in DOMAIN action THEN action.context ELSE <<>>

Name == LET name == TLCGet("action")'.name IN SubSeq(name, 2, Len(name))

Edge == [a |-> Name, p |-> Params, s |-> State, t |-> State']

Append2File(line) ==
  Serialize(line \o "\n", IOEnv.GRAPH, [format |-> "TXT", charset |-> "UTF-8", openOptions |-> <<"WRITE", "CREATE", "APPEND">>])

\* An action constraint that constrains nothing.
Export == Append2File(ToJson(Edge)).exitValue = 0
=============================================================================
