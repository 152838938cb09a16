---------------------------------- MODULE Life ----------------------------------
(***************************************************************************)
(* When a server gives something up: a slow reader, a view that has lived  *)
(* long enough, the work of a stream that nobody comes back for, a session *)
(* (R9 R9b). The server alone, with one session; what a cursor is worth is *)
(* said by Window, here a cursor is an ordinal.                            *)
(*                                                                         *)
(* The four budgets are constants, counted in ticks; 0 switches one off.   *)
(* A tick comes at any time, but not before what is due has been done:     *)
(* timers are late by less than a tick. Nothing else is said of clocks.    *)
(*                                                                         *)
(* What the server counts (stalled, aged, detached, idle) and what really  *)
(* happened (slow, old, quiet, still, silence, stood) are kept apart: the  *)
(* server decides by the first, the rules are about the second.            *)
(*                                                                         *)
(* An event is written in two pieces, so that a reader may stop inside one.*)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  MaxStream,  \* calls, each with its stream; 0 is the standalone stream
  MaxEvents,  \* events that a stream issues at most, its last word not counted
  Window,     \* events of a stream that are retained at most
  Stall,      \* stall budget: data pending without a break, and too little accepted
  Detach,     \* detach budget: an unfinished call's stream without a view
  Session,    \* session budget: no request, no view, no call
  ViewLife    \* the bounded life of a view

ASSUME {MaxStream, MaxEvents, Window, Stall, Detach, Session, ViewLife} \subseteq Nat /\ Window > 0

Streams  == 0..MaxStream
Ordinals == 0..(MaxEvents + 1)

VARIABLES
  life,     \* of the session: "live" | "expired" | "terminated"
  stream,   \* Streams -> [st, head, floor]; st "unopened" | "open" | "finished" | "forgotten"
  view,     \* Streams -> [on, at, inside]; inside: the next event has been begun
  last,     \* Streams -> [w, n]: what was last written on the stream's newest connection
  \* what the server counts, in ticks
  stalled, aged, detached,  \* Streams -> Nat
  idle,
  \* what happened: ticks that each of it has lasted, as far as it matters
  slow,     \* Streams -> data was pending, and no whole event accepted
  old,      \* Streams -> the view has been there
  quiet,    \* Streams -> there was no view, though the call runs
  still,    \* no request, view or call
  silence,  \* the client has asked for nothing
  stood     \* Streams -> where the last view ended

clocks == <<stalled, aged, detached, idle>>
truth  == <<slow, old, quiet, still, silence, stood>>
vars   == <<life, stream, view, last, clocks, truth>>

----------------------------------------------------------------------------
\* Values

NoView  == [on |-> FALSE, at |-> 0, inside |-> FALSE]
At(n)   == [on |-> TRUE, at |-> n, inside |-> FALSE]
Wrote(w, n) == [w |-> w, n |-> n]

Max(a, b) == IF a > b THEN a ELSE b
OnAll(n)  == [s \in Streams |-> n]

Init ==
  /\ life   = "live"
  /\ stream = [s \in Streams |-> [st |-> IF s = 0 THEN "open" ELSE "unopened", head |-> 0, floor |-> 0]]
  /\ view   = OnAll(NoView)
  /\ last   = OnAll(Wrote("nothing", 0))
  /\ stalled = OnAll(0) /\ aged = OnAll(0) /\ detached = OnAll(0) /\ idle = 0
  /\ slow = OnAll(0) /\ old = OnAll(0) /\ quiet = OnAll(0) /\ still = 0 /\ silence = 0 /\ stood = OnAll(0)

Running(s) == s # 0 /\ stream[s].st = "open"
Pending(s) == view[s].on /\ (view[s].inside \/ view[s].at < stream[s].head)
Overtaken(s) == view[s].on /\ ~view[s].inside /\ view[s].at < stream[s].floor

----------------------------------------------------------------------------
\* What is due

\* A view, a call that runs. (A request is over at once here: it starts the count anew.)
InUse == \E s \in Streams : view[s].on \/ Running(s)

