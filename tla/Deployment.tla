------------------------------ MODULE Deployment ------------------------------
(***************************************************************************)
(* Resumption with what a deployment may choose: the strict policy for a   *)
(* body that stops inside an event (R24), and mode replay (R27), at both   *)
(* ends. HostileServer and HostileClient have the same choices, each with  *)
(* one end alone; here the server is right, and it is the server that      *)
(* replays.                                                                *)
(*                                                                         *)
(* Resumption's frames are whole or lost; here a cut may also fall inside  *)
(* an event, and what arrives of it is a torn frame.                       *)
(***************************************************************************)
EXTENDS MCResumption

CONSTANTS
  Strict,  \* a torn body abandons the epoch, instead of resuming from the token
  Replays, \* "never"; "evicted": whose cursor is gone is replayed to; "always": cursors are not judged
  Dedup    \* the client deduplicates, and says so

ASSUME {Strict, Dedup} \subseteq BOOLEAN /\ Replays \in {"never", "evicted", "always"}

VARIABLES
  replaying \* the proven view is in mode replay

deployed == <<vars, replaying>>

Torn         == Frame("torn", 0, 0, 0)
Replay(e, n) == Frame("replay", e, n, 0)

\* A step of Resumption; mode replay ends with the view.
As(step) == step /\ replaying' = (replaying /\ phase' = "streaming")

----------------------------------------------------------------------------
\* The network

Whole == \A i \in 1..Len(wire) : wire[i] # Torn

\* The connection breaks inside the event that follows n whole frames.
CutInside(n) ==
  /\ phase \in {"resuming", "streaming"}
  /\ Whole
  /\ n < InTransit
  /\ wire[n + 1].kind = "event"
  /\ wire'    = Append(SubSeq(wire, 1, n), Torn)
  /\ request' = NoRequest
  /\ late'    = LateOnLeaving
  /\ views'   = Orphaned
  /\ UNCHANGED <<sess, executed, post, durable, phase, hand, replaying>>

----------------------------------------------------------------------------
\* The server

\* Replay is for those who say that they deduplicate. Another one is refused, for a right cursor too where
\* cursors are not judged.
MayReplay == Dedup

Judges(e, n) ==
  LET v == Decide(e, [tag |-> e, n |-> n]) IN
  IF v # "session_unknown" /\ (Replays = "always" \/ (Replays = "evicted" /\ v = "cursor_evicted"))
  THEN IF MayReplay THEN "replay" ELSE "replay_not_permitted"
  ELSE v

\* From the first event that is retained.
ReplayStart(e) == sess[e].floor

ServeReplay(e, n, verdict) ==
  /\ request = [kind |-> "resume", e |-> e, n |-> n]
  /\ verdict = Judges(e, n)
  /\ verdict \in {"replay", "replay_not_permitted"}
  /\ request' = NoRequest
  /\ views'   = IF verdict = "replay" THEN Survivors(e) \cup {[e |-> e, pos |-> ReplayStart(e), conn |-> "current"]} ELSE views
  /\ wire'    = Append(wire, IF verdict = "replay" THEN Replay(e, ReplayStart(e)) ELSE Frame("refused", e, 0, 0))
  /\ UNCHANGED <<sess, executed, late, post, durable, phase, hand, replaying>>

\* One of a connection that the client has left.
LateReplay(e, n, verdict) ==
  /\ late = [kind |-> "resume", e |-> e, n |-> n]
  /\ verdict = Judges(e, n)
  /\ verdict \in {"replay", "replay_not_permitted"}
  /\ late'  = NoRequest
  /\ views' = IF verdict = "replay" THEN Survivors(e) \cup {[e |-> e, pos |-> ReplayStart(e), conn |-> "dead"]} ELSE views
  /\ wire'  = IF verdict = "replay" THEN EndingView(e) ELSE wire
  /\ UNCHANGED <<sess, executed, request, post, durable, phase, hand, replaying>>

----------------------------------------------------------------------------
\* The client

\* A truncation yields nothing of the unfinished event (R24).
ReadTorn ==
  /\ phase = "streaming"
  /\ wire # <<>>
  /\ wire[1] = Torn
  /\ phase' = IF Strict THEN "doubt" ELSE "detached"
  /\ replaying' = FALSE
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

\* From its own session, and from nothing later than its token: what is between would be missed.
ProvesReplay(f) == Dedup /\ f.e = rec.e /\ f.n <= rec.tok

ReadReplay(e, n, outcome) ==
  /\ phase = "resuming"
  /\ wire # <<>>
  /\ wire[1] = Replay(e, n)
  /\ outcome = IF ProvesReplay(wire[1]) THEN "proven" ELSE "doubt"
  /\ IF outcome = "proven"
     THEN /\ phase' = "streaming"
          /\ replaying' = TRUE
          /\ wire' = Tail(wire)
          /\ UNCHANGED <<views, request, late>>
     ELSE /\ phase' = "doubt"
          /\ replaying' = FALSE
          /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

\* A repeat, in mode replay, is dropped and counted (R27).
IsRepeat(f) == replaying /\ f.kind = "event" /\ f.e = rec.e /\ f.n <= rec.tok

