----------------------------- MODULE HostileClient -----------------------------
(***************************************************************************)
(* The server alone. Its decisions and its steps are those of Resumption;  *)
(* the opponent is any client of the subject, honest or not: it opens      *)
(* sessions, posts calls, and presents any cursor, or none, to any session,*)
(* with an attempt of any number, or none (R10).                           *)
(*                                                                         *)
(* A deployment that cannot bound its retention may be set to replay: then *)
(* a cursor that was evicted is answered in mode replay, to a request that *)
(* declares that it deduplicates, and to no other.                         *)
(***************************************************************************)
EXTENDS ResumptionRules

CONSTANTS
  MaxAttempt, \* attempts are numbered 1..MaxAttempt; 0: without a number
  Replays     \* the deployment replays

ASSUME MaxAttempt \in Nat /\ Replays \in BOOLEAN

Anybody == AllCursors

VARIABLES
  newest    \* Epochs -> number of the newest attempt

hostileVars == <<vars, newest>>

Attempts == 0..MaxAttempt

\* Whether a request says that it deduplicates makes a difference only where somebody replays.
Declares == IF Replays THEN BOOLEAN ELSE {FALSE}

\* The verdict of this deployment: the decision boundary first, then mode replay, then the attempt.
Answer(e, c, attempt, dedup) ==
  LET v == Decide(e, c)
      mode == IF v = "cursor_evicted" /\ Replays THEN IF dedup THEN "replay" ELSE "replay_not_permitted" ELSE v IN
  IF mode \in Accepting \cup {"complete", "replay"} /\ attempt # 0 /\ attempt < newest[e] THEN "attempt_superseded"
  ELSE mode

Answers == Verdicts \cup {"replay", "replay_not_permitted", "attempt_superseded"}

ReplayStart(e) == sess[e].floor

PositionOf(e, c, verdict) ==
  IF verdict \in Accepting THEN Announced(e, c)
  ELSE IF verdict = "complete" THEN c.n
  ELSE IF verdict = "replay" THEN ReplayStart(e)
  ELSE 0

\* Any request at all, with its reply: the verdict, and the position that is announced.
Request(e, c, attempt, dedup, verdict, pos) ==
  /\ verdict = Answer(e, c, attempt, dedup)
  /\ pos = PositionOf(e, c, verdict)
  /\ views' = IF verdict = "replay" THEN Survivors(e) \cup {[e |-> e, pos |-> ReplayStart(e), conn |-> "other"]}
              ELSE ViewsAfter(e, verdict, [e |-> e, pos |-> StartOf(e, c), conn |-> "other"])
  /\ newest' = IF verdict \in Accepting \cup {"complete", "replay"} /\ attempt > newest[e] THEN [newest EXCEPT ![e] = attempt] ELSE newest
  /\ UNCHANGED <<sess, executed, wire, request, late, post, durable, phase, hand>>

Initialize(e) ==
  /\ sess[e].st = "unborn"
  /\ \A d \in 1..(e - 1) : sess[d].st # "unborn"
  /\ sess'  = [sess EXCEPT ![e] = Newborn]
  /\ UNCHANGED <<views, executed, wire, request, late, post, durable, phase, hand, newest>>

\* A POST with call k to any session, once.
Post(k, e, verdict) ==
  /\ executed[k] = 0
  /\ verdict = IF sess[e].st = "live" THEN "executed" ELSE "session_unknown"
  /\ verdict = "executed" => IssuedInAll < MaxEvents
  /\ IF verdict = "executed"
     THEN /\ sess' = [sess EXCEPT ![e] = Issued(@, k)]
          /\ executed' = [executed EXCEPT ![k] = @ + 1]
     ELSE UNCHANGED <<sess, executed>>
  /\ UNCHANGED <<views, wire, request, late, post, durable, phase, hand, newest>>

\* A step that the server takes by itself; a session that is gone has forgotten its attempts too.
Server(step) ==
  /\ step
  /\ newest' = [e \in Epochs |-> IF sess'[e].st = "gone" THEN 0 ELSE newest[e]]

