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
  Cursors     \* the cursors that clients present, a subset of AllCursors

ASSUME {MaxStream, MaxEvents, Window, Records} \subseteq Nat /\ Window > 0 /\ Records > 0

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
Malformed   == Cursor("malformed", 0, 0, 0)
AllCursors  == OwnCursors \cup ForeignCursors \cup {Malformed}
ZeroCursors == {Cursor("own", 0, s, 0) : s \in 0..(MaxStream + 1)}

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

\* The views that go on when a request for s is granted (R10), and all views after that of a cursor.
Survivors(s)  == {v \in views : v.s # s}
ViewsAfter(c) == Survivors(c.s) \cup (IF Decide(c) = "reattach" THEN {[s |-> c.s, at |-> StartOf(c)]} ELSE {})

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

\* The step to a run w less the events that leave it, to these states, heads, high-water marks and
\* views; what is spent, or told to, is forgotten. A forgotten stream's events keep their place.
Becomes(w, leaving, states, heads, hands, vs, forgotten) ==
  LET kept   == Staying(w, leaving)
      floors == FloorsAfter(w, leaving)
      gone   == forgotten \cup {s \in Streams : Spent(kept, states, vs, s)}
      known  == {s \in Streams : states[s] \in {"open", "finished"}} \ gone
  IN
  /\ window' = kept
  /\ st'     = [s \in Streams |-> IF s \in gone THEN "forgotten" ELSE states[s]]
  /\ floor'  = [s \in Streams |-> IF s \in known THEN floors[s] ELSE Zero]
  /\ head'   = [s \in Streams |-> IF s \in known THEN heads[s] ELSE Zero]
  /\ handed' = [s \in Streams |-> IF s \in known THEN hands[s] ELSE 0]
  /\ views'  = vs

\* Only the views change, and what they kept from being forgotten.
ViewsBecome(vs) == Becomes(window, {}, st, head, handed, vs, {}) /\ UNCHANGED <<ever, seq, next>>

Refused == UNCHANGED vars

----------------------------------------------------------------------------
\* Handlers

\* Which of the finished streams makes room for a new one: the one that is closest to eviction (R3).
Yielding == {s \in Streams : st[s] = "finished" /\ ~HasView(s)}
Yields   == CHOOSE s \in Yielding : \A t \in Yielding : head[s].seq <= head[t].seq

CallReplies == [why : {"ok"}, s : Streams] \cup [why : {"too_many_streams"}, s : {0}]

\* A call's stream opens together with its view (R7), if there is room for its record (R3).
Call(reply) ==
  IF RecordsNow >= Records /\ Yielding = {} THEN
    /\ reply = [why |-> "too_many_streams", s |-> 0]
    /\ Refused
  ELSE
    /\ next <= MaxStream
    /\ reply = [why |-> "ok", s |-> next]
    /\ next' = next + 1
    /\ Becomes(window, {}, [st EXCEPT ![next] = "open"], head, handed, views \cup {[s |-> next, at |-> 0]},
               IF RecordsNow >= Records THEN {Yields} ELSE {})
    /\ UNCHANGED <<ever, seq>>

\* The bare trigger: with a view or without, whatever room there is. Numbers are never reused (R2).
OpenStream(s, view, why) ==
  IF s < next THEN
    /\ why = "out_of_turn"
    /\ Refused
  ELSE
    /\ s = next
    /\ why = "ok"
    /\ next' = next + 1
    /\ Becomes(window, {}, [st EXCEPT ![s] = "open"], head, handed,
               IF view THEN views \cup {[s |-> s, at |-> 0]} ELSE views, {})
    /\ UNCHANGED <<ever, seq>>

\* lag: events of the stream that its view has not taken, this one included; 0 without a view.
NotEmitted(why) == [why |-> why, seq |-> 0, n |-> 0, evicted |-> 0, lag |-> 0]
EmitRefusals == {"stream_unopened", "stream_forgotten", "stream_finished", "stream_standalone"}
EmitReplies ==
  {r \in [why : {"ok"}, seq : 1..MaxEvents, n : 1..MaxEvents, evicted : 0..1, lag : 0..MaxEvents] : r.n <= r.seq /\ r.lag <= r.n}
    \cup {NotEmitted(why) : why \in EmitRefusals}

\* An event of s gets its numbers and is in the window, whoever listens (R2 R3 R11).
Issues(s, reply, states) ==
  LET e == [seq |-> NextSeq, s |-> s, n |-> NextOrdinal(s)]
      w == Append(window, e)
  IN
  /\ Len(ever) < MaxEvents
  /\ reply = [why |-> "ok", seq |-> e.seq, n |-> e.n, evicted |-> Cardinality(Leaving(w)),
              lag |-> IF HasView(s) THEN e.n - ViewOf(s).at ELSE 0]
  /\ ever' = Append(ever, s)
  /\ seq'  = e.seq
  /\ Becomes(w, Leaving(w), states, [head EXCEPT ![s] = [seq |-> e.seq, n |-> e.n]], handed, views, {})
  /\ UNCHANGED next

NotIssued(reply, why) == reply = NotEmitted(why) /\ Refused

Emit(s, reply) ==
  IF ~Recorded(s)              THEN NotIssued(reply, Missing(s))
  ELSE IF st[s] = "finished"   THEN NotIssued(reply, "stream_finished")
  ELSE                              Issues(s, reply, st)

\* The last event of a stream; the standalone one has no last event (R9b R11).
Answer(s, reply) ==
  IF ~Recorded(s)              THEN NotIssued(reply, Missing(s))
  ELSE IF st[s] = "finished"   THEN NotIssued(reply, "stream_finished")
  ELSE IF s = 0                THEN NotIssued(reply, "stream_standalone")
  ELSE                              Issues(s, reply, [st EXCEPT ![s] = "finished"])

\* A view that is there ends, and its client may resume. (An action that were nothing but another one
\* would bear that one's name in the graph: hence the conjunction in the three that follow.)
ViewReplies == {"ok", "no_view"}
Detaches(s, why) ==
  IF HasView(s) THEN why = "ok" /\ ViewsBecome(views \ {ViewOf(s)})
  ELSE               why = "no_view" /\ Refused

\* The handler or the server ends it between two events (R9 R12).
EndView(s, why) == why \in ViewReplies /\ Detaches(s, why)

----------------------------------------------------------------------------
\* Clients

\* Its connection is gone (R9b).
Break(s, why) == why \in ViewReplies /\ Detaches(s, why)

\* A request without a cursor attaches to the standalone stream. It never fails (R7).
AttachReplies == [seq : 0..MaxEvents, n : 0..MaxEvents, skipped : 0..MaxEvents]

Attach(reply) ==
  /\ reply = [seq |-> SeqAt(0, FreshStart), n |-> FreshStart,
              skipped |-> IF floor[0].n > handed[0] THEN floor[0].n - handed[0] ELSE 0]
  /\ ViewsBecome(Survivors(0) \cup {[s |-> 0, at |-> FreshStart]})

\* A request with a cursor. at: the ordinal after which the view begins, or nothing will ever come.
ResumeReplies == [why : Granted, at : 0..MaxEvents] \cup [why : Verdicts \ Granted, at : {0}]

Resume(c, reply) ==
  /\ reply.why = Decide(c)
  /\ CASE reply.why = "reattach" -> reply.at = StartOf(c) /\ ViewsBecome(ViewsAfter(c))
       [] reply.why = "complete" -> reply.at = c.n /\ ViewsBecome(ViewsAfter(c))
       [] OTHER -> Refused

----------------------------------------------------------------------------
\* The server

Overtaken(v)  == v.at < floor[v.s].n
NextOf(v)     == v.at + 1                  \* R4
Advanced(s, n) == [handed EXCEPT ![s] = Max(@, n)]

Delivered(why, q, n, last) == [why |-> why, seq |-> q, n |-> n, last |-> last]
DeliverReplies ==
  {Delivered("ok", q, n, last) : q \in 1..MaxEvents, n \in 1..MaxEvents, last \in BOOLEAN}
    \cup {Delivered(why, 0, 0, FALSE) : why \in {"no_view", "nothing", "overtaken"}}

\* The view takes the stream's next event. One whose next event is gone is cut (R9); one that took
\* the last event of a finished stream is delivered.
Deliver(s, reply) ==
  LET v == ViewOf(s)
      n == NextOf(v)
      last == st[s] = "finished" /\ n = head[s].n
  IN
  IF ~HasView(s)            THEN reply = Delivered("no_view", 0, 0, FALSE) /\ Refused
  ELSE IF Overtaken(v)      THEN reply = Delivered("overtaken", 0, 0, FALSE) /\ ViewsBecome(views \ {v})
  ELSE IF v.at = head[s].n  THEN reply = Delivered("nothing", 0, 0, FALSE) /\ Refused
  ELSE
    /\ reply = Delivered("ok", SeqAt(s, n), n, last)
    /\ Becomes(window, {}, st, head, Advanced(s, n),
               (views \ {v}) \cup (IF last THEN {} ELSE {[s |-> s, at |-> n]}), {})
    /\ UNCHANGED <<ever, seq, next>>

\* A reader is too slow (R9).
Cut(s, why) == why \in ViewReplies /\ Detaches(s, why)

\* Age (and, in the real window, bytes) evicts the oldest event at any time (R3).
EvictOldest(why) ==
  IF window = <<>> THEN why = "nothing" /\ Refused
  ELSE
    /\ why = "ok"
    /\ Becomes(window, {Oldest(window)}, st, head, handed, views, {})
    /\ UNCHANGED <<ever, seq, next>>

\* Nobody came back for a call within its budget: it ends with an event that says that its outcome is
\* unknown (R9b).
ElapseReplies == {"ok", "view_in_the_way", "stream_finished", "stream_standalone", "stream_unopened", "stream_forgotten"}
LastWord(s)   == [st EXCEPT ![s] = "finished"]

ElapseDetach(s, why) ==
  IF ~Recorded(s)              THEN why = Missing(s) /\ Refused
  ELSE IF HasView(s)           THEN why = "view_in_the_way" /\ Refused
  ELSE IF st[s] = "finished"   THEN why = "stream_finished" /\ Refused
  ELSE IF s = 0                THEN why = "stream_standalone" /\ Refused
  ELSE
    /\ why = "ok"
    /\ \E reply \in EmitReplies : Issues(s, reply, LastWord(s))

\* The bare trigger of what Call does to make room.
CapReplies == {"ok", "view_in_the_way", "stream_unfinished", "stream_unopened", "stream_forgotten"}

CapRecords(s, why) ==
  IF ~Recorded(s)              THEN why = Missing(s) /\ Refused
  ELSE IF st[s] = "open"       THEN why = "stream_unfinished" /\ Refused
  ELSE IF HasView(s)           THEN why = "view_in_the_way" /\ Refused
  ELSE
    /\ why = "ok"
    /\ Becomes(window, {}, st, head, handed, views, {s})
    /\ UNCHANGED <<ever, seq, next>>

----------------------------------------------------------------------------
Next ==
  \/ \E reply \in CallReplies : Call(reply)
  \/ \E s \in Streams, view \in BOOLEAN, why \in {"ok", "out_of_turn"} : OpenStream(s, view, why)
  \/ \E s \in Streams, reply \in EmitReplies : Emit(s, reply)
  \/ \E s \in Streams, reply \in EmitReplies : Answer(s, reply)
  \/ \E s \in Streams, why \in ViewReplies : EndView(s, why)
  \/ \E s \in Streams, why \in ViewReplies : Break(s, why)
  \/ \E s \in Streams, why \in ViewReplies : Cut(s, why)
  \/ \E reply \in AttachReplies : Attach(reply)
  \/ \E c \in Cursors, reply \in ResumeReplies : Resume(c, reply)
  \/ \E s \in Streams, reply \in DeliverReplies : Deliver(s, reply)
  \/ \E why \in {"ok", "nothing"} : EvictOldest(why)
  \/ \E s \in Streams, why \in ElapseReplies : ElapseDetach(s, why)
  \/ \E s \in Streams, why \in CapReplies : CapRecords(s, why)

Spec == Init /\ [][Next]_vars
=============================================================================
