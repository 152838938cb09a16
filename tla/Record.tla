-------------------------------- MODULE Record --------------------------------
(***************************************************************************)
(* The client's durable record: when its token advances (R20), and who may *)
(* write it (R22 R30).                                                     *)
(*                                                                         *)
(* An application that cannot put its effect and the token into one        *)
(* transaction chooses, by name, what a crash between the two costs:       *)
(*   atomic  effect and token in one transaction                           *)
(*   repeat  first the effect, then the token                              *)
(*   lose    first the token, then the effect                              *)
(*                                                                         *)
(* Several processes may believe that the record is theirs. A lease is     *)
(* taken by raising the generation in the record; who lost it is not told, *)
(* goes on until it next writes, and has events in hand. The server serves *)
(* strictly after the cursor (that is Resumption's business), knows views  *)
(* by the generation of their attempt, and may end a session at any time.  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Processes,  \* that run the client
  Policy,     \* "atomic" | "repeat" | "lose"
  MaxGen,     \* leases that are ever taken
  MaxCrashes, \* crashes of processes, together
  MaxEpoch,
  MaxEvents   \* events of an epoch

OneProcess   == {1}
TwoProcesses == {1, 2}

ASSUME Policy \in {"atomic", "repeat", "lose"}

Epochs == 1..MaxEpoch

VARIABLES
  \* durable
  rec,     \* the record: [st, e, tok, gen, call]; st "open" | "abandoned"; call "none" | "inflight" | "unknown"
  effects, \* Epochs -> ordinals whose effect the application has, in order
  \* the server
  head,    \* Epochs -> events issued
  live,    \* the sessions that are not gone
  view,    \* [p, gen] of the newest attempt
  \* each process, lost in a crash
  proc,    \* Processes -> [st, gen, e]; st "off" | "detached" | "streaming" | "doubt" | "fenced"
  next,    \* Processes -> ordinal that its connection brings next
  hand,    \* Processes -> [n, half]: the event in hand, n = 0: none; half: the first of two writes is done
  crashes

vars == <<rec, effects, head, live, view, proc, next, hand, crashes>>

Off     == [st |-> "off", gen |-> 0, e |-> 0]
NoHand  == [n |-> 0, half |-> FALSE]

Init ==
  /\ rec     = [st |-> "open", e |-> 1, tok |-> 0, gen |-> 0, call |-> "none"]
  /\ effects = [e \in Epochs |-> <<>>]
  /\ head    = [e \in Epochs |-> 0]
  /\ live    = {1}
  /\ view    = [p |-> 0, gen |-> 0]
  /\ proc    = [p \in Processes |-> Off]
  /\ next    = [p \in Processes |-> 0]
  /\ hand    = [p \in Processes |-> NoHand]
  /\ crashes = 0

----------------------------------------------------------------------------
\* Who may write the record (R30)

Holds(p)     == proc[p].gen = rec.gen
SameEpoch(p) == proc[p].e = rec.e

MayAdvance(p) == Holds(p) /\ SameEpoch(p) /\ rec.st = "open" /\ rec.tok + 1 = hand[p].n
MayFence(p)   == Holds(p) /\ SameEpoch(p) /\ rec.st = "open"
MayCall(p)    == Holds(p) /\ SameEpoch(p) /\ rec.st = "open"
MayBegin(p)   == Holds(p) /\ SameEpoch(p) /\ rec.st = "abandoned"

\* A process that finds that the record is no longer its own stops, and does nothing else.
StateOfLoser == "off"

Stop(p) ==
  /\ proc' = [proc EXCEPT ![p] = IF StateOfLoser = "off" THEN Off ELSE [@ EXCEPT !.st = StateOfLoser]]
  /\ hand' = [hand EXCEPT ![p] = NoHand]
  /\ next' = [next EXCEPT ![p] = 0]

----------------------------------------------------------------------------
\* Processes

\* Takes the lease: one durable write that raises the generation. Whether the last holder is dead
\* cannot be known.
Take(p) ==
  /\ proc[p].st = "off"
  /\ rec.gen < MaxGen
  /\ rec'  = [rec EXCEPT !.gen = @ + 1]
  /\ proc' = [proc EXCEPT ![p] = [st |-> IF rec.st = "open" THEN "detached" ELSE "fenced", gen |-> rec.gen + 1, e |-> rec.e]]
  /\ UNCHANGED <<effects, head, live, view, next, hand, crashes>>

Crash(p) ==
  /\ proc[p].st # "off"
  /\ crashes < MaxCrashes
  /\ crashes' = crashes + 1
  /\ proc' = [proc EXCEPT ![p] = Off]
  /\ hand' = [hand EXCEPT ![p] = NoHand]
  /\ next' = [next EXCEPT ![p] = 0]
  /\ UNCHANGED <<rec, effects, head, live, view>>

\* What a server answers to a resumption: an attempt older than the newest one is told so (R10).
AttemptOf(p) == proc[p].gen

Answer(p) ==
  IF proc[p].e \notin live           THEN "refused"
  ELSE IF AttemptOf(p) < view.gen    THEN "superseded"
  ELSE                                    "accepted"

\* Asks to continue after the durable token. A session that lives may refuse as well: evicted.
Resume(p, answer) ==
  /\ proc[p].st = "detached"
  /\ hand[p] = NoHand
  /\ \/ answer = Answer(p)
     \/ answer = "refused" /\ Answer(p) = "accepted"
  /\ CASE answer = "accepted" ->
            /\ proc' = [proc EXCEPT ![p].st = "streaming"]
            /\ next' = [next EXCEPT ![p] = IF SameEpoch(p) THEN rec.tok + 1 ELSE 1]
            /\ view' = [p |-> p, gen |-> AttemptOf(p)]
            /\ UNCHANGED hand
       [] answer = "refused" ->
            /\ proc' = [proc EXCEPT ![p].st = "doubt"]
            /\ UNCHANGED <<next, view, hand>>
       [] answer = "superseded" ->    \* another of its kind goes on: no fence, no DELETE
            /\ Stop(p)
            /\ UNCHANGED view
  /\ UNCHANGED <<rec, effects, head, live, crashes>>

\* The connection brings an event. A superseded one may have some in flight.
Read(p) ==
  /\ proc[p].st = "streaming"
  /\ hand[p] = NoHand
  /\ next[p] <= head[proc[p].e]
  /\ hand' = [hand EXCEPT ![p] = [n |-> next[p], half |-> FALSE]]
  /\ next' = [next EXCEPT ![p] = @ + 1]
  /\ UNCHANGED <<rec, effects, head, live, view, proc, crashes>>

\* Doubt while an event is in hand: the next one does not continue it, or a POST met 404 (R22).
Doubt(p) ==
  /\ proc[p].st = "streaming"
  /\ proc' = [proc EXCEPT ![p].st = "doubt"]
  /\ next' = [next EXCEPT ![p] = 0]
  /\ UNCHANGED <<rec, effects, head, live, view, hand, crashes>>

\* The connection is cut, or ended by the server; in hand stays what was read.
Lose(p) ==
  /\ proc[p].st = "streaming"
  /\ proc' = [proc EXCEPT ![p].st = "detached"]
  /\ next' = [next EXCEPT ![p] = 0]
  /\ UNCHANGED <<rec, effects, head, live, view, hand, crashes>>

Advanced(p) == [rec EXCEPT !.tok = hand[p].n]
Applied(p)  == [effects EXCEPT ![proc[p].e] = Append(@, hand[p].n)]

\* The transaction that applies the event in hand, or the first or second of two writes. A write of
\* the record is refused to whoever may not advance it; an effect of its own nobody can refuse.
Commit(p, outcome) ==
  /\ hand[p] # NoHand
  /\ LET writesRecord == Policy = "atomic" \/ (Policy = "repeat") = hand[p].half
         appliesEvent == Policy = "atomic" \/ (Policy = "lose") = hand[p].half
         isLast       == Policy = "atomic" \/ hand[p].half
     IN
     /\ outcome = IF writesRecord /\ ~MayAdvance(p) THEN "refused" ELSE "written"
     /\ IF outcome = "refused"
        THEN /\ Stop(p)
             /\ UNCHANGED <<rec, effects>>
        ELSE /\ rec'     = IF writesRecord THEN Advanced(p) ELSE rec
             /\ effects' = IF appliesEvent THEN Applied(p) ELSE effects
             /\ hand'    = [hand EXCEPT ![p] = IF isLast THEN NoHand ELSE [@ EXCEPT !.half = TRUE]]
             /\ UNCHANGED <<proc, next>>
  /\ UNCHANGED <<head, live, view, crashes>>

\* The record says that a call is in flight, before its POST leaves.
Call(p, outcome) ==
  /\ proc[p].st \in {"detached", "streaming"}
  /\ rec.call = "none"
  /\ outcome = IF MayCall(p) THEN "written" ELSE "refused"
  /\ IF outcome = "written"
     THEN rec' = [rec EXCEPT !.call = "inflight"] /\ UNCHANGED <<proc, next, hand>>
     ELSE Stop(p) /\ UNCHANGED rec
  /\ UNCHANGED <<effects, head, live, view, crashes>>

Fence(p, outcome) ==
  /\ proc[p].st = "doubt"
  /\ outcome = IF MayFence(p) THEN "written" ELSE "refused"
  /\ IF outcome = "written"
     THEN /\ rec'  = [rec EXCEPT !.st = "abandoned", !.call = IF @ = "inflight" THEN "unknown" ELSE @]
          /\ proc' = [proc EXCEPT ![p].st = "fenced"]
          /\ UNCHANGED <<next, hand>>
     ELSE /\ Stop(p)
          /\ UNCHANGED rec
  /\ UNCHANGED <<effects, head, live, view, crashes>>

\* Best effort, after the fence is durable (R22).
Delete(p) ==
  /\ proc[p].st = "fenced"
  /\ proc[p].e \in live
  /\ live' = live \ {proc[p].e}
  /\ UNCHANGED <<rec, effects, head, view, proc, next, hand, crashes>>

\* The next epoch, in one write. (Quarantine is the business of Resumption and Ledger.)
Begin(p, outcome) ==
  /\ proc[p].st = "fenced"
  /\ rec.e < MaxEpoch
  /\ outcome = IF MayBegin(p) THEN "written" ELSE "refused"
  /\ IF outcome = "written"
     THEN /\ rec'  = [rec EXCEPT !.st = "open", !.e = @ + 1, !.tok = 0]
          /\ live' = live \cup {rec.e + 1}
          /\ view' = [p |-> 0, gen |-> 0]
          /\ proc' = [proc EXCEPT ![p].st = "detached", ![p].e = rec.e + 1]
          /\ next' = [next EXCEPT ![p] = 0]
          /\ hand' = [hand EXCEPT ![p] = NoHand]
     ELSE /\ Stop(p)
          /\ UNCHANGED <<rec, live, view>>
  /\ UNCHANGED <<effects, head, crashes>>

----------------------------------------------------------------------------
\* The server

Emit(e) ==
  /\ e \in live
  /\ head[e] < MaxEvents
  /\ head' = [head EXCEPT ![e] = @ + 1]
  /\ UNCHANGED <<rec, effects, live, view, proc, next, hand, crashes>>

----------------------------------------------------------------------------
Next ==
  \/ \E p \in Processes : Take(p) \/ Crash(p) \/ Read(p) \/ Doubt(p) \/ Lose(p) \/ Delete(p)
  \/ \E p \in Processes, answer \in {"accepted", "refused", "superseded"} : Resume(p, answer)
  \/ \E p \in Processes, outcome \in {"written", "refused"} :
       Commit(p, outcome) \/ Call(p, outcome) \/ Fence(p, outcome) \/ Begin(p, outcome)
  \/ \E e \in Epochs : Emit(e)

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* Always: what the application gets

\* The tokens of earlier epochs are gone with their records: of them the order can be said, not the end.
R20_NothingTwice ==
  \A e \in Epochs : \A i, j \in 1..Len(effects[e]) : i < j => effects[e][i] # effects[e][j]

R20_InOrder ==
  \A e \in Epochs : \A i, j \in 1..Len(effects[e]) : i < j => effects[e][i] <= effects[e][j]

\* An event that a living process is about to apply is not lost yet.
InHand(n) == \E p \in Processes : proc[p].e = rec.e /\ hand[p] = [n |-> n, half |-> TRUE]
Missing   == {n \in 1..rec.tok : (\A i \in 1..Len(effects[rec.e]) : effects[rec.e][i] # n) /\ ~InHand(n)}
Repeats(e) == Len(effects[e]) - Cardinality({effects[e][i] : i \in 1..Len(effects[e])})

R20_NothingLost   == Missing = {}
R20_NothingAhead  == \A i \in 1..Len(effects[rec.e]) : effects[rec.e][i] <= rec.tok

\* Repeat: a crash repeats the one event that was in hand, at once, and no other.
R20_OnlyTheEventInHandTwice ==
  \A e \in Epochs :
    /\ Repeats(e) <= crashes
    /\ \A i \in 1..Len(effects[e]) : effects[e][i] - 1 \in {0} \cup {effects[e][j] : j \in 1..(i - 1)}
    /\ \A i \in 2..Len(effects[e]) : effects[e][i] \in {effects[e][i-1], effects[e][i-1] + 1}

\* Lose: a crash loses the one event that was in hand, and no other.
R20_OnlyTheEventInHandLost == Cardinality(Missing) <= crashes

\* Always: whose the record is

\* The token, the fence, a call and the next epoch are written by the holder only.
R30_OnlyTheHolderAdvances == [][
  \A p \in Processes : (Commit(p, "written") /\ rec' # rec) => Holds(p) /\ SameEpoch(p) /\ rec.st = "open" ]_vars
R30_OnlyTheHolderAbandons == [][ \A p \in Processes : Fence(p, "written") => Holds(p) /\ SameEpoch(p) ]_vars
R30_OnlyTheHolderCalls    == [][ \A p \in Processes : Call(p, "written") => Holds(p) /\ SameEpoch(p) /\ rec.st = "open" ]_vars
R30_OnlyTheHolderBegins   == [][ \A p \in Processes : Begin(p, "written") => Holds(p) /\ SameEpoch(p) /\ rec.st = "abandoned" ]_vars

\* The session of the record is never deleted while the record is open.
R22_DeletedBehindTheFence == rec.st = "open" => rec.e \in live

R23_FenceEndsCertainty == rec.st = "abandoned" => rec.call # "inflight"

R10_OlderAttemptYields == [][ (rec'.e = rec.e) => view'.gen >= view.gen ]_vars

\* The holder is never told that it was superseded.
R30_HolderNotLockedOut == [][ \A p \in Processes : Resume(p, "superseded") => ~Holds(p) ]_vars

----------------------------------------------------------------------------
\* Sometimes

NEVER_TwoStreaming        == ~(Cardinality({p \in Processes : proc[p].st = "streaming"}) = 2)
NEVER_LoserCommits        == [][~(\E p \in Processes : rec.tok + 1 = hand[p].n /\ Commit(p, "refused"))]_vars
NEVER_LoserFences         == [][~(\E p \in Processes : Fence(p, "refused") /\ rec.st = "open")]_vars
NEVER_LoserCalls          == [][~(\E p \in Processes : Call(p, "refused"))]_vars
NEVER_LoserSuperseded     == [][~(\E p \in Processes : Resume(p, "superseded"))]_vars
NEVER_CommitBehindOwnFence == [][~(\E p \in Processes : proc[p].st = "fenced" /\ Holds(p) /\ Commit(p, "refused"))]_vars
NEVER_TakenBetweenWrites  == [][~(\E p, q \in Processes : p # q /\ hand[p].half /\ Take(q))]_vars
NEVER_CrashBetweenWrites  == [][~(\E p \in Processes : hand[p].half /\ Crash(p))]_vars
NEVER_NewHolderApplies    == ~(rec.tok = MaxEvents /\ rec.gen = MaxGen)
NEVER_SecondEpochByOther  == ~(rec.e = 2 /\ rec.tok > 0 /\ rec.gen > 1)
=============================================================================
