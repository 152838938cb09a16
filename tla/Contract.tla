------------------------------- MODULE Contract -------------------------------
(***************************************************************************)
(* What a pair of client and server promises to the two programs that use  *)
(* it, and nothing of how: no connection, cursor, window, view or retry.   *)
(*                                                                         *)
(*   An epoch's events are applied in the order in which they were emitted,*)
(*   as a prefix that grows by one, until the epoch is given up, openly    *)
(*   and for good. A call's work runs at most once, in the epoch that made *)
(*   the call, and its answer is one of the epoch's events. A call either  *)
(*   gets its answer together with that event, or an unknown outcome, which*)
(*   stays unknown until the caller decides.                               *)
(*                                                                         *)
(* ContractRefined shows that everything that Resumption does is a step of *)
(* this, or no step at all.                                                *)
(***************************************************************************)
EXTENDS Naturals, Sequences

CONSTANTS
  MaxEpoch,   \* epochs there ever are
  MaxEvents,  \* events that an epoch emits at most
  MaxCalls    \* calls that are ever made

ASSUME {MaxEpoch, MaxEvents} \subseteq Nat \ {0} /\ MaxCalls \in Nat

Epochs == 1..MaxEpoch
Calls  == 1..MaxCalls

VARIABLES
  stream,   \* Epochs -> what the serving program may do: "unborn" | "open" | "closed"
  emitted,  \* Epochs -> payloads emitted, in order. 0: a notification; k: the answer to call k
  fate,     \* Epochs -> what the using program was told: "none" | "current" | "abandoned"
  applied,  \* Epochs -> payloads applied, in order
  placed,   \* Calls -> the epoch that made the call, 0: not made
  executed, \* Calls -> how often its work ran
  outcome   \* Calls -> "new" | "inflight" | "answered" | "unknown" | "resolved"

vars == <<stream, emitted, fate, applied, placed, executed, outcome>>

Init ==
  /\ stream   = [e \in Epochs |-> "unborn"]
  /\ emitted  = [e \in Epochs |-> <<>>]
  /\ fate     = [e \in Epochs |-> "none"]
  /\ applied  = [e \in Epochs |-> <<>>]
  /\ placed   = [k \in Calls |-> 0]
  /\ executed = [k \in Calls |-> 0]
  /\ outcome  = [k \in Calls |-> "new"]

Unknowns == {k \in Calls : outcome[k] = "unknown"}

\* Certainty about every call in flight ends in one step.
Doubted == [k \in Calls |-> IF outcome[k] = "inflight" THEN "unknown" ELSE outcome[k]]

----------------------------------------------------------------------------
\* The serving program

Birth(e) ==
  /\ stream[e] = "unborn"
  /\ stream' = [stream EXCEPT ![e] = "open"]
  /\ UNCHANGED <<emitted, fate, applied, placed, executed, outcome>>

Emit(e) ==
  /\ stream[e] = "open"
  /\ Len(emitted[e]) < MaxEvents
  /\ emitted' = [emitted EXCEPT ![e] = Append(@, 0)]
  /\ UNCHANGED <<stream, fate, applied, placed, executed, outcome>>

\* The work of call k runs, once, in its own epoch, and its answer is an event of it. Whether the
\* caller still waits is unknown here: an epoch may have been given up on the other side.
Execute(k) ==
  /\ placed[k] # 0
  /\ executed[k] = 0
  /\ stream[placed[k]] = "open"
  /\ Len(emitted[placed[k]]) < MaxEvents
  /\ executed' = [executed EXCEPT ![k] = 1]
  /\ emitted'  = [emitted EXCEPT ![placed[k]] = Append(@, k)]
  /\ UNCHANGED <<stream, fate, applied, placed, outcome>>

\* Nothing is emitted any more, be it that the stream ended or that it was lost.
Close(e) ==
  /\ stream[e] = "open"
  /\ stream' = [stream EXCEPT ![e] = "closed"]
  /\ UNCHANGED <<emitted, fate, applied, placed, executed, outcome>>

----------------------------------------------------------------------------
\* The using program

\* An epoch begins when all earlier ones are over; one that was passed over counts as abandoned.
Begin(e) ==
  /\ fate[e] = "none"
  /\ stream[e] # "unborn"
  /\ \A d \in Epochs : fate[d] # "current" /\ (d > e => fate[d] = "none")
  /\ fate' = [d \in Epochs |-> IF d < e THEN "abandoned" ELSE IF d = e THEN "current" ELSE "none"]
  /\ UNCHANGED <<stream, emitted, applied, placed, executed, outcome>>

\* The next event of the current epoch is applied; an answer settles its call in the same step, if
\* the call has no outcome yet.
Apply(e) ==
  LET n == Len(applied[e]) + 1 IN
  /\ fate[e] = "current"
  /\ n <= Len(emitted[e])
  /\ applied' = [applied EXCEPT ![e] = Append(@, emitted[e][n])]
  /\ outcome' = [k \in Calls |-> IF k = emitted[e][n] /\ outcome[k] = "inflight" THEN "answered" ELSE outcome[k]]
  /\ UNCHANGED <<stream, emitted, fate, placed, executed>>

\* The epoch is over: the program is told so, once, and of every call that is now unknown.
Abandon(e) ==
  /\ fate[e] = "current"
  /\ fate'    = [fate EXCEPT ![e] = "abandoned"]
  /\ outcome' = Doubted
  /\ UNCHANGED <<stream, emitted, applied, placed, executed>>

\* No call is made while an outcome of an earlier epoch is unknown.
Call(k, e) ==
  /\ outcome[k] = "new"
  /\ fate[e] = "current"
  /\ \A j \in Unknowns : placed[j] = e
  /\ outcome' = [outcome EXCEPT ![k] = "inflight"]
  /\ placed'  = [placed EXCEPT ![k] = e]
  /\ UNCHANGED <<stream, emitted, fate, applied, executed>>

\* Certainty ends while the epoch lives on.
Doubt ==
  /\ outcome' = Doubted
  /\ UNCHANGED <<stream, emitted, fate, applied, placed, executed>>

Resolve(k) ==
  /\ outcome[k] = "unknown"
  /\ outcome' = [outcome EXCEPT ![k] = "resolved"]
  /\ UNCHANGED <<stream, emitted, fate, applied, placed, executed>>

----------------------------------------------------------------------------
Next ==
  \/ \E e \in Epochs : Birth(e) \/ Emit(e) \/ Close(e) \/ Begin(e) \/ Apply(e) \/ Abandon(e)
  \/ \E k \in Calls : Execute(k) \/ Resolve(k) \/ (\E e \in Epochs : Call(k, e))
  \/ Doubt

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* What follows from it, for whoever uses the pair.

R4_AppliedIsPrefix ==
  \A e \in Epochs : applied[e] = SubSeq(emitted[e], 1, Len(applied[e]))

R22_OneCurrentEpoch ==
  \A d, e \in Epochs : fate[d] = "current" /\ fate[e] # "none" => e <= d

R23_RunsAtMostOnce == \A k \in Calls : executed[k] <= 1

\* "Answered" is never said of work that did not run, nor before its answer was applied.
R23_AnsweredIsTrue ==
  \A k \in Calls : outcome[k] = "answered" =>
    executed[k] = 1 /\ \E i \in 1..Len(applied[placed[k]]) : applied[placed[k]][i] = k

\* No call is left waiting for an epoch that is over.
R23_NobodyWaitsForever ==
  \A k \in Calls : outcome[k] = "inflight" => fate[placed[k]] = "current"

R22_NothingAfterAbandon == [][
  \A e \in Epochs : applied'[e] # applied[e] => fate[e] = "current" ]_vars

NEVER_ExecutedUnderAbandonedEpoch == [][
  ~(\E k \in Calls : executed'[k] # executed[k] /\ fate[placed[k]] = "abandoned") ]_vars
NEVER_ResolvedThoughExecuted == ~(\E k \in Calls : outcome[k] = "resolved" /\ executed[k] = 1)
NEVER_AbandonedWithEventsLost == ~(\E e \in Epochs : fate[e] = "abandoned" /\ Len(applied[e]) < Len(emitted[e]))
=============================================================================
