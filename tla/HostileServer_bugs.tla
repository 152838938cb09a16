-------------------------- MODULE HostileServer_bugs --------------------------
(* The client's known mistakes, met by an opponent; those of Resumption are repeated here in short. *)
EXTENDS HostileServer

Always(f)   == TRUE
AnyLater(f) == f.e = rec.e /\ f.n > rec.tok
AnyEvent(f) == TRUE
IgnoresAll  == RecordLive

IgnoresFence  == rec.e = hand.e /\ rec.tok + 1 = hand.n
StillInFlight == calls
OpensOpen     == "open"
CallsAnyhow   == RecordLive

\* Doubt is waited out.
NoFence ==
  /\ phase = "doubt"
  /\ phase' = "detached"
  /\ UNCHANGED <<server, wire, request, late, post, durable, hand>>

\* The token is written when the event is read.
TokenFirstReadEvent(e, n, outcome) ==
  /\ phase = "streaming"
  /\ hand = NoHand
  /\ wire # <<>>
  /\ wire[1].kind = "event"
  /\ wire[1].e = e
  /\ wire[1].n = n
  /\ outcome = "next"
  /\ IsNext(wire[1])
  /\ rec'  = [rec EXCEPT !.tok = n]
  /\ hand' = [e |-> e, n |-> n, k |-> wire[1].k]
  /\ wire' = Tail(wire)
  /\ UNCHANGED <<sess, executed, post, calls, applied, views, request, late, phase>>

TakesReplay(f)        == f.e = rec.e
ReplayFromAnywhere(f) == Dedup /\ f.e = rec.e
NoRepeat(f)           == FALSE

TornResumes ==
  /\ phase = "streaming"
  /\ wire # <<>>
  /\ wire[1] = Torn
  /\ phase' = "detached"
  /\ replaying' = FALSE
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

\* The id of an event that did not arrive whole counts (R20 R24).
TornTaken ==
  /\ phase = "streaming"
  /\ wire # <<>>
  /\ wire[1] = Torn
  /\ rec.tok < MaxEvents
  /\ phase' = "detached"
  /\ replaying' = FALSE
  /\ rec' = [rec EXCEPT !.tok = @ + 1]
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, calls, applied, hand>>

\* A refusal is answered with a new session, and the old epoch is never closed.
SilentRetry ==
  /\ phase = "resuming"
  /\ wire # <<>>
  /\ wire[1].kind = "refused"
  /\ phase' = "idle"
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>
=============================================================================