StallDue(s)  == Stall > 0 /\ view[s].on /\ stalled[s] >= Stall
\* A view ends between two events.
LifeDue(s)   == ViewLife > 0 /\ view[s].on /\ ~view[s].inside /\ aged[s] >= ViewLife
DetachDue(s) == Detach > 0 /\ Running(s) /\ ~view[s].on /\ detached[s] >= Detach
SessionDue   == Session > 0 /\ ~InUse /\ idle >= Session

\* Once its time is over, no further event is begun on a view: else a busy stream never stands between two.
MayBegin(s) == ~LifeDue(s)

----------------------------------------------------------------------------
\* Parts of steps

\* The stream s becomes r; one that is finished, without a view and with nothing retained is forgotten.
Settled(r, on) == IF r.st = "finished" /\ ~on /\ r.floor = r.head THEN [r EXCEPT !.st = "forgotten"] ELSE r

Becomes(s, r, v) ==
  /\ stream' = [stream EXCEPT ![s] = Settled(r, v.on)]
  /\ view'   = [view EXCEPT ![s] = v]

\* One event more.
Issued(r) == [r EXCEPT !.head = @ + 1, !.floor = IF r.head + 1 - @ > Window THEN @ + 1 ELSE @]

\* A view begins: its counts start anew.
DetachedAfterView(s) == 0

Begins(s, n) ==
  /\ last'     = [last EXCEPT ![s] = Wrote("position", n)]
  /\ stalled'  = [stalled EXCEPT ![s] = 0]
  /\ aged'     = [aged EXCEPT ![s] = 0]
  /\ detached' = [detached EXCEPT ![s] = DetachedAfterView(s)]
  /\ slow'     = [slow EXCEPT ![s] = 0]
  /\ old'      = [old EXCEPT ![s] = 0]
  /\ quiet'    = [quiet EXCEPT ![s] = 0]

\* A view ends, with these words; the stream is as good as before.
AfterView(s) == stream[s]

Ends(s, words) ==
  /\ view[s].on
  /\ Becomes(s, AfterView(s), NoView)
  /\ last'    = [last EXCEPT ![s] = Wrote(words, view[s].at)]
  /\ stalled' = [stalled EXCEPT ![s] = 0]
  /\ aged'    = [aged EXCEPT ![s] = 0]
  /\ slow'    = [slow EXCEPT ![s] = 0]
  /\ old'     = [old EXCEPT ![s] = 0]
  /\ stood'   = [stood EXCEPT ![s] = view[s].at]
  /\ UNCHANGED <<life, detached, idle, quiet, still, silence>>

\* A request of the client's: a POST, a GET, also one that is refused (R9b).
IdleAfterRequest == 0

Asked ==
  /\ idle'    = IdleAfterRequest
  /\ still'   = 0
  /\ silence' = 0

----------------------------------------------------------------------------
\* The client

Nothing == UNCHANGED <<last, stalled, aged, detached, slow, old, quiet, stood>>

\* A session that is gone is gone for whatever is asked (R6).
Gone == life # "live"

\* A POST that carries call s opens its stream, with a view (R7).
Call(s) ==
  /\ ~Gone
  /\ s > 0
  /\ stream[s].st = "unopened"
  /\ \A t \in 1..(s - 1) : stream[t].st # "unopened"
  /\ Becomes(s, [stream[s] EXCEPT !.st = "open"], At(0))
  /\ Begins(s, 0)
  /\ Asked
  /\ UNCHANGED <<life, stood>>

\* Any other POST.
Post(verdict) ==
  /\ verdict = IF Gone THEN "gone" ELSE "accepted"
  /\ IF Gone THEN UNCHANGED <<idle, still, silence>> ELSE Asked
  /\ Nothing
  /\ UNCHANGED <<life, stream, view>>

Decide(s, n) ==
  IF Gone                                                       THEN "gone"
  ELSE IF stream[s].st = "unopened" \/ n > stream[s].head       THEN "unissued"
  ELSE IF stream[s].st = "forgotten" \/ n < stream[s].floor     THEN "evicted"
  ELSE IF stream[s].st = "finished" /\ n = stream[s].head       THEN "complete"
  ELSE                                                               "reattach"

