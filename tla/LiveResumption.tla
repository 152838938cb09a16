---------------------------- MODULE LiveResumption ----------------------------
(***************************************************************************)
(* Eventually: whatever was emitted is applied, or its epoch is given up   *)
(* openly, or its stream is suspended and the caller told (R26). And no    *)
(* client reconnects for ever without getting on.                          *)
(*                                                                         *)
(* The steps are those of Resumption. New is the budget of attempts: each  *)
(* resumption uses one up, progress gives them back, and at the limit the  *)
(* stream is suspended. Progress is an event applied, or a proven view that*)
(* lived for a keep-alive interval; within an interval, what is pending is *)
(* delivered, so that a view counts as having lived only if nothing is.    *)
(*                                                                         *)
(* Fairness: the client takes its next step, and the server its next step  *)
(* for the present connection; both are unique, so that one weak fairness  *)
(* each is enough. The environment owes nothing: it may cut every          *)
(* connection, end every view, evict, end sessions, and let commits fail;  *)
(* only crashes are bounded, for a client that always crashes gets nowhere.*)
(***************************************************************************)
EXTENDS MCResumption

CONSTANTS
  Limit,     \* resumptions without progress, at most
  MaxCrashes

VARIABLES
  tries,     \* resumptions since there was progress
  crashes

liveVars == <<vars, tries, crashes>>

Progress == tries' = 0

\* What a resumption costs.
Cost == 1

\* A view that lived for an interval, with nothing pending: the reader has what there is.
NothingPending == rec.tok = HeadOf(rec.e) /\ hand = NoHand /\ wire = <<>>

Lived ==
  /\ phase = "streaming"
  /\ tries > 0
  /\ OnCurrent(rec.e)
  /\ NothingPending
  /\ Progress
  /\ UNCHANGED <<vars, crashes>>

Suspend ==
  /\ phase = "detached"
  /\ hand = NoHand
  /\ tries >= Limit
  /\ phase' = "suspended"
  /\ UNCHANGED <<server, wire, request, late, post, durable, hand, tries, crashes>>

Try(e, n) ==
  /\ tries < Limit
  /\ Resume(e, n)
  /\ tries' = tries + Cost
  /\ UNCHANGED crashes

CommitNext(outcome) ==
  /\ Commit(outcome)
  /\ IF outcome = "applied" THEN Progress ELSE UNCHANGED tries
  /\ UNCHANGED crashes

\* The next epoch begins with the whole budget; so does a process.
Begin(e) == ReadOpened(e) /\ Progress /\ UNCHANGED crashes

CrashOnce ==
  /\ crashes < MaxCrashes
  /\ Crash
  /\ crashes' = crashes + 1
  /\ Progress

Plain(step) == step /\ UNCHANGED <<tries, crashes>>

----------------------------------------------------------------------------
\* The client's next step, but for a commit that fails.
ClientStep ==
  \/ \E e \in Epochs, n \in 0..MaxEvents : Try(e, n)
  \/ Suspend
  \/ Plain(Open) \/ Plain(ReadRefused) \/ Plain(ReadEnd) \/ Plain(Fence)
  \/ \E e \in Epochs : Begin(e)
  \/ \E e \in Epochs, n \in 0..MaxEvents, outcome \in {"proven", "doubt"} :
       Plain(ReadAccepted(e, n, outcome)) \/ Plain(ReadComplete(e, n, outcome))
  \/ \E e \in Epochs, n \in 0..MaxEvents, outcome \in {"next", "doubt"} : Plain(ReadEvent(e, n, outcome))
  \/ \E outcome \in {"applied", "refused"} : CommitNext(outcome)

\* The server's next step for the present connection. A view that was overtaken ends (R9).
ServerStep ==
  \/ \E e \in Epochs : Plain(OpenSession(e))
  \/ \E e \in Epochs, n \in 0..MaxEvents, verdict \in Verdicts : Plain(ServeResume(e, n, verdict))
  \/ \E v \in ViewValues : v.conn = "current" /\ (Plain(Send(v)) \/ (v.pos < sess[v.e].floor /\ Plain(EndView(v))))

Environment ==
  \/ \E e \in Epochs : Plain(Emit(e)) \/ Plain(Finish(e)) \/ Plain(EvictOldest(e)) \/ Plain(EndSession(e))
  \/ \E e \in Epochs, n \in 0..MaxEvents, verdict \in Verdicts : Plain(ServeLate(e, n, verdict))
  \/ \E v \in ViewValues : Plain(EndView(v)) \/ (v.conn # "current" /\ Plain(Send(v)))
  \/ \E n \in 0..WireCap : Plain(Cut(n))
  \/ \E k \in Calls : Plain(Execute(k)) \/ Plain(Call(k)) \/ Plain(CallBroken(k)) \/ Plain(PostRefused(k)) \/ Plain(ResolveUnknown(k))
  \/ CommitNext("failed")
  \/ CrashOnce
  \/ Lived

LiveNext == ClientStep \/ ServerStep \/ Environment

LiveSpec ==
  /\ Init /\ tries = 0 /\ crashes = 0
  /\ [][LiveNext]_liveVars
  /\ WF_liveVars(ClientStep)
  /\ WF_liveVars(ServerStep)

----------------------------------------------------------------------------
\* Eventually

Emitted(e, n) == RecordLive /\ rec.e = e /\ HeadOf(e) >= n
Settled(e, n) == rec.e # e \/ rec.tok >= n \/ rec.st = "abandoned" \/ phase = "suspended"

R26_AppliedOrToldSo ==
  \A e \in Epochs, n \in 1..MaxEvents : Emitted(e, n) ~> Settled(e, n)

\* Who resumes again and again gets on again and again. There are finitely many events to apply, so
\* that getting on for ever is to live for ever.
R26_NoReconnectLivelock == []<>(phase = "resuming") => []<><<Lived>>_liveVars

R22_DoubtEnds == (phase = "doubt") ~> (phase # "doubt")

\* Sometimes
NEVER_Suspended        == phase # "suspended"
NEVER_LivedAndReset    == [][~Lived]_liveVars
NEVER_AppliedAtTheLastTry == [][~(tries = Limit /\ applied' # applied)]_liveVars
NEVER_SettledByAbandonment == ~(rec.st = "abandoned" /\ HeadOf(rec.e) > rec.tok)
=============================================================================