DropRepeat(e, n) ==
  /\ phase = "streaming"
  /\ hand = NoHand
  /\ wire # <<>>
  /\ wire[1] = Frame("event", e, n, wire[1].k)
  /\ IsRepeat(wire[1])
  /\ wire' = Tail(wire)
  /\ UNCHANGED <<sess, views, executed, request, late, post, durable, phase, hand, replaying>>

----------------------------------------------------------------------------
DeployedNext ==
  \/ \E n \in 0..WireCap : CutInside(n) \/ (Whole /\ As(Cut(n)))
  \/ ReadTorn
  \/ \E e \in Epochs, n \in Ordinals, verdict \in {"replay", "replay_not_permitted"} :
       ServeReplay(e, n, verdict) \/ LateReplay(e, n, verdict)
  \/ \E e \in Epochs, n \in Ordinals, verdict \in Verdicts :
       /\ verdict = Judges(e, n)
       /\ As(ServeResume(e, n, verdict)) \/ As(ServeLate(e, n, verdict))
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"proven", "doubt"} : ReadReplay(e, n, outcome)
  \/ \E e \in Epochs, n \in Ordinals : DropRepeat(e, n)
  \/ \E e \in Epochs : As(OpenSession(e)) \/ As(Emit(e)) \/ As(Finish(e)) \/ As(EvictOldest(e)) \/ As(EndSession(e)) \/ As(ReadOpened(e))
  \/ \E v \in ViewValues : As(Send(v)) \/ As(EndView(v))
  \/ As(Open) \/ As(ReadRefused) \/ As(ReadEnd) \/ As(Fence) \/ As(Crash)
  \/ \E e \in Epochs, n \in Ordinals : As(Resume(e, n))
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"proven", "doubt"} : As(ReadAccepted(e, n, outcome)) \/ As(ReadComplete(e, n, outcome))
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"next", "doubt"} :
       (wire # <<>> => ~IsRepeat(wire[1])) /\ As(ReadEvent(e, n, outcome))
  \/ \E outcome \in {"applied", "failed", "refused"} : As(Commit(outcome))
  \/ \E k \in Calls : As(Execute(k)) \/ As(Call(k)) \/ As(CallBroken(k)) \/ As(PostRefused(k)) \/ As(ResolveUnknown(k))

DeployedSpec == Init /\ replaying = FALSE /\ [][DeployedNext]_deployed

----------------------------------------------------------------------------
\* Always. Of ResumptionRules holds what is not about the answer to a cursor; R21_ProvenFirst is said here for both modes.

R21_ProvenInItsMode == [][
  (phase # "streaming" /\ phase' = "streaming") =>
    /\ wire # <<>>
    /\ \/ wire[1] = Frame("accepted", rec.e, rec.tok, 0) /\ ~replaying'
       \/ Dedup /\ wire[1].kind = "replay" /\ wire[1].e = rec.e /\ wire[1].n <= rec.tok /\ replaying' ]_deployed

R24_TornYieldsNothing == [][
  (wire # <<>> /\ wire[1] = Torn /\ wire' # wire) => UNCHANGED durable /\ hand' \in {hand, NoHand} ]_deployed

\* The token is as good as it was (default), or the epoch is over (strict); nothing between.
R24_PolicyIsKept == [][
  (wire # <<>> /\ wire[1] = Torn /\ phase = "streaming" /\ ReadTorn) => phase' = IF Strict THEN "doubt" ELSE "detached" ]_deployed

\* Repeats are dropped in mode replay, and reach the client in no other.
R27_RepeatDropped == [][
  (wire # <<>> /\ wire[1].kind = "event" /\ wire[1].n <= rec.tok /\ wire' # wire /\ phase' = "streaming") =>
    replaying /\ UNCHANGED <<durable, hand>> ]_deployed

R5_ReplayedOnlyWhereDeclared == [][
  (Writes /\ Put.kind = "replay") => Replays # "never" /\ Dedup /\ [e |-> Put.e, pos |-> Put.n, conn |-> "current"] \in views' ]_deployed

\* Between ours a replay never helps where cursors are judged: whose cursor is gone has missed what is between.
R27_NoCureForEviction == Replays = "evicted" => ~replaying

----------------------------------------------------------------------------
\* Sometimes

NEVER_TornAndResumed      == [][~(ReadTorn /\ rec.tok > 0 /\ phase' = "detached")]_deployed
NEVER_TornAndAbandoned    == [][~(ReadTorn /\ phase' = "doubt")]_deployed
NEVER_RepeatDropped       == [][~(\E e \in Epochs, n \in Ordinals : DropRepeat(e, n))]_deployed
NEVER_AppliedAfterRepeats == [][~(replaying /\ rec.tok > 0 /\ applied' # applied)]_deployed
NEVER_ReplayTooLate       == [][~(\E e \in Epochs, n \in Ordinals : ReadReplay(e, n, "doubt"))]_deployed
NEVER_ReplayDenied        == [][~(\E e \in Epochs, n \in Ordinals : ServeReplay(e, n, "replay_not_permitted"))]_deployed
NEVER_SupersededByReplay  == [][~(\E e \in Epochs, n \in Ordinals : LateReplay(e, n, "replay") /\ wire' # wire)]_deployed
=============================================================================
