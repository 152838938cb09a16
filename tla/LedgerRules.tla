------------------------------ MODULE LedgerRules ------------------------------
(* What must hold of calls and ledger, and what must be reached. *)
EXTENDS Ledger

OneKey      == {1}
TwoKeys     == {1, 2}
OneInstance == {1}
TwoInstances == {1, 2}

TypeOK ==
  /\ gen \in [Instances -> 1..(MaxCrashes + 1)]
  /\ uses \in [Instances -> 1..born]
  /\ born \in Names
  /\ entry \in [Names -> [Keys -> [st : {"none", "started", "done", "sealed"}, i : {0} \cup Instances, g : 0..(MaxCrashes + 1)]]]
  /\ horizon \in [Names -> 1..(MaxTime + 1)]
  /\ handler \in [Instances -> [Keys -> {"idle", "begun", "ran"}]]
  /\ session \in [Epochs -> [st : {"unborn", "live", "gone"}, i : {0} \cup Instances, name : {0} \cup Names]]
  /\ runs \in [Keys -> Nat]
  /\ posts \in [Keys -> [Epochs -> Nat]]
  /\ doubled \subseteq Keys
  /\ rec \in [e : 0..MaxEpoch, st : {"none", "quarantined", "open", "abandoned"}]
  /\ outcome \in [Keys -> {"new", "inflight", "unknown", "executed", "notexecuted", "decided"}]
  /\ key \in [Keys -> [name : {0} \cup Names, minted : 0..MaxTime]]
  /\ sent \in [Keys -> 0..MaxSends]

----------------------------------------------------------------------------
\* Always

R28_RunsAtMostOnce == \A k \in Keys : runs[k] <= 1

\* What the client was told stays true, whatever is still under way.
R23_NotExecutedIsTrue == \A k \in Keys : outcome[k] = "notexecuted" => runs[k] = 0
R28_ExecutedIsTrue    == \A k \in Keys : outcome[k] = "executed" => runs[k] = 1

\* No second run is under way: no handler may begin a call that another one has begun or ended.
R28_OneHandler == \A k \in Keys :
  Cardinality({i \in Instances : handler[i][k] # "idle"}) + (IF \E i \in Instances : handler[i][k] = "ran" THEN 0 ELSE runs[k]) <= 1

\* Whatever runs is started in a ledger of the key's name, unless that ledger is lost or has forgotten
\* the key, and then it never starts again.
R28_StartedBeforeRun == [][
  \A k \in Keys : runs'[k] # runs[k] =>
    LET l == key[k].name IN
    \/ entry[l][k].st = "started"
    \/ key[k].minted < horizon[l]
    \/ \A i \in Instances : uses[i] # l ]_vars

R28_OnlyUnderItsOwnName == [][
  \A i \in Instances, k \in Keys : (handler[i][k] # "begun" /\ handler'[i][k] = "begun") => uses[i] = key[k].name ]_vars

R28_HorizonNeverFalls == [][ \A l \in Names : horizon'[l] >= horizon[l] ]_vars

R28_ForgottenBelowHorizonOnly == [][
  \A l \in Names, k \in Keys : (entry[l][k] # Nothing /\ entry'[l][k] = Nothing) =>
    key[k].minted < horizon[l] \/ \A i \in Instances : uses'[i] # l ]_vars

\* An outcome and a seal never change into something else.
R28_EntryFinal == [][
  \A l \in Names, k \in Keys : entry[l][k].st \in {"done", "sealed"} => entry'[l][k] \in {entry[l][k], Nothing} ]_vars

\* What is settled stays so.
R23_SettledForGood == [][
  \A k \in Keys : outcome[k] \in {"executed", "notexecuted", "decided"} => outcome'[k] = outcome[k] ]_vars

R23_FenceEndsCertainty == ~InEpoch => \A k \in Keys : outcome[k] # "inflight"

R23_QuarantineUntilSettled == [][
  (rec.st = "quarantined" /\ rec'.st = "open") => \A k \in Keys : outcome[k] \notin {"inflight", "unknown"} ]_vars

R23_OpensInQuarantine == [][
  rec'.e # rec.e => (rec'.st = "open") = (\A k \in Keys : outcome[k] \notin {"inflight", "unknown"}) ]_vars

R23_NoCallInQuarantine == [][
  \A k \in Keys : (outcome[k] = "new" /\ outcome'[k] # "new") => rec.st = "open" ]_vars

----------------------------------------------------------------------------
\* Sometimes

\* A query can be sent now, and to this instance.
Askable(k) == InEpoch /\ outcome[k] = "unknown" /\ session[rec.e].st = "live"
Home       == session[rec.e].i

NEVER_LateCopyMeetsSeal    == [][~(\E k \in Keys, e \in Epochs : outcome[k] = "notexecuted" /\ session[e].st = "live" /\ posts'[k][e] < posts[k][e])]_vars
NEVER_SealedByQuery        == [][~(\E k \in Keys : Query(k, "sealed", TRUE))]_vars
NEVER_ExecutedByQuery      == [][~(\E k \in Keys : Query(k, "executed", TRUE))]_vars
NEVER_DeadStart            == ~(\E k \in Keys : Askable(k) /\ rec.e > 1 /\ runs[k] = 1 /\ ~Foreign(Home, k) /\ ~Below(Home, k) /\ Verdict(Home, k) = "unknown")
NEVER_AskedOfAnotherLedger == ~(\E k \in Keys : Askable(k) /\ runs[k] = 1 /\ Foreign(Home, k))
NEVER_AskedBelowHorizon    == ~(\E k \in Keys : Askable(k) /\ runs[k] = 1 /\ ~Foreign(Home, k) /\ Below(Home, k))
NEVER_JoinedRunning        == [][~(\E k \in Keys, e \in Epochs, i \in Instances : Arrive(k, e, i, "running", FALSE))]_vars
NEVER_ResendExecutes       == [][~(\E k \in Keys, i \in Instances : rec.e > 1 /\ Arrive(k, rec.e, i, "execute", FALSE))]_vars
NEVER_LatePostExecutes     == [][~(\E k \in Keys, e \in Epochs, i \in Instances : e < rec.e /\ outcome[k] = "unknown" /\ Arrive(k, e, i, "execute", FALSE))]_vars
NEVER_RunsThoughForgotten  == [][~(\E k \in Keys : runs'[k] > runs[k] /\ entry[key[k].name][k] = Nothing)]_vars
NEVER_SealedByRefusal      == [][~(\E k \in Keys, e \in Epochs, i \in Instances : session[e].st = "gone" /\ outcome[k] = "inflight" /\ Seen(i, k) = Nothing /\ Arrive(k, e, i, "sealed", TRUE))]_vars
NEVER_DecidedThenExecuted  == [][~(\E k \in Keys : outcome[k] = "decided" /\ runs'[k] > runs[k])]_vars
NEVER_QuarantineLifted     == [][~(rec.st = "quarantined" /\ rec'.st = "open")]_vars
NEVER_RefusalBelieved      == [][~(\E k \in Keys, e \in Epochs, i \in Instances : outcome'[k] = "notexecuted" /\ Arrive(k, e, i, "refused", TRUE))]_vars
=============================================================================
