-------------------------------- MODULE Ledger --------------------------------
(***************************************************************************)
(* Calls whose outcome is unknown, and a server that remembers outcomes: a *)
(* key is executed at most once whatever is delayed, doubled, re-sent, lost*)
(* or forgotten, and what the ledger says of a key is true (R23 R28).      *)
(*                                                                         *)
(*   client     Open Call CallBroken Abandon Query Resend Decide Lift      *)
(*   instances  Arrive Run Finish Crash Forget RaiseHorizon                *)
(*   others     Double EndSession Lose                                     *)
(*                                                                         *)
(* There is no clock. A key's minting time is any number, and the horizon  *)
(* rises by any amount at any time: so nothing that holds here needs an    *)
(* assumption about a clock. A POST travels until it arrives, at whatever  *)
(* instance; one that is lost is one that never arrives. Answers are heard *)
(* or not. All that the client knows is durable (R20), so that its crash   *)
(* is the same as CallBroken.                                              *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Keys,       \* calls, each with its key
  Instances,  \* servers behind one address
  Shared,     \* they share one ledger; else each has its own
  MaxEpoch,   \* epochs of the client
  MaxSends,   \* how often the client sends one call
  MaxCrashes, \* crashes of instances, together
  MaxNames,   \* names that are ever given to ledgers
  MaxTime,    \* minting times
  NoResend    \* the deployment declares that no intermediary re-sends POSTs

ASSUME Instances = 1..Cardinality(Instances) /\ {Shared, NoResend} \subseteq BOOLEAN

Epochs == 1..MaxEpoch
Names  == 1..MaxNames

VARIABLES
  \* the servers
  gen,      \* Instances -> generation
  uses,     \* Instances -> name of the ledger it uses
  born,     \* names given so far: 1..born
  entry,    \* Names -> Keys -> [st, i, g]; durable. st "none" | "started" (by generation g of i) | "done" | "sealed"
  horizon,  \* Names -> keys minted below it are answered unknown, and never executed; durable
  handler,  \* Instances -> Keys -> "idle" | "begun" | "ran"; lost in a crash
  session,  \* Epochs -> [st, i, name]; st "unborn" | "live" | "gone"; name: what initialize told of the ledger
  runs,     \* Keys -> how often the work ran
  \* the network
  posts,    \* Keys -> Epochs -> copies of the call's POST under way in that epoch's session
  doubled,  \* Keys whose POST was doubled on the way
  \* the client, durable
  rec,      \* [e, st]; st "none" | "quarantined" | "open" | "abandoned"
  outcome,  \* Keys -> "new" | "inflight" | "unknown" | "executed" | "notexecuted" | "decided"
  key,      \* Keys -> [name, minted], fixed when the call enters the record
  sent      \* Keys -> how often its POST left

servers == <<gen, uses, born, entry, horizon, handler, session, runs>>
vars    == <<servers, posts, doubled, rec, outcome, key, sent>>

Nothing    == [st |-> "none", i |-> 0, g |-> 0]
Started(i) == [st |-> "started", i |-> i, g |-> gen[i]]
Done       == [st |-> "done", i |-> 0, g |-> 0]
Sealed     == [st |-> "sealed", i |-> 0, g |-> 0]

Init ==
  /\ gen     = [i \in Instances |-> 1]
  /\ uses    = [i \in Instances |-> IF Shared THEN 1 ELSE i]
  /\ born    = IF Shared THEN 1 ELSE Cardinality(Instances)
  /\ entry   = [l \in Names |-> [k \in Keys |-> Nothing]]
  /\ horizon = [l \in Names |-> 1]
  /\ handler = [i \in Instances |-> [k \in Keys |-> "idle"]]
  /\ session = [e \in Epochs |-> [st |-> "unborn", i |-> 0, name |-> 0]]
  /\ runs    = [k \in Keys |-> 0]
  /\ posts   = [k \in Keys |-> [e \in Epochs |-> 0]]
  /\ doubled = {}
  /\ rec     = [e |-> 0, st |-> "none"]
  /\ outcome = [k \in Keys |-> "new"]
  /\ key     = [k \in Keys |-> [name |-> 0, minted |-> 0]]
  /\ sent    = [k \in Keys |-> 0]

----------------------------------------------------------------------------
\* What the ledger says of a key

\* A key of another name: it may have been executed under that name (R28).
Foreign(i, k) == key[k].name # uses[i]

\* A key that may have been forgotten.
Below(i, k) == key[k].minted < horizon[uses[i]]

\* The entry as instance i sees it.
Seen(i, k) == entry[uses[i]][k]

\* A start without an outcome: its generation may still be at it, or will never tell.
OfStart(t) == IF gen[t.i] = t.g THEN "running" ELSE "unknown"

Verdict(i, k) ==
  IF Foreign(i, k)                    THEN "unknown"
  ELSE IF Below(i, k)                 THEN "unknown"
  ELSE IF Seen(i, k).st = "none"      THEN "execute"
  ELSE IF Seen(i, k).st = "done"      THEN "executed"
  ELSE IF Seen(i, k).st = "sealed"    THEN "sealed"
  ELSE                                     OfStart(Seen(i, k))

Verdicts == {"execute", "running", "executed", "sealed", "unknown", "refused"}

\* What a POST of session e may be answered at instance i. A new key is executed, or sealed and
\* refused (minted in the future, draining, ...), never refused and left open; but where there is no
\* session, a plain 404 is an answer as well, and says nothing.
Answers(i, k, e) ==
  LET v == Verdict(i, k) IN
  IF session[e].st = "live" /\ session[e].i = i
  THEN IF v = "execute" THEN {"execute", "sealed"} ELSE {v}
  ELSE IF v \in {"execute", "sealed"} THEN {"refused", "sealed"} ELSE {"refused"}

\* What is durable before a handler runs; and before a refusal that seals is sent.
EntryAtStart(i)   == Started(i)
EntryAtRefusal(t) == IF t.st = "none" THEN Sealed ELSE t

\* A query for an unknown key seals it.
EntryAtQuery(t) == IF t.st = "none" THEN Sealed ELSE t

----------------------------------------------------------------------------
\* What the client makes of it

\* A plain refusal proves something only of the one copy that there ever was (R23).
RefusalProves(k) == NoResend /\ sent[k] = 1

Meaning(k, answer) ==
  CASE answer = "executed" -> "executed"
    [] answer = "sealed"   -> "notexecuted"
    [] answer = "unknown"  -> "unknown"
    [] answer = "running"  -> "running"
    [] answer = "refused"  -> IF RefusalProves(k) THEN "notexecuted" ELSE "unknown"

\* The outcome after an answer to a POST was heard. Once doubted, a call is settled by a query only.
Heard(k, answer, heard) ==
  IF heard /\ outcome[k] = "inflight" THEN [outcome EXCEPT ![k] = Meaning(k, answer)] ELSE outcome

----------------------------------------------------------------------------
\* The client

Unsettled == {k \in Keys : outcome[k] \in {"inflight", "unknown"}}
Doubted   == [k \in Keys |-> IF outcome[k] = "inflight" THEN "unknown" ELSE outcome[k]]
InEpoch   == rec.st \in {"quarantined", "open"}

StateAtOpening == IF Unsettled # {} THEN "quarantined" ELSE "open"

\* A new epoch, at any instance, in quarantine while something is unknown. The instances are alike:
\* the first epoch may as well be at the first.
Open(e, i) ==
  /\ ~InEpoch
  /\ e = 1 => i = 1
  /\ e = rec.e + 1
  /\ session' = [session EXCEPT ![e] = [st |-> "live", i |-> i, name |-> uses[i]]]
  /\ rec'     = [e |-> e, st |-> StateAtOpening]
  /\ UNCHANGED <<gen, uses, born, entry, horizon, handler, runs, posts, doubled, outcome, key, sent>>

MayCall == rec.st = "open"

Call(k, minted) ==
  /\ MayCall
  /\ outcome[k] = "new"
  /\ outcome' = [outcome EXCEPT ![k] = "inflight"]
  /\ key'     = [key EXCEPT ![k] = [name |-> session[rec.e].name, minted |-> minted]]
  /\ posts'   = [posts EXCEPT ![k][rec.e] = 1]
  /\ sent'    = [sent EXCEPT ![k] = 1]
  /\ UNCHANGED <<servers, doubled, rec>>

\* The connection of the POST is lost, or the client is, while the epoch lives on.
CallBroken(k) ==
  /\ InEpoch
  /\ outcome[k] = "inflight"
  /\ outcome' = [outcome EXCEPT ![k] = "unknown"]
  /\ UNCHANGED <<servers, posts, doubled, rec, key, sent>>

Abandon ==
  /\ InEpoch
  /\ rec'     = [rec EXCEPT !.st = "abandoned"]
  /\ outcome' = Doubted
  /\ UNCHANGED <<servers, posts, doubled, key, sent>>

\* Asks for the outcome, in the present epoch.
Query(k, answer, heard) ==
  LET i == session[rec.e].i IN
  /\ InEpoch
  /\ outcome[k] = "unknown"
  /\ session[rec.e].st = "live"
  /\ answer = IF Verdict(i, k) = "execute" THEN "sealed" ELSE Verdict(i, k)
  /\ entry'   = IF answer = "sealed" THEN [entry EXCEPT ![uses[i]][k] = EntryAtQuery(@)] ELSE entry
  /\ outcome' = IF heard /\ Meaning(k, answer) \in {"executed", "notexecuted"}
                THEN [outcome EXCEPT ![k] = Meaning(k, answer)] ELSE outcome
  /\ UNCHANGED <<gen, uses, born, horizon, handler, session, runs, posts, doubled, rec, key, sent>>

\* Sends the same call again, with its key, to a server that gave the key's name only.
Resend(k) ==
  /\ InEpoch
  /\ outcome[k] = "unknown"
  /\ sent[k] < MaxSends
  /\ session[rec.e].name = key[k].name
  /\ outcome' = [outcome EXCEPT ![k] = "inflight"]
  /\ posts'   = [posts EXCEPT ![k][rec.e] = @ + 1]
  /\ sent'    = [sent EXCEPT ![k] = @ + 1]
  /\ UNCHANGED <<servers, doubled, rec, key>>

\* The caller decides, on whatever it knows.
Decide(k) ==
  /\ outcome[k] = "unknown"
  /\ outcome' = [outcome EXCEPT ![k] = "decided"]
  /\ UNCHANGED <<servers, posts, doubled, rec, key, sent>>

MayLift == Unsettled = {}

Lift ==
  /\ rec.st = "quarantined"
  /\ MayLift
  /\ rec' = [rec EXCEPT !.st = "open"]
  /\ UNCHANGED <<servers, posts, doubled, outcome, key, sent>>

----------------------------------------------------------------------------
\* The servers

\* A copy of a POST arrives, early or late, at its session's instance or at another.
Arrive(k, e, i, answer, heard) ==
  /\ posts[k][e] > 0
  /\ answer \in Answers(i, k, e)
  /\ posts'   = [posts EXCEPT ![k][e] = @ - 1]
  /\ entry'   = IF answer = "execute"     THEN [entry EXCEPT ![uses[i]][k] = EntryAtStart(i)]
                ELSE IF answer = "sealed" THEN [entry EXCEPT ![uses[i]][k] = EntryAtRefusal(@)]
                ELSE                           entry
  /\ handler' = IF answer = "execute" THEN [handler EXCEPT ![i][k] = "begun"] ELSE handler
  /\ outcome' = IF answer \in {"execute", "running"} THEN outcome ELSE Heard(k, answer, heard)
  /\ answer \in {"execute", "running"} => ~heard     \* there is nothing to hear yet
  /\ UNCHANGED <<gen, uses, born, horizon, session, runs, doubled, rec, key, sent>>

Run(i, k) ==
  /\ handler[i][k] = "begun"
  /\ handler' = [handler EXCEPT ![i][k] = "ran"]
  /\ runs'    = [runs EXCEPT ![k] = @ + 1]
  /\ UNCHANGED <<gen, uses, born, entry, horizon, session, posts, doubled, rec, outcome, key, sent>>

\* The outcome is durable, then it is answered; to all who joined as well.
Finish(i, k, heard) ==
  /\ handler[i][k] = "ran"
  /\ handler' = [handler EXCEPT ![i][k] = "idle"]
  /\ entry'   = IF Seen(i, k) = Started(i) THEN [entry EXCEPT ![uses[i]][k] = Done] ELSE entry
  /\ outcome' = Heard(k, "executed", heard)
  /\ UNCHANGED <<gen, uses, born, horizon, session, runs, posts, doubled, rec, key, sent>>

Crashes == Cardinality(UNION {{i} \X (2..gen[i]) : i \in Instances})

HorizonAfterCrash(h) == h

\* An instance dies with its handlers and sessions, and another generation takes its place.
Crash(i) ==
  /\ Crashes < MaxCrashes
  /\ gen'     = [gen EXCEPT ![i] = @ + 1]
  /\ handler' = [handler EXCEPT ![i] = [k \in Keys |-> "idle"]]
  /\ session' = [e \in Epochs |-> IF session[e].st = "live" /\ session[e].i = i THEN [session[e] EXCEPT !.st = "gone"] ELSE session[e]]
  /\ horizon' = [horizon EXCEPT ![uses[i]] = HorizonAfterCrash(@)]
  /\ UNCHANGED <<uses, born, entry, runs, posts, doubled, rec, outcome, key, sent>>

EndSession(e) ==
  /\ session[e].st = "live"
  /\ session' = [session EXCEPT ![e].st = "gone"]
  /\ UNCHANGED <<gen, uses, born, entry, horizon, handler, runs, posts, doubled, rec, outcome, key, sent>>

RaiseHorizon(l, h) ==
  /\ l <= born
  /\ h > horizon[l]
  /\ horizon' = [horizon EXCEPT ![l] = h]
  /\ UNCHANGED <<gen, uses, born, entry, handler, session, runs, posts, doubled, rec, outcome, key, sent>>

\* An entry, a seal too, is forgotten only when its key lies below the horizon.
Forgettable(l, k) == key[k].minted < horizon[l]

Forget(l, k) ==
  /\ entry[l][k] # Nothing
  /\ Forgettable(l, k)
  /\ entry' = [entry EXCEPT ![l][k] = Nothing]
  /\ UNCHANGED <<gen, uses, born, horizon, handler, session, runs, posts, doubled, rec, outcome, key, sent>>

----------------------------------------------------------------------------
\* Others

\* An intermediary sends a POST twice.
MayDouble(k) == ~NoResend /\ k \notin doubled

Double(k, e) ==
  /\ MayDouble(k)
  /\ posts[k][e] > 0
  /\ posts'   = [posts EXCEPT ![k][e] = @ + 1]
  /\ doubled' = doubled \cup {k}
  /\ UNCHANGED <<servers, rec, outcome, key, sent>>

\* A ledger loses its entries: what takes its place has another name (R28).
NameAfterLoss(l) == born + 1

Lose(l) ==
  /\ l \in {uses[i] : i \in Instances}
  /\ born < MaxNames
  /\ uses'  = [i \in Instances |-> IF uses[i] = l THEN NameAfterLoss(l) ELSE uses[i]]
  /\ born'  = born + 1
  /\ entry' = [entry EXCEPT ![l] = [k \in Keys |-> Nothing]]
  /\ UNCHANGED <<gen, horizon, handler, session, runs, posts, doubled, rec, outcome, key, sent>>

----------------------------------------------------------------------------
Next ==
  \/ \E e \in Epochs, i \in Instances : Open(e, i)
  \/ \E k \in Keys, t \in 1..MaxTime : Call(k, t)
  \/ \E k \in Keys, answer \in Verdicts, heard \in BOOLEAN : Query(k, answer, heard)
  \/ \E k \in Keys : CallBroken(k) \/ Resend(k) \/ Decide(k)
  \/ Abandon \/ Lift
  \/ \E k \in Keys, e \in Epochs, i \in Instances, answer \in Verdicts, heard \in BOOLEAN : Arrive(k, e, i, answer, heard)
  \/ \E i \in Instances, k \in Keys : Run(i, k) \/ (\E heard \in BOOLEAN : Finish(i, k, heard))
  \/ \E i \in Instances : Crash(i)
  \/ \E e \in Epochs : EndSession(e) \/ (\E k \in Keys : Double(k, e))
  \/ \E l \in Names : Lose(l) \/ (\E h \in 1..(MaxTime + 1) : RaiseHorizon(l, h)) \/ (\E k \in Keys : Forget(l, k))

Spec == Init /\ [][Next]_vars
=============================================================================
