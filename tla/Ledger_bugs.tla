----------------------------- MODULE Ledger_bugs -----------------------------
(***************************************************************************)
(* The known ways to get calls and ledger wrong, each as a replacement of  *)
(* one operator of Ledger.                                                 *)
(***************************************************************************)
EXTENDS LedgerRules

----------------------------------------------------------------------------
\* What the ledger writes

\* A query looks, and leaves no seal.
OnlyLooks(t) == t

\* A refusal says that the key is sealed, and leaves no seal.
RefusesUnsealed(t) == t

\* The start is in memory only; the outcome is written when there is one.
StartsUnwritten(i) == Nothing

\* The horizon is in memory, and starts at its default after a crash.
HorizonInMemory(h) == 1
NoHorizon(h)       == 0

\* The horizon is what an instance's clock says: entries go by one clock, and keys are judged by another.
ByAnyClock(l, k) == TRUE

\* A seal is no execution: it need not be kept.
SealsForgotten(l, k) == entry[l][k].st = "sealed" \/ key[k].minted < horizon[l]

\* The ledger that takes the place of a lost one goes by the same name.
SameName(l) == l

----------------------------------------------------------------------------
\* What the ledger says

AnyName(i, k)    == FALSE
NeverBelow(i, k) == FALSE

\* A start without an outcome is believed to run, or begun again, or taken for done, or for not done.
DeadRunsAgain(i, k) ==
  LET t == entry[uses[i]][k] IN IF t.st = "started" /\ gen[t.i] # t.g THEN Nothing ELSE t
StartCountsAsDone(t) == "executed"
DeadIsNotDone(t)     == IF gen[t.i] = t.g THEN "running" ELSE "sealed"

\* An outcome that was answered is not kept.
OutcomeNotKept(i, k) ==
  LET t == entry[uses[i]][k] IN IF t.st = "done" THEN Nothing ELSE t

\* An instance sees the starts that it made itself: the store is shared, its cache is not.
OwnStartsOnly(i, k) ==
  LET t == entry[uses[i]][k] IN IF t.st = "started" /\ t.i # i THEN Nothing ELSE t

----------------------------------------------------------------------------
\* What the client makes of it

\* Any refusal counts as "not executed".
AnyRefusalProves(k) == TRUE

\* The first decision ends the quarantine; or it is none.
OpensOpen      == "open"
LiftsAtOnce    == TRUE
CallsAnyhow    == InEpoch
ForgetsInFlight == outcome

----------------------------------------------------------------------------
\* Where somebody re-sends POSTs though the deployment says that nobody does

DoublesAnyhow(k) == k \notin doubled

\* A settled call is settled again by whatever answer comes late.
HearsForEver(k, answer, heard) ==
  IF heard /\ outcome[k] # "decided" THEN [outcome EXCEPT ![k] = Meaning(k, answer)] ELSE outcome
=============================================================================
