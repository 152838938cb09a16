----------------------------- MODULE Record_bugs -----------------------------
(* The known ways to write a record that is not one's own, each as a replacement of one operator of Record. *)
EXTENDS Record

\* The advance compares the token alone; or all but the generation.
TokenOnly(p)          == rec.tok + 1 = hand[p].n
AllButGeneration(p)   == SameEpoch(p) /\ rec.st = "open" /\ rec.tok + 1 = hand[p].n
AllButState(p)        == Holds(p) /\ SameEpoch(p) /\ rec.tok + 1 = hand[p].n

\* The second of two writes is left out: the token has moved, so all seems done.
NotApplied(p) == effects

\* A fence, a call, an epoch are written by whoever thinks that they are due.
AnybodyFences(p) == SameEpoch(p) /\ rec.st = "open"
AnybodyCalls(p)  == TRUE
AnybodyBegins(p) == SameEpoch(p) /\ rec.st = "abandoned"

\* Who could not fence cleans up all the same.
LoserCleansUp == "fenced"

\* The server lets any attempt supersede.
AnyAttempt(p) == IF proc[p].e \notin live THEN "refused" ELSE "accepted"

\* Attempts are numbered by something that a lease does not raise.
OwnNumber(p) == p
=============================================================================
