----------------------------- MODULE MCResumption -----------------------------
(* The rules, with the values that a configuration file cannot write. *)
EXTENDS ResumptionRules

Nobody   == {}           \* no other client
Newcomer == {NoCursor}   \* another client attaches without a cursor (R7)
Anybody  == AllCursors   \* other clients present whatever they like (R1 R5)
=============================================================================
