-------------------------- MODULE ContractAlone_bugs --------------------------
(* Services that promise less than Contract: what its users rely on does not follow from them. *)
EXTENDS Contract

\* Of what was emitted the newest is applied.
NewestApply(e) ==
  LET n == Len(emitted[e]) IN
  /\ fate[e] = "current"
  /\ Len(applied[e]) < n
  /\ applied' = [applied EXCEPT ![e] = Append(@, emitted[e][n])]
  /\ outcome' = [k \in Calls |-> IF k = emitted[e][n] /\ outcome[k] = "inflight" THEN "answered" ELSE outcome[k]]
  /\ UNCHANGED <<stream, emitted, fate, placed, executed>>

\* Any event settles whatever waits.
HastyApply(e) ==
  LET n == Len(applied[e]) + 1 IN
  /\ fate[e] = "current"
  /\ n <= Len(emitted[e])
  /\ applied' = [applied EXCEPT ![e] = Append(@, emitted[e][n])]
  /\ outcome' = [k \in Calls |-> IF outcome[k] = "inflight" THEN "answered" ELSE outcome[k]]
  /\ UNCHANGED <<stream, emitted, fate, placed, executed>>

\* What arrives is applied, abandoned or not.
LateApply(e) ==
  LET n == Len(applied[e]) + 1 IN
  /\ fate[e] # "none"
  /\ n <= Len(emitted[e])
  /\ applied' = [applied EXCEPT ![e] = Append(@, emitted[e][n])]
  /\ UNCHANGED <<stream, emitted, fate, placed, executed, outcome>>

\* An epoch begins beside the one that is there.
BesideBegin(e) ==
  /\ fate[e] = "none"
  /\ stream[e] # "unborn"
  /\ fate' = [fate EXCEPT ![e] = "current"]
  /\ UNCHANGED <<stream, emitted, applied, placed, executed, outcome>>

\* Work runs whenever it is asked for.
RepeatingExecute(k) ==
  /\ placed[k] # 0
  /\ stream[placed[k]] = "open"
  /\ Len(emitted[placed[k]]) < MaxEvents
  /\ executed' = [executed EXCEPT ![k] = @ + 1]
  /\ emitted'  = [emitted EXCEPT ![placed[k]] = Append(@, k)]
  /\ UNCHANGED <<stream, fate, applied, placed, outcome>>

\* The end of an epoch says nothing of its calls.
WordlessAbandon(e) ==
  /\ fate[e] = "current"
  /\ fate' = [fate EXCEPT ![e] = "abandoned"]
  /\ UNCHANGED <<stream, emitted, applied, placed, executed, outcome>>
=============================================================================
