-------------------------- MODULE GraphHostileServer --------------------------
(***************************************************************************)
(* HostileServer, with every labelled edge written down as TLC finds it:   *)
(* see GraphWindow. Its next-state relation wraps the client's steps in an *)
(* operator, whose name and not theirs TLC would give the edges. So here   *)
(* each of them has a name of its own, with a G before it that the export  *)
(* takes away. That this changes nothing TLC checks: every step is one of  *)
(* HostileNext, and states and edges are as many as the manifest says of   *)
(* HostileServer.                                                          *)
(***************************************************************************)
EXTENDS HostileServer, TLC, Json, IOUtils

Ends == replaying' = (replaying /\ phase' = "streaming")

GSay(f)          == Say(f) /\ TRUE
GReadTorn        == ReadTorn /\ TRUE
GReadReplay(e, n, outcome) == ReadReplay(e, n, outcome) /\ TRUE
GDropRepeat(e, n) == DropRepeat(e, n) /\ TRUE
GOpen            == Open /\ Ends
GReadRefused     == ReadRefused /\ Ends
GReadEnd         == ReadEnd /\ Ends
GFence           == Fence /\ Ends
GCrash           == Crash /\ Ends
GReadOpened(e)   == ReadOpened(e) /\ Ends
GResume(e, n)    == Resume(e, n) /\ Ends
GReadAccepted(e, n, outcome) == ReadAccepted(e, n, outcome) /\ Ends
GReadComplete(e, n, outcome) == ReadComplete(e, n, outcome) /\ Ends
GReadEvent(e, n, outcome) == (wire # <<>> => ~IsRepeat(wire[1])) /\ ReadEvent(e, n, outcome) /\ Ends
GCommit(outcome) == Commit(outcome) /\ Ends
GCall(k)           == Call(k) /\ Ends
GCallBroken(k)     == CallBroken(k) /\ Ends
GPostRefused(k)    == PostRefused(k) /\ Ends
GResolveUnknown(k) == ResolveUnknown(k) /\ Ends

\* Every frame that is ever sayable, as a constant: else TLC does not name the action that takes one.
FrameValues ==
  {Frame("opened", e, 0, 0) : e \in Epochs} \cup {Frame("refused", 0, 0, 0), Torn, End}
  \cup {Frame(kind, e, n, 0) : kind \in {"accepted", "complete", "replay"}, e \in Epochs, n \in Ordinals}
  \cup {Frame("event", e, n, k) : e \in Epochs, n \in 1..MaxEvents, k \in 0..MaxCalls}

GraphNext ==
  \/ \E f \in FrameValues : GSay(f)
  \/ GReadTorn
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"proven", "doubt"} : GReadReplay(e, n, outcome)
  \/ \E e \in Epochs, n \in Ordinals : GDropRepeat(e, n)
  \/ GOpen \/ GReadRefused \/ GReadEnd \/ GFence \/ GCrash
  \/ \E e \in Epochs : GReadOpened(e)
  \/ \E e \in Epochs, n \in Ordinals : GResume(e, n)
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"proven", "doubt"} : GReadAccepted(e, n, outcome) \/ GReadComplete(e, n, outcome)
  \/ \E e \in Epochs, n \in Ordinals, outcome \in {"next", "doubt"} : GReadEvent(e, n, outcome)
  \/ \E outcome \in {"applied", "failed", "refused"} : GCommit(outcome)
  \/ \E k \in Calls : GCall(k) \/ GCallBroken(k) \/ GPostRefused(k) \/ GResolveUnknown(k)

GraphSpec == Init /\ replaying = FALSE /\ [][GraphNext]_hostileVars

OnlyHostileSteps == [][HostileNext]_hostileVars

\* The server's variables stand still, but for post: a POST is never executed here.
State == [
  wire |-> wire, request |-> request, post |-> post, rec |-> rec, calls |-> calls, applied |-> applied, phase |-> phase,
  hand |-> hand, replaying |-> replaying]

\* An action without parameters has no context.
Params == LET action == TLCGet("action")' IN IF "context" \in DOMAIN action THEN action.context ELSE <<>>

Name == LET name == TLCGet("action")'.name IN SubSeq(name, 2, Len(name))

Edge == [a |-> Name, p |-> Params, s |-> State, t |-> State']

Append2File(line) ==
  Serialize(line \o "\n", IOEnv.GRAPH, [format |-> "TXT", charset |-> "UTF-8", openOptions |-> <<"WRITE", "CREATE", "APPEND">>])

\* An action constraint that constrains nothing.
Export == Append2File(ToJson(Edge)).exitValue = 0
=============================================================================
