----------------------------- MODULE HostileServer -----------------------------
(***************************************************************************)
(* The client alone. Every step of the client is that of Resumption; the   *)
(* server and the network are one opponent, who puts any answer and any    *)
(* event on the connection, in the shape that HTTP gives them: an answer   *)
(* first, then events. It mints on resume, replays from the start, replays *)
(* inclusively, clamps and says so, clamps and does not, restarts its ids, *)
(* names another session, stops inside an event, and is right, too.        *)
(*                                                                         *)
(* The session ids that it gives to initialize are new ones: the epochs of *)
(* the record are told apart by number, and a commit of an old epoch meets *)
(* another number even where an id is given twice.                         *)
(*                                                                         *)
(* Two settings of a deployment are constants: the strict policy for a body*)
(* that stops inside an event (R24), and a client that deduplicates (R27). *)
(***************************************************************************)
EXTENDS ResumptionRules

CONSTANTS
  Strict,  \* a truncation abandons the epoch, instead of resuming from the token
  Dedup    \* the client has declared that it deduplicates, and takes an answer in mode replay

ASSUME {Strict, Dedup} \subseteq BOOLEAN

Nobody == {}

VARIABLES
  replaying \* the proven view is in mode replay: repeats may come

hostileVars == <<vars, replaying>>

\* An opponent has no late requests to wait for: what it can make of them, it can do anyway.
NothingLate == NoRequest

\* Bodies that stop inside an event.
Torn == Frame("torn", 0, 0, 0)

\* An answer in mode replay, with the announced position.
Replay(e, n) == Frame("replay", e, n, 0)

\* What HTTP lets a server say while the client waits for what.
Sayable(ph) ==
  CASE ph = "opening"   -> {Frame("opened", e, 0, 0) : e \in (rec.e + 1)..MaxEpoch} \cup {End}
    [] ph = "resuming"  -> {Frame("accepted", e, n, 0) : e \in Epochs, n \in Ordinals}
                           \cup {Frame("complete", e, n, 0) : e \in Epochs, n \in Ordinals}
                           \cup {Replay(e, n) : e \in Epochs, n \in Ordinals}
                           \cup {Frame("refused", 0, 0, 0), End}
    [] ph = "streaming" -> {Frame("event", e, n, k) : e \in Epochs, n \in 1..MaxEvents, k \in 0..MaxCalls} \cup {Torn, End}
    [] OTHER            -> {}

Frames == UNION {Sayable(ph) : ph \in {"opening", "resuming", "streaming"}}

Say(f) ==
  /\ wire = <<>>
  /\ f \in Sayable(phase)
  /\ wire'    = <<f>>
  /\ request' = NoRequest
  /\ UNCHANGED <<sess, views, executed, late, post, durable, phase, hand, replaying>>

----------------------------------------------------------------------------
\* What the client does beyond Resumption

\* A truncation yields nothing of the unfinished event (R24).
ReadTorn ==
  /\ phase = "streaming"
  /\ wire # <<>>
  /\ wire[1] = Torn
  /\ phase' = IF Strict THEN "doubt" ELSE "detached"
  /\ replaying' = FALSE
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

\* Mode replay is taken by a client that asked for it, from its own session and from nothing later
\* than its token: what is between would be missed.
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
IsRepeat(f) == replaying /\ f.e = rec.e /\ f.n <= rec.tok

DropRepeat(e, n) ==
  /\ phase = "streaming"
  /\ hand = NoHand
  /\ wire # <<>>
  /\ wire[1].kind = "event"
  /\ wire[1].e = e
  /\ wire[1].n = n
  /\ IsRepeat(wire[1])
  /\ wire' = Tail(wire)
  /\ UNCHANGED <<sess, views, executed, request, late, post, durable, phase, hand, replaying>>

\* A step of Resumption's client; mode replay ends with the view.
Client(step) == step /\ replaying' = (replaying /\ phase' = "streaming")

