--------------------------- MODULE ContractRefined ---------------------------
(***************************************************************************)
(* Resumption refines Contract. The mapping needs three histories that no  *)
(* decision reads: what each session ever issued (a session that is gone   *)
(* has forgotten it), the payloads that were applied (Resumption remembers *)
(* their ordinals), and the epoch in which each call was made.             *)
(***************************************************************************)
EXTENDS MCResumption

VARIABLES
  ever,   \* Epochs -> payloads ever issued
  got,    \* Epochs -> payloads applied, as they came off the wire
  placed  \* Calls -> the epoch that made the call

histories == <<ever, got, placed>>

InitWithHistory ==
  /\ Init
  /\ ever   = [e \in Epochs |-> <<>>]
  /\ got    = [e \in Epochs |-> <<>>]
  /\ placed = [k \in Calls |-> 0]

NextWithHistory ==
  /\ Next
  /\ ever'   = [e \in Epochs |-> IF Len(sess'[e].events) > Len(ever[e]) THEN sess'[e].events ELSE ever[e]]
  /\ got'    = [e \in Epochs |-> IF applied'[e] # applied[e] THEN Append(got[e], hand.k) ELSE got[e]]
  /\ placed' = [k \in Calls |-> IF calls[k] = "new" /\ calls'[k] # "new" THEN rec.e ELSE placed[k]]

SpecWithHistory == InitWithHistory /\ [][NextWithHistory]_<<vars, histories>>

----------------------------------------------------------------------------
\* The mapping

StreamOf(e) ==
  IF sess[e].st = "unborn" THEN "unborn" ELSE IF sess[e].st = "live" THEN "open" ELSE "closed"

FateOf(e) ==
  IF e > rec.e THEN "none"
  ELSE IF e = rec.e /\ RecordLive THEN "current" ELSE "abandoned"

C == INSTANCE Contract WITH
  stream   <- [e \in Epochs |-> StreamOf(e)],
  emitted  <- ever,
  fate     <- [e \in Epochs |-> FateOf(e)],
  applied  <- got,
  placed   <- placed,
  executed <- executed,
  outcome  <- calls

RefinesContract == C!Spec
=============================================================================
