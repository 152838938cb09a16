------------------------------ MODULE WindowRules ------------------------------
(***************************************************************************)
(* What must hold of a session and its window, each formula named after    *)
(* the rule it states; and, below, what must be reached, so that no rule   *)
(* holds for want of an occasion.                                          *)
(*                                                                         *)
(* A formula judges by the history: `ever`, and which of it is retained.   *)
(* It does not use floors, heads or the operators that a mutant replaces.  *)
(* Where it names a label (Resume, Deliver), it is to know what was asked. *)
(***************************************************************************)
EXTENDS Window

----------------------------------------------------------------------------
\* Words

Seqs == 1..Len(ever)

\* The event with this seq, as it was issued: its stream and its ordinal.
OrdinalOf(q) == Cardinality({p \in 1..q : ever[p] = ever[q]})
Of(s)        == {q \in Seqs : ever[q] = s}
Held         == {window[i].seq : i \in 1..Len(window)}

\* This session issued exactly that id, or opened the stream whose position 0 it is (R1).
IssuedHere(c) ==
  /\ c.tag = "own"
  /\ c.s < next
  /\ IF c.n = 0 THEN c.seq = 0 ELSE c.seq \in Of(c.s) /\ OrdinalOf(c.seq) = c.n

\* Everything that follows c on its stream is retained, and the stream is known.
Continuable(c) ==
  /\ IssuedHere(c)
  /\ st[c.s] \in {"open", "finished"}
  /\ \A q \in Of(c.s) : OrdinalOf(q) > c.n => q \in Held

\* What a cursor deserves, with nothing but the history to go by.
Deserved(c) ==
  IF c.tag = "malformed" THEN "cursor_malformed"
  ELSE IF c.tag = "foreign" THEN "cursor_foreign"
  ELSE IF c.s >= next THEN "cursor_unissued"
  ELSE IF st[c.s] = "forgotten" \/ (\E q \in Of(c.s) : OrdinalOf(q) > c.n /\ q \notin Held) THEN "cursor_evicted"
  ELSE IF IssuedHere(c)
  THEN IF st[c.s] = "finished" /\ (\A q \in Of(c.s) : OrdinalOf(q) <= c.n) THEN "complete" ELSE "reattach"
  ELSE IF (\A q \in Of(c.s) : OrdinalOf(q) < c.n) /\ c.seq \notin Seqs THEN "cursor_ahead"
  ELSE "cursor_unissued"

ViewsOf(s) == {v \in views : v.s = s}

\* The steps in which a view began or ended, or a stream opened.
ViewsMoved == views' # views
Opened     == next' # next

