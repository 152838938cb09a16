---------------------------- MODULE MCWindow_bugs ----------------------------
(***************************************************************************)
(* The known ways to get it wrong, each as a replacement of one or two     *)
(* operators of Window. A configuration MCWindow_bug_<name>.cfg puts one   *)
(* in (SeqMatches <- AnySeq) and names the rule that must then break.      *)
(***************************************************************************)
EXTENDS MCWindow

----------------------------------------------------------------------------
\* The verdict

\* (None of these shows before something was issued.)
AnyTag(c)       == c.tag = "own" \/ c.n > 0
AnySeq(c)       == TRUE
Never(c)        == FALSE
AssignedSoon(c) == c.s < next \/ (c.s <= MaxStream /\ seq > 0)
FarBeyondHead(c) == IF head[c.s].n = 0 THEN c.n > 0 ELSE c.n > head[c.s].n + 1

\* Whatever stream it was evicted from.
SessionFloor         == Len(ever) - Len(window)
BelowSessionFloor(c) == c.n < floor[c.s].n \/ (c.seq <= SessionFloor /\ SessionFloor > 0)
AtOrBelowFloor(c)    == floor[c.s].n > 0 /\ c.n <= floor[c.s].n
AtOrBeyondHead(c)    == c.n > head[c.s].n \/ (c.n = head[c.s].n /\ c.n > 0)
IsEndSoon(c)         == st[c.s] = "finished" /\ c.n + 1 >= head[c.s].n

----------------------------------------------------------------------------
\* Numbers and the window

SkippedSeq        == seq + 2
RestartedSeq      == IF window = <<>> THEN 1 ELSE seq + 1
SessionOrdinal(s) == seq + 1
FloorsStay(w, leaving) == floor
NothingLeaves(w)  == {}
Newest(w)         == Len(w)
SpentAtOnce(w, states, vs, s) == states[s] = "finished" /\ {v \in vs : v.s = s} = {}
NeverSpent(w, states, vs, s)  == FALSE

----------------------------------------------------------------------------
\* Where a view begins, and what it takes

InclusiveStart(c) == IF c.n > floor[c.s].n THEN c.n - 1 ELSE c.n
HeadStart(c)      == head[c.s].n
FreshFromFloor    == floor[0].n
FreshFromHead     == head[0].n
OnceMore(v)       == IF v.at > floor[v.s].n + 1 THEN v.at - 1 ELSE v.at + 1
NeverOvertaken(v) == FALSE
NextRetained(v)   == IF floor[v.s].n = head[v.s].n THEN head[v.s].n ELSE Max(v.at, floor[v.s].n) + 1
AdvancedTooFar(s, n) == [handed EXCEPT ![s] = Max(@, n + 1)]
AllSurvive(s)     == views

----------------------------------------------------------------------------
\* Streams

AnyYields == {s \in Streams \ {0} : Recorded(s) /\ ~HasView(s)}
LowestYields == CHOOSE s \in Yielding : \A t \in Yielding : s <= t

Opens(s, vs) ==
  /\ next' = next + 1
  /\ Becomes(window, {}, [st EXCEPT ![s] = "open"], head, handed, vs, {})
  /\ UNCHANGED <<ever, seq>>

CallWithoutView(reply) ==
  /\ next <= MaxStream
  /\ reply = [why |-> "ok", s |-> next]
  /\ Opens(next, views)

CallUncapped(reply) ==
  /\ next <= MaxStream
  /\ reply = [why |-> "ok", s |-> next]
  /\ Opens(next, views \cup {[s |-> next, at |-> 0]})

\* The number after the highest one with a record.
CallReusing(reply) ==
  LET s == CHOOSE s \in 1..MaxStream : \A t \in 1..MaxStream : Recorded(t) => t < s IN
  /\ {t \in 1..MaxStream : \A u \in 1..MaxStream : Recorded(u) => u < t} # {}
  /\ reply = [why |-> "ok", s |-> s]
  /\ next' = s + 1
  /\ Becomes(window, {}, [st EXCEPT ![s] = "open"], head, handed, views \cup {[s |-> s, at |-> 0]}, {})
  /\ UNCHANGED <<ever, seq>>

EmitReviving(s, reply) ==
  IF st[s] \in {"open", "forgotten"} THEN Issues(s, reply, [st EXCEPT ![s] = "open"])
  ELSE NotIssued(reply, "stream_finished")

ElapseInSilence(s, why) ==
  /\ st[s] = "open" /\ s # 0 /\ ~HasView(s) /\ head[s].n > floor[s].n
  /\ why = "ok"
  /\ Becomes(window, {}, [st EXCEPT ![s] = "finished"], head, handed, views, {})
  /\ UNCHANGED <<ever, seq, next>>

----------------------------------------------------------------------------
\* Requests for a view

AttachUncounted(reply) ==
  /\ reply = [seq |-> SeqAt(0, FreshStart), n |-> FreshStart, skipped |-> 0]
  /\ ViewsBecome(Survivors(0) \cup {[s |-> 0, at |-> FreshStart]})

\* "complete" is taken for a refusal.
CompleteSpares(c) == IF Decide(c) = "complete" THEN views ELSE Survivors(c.s) \cup {[s |-> c.s, at |-> StartOf(c)]}
=============================================================================
