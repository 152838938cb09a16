------------------------------- MODULE Life_bugs -------------------------------
(* The known ways to give up too early, too late, or in the wrong place, each as a replacement of one operator of Life. *)
EXTENDS Life

\* A cut always says goodbye; a view ends when its time is over, wherever it stands.
AlwaysNotice(s)  == "notice"
LifeDueInside(s) == ViewLife > 0 /\ view[s].on /\ aged[s] >= ViewLife

\* Data was pending for so long, whatever was accepted meanwhile.
StallGoesOn(s) == stalled[s]

\* Who stopped inside an event is waited for.
StallDueBetween(s) == Stall > 0 /\ view[s].on /\ ~view[s].inside /\ stalled[s] >= Stall

\* With its view a stream is forgotten.
Forgotten(s) == [stream[s] EXCEPT !.st = "forgotten"]

\* All time without a view is added up; an event of the work counts as somebody who waits for it.
AddedUp(s)      == detached[s]
WorkAttends(s)  == 0

\* The work is cancelled, and nobody is told.
Silently(s) == [stream[s] EXCEPT !.st = "finished"]

\* The standalone stream is a call's like any other.
EveryStreamRuns(s) == stream[s].st = "open"

\* What is no life.
CallsOnly       == \E s \in Streams : Running(s)
ViewsOnly       == \E s \in Streams : view[s].on
RequestsDoNot   == idle
\* What is none, and is taken for it.
EventsAreLife   == 0

\* A view in use is no older for it; a busy one is never interrupted; none has an end.
YoungAgain(s)  == 0
Always(s)      == TRUE
Never(s)       == FALSE

\* A session that has ended is asked like any other.
DecideWithoutSession(s, n) ==
  IF stream[s].st = "unopened" \/ n > stream[s].head            THEN "unissued"
  ELSE IF stream[s].st = "forgotten" \/ n < stream[s].floor     THEN "evicted"
  ELSE IF stream[s].st = "finished" /\ n = stream[s].head       THEN "complete"
  ELSE                                                               "reattach"

\* A cursor beyond the head is as good as any.
DecideWithoutHead(s, n) ==
  IF Gone                                                       THEN "gone"
  ELSE IF stream[s].st = "unopened"                             THEN "unissued"
  ELSE IF stream[s].st = "forgotten" \/ n < stream[s].floor     THEN "evicted"
  ELSE IF stream[s].st = "finished" /\ n = stream[s].head       THEN "complete"
  ELSE                                                               "reattach"

\* A POST wakes the session that it names.
WakingPost(verdict) ==
  /\ verdict = "accepted"
  /\ life' = "live"
  /\ Asked
  /\ Nothing
  /\ UNCHANGED <<stream, view>>
=============================================================================