Verdicts == {"gone", "unissued", "evicted", "complete", "reattach"}

\* A GET with a cursor. A newer view supersedes the older one (R10).
Resume(s, n, verdict) ==
  /\ verdict = Decide(s, n)
  /\ IF Gone THEN UNCHANGED <<idle, still, silence>> ELSE Asked
  /\ CASE verdict = "reattach" ->
            /\ Becomes(s, stream[s], At(n))
            /\ Begins(s, n)
            /\ UNCHANGED stood
       [] OTHER ->
            /\ Nothing
            /\ UNCHANGED <<stream, view>>
  /\ UNCHANGED life

\* DELETE.
Terminate ==
  /\ life = "live"
  /\ life' = "terminated"
  /\ UNCHANGED <<stream, view, last, clocks, truth>>

\* The connection breaks, and the server notices.
Break(s) == life = "live" /\ Ends(s, "broken")

----------------------------------------------------------------------------
\* Handlers, and the writer of a view

\* Events are no sign of a client.
IdleAfterEvent        == idle
DetachedAfterEvent(s) == detached[s]

Records(s, r) ==
  /\ Becomes(s, r, view[s])
  /\ idle'     = IdleAfterEvent
  /\ detached' = [detached EXCEPT ![s] = DetachedAfterEvent(s)]
  /\ UNCHANGED <<life, last, stalled, aged, truth>>

Emit(s) ==
  /\ life = "live"
  /\ stream[s].st = "open"
  /\ stream[s].head < MaxEvents
  /\ Records(s, Issued(stream[s]))

Answer(s) ==
  /\ life = "live"
  /\ Running(s)
  /\ Records(s, [Issued(stream[s]) EXCEPT !.st = "finished"])

Evict(s) ==
  /\ life = "live"
  /\ stream[s].st \in {"open", "finished"}
  /\ stream[s].floor < stream[s].head
  /\ Becomes(s, [stream[s] EXCEPT !.floor = @ + 1], view[s])
  /\ UNCHANGED <<life, last, clocks, truth>>

\* The first piece of the next event. What has been begun is kept for the view, also when it is evicted.
Begin(s) ==
  /\ life = "live"
  /\ view[s].on
  /\ ~view[s].inside
  /\ view[s].at < stream[s].head
  /\ ~Overtaken(s)
  /\ MayBegin(s)
  /\ view' = [view EXCEPT ![s].inside = TRUE]
  /\ last' = [last EXCEPT ![s] = Wrote("piece", view[s].at + 1)]
  /\ UNCHANGED <<life, stream, clocks, truth>>

\* The rest of it: the reader has accepted a whole event, and is not slow.
StalledAfterEvent(s) == 0
AgedAfterEvent(s)    == aged[s]

Finish(s) ==
  LET n == view[s].at + 1
      delivered == stream[s].st = "finished" /\ n = stream[s].head IN
  /\ life = "live"
  /\ view[s].inside
  /\ Becomes(s, stream[s], IF delivered THEN NoView ELSE At(n))
  /\ last'    = [last EXCEPT ![s] = Wrote("event", n)]
  /\ stalled' = [stalled EXCEPT ![s] = IF delivered THEN 0 ELSE StalledAfterEvent(s)]
  /\ aged'    = [aged EXCEPT ![s] = IF delivered THEN 0 ELSE AgedAfterEvent(s)]
  /\ slow'    = [slow EXCEPT ![s] = 0]
  /\ old'     = [old EXCEPT ![s] = IF delivered THEN 0 ELSE @]
  /\ stood'   = [stood EXCEPT ![s] = IF delivered THEN n ELSE @]
  /\ UNCHANGED <<life, detached, idle, quiet, still, silence>>

----------------------------------------------------------------------------
\* The server gives up

\* Between two events a cut says so, and when to come back; inside one nothing can be said (R9).
LastWords(s) == IF view[s].inside THEN "aborted" ELSE "notice"

CutStalled(s)   == life = "live" /\ StallDue(s) /\ Ends(s, LastWords(s))
CutOvertaken(s) == life = "live" /\ Overtaken(s) /\ Ends(s, LastWords(s))

