------------------------------ MODULE Live_bugs ------------------------------
(* The known ways to reconnect for ever, each as a replacement of one operator of LiveResumption. *)
EXTENDS LiveResumption

\* There is no limit.
Free == 0

\* A view has lived although events are pending: an interval of keep-alives counts, whatever waits.
Trickling == TRUE

\* Doubt is waited out.
Waits ==
  /\ phase = "doubt"
  /\ FALSE
  /\ UNCHANGED vars

\* An evicted cursor gets no answer at all.
NeverRefused(e, n, verdict) ==
  LET c == [tag |-> e, n |-> n] IN
  /\ request = [kind |-> "resume", e |-> e, n |-> n]
  /\ verdict = Decide(e, c)
  /\ verdict # "cursor_evicted"
  /\ request' = NoRequest
  /\ views'   = ViewsAfter(e, verdict, [e |-> e, pos |-> StartOf(e, c), conn |-> "current"])
  /\ wire'    = Append(wire, IF verdict \in Accepting     THEN Frame("accepted", e, Announced(e, c), 0)
                             ELSE IF verdict = "complete" THEN Frame("complete", e, n, 0)
                             ELSE                              Frame("refused", e, 0, 0))
  /\ UNCHANGED <<sess, executed, late, post, durable, phase, hand>>
=============================================================================
