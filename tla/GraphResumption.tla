---------------------------- MODULE GraphResumption ----------------------------
(***************************************************************************)
(* Resumption, with every labelled edge written down as TLC finds it: see  *)
(* GraphWindow. The state is written as it is, but for the views: at most  *)
(* one a session (R10), so they are written by session.                    *)
(***************************************************************************)
EXTENDS ResumptionRules, TLC, Json, IOUtils

Nobody == {}
Anybody == AllCursors
Newcomer == {NoCursor}

ViewOf(e) ==
  LET of == {v \in views : v.e = e} IN
  IF of = {} THEN "none" ELSE LET v == CHOOSE v \in of : TRUE IN [pos |-> v.pos, conn |-> v.conn]

State == [
  sess |-> sess, views |-> [e \in Epochs |-> ViewOf(e)], executed |-> executed, wire |-> wire, request |-> request,
  late |-> late, post |-> post, rec |-> rec, calls |-> calls, applied |-> applied, phase |-> phase, hand |-> hand]

\* An action without parameters has no context.
Params == LET action == TLCGet("action")' IN IF "context" \in DOMAIN action THEN action.context ELSE <<>>

Edge == [a |-> TLCGet("action")'.name, p |-> Params, s |-> State, t |-> State']

Append2File(line) ==
  Serialize(line \o "\n", IOEnv.GRAPH, [format |-> "TXT", charset |-> "UTF-8", openOptions |-> <<"WRITE", "CREATE", "APPEND">>])

\* An action constraint that constrains nothing.
Export == Append2File(ToJson(Edge)).exitValue = 0
=============================================================================
