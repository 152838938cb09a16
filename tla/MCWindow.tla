------------------------------- MODULE MCWindow -------------------------------
(* The rules, for model checking. The configurations choose the scopes. *)
EXTENDS WindowRules
=============================================================================
