-------------------------------- MODULE Window --------------------------------
(***************************************************************************)
(* One session at the server: its logical streams, the window that retains *)
(* their recent events, their views, and the decision about every cursor.  *)
(*                                                                         *)
(*   handlers     OpenStream Call Emit Answer EndView                      *)
(*   clients      Attach Resume Break                                      *)
(*   the server   Deliver Cut EvictOldest ElapseDetach CapRecords          *)
(*                                                                         *)
(* The module keeps two things apart. `ever` is what happened: every event *)
(* ever issued, of which nothing is forgotten. All other variables are the *)
(* numbers that a server can afford to keep: heads, floors, the retained   *)
(* run. What the server decides, it decides by the numbers; what it ought  *)
(* to decide, WindowRules says by the history.                             *)
(*                                                                         *)
(* Every action carries its reply as its last parameter, and is possible   *)
(* with exactly one reply: a refusal is an action that changes nothing and *)
(* says why. So a state and a label have one successor, and a request that *)
(* is possible with no reply is one beyond the bounds of the scope.        *)
(*                                                                         *)
(* Each small decision that a rule makes is an operator of its own         *)
(* (BelowFloor, StartOf, Survivors, Leaving, ...), for a mutant to replace.*)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  MaxStream,  \* the highest number that a stream gets; 0 is the standalone stream
  MaxEvents,  \* events that are ever issued
  Window,     \* events that the session retains at most (R3)
  Records,    \* streams with a record at most, as far as Call sees to it (R3)
  Foreign     \* whether clients present what another session issued

ASSUME {MaxStream, MaxEvents, Window, Records} \subseteq Nat /\ Window > 0 /\ Records > 0 /\ Foreign \in BOOLEAN

Streams == 0..MaxStream

VARIABLES
  ever,    \* the stream of each event ever issued; the index is the seq
  seq,     \* the last seq that was used
  next,    \* the number of the next stream
  window,  \* the retained events, oldest first: [seq, s, n]; n is the ordinal
  st,      \* Streams -> "unopened" | "open" | "finished" | "forgotten"
  floor,   \* Streams -> [seq, n]: the highest evicted event, of streams with a record
  head,    \* Streams -> [seq, n]: the highest issued event, of streams with a record
  handed,  \* Streams -> the highest ordinal that a view ever took (R7)
  views    \* set of views: [s, at]; at: the ordinal of the last event taken

vars == <<ever, seq, next, window, st, floor, head, handed, views>>

----------------------------------------------------------------------------
\* Values

Zero == [seq |-> 0, n |-> 0]    \* position 0 of any stream

\* A cursor as the decision sees it. "own" is one with this session's tag.
Cursor(tag, q, s, n) == [tag |-> tag, seq |-> q, s |-> s, n |-> n]

\* Whatever has the form of an event id: numbers that were issued together, stolen from another
\* stream or ordinal, evicted, still to come; streams that were never opened. Seq is 0 exactly when
\* the ordinal is. And what has not that form.
Numbers  == 1..(MaxEvents + 1)
OwnCursors == {Cursor("own", 0, s, 0) : s \in 0..(MaxStream + 1)}
                \cup {Cursor("own", q, s, n) : q \in Numbers, s \in 0..(MaxStream + 1), n \in Numbers}
ForeignCursors == {Cursor("foreign", 0, s, 0) : s \in 0..(MaxStream + 1)}
                    \cup {Cursor("foreign", q, s, 1) : q \in Numbers, s \in 0..(MaxStream + 1)}
Malformed == Cursor("malformed", 0, 0, 0)
Cursors   == OwnCursors \cup (IF Foreign THEN ForeignCursors \cup {Malformed} ELSE {})

Max(a, b) == IF a > b THEN a ELSE b

Recorded(s)    == st[s] \in {"open", "finished"}
HasView(s)     == {v \in views : v.s = s} # {}
ViewOf(s)      == CHOOSE v \in views : v.s = s
RetainedIn(w, s) == {i \in 1..Len(w) : w[i].s = s}
RecordsNow     == Cardinality({s \in Streams : Recorded(s)})

\* Why a stream without a record does not move.
Missing(s) == IF st[s] = "unopened" THEN "stream_unopened" ELSE "stream_forgotten"

\* The seq that was issued with ordinal n, floor <= n <= head.
SeqAt(s, n) ==
  IF n = floor[s].n THEN floor[s].seq
  ELSE window[CHOOSE i \in 1..Len(window) : window[i].s = s /\ window[i].n = n].seq