\* A clean end, with retry.
EndView(s) == life = "live" /\ LifeDue(s) /\ Ends(s, "retry")

\* The work is cancelled, and the stream ends with an error answer that says that the outcome is unknown.
Cancelled(s) == [Issued(stream[s]) EXCEPT !.st = "finished"]

Cancel(s) ==
  /\ life = "live"
  /\ DetachDue(s)
  /\ Becomes(s, Cancelled(s), NoView)
  /\ detached' = [detached EXCEPT ![s] = 0]
  /\ quiet'    = [quiet EXCEPT ![s] = 0]
  /\ UNCHANGED <<life, last, stalled, aged, idle, slow, old, still, silence, stood>>

Expire ==
  /\ life = "live"
  /\ SessionDue
  /\ life' = "expired"
  /\ UNCHANGED <<stream, view, last, clocks, truth>>

----------------------------------------------------------------------------
\* Time

\* A count that nothing asks for is not kept; one that is, no longer than it matters.
Counts(n, budget) == IF budget = 0 THEN 0 ELSE n + 1
Lasts(n, budget)  == IF n > budget THEN n ELSE n + 1

\* How long an event that was begun just in time may outlast the life of its view: it was pending before.
Late  == IF Stall > 0 THEN Stall - 1 ELSE 0
Bound == ViewLife + Late + Detach + Session

Due == SessionDue \/ \E s \in Streams : StallDue(s) \/ LifeDue(s) \/ DetachDue(s)

Tick ==
  /\ life = "live"
  /\ ~Due
  /\ stalled'  = [s \in Streams |-> IF Pending(s) THEN Counts(stalled[s], Stall) ELSE 0]
  /\ aged'     = [s \in Streams |-> IF view[s].on THEN Counts(aged[s], ViewLife) ELSE 0]
  /\ detached' = [s \in Streams |-> IF Running(s) /\ ~view[s].on THEN Counts(detached[s], Detach) ELSE detached[s]]
  /\ idle'     = IF InUse THEN 0 ELSE Counts(idle, Session)
  /\ slow'     = [s \in Streams |-> IF Pending(s) THEN Lasts(slow[s], Stall) ELSE 0]
  /\ old'      = [s \in Streams |-> IF view[s].on THEN Lasts(old[s], ViewLife + Late) ELSE 0]
  /\ quiet'    = [s \in Streams |-> IF Running(s) /\ ~view[s].on THEN Lasts(quiet[s], Detach) ELSE quiet[s]]
  /\ still'    = IF \E s \in Streams : view[s].on \/ Running(s) THEN 0 ELSE Lasts(still, Session)
  /\ silence'  = Lasts(silence, Bound)
  /\ UNCHANGED <<life, stream, view, last, stood>>

----------------------------------------------------------------------------
Next ==
  \/ \E s \in Streams : \/ Call(s) \/ Break(s) \/ Emit(s) \/ Answer(s) \/ Evict(s) \/ Begin(s) \/ Finish(s)
                        \/ CutStalled(s) \/ CutOvertaken(s) \/ EndView(s) \/ Cancel(s)
  \/ \E s \in Streams, n \in Ordinals, verdict \in Verdicts : Resume(s, n, verdict)
  \/ \E verdict \in {"accepted", "gone"} : Post(verdict)
  \/ Terminate \/ Expire \/ Tick

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* Always

TypeOK ==
  /\ life \in {"live", "expired", "terminated"}
  /\ stream \in [Streams -> [st : {"unopened", "open", "finished", "forgotten"}, head : Ordinals, floor : Ordinals]]
  /\ view \in [Streams -> [on : BOOLEAN, at : Ordinals, inside : BOOLEAN]]
  /\ \A s \in Streams : view[s].at <= stream[s].head /\ stream[s].floor <= stream[s].head
  /\ last \in [Streams -> [w : {"nothing", "position", "piece", "event", "notice", "retry", "aborted", "broken"}, n : Ordinals]]

