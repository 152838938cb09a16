---------------------------- MODULE Contract_bugs ----------------------------
(***************************************************************************)
(* Mistakes that keep every rule of ResumptionRules and still are no       *)
(* implementation of Contract: the models rules-blind-* show the first, the*)
(* models bug-contract-* the second. They are why the refinement is checked*)
(* as well as the rules.                                                   *)
(***************************************************************************)
EXTENDS ContractRefined

\* The right ordinal with the payload of another event.
WrongPayloadSend(v) ==
  LET n == v.pos + 1 IN
  /\ v \in views
  /\ v.pos >= sess[v.e].floor
  /\ v.pos < HeadOf(v.e)
  /\ v.conn = "current" => Len(wire) < WireCap
  /\ views' = (views \ {v}) \cup {[v EXCEPT !.pos = n]}
  /\ sess'  = [sess EXCEPT ![v.e].handed = Max(@, n)]
  /\ wire'  = IF v.conn = "current" THEN Append(wire, Frame("event", v.e, n, sess[v.e].events[1])) ELSE wire
  /\ UNCHANGED <<executed, request, late, post, durable, phase, hand>>

\* A stream that has ended goes on: whoever was told that it is complete misses the rest.
EmitAfterFinish(e) ==
  /\ Alive(e)
  /\ IssuedInAll < MaxEvents
  /\ sess' = [sess EXCEPT ![e] = Issued(@, 0)]
  /\ UNCHANGED <<views, executed, wire, request, late, post, durable, phase, hand>>

\* The event is applied, and the call that it answers waits on.
UnsettledCommit(outcome) ==
  /\ hand # NoHand
  /\ Committable
  /\ outcome = "applied"
  /\ rec'     = [rec EXCEPT !.tok = hand.n]
  /\ applied' = [applied EXCEPT ![hand.e] = Append(@, hand.n)]
  /\ hand'    = NoHand
  /\ UNCHANGED <<server, wire, request, late, post, calls, phase>>

\* A POST is served by whatever session is live, not by the one that it names.
MisroutedExecute(k) ==
  LET live == {e \in Epochs : sess[e].st = "live"}
      e == CHOOSE x \in live : \A y \in live : y <= x IN
  /\ post[k] # 0
  /\ live # {}
  /\ IssuedInAll < MaxEvents
  /\ sess'     = [sess EXCEPT ![e] = Issued(@, k)]
  /\ executed' = [executed EXCEPT ![k] = @ + 1]
  /\ post'     = [post EXCEPT ![k] = 0]
  /\ UNCHANGED <<views, wire, request, late, durable, phase, hand>>
=============================================================================