Init ==
  /\ ever   = <<>>
  /\ seq    = 0
  /\ next   = 1      \* initialize opens the standalone stream (R7)
  /\ window = <<>>
  /\ st     = [s \in Streams |-> IF s = 0 THEN "open" ELSE "unopened"]
  /\ floor  = [s \in Streams |-> Zero]
  /\ head   = [s \in Streams |-> Zero]
  /\ handed = [s \in Streams |-> 0]
  /\ views  = {}

----------------------------------------------------------------------------
\* The decision boundary (R1 R5): exactly one verdict for a cursor.

KnownTag(c)   == c.tag = "own"
Assigned(c)   == c.s < next
BelowFloor(c) == c.n < floor[c.s].n
BeyondHead(c) == c.n > head[c.s].n
SeqMatches(c) == c.seq = SeqAt(c.s, c.n)
IsEnd(c)      == st[c.s] = "finished" /\ c.n = head[c.s].n

Decide(c) ==
  IF c.tag = "malformed"                    THEN "cursor_malformed"
  ELSE IF ~KnownTag(c)                      THEN "cursor_foreign"
  ELSE IF ~Assigned(c)                      THEN "cursor_unissued"
  ELSE IF ~Recorded(c.s)                    THEN "cursor_evicted"
  ELSE IF BelowFloor(c)                     THEN "cursor_evicted"
  ELSE IF BeyondHead(c)                     THEN IF c.seq > seq THEN "cursor_ahead" ELSE "cursor_unissued"
  ELSE IF ~SeqMatches(c)                    THEN "cursor_unissued"
  ELSE IF IsEnd(c)                          THEN "complete"
  ELSE                                           "reattach"

Verdicts == {"reattach", "complete", "cursor_malformed", "cursor_foreign", "cursor_unissued", "cursor_evicted", "cursor_ahead"}
Granted  == {"reattach", "complete"}

\* The ordinal after which a view begins that was granted to a cursor (R4) ...
StartOf(c) == c.n
\* ... and to none: after what was ever handed over, or at the floor (R7).
FreshStart == Max(floor[0].n, handed[0])

\* The views that go on when a request for s is granted (R10).
Survivors(s) == {v \in views : v.s # s}

----------------------------------------------------------------------------
\* The window

\* The numbers of the next event of s (R2).
NextSeq        == seq + 1
NextOrdinal(s) == head[s].n + 1

\* Which events leave a run that may be too long, and which one leaves for its age: always the oldest (R3).
Leaving(w) == IF Len(w) > Window THEN 1..(Len(w) - Window) ELSE {}
Oldest(w)  == 1

Staying(w, leaving) ==
  LET kept == {i \in 1..Len(w) : i \notin leaving} IN
  [k \in 1..Cardinality(kept) |-> w[CHOOSE i \in kept : Cardinality({j \in kept : j <= i}) = k]]

\* The floors after some events of a run have left.
FloorsAfter(w, leaving) ==
  [s \in Streams |->
    LET of == {i \in leaving : w[i].s = s} IN
    IF of = {} THEN floor[s]
    ELSE LET i == CHOOSE i \in of : \A j \in of : w[j].n <= w[i].n IN [seq |-> w[i].seq, n |-> w[i].n]]

\* A stream that is finished, has no view and retains nothing is forgotten (R9b R11).
Spent(w, states, vs, s) ==
  /\ states[s] = "finished"
  /\ {v \in vs : v.s = s} = {}
  /\ RetainedIn(w, s) = {}

\* The step to a run w less the events that leave it, states, heads and views, once what is spent, or
\* is to be forgotten, is forgotten. A forgotten stream's events keep their place in the run.
Becomes(w, leaving, states, heads, vs, forgotten) ==
  LET kept   == Staying(w, leaving)
      floors == FloorsAfter(w, leaving)
      gone   == forgotten \cup {s \in Streams : Spent(kept, states, vs, s)}
      known  == {s \in Streams : states[s] \in {"open", "finished"}} \ gone
  IN
  /\ window' = kept
  /\ st'     = [s \in Streams |-> IF s \in gone THEN "forgotten" ELSE states[s]]
  /\ floor'  = [s \in Streams |-> IF s \in known THEN floors[s] ELSE Zero]
  /\ head'   = [s \in Streams |-> IF s \in known THEN heads[s] ELSE Zero]
  /\ handed' = [s \in Streams |-> IF s \in known THEN Max(handed[s], HandedBy(vs, s)) ELSE 0]
  /\ views'  = vs

=============================================================================