----------------------------------------------------------------------------
HostileNext ==
  \/ \E e \in Epochs, c \in Strangers, attempt \in Attempts, dedup \in Declares, verdict \in Answers, pos \in Ordinals :
       Request(e, c, attempt, dedup, verdict, pos)
  \/ \E e \in Epochs : Initialize(e)
  \/ \E k \in Calls, e \in Epochs, verdict \in {"executed", "session_unknown"} : Post(k, e, verdict)
  \/ \E e \in Epochs : Server(Emit(e)) \/ Server(Finish(e)) \/ Server(EvictOldest(e)) \/ Server(EndSession(e))
  \/ \E v \in ViewValues : Server(Send(v)) \/ Server(EndView(v))

HostileSpec == Init /\ newest = [e \in Epochs |-> 0] /\ [][HostileNext]_hostileVars

----------------------------------------------------------------------------
\* Always, beyond the server's rules of ResumptionRules

\* The request, with the reply that it gets.
Asked(e, c, attempt, dedup) ==
  LET verdict == Answer(e, c, attempt, dedup) IN Request(e, c, attempt, dedup, verdict, PositionOf(e, c, verdict))

Grants(verdict) == verdict \in Accepting \cup {"complete", "replay"}

\* A refusal touches nothing: not the session, not its view, not the attempts.
R5_RefusalTouchesNothing == [][
  (<<sess, views, newest>>' # <<sess, views, newest>>) => \A e \in Epochs, c \in Strangers, attempt \in Attempts, dedup \in Declares :
    ~(~Grants(Answer(e, c, attempt, dedup)) /\ Asked(e, c, attempt, dedup)) ]_hostileVars

\* The view that an answer grants begins where the answer says.
R8_BeginsWhereItSays == [][
  views' # views => \A e \in Epochs, c \in Strangers, attempt \in Attempts, dedup \in Declares :
    (Grants(Answer(e, c, attempt, dedup)) /\ Asked(e, c, attempt, dedup)) =>
      \A v \in views' \ views : v.pos = PositionOf(e, c, Answer(e, c, attempt, dedup)) ]_hostileVars

\* With a cursor: at the cursor; never at another place, be it announced or not.
R4_AtTheCursor == [][
  \A e \in Epochs, c \in Strangers, attempt \in Attempts, dedup \in Declares :
    (Answer(e, c, attempt, dedup) = "reattach" /\ Asked(e, c, attempt, dedup)) =>
      Continues(e, c) /\ [e |-> e, pos |-> c.n, conn |-> "other"] \in views' ]_hostileVars

R6_OnlyInitializeOpens == [][
  \A e \in Epochs : (~Alive(e) /\ Alive(e)') => sess[e].st = "unborn" /\ Initialize(e) ]_hostileVars

R10_AttemptsNeverFall == [][
  \A e \in Epochs : (Alive(e) /\ Alive(e)') => newest'[e] >= newest[e] ]_hostileVars

R10_OlderAttemptIsRefused ==
  \A e \in Epochs, c \in Strangers, attempt \in Attempts \ {0}, dedup \in Declares :
    attempt < newest[e] => ~Grants(Answer(e, c, attempt, dedup))

\* Nothing is replayed to whoever did not say that it deduplicates, nor where the deployment does not.
R5_ReplayedOnlyWhereDeclared ==
  \A e \in Epochs, c \in Strangers, attempt \in Attempts, dedup \in BOOLEAN :
    Answer(e, c, attempt, dedup) = "replay" => Replays /\ dedup

\* Sometimes: each answer is given.
Told(answer) == \E e \in Epochs, c \in Strangers, attempt \in Attempts, dedup \in Declares : Answer(e, c, attempt, dedup) = answer

NEVER_ReplayGranted     == ~Told("replay")
NEVER_ReplayDenied      == ~Told("replay_not_permitted")
NEVER_AttemptSuperseded == ~Told("attempt_superseded")
NEVER_CompleteTold      == ~Told("complete")
NEVER_EvictedTold       == ~Told("cursor_evicted")
NEVER_AheadTold         == ~Told("cursor_ahead")
NEVER_ForeignTold       == ~Told("cursor_foreign")
NEVER_ReattachedLater   == [][~(\E e \in Epochs, n \in Ordinals \ {0} : Request(e, [tag |-> e, n |-> n], 0, FALSE, "reattach", n))]_hostileVars
=============================================================================