\* The replies that an attach may have had in this step.
Attaching == {r \in AttachReplies : ViewsMoved /\ [s |-> 0, at |-> r.n] \in views'}

----------------------------------------------------------------------------
\* Types

Positions == [seq : 0..MaxEvents, n : 0..MaxEvents]

TypeOK ==
  /\ \A q \in Seqs : ever[q] \in Streams
  /\ seq \in 0..MaxEvents
  /\ next \in 1..(MaxStream + 1)
  /\ \A i \in 1..Len(window) : window[i] \in [seq : Nat, s : Streams, n : Nat]
  /\ \A s \in Streams :
       /\ st[s] \in {"unopened", "open", "finished", "forgotten"}
       /\ (st[s] = "unopened") = (s >= next)
       /\ {floor[s], head[s]} \subseteq Positions
       /\ handed[s] \in 0..MaxEvents
       /\ st[s] \in {"unopened", "forgotten"} => floor[s] = Zero /\ head[s] = Zero /\ handed[s] = 0 /\ ViewsOf(s) = {}
  /\ views \subseteq [s : Streams, at : 0..MaxEvents]
  /\ st[0] = "open"

----------------------------------------------------------------------------
\* Always

\* The session accepts nothing that it did not issue, whatever it looks like: not another session's,
\* not the seq of another stream's event.
R1_OnlyWhatWasIssued == \A c \in Cursors : Decide(c) \in Granted => IssuedHere(c)

\* The numbers kept are those of the history, and the next one continues it.
R2_NumbersOfHistory ==
  /\ seq = Len(ever)
  /\ \A i \in 1..Len(window) : window[i].seq \in Seqs /\ ever[window[i].seq] = window[i].s /\ OrdinalOf(window[i].seq) = window[i].n
  /\ \A s \in Streams : st[s] \in {"open", "finished"} =>
       /\ head[s].n = Cardinality(Of(s))
       /\ head[s].n > 0 => head[s].seq \in Of(s) /\ OrdinalOf(head[s].seq) = head[s].n

R2_Monotonic == [][
  /\ seq' \in {seq, seq + 1}
  /\ next' \in {next, next + 1}
  /\ \A q \in Seqs : ever'[q] = ever[q] ]_vars

\* Numbers of streams are not reused, and what is forgotten stays so.
R2_StreamsOnce == [][
  \A s \in Streams : /\ st[s] = "forgotten" => st'[s] = "forgotten"
                     /\ st[s] = "finished" => st'[s] \in {"finished", "forgotten"}
                     /\ st[s] # "unopened" => st'[s] # "unopened" ]_vars

R3_Bounded == Len(window) <= Window

\* Oldest first, across streams: what is retained is the end of the history, in its order.
R3_OldestFirst == \A i \in 1..Len(window) : window[i].seq = Len(ever) - Len(window) + i

\* No record of an unfinished stream is given up for room (R3).
R3_UnfinishedKept == [][\A s \in Streams : st[s] = "open" => st'[s] \in {"open", "finished"}]_vars

\* Call keeps to the cap: it opens nothing beyond it (R3).
R3_RecordsCapped == [][
  Opened /\ (\E s \in Streams : Call([why |-> "ok", s |-> s])) =>
    Cardinality({s \in Streams : st'[s] \in {"open", "finished"}}) <= Max(Records, RecordsNow) ]_vars

\* What makes room is what would be evicted first anyway.
R3_ClosestToEvictionYields == [][
  \A s \in Streams : (st[s] = "finished" /\ st'[s] = "forgotten" /\ next' = next + 1) =>
    \A t \in Streams : (st[t] = "finished" /\ ViewsOf(t) = {}) =>
      \E p \in Of(t) : \A q \in Of(s) : q <= p ]_vars

\* Per stream: the floor is the highest event that is no longer retained, and all above it are.
R4_RetainedAboveFloor ==
  \A s \in Streams : st[s] \in {"open", "finished"} =>
    /\ \A q \in Of(s) : (q \in Held) = (OrdinalOf(q) > floor[s].n)
    /\ floor[s].n > 0 => floor[s].seq \in Of(s) /\ OrdinalOf(floor[s].seq) = floor[s].n

\* A view begins exactly at the cursor ...
R4_BeginsAtCursor == [][
  \A v \in views' \ views, c \in OwnCursors :
    (v.s = c.s /\ v.at # c.n) => ~Resume(c, [why |-> "reattach", at |-> v.at]) ]_vars

\* ... and takes strictly the next event of its stream, from the window (R11).
R4_StrictlyNext == [][
  ViewsMoved => \A s \in Streams : \A v \in ViewsOf(s), r \in DeliverReplies :
    (r.why = "ok" /\ Deliver(s, r)) =>
      /\ r.n = v.at + 1
      /\ r.seq \in Held
      /\ r.seq \in Of(s)
      /\ OrdinalOf(r.seq) = r.n
      /\ r.last = (st[s] = "finished" /\ \A p \in Of(s) : OrdinalOf(p) <= r.n) ]_vars

\* Exactly one verdict, and the one that the cursor deserves, with its reason.
R5_VerdictExact == \A c \in Cursors : Decide(c) = Deserved(c)

\* What is accepted can be continued without a gap.
R5_AcceptedIsContinuable == \A c \in Cursors : Decide(c) \in Granted => Continuable(c)

\* Without a cursor: nothing that a view took is repeated, nothing else that is retained is passed
\* over, and the position is one that was issued.
R7_NothingRepeated == [][
  \A r \in Attaching : Attach(r) => r.n >= handed[0] ]_vars
R7_NothingPassedOver == [][
  \A r \in Attaching : Attach(r) => \A q \in Held \cap Of(0) : OrdinalOf(q) > handed[0] => OrdinalOf(q) > r.n ]_vars
R7_PositionIssued == [][
  \A r \in Attaching : Attach(r) =>
    /\ IssuedHere(Cursor("own", r.seq, 0, r.n))
    /\ r.skipped = Cardinality({q \in Of(0) : OrdinalOf(q) > handed[0] /\ OrdinalOf(q) <= r.n}) ]_vars

\* A call's view is there before its handler may emit.
R7_OpensWithItsView == [][
  Opened => \A s \in Streams : Call([why |-> "ok", s |-> s]) => [s |-> s, at |-> 0] \in views' ]_vars

\* A view that has lost its next event takes no other (R9).
R9_OvertakenTakesNothing == [][
  ViewsMoved => \A v \in views : (\E q \in Of(v.s) : OrdinalOf(q) = v.at + 1 /\ q \notin Held) =>
    \A w \in views' \ views : w.s = v.s => \A r \in DeliverReplies : ~Deliver(v.s, r) ]_vars

\* A call whose work was cancelled gets a last event all the same.
R9b_CancelledIsAnswered == [][
  st' # st => \A s \in Streams : ElapseDetach(s, "ok") => Len(ever') = Len(ever) + 1 /\ ever'[Len(ever')] = s ]_vars

R10_OneView == \A v, w \in views : v.s = w.s => v = w

\* The newer request prevails, one that learns that nothing will come too.
R10_NewerPrevails == \A c \in Cursors : Decide(c) \in Granted =>
  {v \in ViewsAfter(c) : v.s = c.s} = IF Decide(c) = "complete" THEN {} ELSE {[s |-> c.s, at |-> c.n]}

\* What a view took was in the window before, and nothing is refused for want of a reader.
R11_HandedWasIssued ==
  \A s \in Streams : /\ handed[s] <= Cardinality(Of(s))
                     /\ \A v \in ViewsOf(s) : v.at <= Cardinality(Of(s))

\* A finished stream is forgotten only when nothing of it is retained any more, or to make room.
R11_FinishedStaysResumable == [][
  \A s \in Streams : (st[s] = "finished" /\ st'[s] = "forgotten") =>
    \/ \A q \in Of(s) : q \notin {window'[i].seq : i \in 1..Len(window')}
    \/ next' = next + 1
    \/ CapRecords(s, "ok") ]_vars

\* And then it is.
R11_SpentIsForgotten ==
  \A s \in Streams : st[s] = "finished" => ViewsOf(s) # {} \/ \E q \in Of(s) : q \in Held

----------------------------------------------------------------------------
\* Sometimes

NEVER_OvertakenReader    == ~\E s \in Streams : HasView(s) /\ Overtaken(ViewOf(s))
\* The floor is per stream: this one's last event is gone and its cursor still good, while others run on.
NEVER_QuietCursorGood    == ~\E c \in Cursors : /\ Decide(c) = "reattach" /\ c.n > 0 /\ c.n = head[c.s].n
                                                /\ c.seq \notin Held /\ Held # {}
\* The right ordinal with a seq that another stream was given.
NEVER_StolenSeq          == ~\E c \in Cursors : /\ c.tag = "own" /\ c.n > 0 /\ Decide(c) = "cursor_unissued" /\ c.s < next
                                                /\ c.n <= head[c.s].n /\ c.seq \in Held
NEVER_ForgottenStillHeld == ~\E i \in 1..Len(window) : st[window[i].s] = "forgotten"
NEVER_OneOfTwoYields     == ~(Cardinality(Yielding) > 1 /\ RecordsNow >= Records /\ next <= MaxStream)
NEVER_CallAtTheCap       == [][~(next' = next + 1 /\ \E s \in Streams : st[s] = "finished" /\ st'[s] = "forgotten")]_vars
NEVER_AttachSkips        == [][~\E r \in AttachReplies : r.skipped > 0 /\ r.n > 0 /\ Attach(r)]_vars
NEVER_AttachAtHanded     == [][~\E r \in AttachReplies : r.n > floor[0].n /\ Attach(r)]_vars
NEVER_CompleteSupersedes == [][~\E c \in Cursors, n \in 0..MaxEvents : Resume(c, [why |-> "complete", at |-> n]) /\ views' # views]_vars
NEVER_ForgottenWithView  == [][~\E s \in Streams : st[s] = "finished" /\ HasView(s) /\ RetainedIn(window, s) = {} /\ st'[s] = "forgotten"]_vars
NEVER_CancelledAtHead    == [][~\E s \in Streams : head[s].n > 0 /\ ElapseDetach(s, "ok")]_vars
=============================================================================
