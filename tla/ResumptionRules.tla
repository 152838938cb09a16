---------------------------- MODULE ResumptionRules ----------------------------
(***************************************************************************)
(* What must hold, each formula named after the rule it states; and, below,*)
(* what must be reached, so that no rule holds for want of an occasion.    *)
(*                                                                         *)
(* A formula looks at states and steps, not at the definition that it      *)
(* guards: else a mutant would change both sides. Where it names a label   *)
(* (Other, Crash, Commit), it is to know who acted, and with what request. *)
(***************************************************************************)
EXTENDS Resumption

----------------------------------------------------------------------------
\* Words

Writes == Len(wire') = Len(wire) + 1     \* the step put a frame on the wire
Put    == wire'[Len(wire')]              \* that frame

\* Everything after c is retained, and c itself was issued by session e.
Continues(e, c) ==
  /\ Alive(e)
  /\ c.tag = e
  /\ c.n \in 0..HeadOf(e)
  /\ \A n \in 1..HeadOf(e) : n > c.n => n > sess[e].floor

\* The ordinal up to which the client has read its proven connection.
LastRead == IF hand = NoHand THEN rec.tok ELSE hand.n

\* The ordinal up to which the present connection carries the stream.
LastWritten == IF wire = <<>> THEN LastRead ELSE wire[Len(wire)].n

----------------------------------------------------------------------------
\* Types

Ordinals == 0..MaxEvents

TypeOK ==
  /\ \A e \in Epochs :
       /\ sess[e].st \in {"unborn", "live", "finished", "gone"}
       /\ \A i \in 1..HeadOf(e) : sess[e].events[i] \in 0..MaxCalls
       /\ sess[e].floor \in 0..HeadOf(e)
       /\ sess[e].handed \in 0..HeadOf(e)
  /\ views \subseteq ViewValues
  /\ \A v \in views : Alive(v.e)
  /\ \A k \in Calls : executed[k] \in Nat
  /\ \A i \in 1..Len(wire) :
       wire[i] \in [kind : {"opened", "accepted", "refused", "complete", "event", "end"}, e : 0..MaxEpoch, n : Ordinals, k : 0..MaxCalls]
  /\ request \in [kind : {"none", "open", "resume"}, e : 0..MaxEpoch, n : Ordinals]
  /\ late \in [kind : {"none", "resume"}, e : 0..MaxEpoch, n : Ordinals]
  /\ post \in [Calls -> 0..MaxEpoch]
  /\ rec \in [st : {"none", "quarantined", "open", "abandoned"}, e : 0..MaxEpoch, tok : Ordinals]
  /\ calls \in [Calls -> {"new", "inflight", "unknown", "answered", "resolved"}]
  /\ \A e \in Epochs : \A i \in 1..Len(applied[e]) : applied[e][i] \in Ordinals
  /\ phase \in {"idle", "opening", "detached", "resuming", "streaming", "complete", "doubt"}
  /\ hand \in [e : 0..MaxEpoch, n : Ordinals, k : 0..MaxCalls]

----------------------------------------------------------------------------
\* Always: the server