\* On a connection that stopped inside an event comes the rest of that event, or nothing at all.
R9_NothingInsideAnEvent == [][
  \A s \in Streams : (last[s].w = "piece" /\ last'[s] # last[s]) =>
    \/ last'[s] = Wrote("event", last[s].n)
    \/ last'[s].w \in {"aborted", "broken"}
    \/ last'[s].w = "position" ]_vars    \* of a newer connection

\* Whoever takes what he is sent is never cut; whoever does not, is.
R9_OnlyTheSlowAreCut == [][
  \A s \in Streams : (last'[s] # last[s] /\ last'[s].w \in {"notice", "aborted"}) =>
    slow[s] >= Stall \/ view[s].at < stream[s].floor ]_vars
R9_TheSlowAreCut == Stall > 0 => \A s \in Streams : slow[s] <= Stall

\* Whatever ended the view: who comes back to where it stood is served, while that is retained and the session lives.
R9b_StaysResumable ==
  \A s \in Streams : (life = "live" /\ stream[s].st # "unopened" /\ ~view[s].on) =>
    \/ Decide(s, stood[s]) \in {"reattach", "complete"}
    \/ stood[s] < stream[s].floor
    \/ stream[s].st = "forgotten" /\ stood[s] = stream[s].head

\* Work goes on for the whole budget without a view, and no longer.
R9b_CancelledWhenDue == [][
  \A s \in Streams : (stream[s].st = "open" /\ stream'[s].st # "open") => view[s].on \/ Answer(s) \/ quiet[s] >= Detach ]_vars
R9b_NoWorkForNobody == Detach > 0 => \A s \in Streams : quiet[s] <= Detach

\* And the stream says how it ended.
R9b_CancelledIsAnswered == [][
  \A s \in Streams : (stream[s].st = "open" /\ stream'[s].st # "open") => stream'[s].head = stream[s].head + 1 ]_vars

R9b_StandaloneStays == life = "live" => stream[0].st = "open"

\* A session expires only when there has been no request, view or call for the whole budget.
R9b_ExpiresOnlyWithoutLife == [][
  (life = "live" /\ life' = "expired") => still >= Session /\ \A s \in Streams : ~view[s].on /\ ~Running(s) ]_vars

\* No view lives for ever, be its reader quick or slow.
R9b_ViewsAreBounded == (ViewLife > 0 /\ Stall > 0) => \A s \in Streams : old[s] <= ViewLife + Late

\* A client that is gone keeps nothing alive for ever, whoever holds its connections (if all four budgets are set).
R9b_NothingLivesForEver == (Stall > 0 /\ Detach > 0 /\ Session > 0 /\ ViewLife > 0) => (life = "live" => silence <= Bound)

R6_GoneForGood == [][ life # "live" => life' = life ]_vars
R6_GoneIsSaid  == life # "live" => \A s \in Streams, n \in Ordinals : Decide(s, n) = "gone"

----------------------------------------------------------------------------
\* Sometimes

NEVER_StoppedInsideAnEvent == ~(\E s \in Streams : last[s].w = "aborted")
NEVER_NoticeGiven          == ~(\E s \in Streams : last[s].w = "notice")
NEVER_LivedItsTime         == ~(\E s \in Streams : last[s].w = "retry")
NEVER_TimeOverInsideAnEvent == ~(\E s \in Streams : view[s].inside /\ old[s] > ViewLife)
NEVER_CutThenResumed       == [][~(\E s \in Streams, n \in Ordinals : last[s].w = "notice" /\ n = stood[s] /\ Resume(s, n, "reattach"))]_vars
NEVER_CutThenEvicted       == ~(\E s \in Streams : last[s].w = "notice" /\ stream[s].st = "open" /\ Decide(s, stood[s]) = "evicted")
NEVER_SavedAtTheLastTick   == [][~(\E s \in Streams, n \in Ordinals : DetachDue(s) /\ Resume(s, n, "reattach"))]_vars
NEVER_CancelledUndelivered == [][~(\E s \in Streams : stood[s] < stream[s].head /\ Cancel(s))]_vars
NEVER_Expired              == ~(life = "expired")
NEVER_LivesToTheBound      == ~(life = "live" /\ silence = Bound)
NEVER_OutlivesTheBound     == ~(life = "live" /\ silence > Bound)
=============================================================================