----------------------------------------------------------------------------
HostileNext ==
  \/ \E f \in Frames : Say(f)
  \/ ReadTorn
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"proven", "doubt"} : ReadReplay(e, n, outcome)
  \/ \E e \in Epochs, n \in Ordinals : DropRepeat(e, n)
  \/ Client(Open) \/ Client(ReadRefused) \/ Client(ReadEnd) \/ Client(Fence) \/ Client(Crash)
  \/ \E e \in Epochs : Client(ReadOpened(e))
  \/ \E e \in Epochs, n \in Ordinals : Client(Resume(e, n))
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"proven", "doubt"} :
       Client(ReadAccepted(e, n, outcome)) \/ Client(ReadComplete(e, n, outcome))
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"next", "doubt"} :
       (wire # <<>> => ~IsRepeat(wire[1])) /\ Client(ReadEvent(e, n, outcome))
  \/ \E outcome \in {"applied", "failed", "refused"} : Client(Commit(outcome))
  \/ \E k \in Calls : Client(Call(k)) \/ Client(CallBroken(k)) \/ Client(PostRefused(k)) \/ Client(ResolveUnknown(k))

HostileSpec == Init /\ replaying = FALSE /\ [][HostileNext]_hostileVars

----------------------------------------------------------------------------
\* Always, beyond the client's rules of ResumptionRules. (R21_ProvenFirst is said here for both modes.)

R21_ProvenFirstOrReplay == [][
  (phase # "streaming" /\ phase' = "streaming") =>
    /\ wire # <<>>
    /\ \/ wire[1] = Frame("accepted", rec.e, rec.tok, 0) /\ ~replaying'
       \/ Dedup /\ wire[1].kind = "replay" /\ wire[1].e = rec.e /\ wire[1].n <= rec.tok /\ replaying' ]_hostileVars

R24_TornYieldsNothing == [][
  (wire # <<>> /\ wire[1] = Torn /\ wire' # wire) => UNCHANGED durable /\ hand' \in {hand, NoHand} ]_hostileVars

R24_StrictAbandons == [][ (Strict /\ ReadTorn) => phase' = "doubt" ]_hostileVars

\* A repeat is dropped in mode replay, and doubt in any other.
R27_RepeatNeverTaken == [][
  (wire # <<>> /\ wire[1].kind = "event" /\ wire[1].n <= rec.tok /\ wire' # wire /\ phase' = "streaming") =>
    replaying /\ UNCHANGED <<durable, hand>> ]_hostileVars

----------------------------------------------------------------------------
\* Sometimes: what the opponent tries, and that being right is among it.

NEVER_ClampedHonestly == [][~(rec.tok > 0 /\ ReadAccepted(rec.e, MaxEvents, "doubt"))]_hostileVars
NEVER_MintedOnResume  == [][~(\E n \in Ordinals : rec.e < MaxEpoch /\ ReadAccepted(rec.e + 1, n, "doubt"))]_hostileVars
NEVER_ReplayedFromTheStart == [][~(rec.tok = 2 /\ ReadEvent(rec.e, 1, "doubt"))]_hostileVars
NEVER_HoleInTheStream == [][~(ReadEvent(rec.e, rec.tok + 2, "doubt"))]_hostileVars
NEVER_RepeatDropped   == [][~(DropRepeat(rec.e, 1))]_hostileVars
NEVER_AppliedAfterRepeats == [][~(replaying /\ rec.tok > 0 /\ applied' # applied)]_hostileVars
NEVER_ReplayRefused   == [][~(\E n \in Ordinals : ReadReplay(rec.e, n, "doubt"))]_hostileVars
NEVER_TornWithHand    == [][~(hand # NoHand /\ ReadTorn)]_hostileVars
NEVER_EverythingApplied == ~(Len(applied[MaxEpoch]) = MaxEvents /\ Len(applied[1]) = MaxEvents)
NEVER_AnsweredByOpponent == ~(\E k \in Calls : calls[k] = "answered")
=============================================================================