R2_Monotonic == [][
  \A e \in Epochs : (Alive(e) /\ Alive(e)') =>
    /\ HeadOf(e)' \in {HeadOf(e), HeadOf(e) + 1}
    /\ \A i \in 1..HeadOf(e) : sess'[e].events[i] = sess[e].events[i]
    /\ sess[e].floor <= sess'[e].floor ]_vars

R3_Bounded == \A e \in Epochs : HeadOf(e) - sess[e].floor <= Window

\* What is in flight continues what was read, event by event.
R4_WireStrictlyAfter ==
  \A i \in 1..Len(wire) : wire[i].kind = "event" =>
    IF i = 1
    THEN phase = "streaming" /\ wire[1].e = rec.e /\ wire[1].n = LastRead + 1
    ELSE wire[i-1].kind \in {"accepted", "event"} /\ wire[i].e = wire[i-1].e /\ wire[i].n = wire[i-1].n + 1

\* The seam: what the present view will write next continues what is in flight.
R4_ViewAtSeam == \A v \in views : v.conn = "current" => v.e = rec.e /\ v.pos = LastWritten

\* The verdict accepts a cursor exactly if everything after it can be delivered, and says "complete"
\* exactly if nothing will ever come after it (R1 R5 R6).
R5_VerdictExact ==
  \A e \in Epochs, c \in AllCursors :
    LET v == Decide(e, c) IN
    IF c = NoCursor THEN (v = "attach") = Alive(e)
    ELSE /\ (v \in {"reattach", "complete"}) = Continues(e, c)
         /\ (v = "complete") = (Continues(e, c) /\ sess[e].st = "finished" /\ c.n = HeadOf(e))

\* An acceptance answers the request, names its session and its cursor, and begins there.
R5_AcceptedAtCursor == [][
  (Writes /\ Put.kind = "accepted") =>
    LET c == [tag |-> request.e, n |-> request.n] IN
    /\ request.kind = "resume"
    /\ Continues(request.e, c)
    /\ Put = Frame("accepted", request.e, request.n, 0)
    /\ [e |-> request.e, pos |-> request.n, conn |-> "current"] \in views' ]_vars

\* A refusal delivers nothing, and session and views survive it.
R5_RefusedTouchesNothing == [][
  /\ (Writes /\ Put.kind = "refused") => UNCHANGED <<sess, views>>
  /\ (late # NoRequest /\ late' = NoRequest /\ ~Continues(late.e, [tag |-> late.e, n |-> late.n]))
       => UNCHANGED <<sess, views, wire>> ]_vars

\* No view, whoever holds it, begins outside the window.
R5_ViewWithinWindow == [][
  \A v \in views' : v.pos \in 0..(HeadOf(v.e)') /\ (({w \in views : w.e = v.e} = {}) => v.pos >= sess'[v.e].floor) ]_vars

\* Only initialize opens a session.
R6_NeverMinted == [][
  \A e \in Epochs : (~Alive(e) /\ Alive(e)') => request.kind = "open" ]_vars

R6_GoneForGood == [][
  \A e \in Epochs : sess[e].st = "gone" => sess'[e].st = "gone" ]_vars

\* Without a cursor: nothing that was ever handed over is repeated ...
R7_NothingRepeated == [][
  \A e \in Epochs : Other(e, NoCursor, "attach") =>
    \A v \in views' \ views : v.conn = "other" => v.pos >= sess[e].handed ]_vars

\* ... and nothing that was never handed over is passed over while it is retained.
R7_NothingPassedOver == [][
  \A e \in Epochs : Other(e, NoCursor, "attach") =>
    \A v \in views' \ views : v.conn = "other" =>
      \A n \in (sess[e].handed + 1)..v.pos : n <= sess[e].floor ]_vars

\* The answer comes before anything else, once, and only to the request of this connection.
R8_AnswerFirst ==
  \A i \in 1..Len(wire) :
    /\ wire[i].kind \in {"accepted", "refused", "complete"} => i = 1 /\ phase = "resuming" /\ request = NoRequest
    /\ wire[i].kind = "opened" => i = 1 /\ phase = "opening" /\ request = NoRequest

\* A newer attach supersedes: one view a stream, and only that one writes.
R10_OneView == \A v, w \in views : v.e = w.e => v = w

R10_OnlyTheViewWrites == [][
  (Writes /\ Put.kind = "event") => [e |-> Put.e, pos |-> Put.n - 1, conn |-> "current"] \in views ]_vars

----------------------------------------------------------------------------
\* Always: the client

\* What the application applied is exactly 1, 2, 3, ...: in order, no gap, no duplicate.
R4_AppliedExactly == \A e \in Epochs : \A i \in 1..Len(applied[e]) : applied[e][i] = i

R20_TokenIsLastApplied ==
  rec.st # "none" => rec.tok = IF applied[rec.e] = <<>> THEN 0 ELSE applied[rec.e][Len(applied[rec.e])]

R20_RecordedBeforePost == \A k \in Calls : post[k] # 0 => calls[k] # "new"

\* A call is answered in the transaction that applies its answer, and in no other.
R20_AnsweredWithItsEvent == [][
  \A k \in Calls : (calls[k] # "answered" /\ calls'[k] = "answered") =>
    hand.k = k /\ applied'[hand.e] = Append(applied[hand.e], hand.n) ]_vars

\* Nothing is read as a delivery before the answer named this session and the cursor sent.
R21_ProvenFirst == [][
  (phase # "streaming" /\ phase' = "streaming") =>
    wire # <<>> /\ wire[1] = Frame("accepted", rec.e, rec.tok, 0) ]_vars

R21_TakenOnlyIfNext == [][
  (hand' # hand /\ hand' # NoHand) => phase = "streaming" /\ hand'.e = rec.e /\ hand'.n = rec.tok + 1 ]_vars

\* A new epoch begins behind a fence; an abandoned epoch is never taken up again.
R22_FenceBetweenEpochs == [][
  rec'.e # rec.e => rec.st \in {"none", "abandoned"} /\ rec'.e > rec.e ]_vars

R22_AbandonedForGood == [][
  (rec.st = "abandoned" /\ rec'.st # "abandoned") => rec'.e > rec.e ]_vars

\* Nothing is applied after the fence, nor in an epoch that is not the record's.
R22_NothingAfterFence == [][
  \A e \in Epochs : applied'[e] # applied[e] => RecordLive /\ e = rec.e ]_vars

\* Nothing is left half proven: doubt ends with the fence, or with the process that had it.
R22_DoubtIsFenced == [][
  (phase = "doubt" /\ phase' # "doubt") => rec'.st = "abandoned" \/ (hand' = NoHand /\ UNCHANGED durable) ]_vars

R23_AtMostOnce == \A k \in Calls : executed[k] <= 1

\* The fence turns every call in flight into an unknown outcome, in the same write.
R23_FenceEndsCertainty == ~RecordLive => InFlight = {}

\* An unknown outcome stays one, through any number of epochs, until the caller decides.
R23_UnknownKept == [][
  \A k \in Calls : calls[k] = "unknown" => calls'[k] \in {"unknown", "resolved"} ]_vars

\* An epoch opens in quarantine exactly if something is unknown, and leaves it when nothing is.
R23_OpensInQuarantine == [][
  rec'.e # rec.e => (rec'.st = "open") = (Unknowns = {}) ]_vars

R23_QuarantineUntilResolved == [][
  (rec.st = "quarantined" /\ rec'.st = "open") => Unknowns' = {} ]_vars

R23_NoCallInQuarantine == [][
  \A k \in Calls : (calls[k] # "inflight" /\ calls'[k] = "inflight") => rec.st = "open" /\ calls[k] = "new" ]_vars

\* A cursor is sent with its own session only, and never after its epoch.
R25_CursorStaysHome ==
  request.kind = "resume" => RecordLive /\ request.e = rec.e /\ request.n = rec.tok

----------------------------------------------------------------------------
\* Sometimes: each of these must be violated, or the model does not reach what it is about.

NEVER_ResumedAfterEviction == ~(phase = "streaming" /\ rec.tok > 0 /\ sess[rec.e].floor > 0 /\ hand = NoHand)
NEVER_RefusedWhileAlive    == ~(wire # <<>> /\ wire[1].kind = "refused" /\ Alive(rec.e))
NEVER_RefusedForGoneSession == ~(wire # <<>> /\ wire[1].kind = "refused" /\ sess[rec.e].st = "gone")
NEVER_SupersededByLate     == [][~(late # NoRequest /\ late' = NoRequest /\ wire' = Append(wire, End))]_vars
NEVER_QuarantineResolved   == [][~(rec.st = "quarantined" /\ rec'.st = "open")]_vars
NEVER_CommitAfterFence     == [][~(hand # NoHand /\ rec.st = "abandoned" /\ Commit("refused"))]_vars
NEVER_CommitInNextEpoch    == [][~(hand # NoHand /\ RecordLive /\ rec.e > hand.e /\ Commit("refused"))]_vars
NEVER_CommittedInDoubt     == [][~(phase = "doubt" /\ applied' # applied)]_vars
NEVER_CrashWithHand        == [][~(hand # NoHand /\ Crash)]_vars
NEVER_AnsweredAfterCrash   == [][~(phase = "detached" /\ \E k \in Calls : calls[k] = "inflight" /\ executed[k] = 1 /\ Crash)]_vars
NEVER_AnswerDropped        == [][~(hand.k # 0 /\ applied' # applied /\ calls' = calls)]_vars
NEVER_CompleteAndUnknown   == [][~(phase' = "complete" /\ calls' # calls)]_vars
NEVER_OvertakenReader      == ~(\E v \in views : v.pos < sess[v.e].floor)
NEVER_FreshSkipsEvicted    == [][~(\E e \in Epochs : sess[e].floor > sess[e].handed /\ Other(e, NoCursor, "attach"))]_vars
NEVER_LatePostExecuted     == [][~(\E k \in Calls : executed'[k] > executed[k] /\ post[k] # 0 /\ post[k] < rec.e)]_vars
NEVER_DoubtOnAnswer        == [][~ReadAccepted(2, 0, "doubt")]_vars             \* against a minting server
NEVER_DoubtOnEvent         == [][~(\E n \in Ordinals : ReadEvent(1, n, "doubt"))]_vars   \* against a silently clamping one
NEVER_SecondEpochApplies   == ~(Len(applied[MaxEpoch]) > 0)
NEVER_BothEpochsAlive      == ~(\A e \in Epochs : sess[e].st = "live")
=============================================================================
