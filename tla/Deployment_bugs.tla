---------------------------- MODULE Deployment_bugs ----------------------------
(* The known ways to get a deployment's choices wrong, each as a replacement of one operator of Deployment. *)
EXTENDS Deployment

\* Everybody is replayed to.
EverybodyMay == TRUE

\* Any start is taken, though something is missing before it; or any repeat.
FromAnywhere(f) == Dedup /\ f.e = rec.e
NoRepeat(f)     == FALSE
AnyEvent(f)     == TRUE

\* The policy is turned round, or the unfinished event's id is taken.
TornResumes ==
  /\ phase = "streaming"
  /\ wire # <<>>
  /\ wire[1] = Torn
  /\ phase' = IF Strict THEN "detached" ELSE "doubt"
  /\ replaying' = FALSE
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

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
=============================================================================
