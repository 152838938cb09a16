------------------------------ MODULE Resumption ------------------------------
(***************************************************************************)
(* One logical stream, one client, and the network between them: how a     *)
(* dropped event stream is continued, refused, or abandoned.               *)
(*                                                                         *)
(* Three parties act, and the environment against all of them:             *)
(*                                                                         *)
(*   server       OpenSession Emit Execute Finish EvictOldest EndSession   *)
(*                ServeResume ServeLate Send EndView                       *)
(*   client       Open ReadOpened Resume ReadAccepted ReadComplete         *)
(*                ReadRefused ReadEvent ReadEnd Commit Fence               *)
(*                Call CallBroken PostRefused ResolveUnknown Crash         *)
(*   network      Cut                                                      *)
(*   strangers    Other                                                    *)
(*                                                                         *)
(* Rules are cited by their ids in package spec: R4 is "strictly after".   *)
(* Each small decision that a rule makes is an operator of its own (Decide,*)
(* StartOf, Proves, IsNext, Committable, ...), for a mutant to replace.    *)
(*                                                                         *)
(* Every choice and every reply is a parameter of its action, so a state   *)
(* and a label have exactly one successor, and the labelled edges can be   *)
(* counted. For the same reason no guard contains a disjunction or an      *)
(* existential quantifier: TLC would count its branches as edges.          *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  MaxEpoch,   \* sessions that are ever opened
  MaxEvents,  \* events that the sessions alive have issued together, at most
  Window,     \* events a session retains at most (R3)
  WireCap,    \* frames in flight beyond which a server waits (flow control)
  MaxCalls,   \* calls the client ever makes
  Strangers   \* the cursors that other clients of the subject present, a subset of AllCursors

ASSUME {MaxEpoch, MaxEvents, Window, WireCap} \subseteq Nat \ {0} /\ MaxCalls \in Nat

Epochs == 1..MaxEpoch
Calls  == 1..MaxCalls

VARIABLES
  \* the server
  sess,     \* Epochs -> session: [st, events, floor, handed]
            \*   st      "unborn" | "live" | "finished" (live, its stream has ended) | "gone"
            \*   events  payloads ever issued, in order; the ordinal is the index. 0: a notification; k: the answer to call k
            \*   floor   highest evicted ordinal;  head is Len(events)
            \*   handed  highest ordinal ever handed to a view (R7)
  views,    \* set of views: [e, pos, conn]; pos: last ordinal written
            \*   conn  "current": the client's present connection
            \*         "dead":    one that the client has left and the server has not noticed
            \*         "other":   of another client of the same subject
  executed, \* Calls -> how often the call's work ran
  \* the network
  wire,     \* frames in flight to the client on its present connection: sequence of [kind, e, n, k]
  request,  \* request in flight on the present connection: [kind, e, n], kind "none" | "open" | "resume"
  late,     \* a resumption of a connection the client has left, which may still arrive: [kind, e, n]
  post,     \* Calls -> epoch of the session in which the call's POST is under way, 0: none
  \* the client: durable
  rec,      \* the record: [st, e, tok]; st "none" | "quarantined" | "open" | "abandoned"
  calls,    \* Calls -> "new" | "inflight" | "unknown" | "answered" | "resolved"
  applied,  \* Epochs -> sequence of the ordinals that the application applied (what R4 is about)
  \* the client: volatile, lost in a crash
  phase,    \* "idle" | "opening" | "detached" | "resuming" | "streaming" | "complete" | "doubt"
  hand      \* the event taken from the wire and not yet committed: [e, n, k], n = 0: none

vars == <<sess, views, executed, wire, request, late, post, rec, calls, applied, phase, hand>>
server  == <<sess, views, executed>>
durable == <<rec, calls, applied>>

----------------------------------------------------------------------------
\* Values

Unborn  == [st |-> "unborn", events |-> <<>>, floor |-> 0, handed |-> 0]
Gone    == [st |-> "gone",   events |-> <<>>, floor |-> 0, handed |-> 0]
Newborn == [st |-> "live",   events |-> <<>>, floor |-> 0, handed |-> 0]

NoRequest == [kind |-> "none", e |-> 0, n |-> 0]
NoHand    == [e |-> 0, n |-> 0, k |-> 0]
NoCursor  == [tag |-> 0, n |-> 0]

\* What a request may carry: no cursor; or a session's tag (one of them is no session of ours) and
\* an ordinal (one of them is beyond every head).
AllCursors == {NoCursor} \cup [tag : 1..(MaxEpoch + 1), n : 0..(MaxEvents + 1)]

\* Every view that can be, so that TLC can name the actions that take one.
ViewValues == [e : Epochs, pos : 0..MaxEvents, conn : {"current", "dead", "other"}]

Frame(kind, e, n, k) == [kind |-> kind, e |-> e, n |-> n, k |-> k]
End == Frame("end", 0, 0, 0)

Max(a, b) == IF a > b THEN a ELSE b

HeadOf(e)   == Len(sess[e].events)
IssuedInAll == Cardinality(UNION {{e} \X (1..HeadOf(e)) : e \in Epochs})
Alive(e)    == sess[e].st \in {"live", "finished"}
RecordLive  == rec.st \in {"quarantined", "open"}
Unknowns    == {k \in Calls : calls[k] = "unknown"}
InFlight    == {k \in Calls : calls[k] = "inflight"}

Init ==
  /\ sess     = [e \in Epochs |-> Unborn]
  /\ views    = {}
  /\ executed = [k \in Calls |-> 0]
  /\ wire     = <<>>
  /\ request  = NoRequest
  /\ late     = NoRequest
  /\ post     = [k \in Calls |-> 0]
  /\ rec      = [st |-> "none", e |-> 0, tok |-> 0]
  /\ calls    = [k \in Calls |-> "new"]
  /\ applied  = [e \in Epochs |-> <<>>]
  /\ phase    = "idle"
  /\ hand     = NoHand

----------------------------------------------------------------------------
\* The decision boundary (R1 R5 R6): exactly one verdict for a session and a cursor.

Decide(e, c) ==
  IF ~Alive(e)                                             THEN "session_unknown"
  ELSE IF c = NoCursor                                     THEN "attach"
  ELSE IF c.tag # e                                        THEN "cursor_foreign"
  ELSE IF c.n < sess[e].floor                              THEN "cursor_evicted"
  ELSE IF c.n > HeadOf(e)                                  THEN "cursor_ahead"
  ELSE IF sess[e].st = "finished" /\ c.n = HeadOf(e)       THEN "complete"
  ELSE                                                          "reattach"

Accepting == {"attach", "reattach"}
Verdicts  == Accepting \cup {"complete", "session_unknown", "cursor_foreign", "cursor_evicted", "cursor_ahead"}

\* The position after which an accepted view begins: R4 with a cursor, R7 without one.
StartOf(e, c) == IF c = NoCursor THEN Max(sess[e].floor, sess[e].handed) ELSE c.n

\* The position that the answer announces (R8).
Announced(e, c) == StartOf(e, c)

\* The views that a request which is granted leaves alone (R10). One that learns that it has everything
\* is granted too: whoever holds the older view has been overtaken by its own client.
Survivors(e) == {v \in views : v.e # e}

\* The views after a verdict: the new one replaces the older one.
ViewsAfter(e, verdict, view) ==
  IF verdict \in Accepting       THEN Survivors(e) \cup {view}
  ELSE IF verdict = "complete"   THEN Survivors(e)
  ELSE                                views

Granted(verdict) == verdict \in Accepting \cup {"complete"}

----------------------------------------------------------------------------
\* Connections

OnCurrent(e) == {v \in views : v.e = e /\ v.conn = "current"} # {}

\* The wire once the server has ended e's view cleanly, if it was on the present connection.
EndingView(e) == IF OnCurrent(e) THEN Append(wire, End) ELSE wire

\* The server goes on believing in a connection that the client has left.
Orphaned == {[v EXCEPT !.conn = IF @ = "current" THEN "dead" ELSE @] : v \in views}

\* A resumption may arrive after its connection has been left. (A late initialize is left out:
\* it opens a session that nobody holds, just as one does whose answer is lost.)
LateOnLeaving == IF request.kind = "resume" THEN request ELSE late

\* The client closes its present connection: what was in flight is never read (R21).
Leave ==
  /\ wire'    = <<>>
  /\ request' = NoRequest
  /\ late'    = LateOnLeaving
  /\ views'   = Orphaned

\* The network breaks the present connection: any suffix of what is in flight is lost.
InTransit == IF wire # <<>> /\ wire[Len(wire)] = End THEN Len(wire) - 1 ELSE Len(wire)

Cut(n) ==
  /\ phase \in {"opening", "resuming", "streaming"}
  /\ n <= InTransit
  /\ wire'    = Append(SubSeq(wire, 1, n), End)
  /\ wire'    # wire
  /\ request' = NoRequest
  /\ late'    = LateOnLeaving
  /\ views'   = Orphaned
  /\ UNCHANGED <<sess, executed, post, durable, phase, hand>>

----------------------------------------------------------------------------
\* The server

\* Issues the next ordinal; when the window is full, the oldest event leaves it (R2 R3 R11).
Issued(s, payload) ==
  [s EXCEPT !.events = Append(@, payload),
            !.floor  = IF Len(s.events) + 1 - @ > Window THEN @ + 1 ELSE @]

OpenSession(e) ==
  /\ request.kind = "open"
  /\ sess[e].st = "unborn"
  /\ \A d \in 1..(e - 1) : sess[d].st # "unborn"
  /\ sess'    = [sess EXCEPT ![e] = Newborn]
  /\ request' = NoRequest
  /\ wire'    = Append(wire, Frame("opened", e, 0, 0))
  /\ UNCHANGED <<views, executed, late, post, durable, phase, hand>>

Emit(e) ==
  /\ sess[e].st = "live"
  /\ IssuedInAll < MaxEvents
  /\ sess' = [sess EXCEPT ![e] = Issued(@, 0)]
  /\ UNCHANGED <<views, executed, wire, request, late, post, durable, phase, hand>>

\* The POST of call k arrives, its work runs, its answer is issued. A session that dies in between
\* looks like one that dies just after.
Execute(k) ==
  /\ post[k] # 0
  /\ sess[post[k]].st = "live"
  /\ IssuedInAll < MaxEvents
  /\ sess'     = [sess EXCEPT ![post[k]] = Issued(@, k)]
  /\ executed' = [executed EXCEPT ![k] = @ + 1]
  /\ post'     = [post EXCEPT ![k] = 0]
  /\ UNCHANGED <<views, wire, request, late, durable, phase, hand>>

\* The stream ends after an answer; nothing more is issued on it (R11).
Finish(e) ==
  /\ sess[e].st = "live"
  /\ sess[e].events # <<>>
  /\ sess[e].events[HeadOf(e)] # 0
  /\ sess' = [sess EXCEPT ![e].st = "finished"]
  /\ UNCHANGED <<views, executed, wire, request, late, post, durable, phase, hand>>

\* Age (and, in the real window, bytes) evicts the oldest event at any time (R3).
EvictOldest(e) ==
  /\ Alive(e)
  /\ sess[e].floor < HeadOf(e)
  /\ sess' = [sess EXCEPT ![e].floor = @ + 1]
  /\ UNCHANGED <<views, executed, wire, request, late, post, durable, phase, hand>>

\* Expiry, DELETE, or loss with its process: the session is gone, and everything it knew (R6).
EndSession(e) ==
  /\ Alive(e)
  /\ sess'  = [sess EXCEPT ![e] = Gone]
  /\ wire'  = EndingView(e)
  /\ views' = {v \in views : v.e # e}
  /\ UNCHANGED <<executed, request, late, post, durable, phase, hand>>

\* Answers the resumption in flight on the present connection, and only there.
ServeResume(e, n, verdict) ==
  LET c == [tag |-> e, n |-> n] IN
  /\ request = [kind |-> "resume", e |-> e, n |-> n]
  /\ verdict = Decide(e, c)
  /\ request' = NoRequest
  /\ views'   = ViewsAfter(e, verdict, [e |-> e, pos |-> StartOf(e, c), conn |-> "current"])
  /\ wire'    = Append(wire, IF verdict \in Accepting     THEN Frame("accepted", e, Announced(e, c), 0)
                             ELSE IF verdict = "complete" THEN Frame("complete", e, n, 0)
                             ELSE                              Frame("refused", e, 0, 0))
  /\ UNCHANGED <<sess, executed, late, post, durable, phase, hand>>

\* A resumption of a connection that the client has left: its answer goes nowhere, but it may
\* take the view over from a newer one (harmless: the client resumes).
ServeLate(e, n, verdict) ==
  LET c == [tag |-> e, n |-> n] IN
  /\ late = [kind |-> "resume", e |-> e, n |-> n]
  /\ verdict = Decide(e, c)
  /\ late' = NoRequest
  /\ views' = ViewsAfter(e, verdict, [e |-> e, pos |-> StartOf(e, c), conn |-> "dead"])
  /\ wire'  = IF Granted(verdict) THEN EndingView(e) ELSE wire
  /\ UNCHANGED <<sess, executed, request, post, durable, phase, hand>>

\* Another client of the same subject presents any cursor, or none, to any session.
Other(e, c, verdict) ==
  /\ c \in Strangers
  /\ verdict = Decide(e, c)
  /\ views' = ViewsAfter(e, verdict, [e |-> e, pos |-> StartOf(e, c), conn |-> "other"])
  /\ wire'  = IF Granted(verdict) THEN EndingView(e) ELSE wire
  /\ UNCHANGED <<sess, executed, request, late, post, durable, phase, hand>>

\* Writes the next retained event on a view. A view that was overtaken (pos < floor) can only end.
Send(v) ==
  LET n == v.pos + 1 IN
  /\ v \in views
  /\ v.pos >= sess[v.e].floor
  /\ v.pos < HeadOf(v.e)
  /\ v.conn = "current" => Len(wire) < WireCap
  /\ views' = (views \ {v}) \cup {[v EXCEPT !.pos = n]}
  /\ sess'  = [sess EXCEPT ![v.e].handed = Max(@, n)]
  /\ wire'  = IF v.conn = "current" THEN Append(wire, Frame("event", v.e, n, sess[v.e].events[n])) ELSE wire
  /\ UNCHANGED <<executed, request, late, post, durable, phase, hand>>

\* The server ends a view: it noticed a dead connection, the reader was overtaken or slow, the
\* stream is finished and delivered, or the view has lived long enough.
EndView(v) ==
  /\ v \in views
  /\ views' = views \ {v}
  /\ wire'  = IF v.conn = "current" THEN Append(wire, End) ELSE wire
  /\ UNCHANGED <<sess, executed, request, late, post, durable, phase, hand>>

----------------------------------------------------------------------------
\* The client

\* Asks for a session, when it has none.
Open ==
  /\ phase = "idle"
  /\ {e \in Epochs : sess[e].st = "unborn"} # {}
  /\ request' = [kind |-> "open", e |-> 0, n |-> 0]
  /\ phase'   = "opening"
  /\ UNCHANGED <<server, wire, late, post, durable, hand>>

\* What the record of the next epoch says at first (R23).
StateAtOpening == IF Unknowns # {} THEN "quarantined" ELSE "open"

\* The answer to initialize names the session and the stream's position 0 (R7). The record of the
\* epoch is one durable write, which carries over every unresolved unknown (R23).
ReadOpened(e) ==
  /\ phase = "opening"
  /\ wire # <<>>
  /\ wire[1] = Frame("opened", e, 0, 0)
  /\ rec'   = [st |-> StateAtOpening, e |-> e, tok |-> 0]
  /\ phase' = "detached"
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, calls, applied, hand>>

\* Asks to continue after the durable token, once nothing is in hand (R20 R21).
Resume(e, n) ==
  /\ phase = "detached"
  /\ hand = NoHand
  /\ rec.e = e
  /\ rec.tok = n
  /\ request' = [kind |-> "resume", e |-> e, n |-> n]
  /\ phase'   = "resuming"
  /\ UNCHANGED <<server, wire, late, post, durable, hand>>

\* Proof before use (R21): the same session, at the cursor that was sent.
Proves(f) == f.e = rec.e /\ f.n = rec.tok

ReadAccepted(e, n, outcome) ==
  /\ phase = "resuming"
  /\ wire # <<>>
  /\ wire[1] = Frame("accepted", e, n, 0)
  /\ outcome = IF Proves(wire[1]) THEN "proven" ELSE "doubt"
  /\ IF outcome = "proven"
     THEN /\ phase' = "streaming"
          /\ wire'  = Tail(wire)
          /\ UNCHANGED <<views, request, late>>
     ELSE /\ phase' = "doubt"
          /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

\* The calls after certainty about all that are in flight has ended (R23).
Doubted == [k \in Calls |-> IF calls[k] = "inflight" THEN "unknown" ELSE calls[k]]

\* 204: nothing was missed and nothing will come. A call that is unanswered becomes unknown (R21).
ReadComplete(e, n, outcome) ==
  /\ phase = "resuming"
  /\ wire # <<>>
  /\ wire[1] = Frame("complete", e, n, 0)
  /\ outcome = IF Proves(wire[1]) THEN "proven" ELSE "doubt"
  /\ IF outcome = "proven"
     THEN phase' = "complete" /\ calls' = Doubted
     ELSE phase' = "doubt" /\ calls' = calls
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, rec, applied, hand>>

\* Any final refusal of a resumption ends the epoch (R22).
ReadRefused ==
  /\ phase = "resuming"
  /\ wire # <<>>
  /\ wire[1].kind = "refused"
  /\ phase' = "doubt"
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

\* A hole is as fatal as a repeat (R21 R22).
IsNext(f) == f.e = rec.e /\ f.n = rec.tok + 1

ReadEvent(e, n, outcome) ==
  /\ phase = "streaming"
  /\ hand = NoHand
  /\ wire # <<>>
  /\ wire[1].kind = "event"
  /\ wire[1].e = e
  /\ wire[1].n = n
  /\ outcome = IF IsNext(wire[1]) THEN "next" ELSE "doubt"
  /\ IF outcome = "next"
     THEN /\ hand' = [e |-> e, n |-> n, k |-> wire[1].k]
          /\ wire' = Tail(wire)
          /\ UNCHANGED <<views, request, late, phase>>
     ELSE /\ phase' = "doubt"
          /\ Leave
          /\ UNCHANGED hand
  /\ UNCHANGED <<sess, executed, post, durable>>

\* The connection is over, by a clean end or not: the client goes on from its token (R24 R25).
ReadEnd ==
  /\ phase \in {"opening", "resuming", "streaming"}
  /\ wire # <<>>
  /\ wire[1] = End
  /\ phase' = IF phase = "opening" THEN "idle" ELSE "detached"
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

\* The record is still the one that the event in hand continues (R20 R30).
Committable == RecordLive /\ rec.e = hand.e /\ rec.tok + 1 = hand.n

\* One transaction: the event is applied, the token advances, an answered call leaves the record.
\* An answer to a call that is not in flight is dropped (R29).
Commit(outcome) ==
  /\ hand # NoHand
  /\ CASE outcome = "applied" ->
            /\ Committable
            /\ rec'     = [rec EXCEPT !.tok = hand.n]
            /\ applied' = [applied EXCEPT ![hand.e] = Append(@, hand.n)]
            /\ calls'   = [k \in Calls |-> IF k = hand.k /\ calls[k] = "inflight" THEN "answered" ELSE calls[k]]
            /\ UNCHANGED <<wire, request, late, views, phase>>
       [] outcome = "failed" ->    \* nothing changed; what the connection brings next can no longer be applied
            /\ Committable
            /\ phase' = IF phase = "streaming" THEN "detached" ELSE phase
            /\ IF phase = "streaming" THEN Leave ELSE UNCHANGED <<wire, request, late, views>>
            /\ UNCHANGED durable
       [] outcome = "refused" ->   \* the fence came first
            /\ ~Committable
            /\ UNCHANGED <<durable, wire, request, late, views, phase>>
  /\ hand' = NoHand
  /\ UNCHANGED <<sess, executed, post>>

\* The durable fence (R22): the epoch is over, and every call in flight is unknown, in one write.
\* What is in hand stays there: its commit may already be on its way.
Fence ==
  /\ phase = "doubt"
  /\ rec'   = [rec EXCEPT !.st = "abandoned"]
  /\ calls' = Doubted
  /\ phase' = "idle"
  /\ UNCHANGED <<server, wire, request, late, post, applied, hand>>

\* A call enters the record before its POST leaves (R20). A crash between the two looks like a POST
\* that never arrives. One call at a time, numbers in order (R29), none in quarantine (R23).
MayCall == rec.st = "open"

Call(k) ==
  /\ MayCall
  /\ phase \in {"detached", "resuming", "streaming"}
  /\ InFlight = {}
  /\ calls[k] = "new"
  /\ \A j \in 1..(k - 1) : calls[j] # "new"
  /\ calls' = [calls EXCEPT ![k] = "inflight"]
  /\ post'  = [post EXCEPT ![k] = rec.e]
  /\ UNCHANGED <<server, wire, request, late, rec, applied, phase, hand>>

\* The POST's connection broke before it carried a position, executed or not: an unknown outcome,
\* while the epoch lives on (R24).
CallBroken(k) ==
  /\ calls[k] = "inflight"
  /\ phase \in {"detached", "resuming", "streaming"}
  /\ calls' = [calls EXCEPT ![k] = "unknown"]
  /\ UNCHANGED <<server, wire, request, late, post, rec, applied, phase, hand>>

\* The POST met a session that is gone: 404, and the client reads it (R6 R22).
PostRefused(k) ==
  /\ calls[k] = "inflight"
  /\ phase \in {"detached", "resuming", "streaming"}
  /\ post[k] # 0
  /\ ~Alive(post[k])
  /\ post'  = [post EXCEPT ![k] = 0]
  /\ phase' = "doubt"
  /\ Leave
  /\ UNCHANGED <<sess, executed, durable, hand>>

\* The caller decides about an unknown outcome; the last decision ends the quarantine (R23).
ResolveUnknown(k) ==
  /\ calls[k] = "unknown"
  /\ calls' = [calls EXCEPT ![k] = "resolved"]
  /\ rec'   = IF rec.st = "quarantined" /\ Unknowns = {k} THEN [rec EXCEPT !.st = "open"] ELSE rec
  /\ UNCHANGED <<server, wire, request, late, post, applied, phase, hand>>

\* The client dies and starts again from its record. While it is down only others move, which they
\* may as well do before or after: one step.
Crash ==
  /\ phase' = IF RecordLive THEN "detached" ELSE "idle"
  /\ hand'  = NoHand
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable>>

----------------------------------------------------------------------------
Next ==
  \/ \E e \in Epochs : \/ OpenSession(e) \/ Emit(e) \/ Finish(e) \/ EvictOldest(e) \/ EndSession(e)
                       \/ ReadOpened(e)
  \/ \E e \in Epochs, n \in 0..MaxEvents, verdict \in Verdicts :
       ServeResume(e, n, verdict) \/ ServeLate(e, n, verdict)
  \/ \E e \in Epochs, c \in Strangers, verdict \in Verdicts : Other(e, c, verdict)
  \/ \E v \in ViewValues : Send(v) \/ EndView(v)
  \/ \E n \in 0..WireCap : Cut(n)
  \/ Open \/ ReadRefused \/ ReadEnd \/ Fence \/ Crash
  \/ \E e \in Epochs, n \in 0..MaxEvents : Resume(e, n)
  \/ \E e \in Epochs, n \in 0..MaxEvents, outcome \in {"proven", "doubt"} :
       ReadAccepted(e, n, outcome) \/ ReadComplete(e, n, outcome)
  \/ \E e \in Epochs, n \in 0..MaxEvents, outcome \in {"next", "doubt"} : ReadEvent(e, n, outcome)
  \/ \E outcome \in {"applied", "failed", "refused"} : Commit(outcome)
  \/ \E k \in Calls : Execute(k) \/ Call(k) \/ CallBroken(k) \/ PostRefused(k) \/ ResolveUnknown(k)

Spec == Init /\ [][Next]_vars
=============================================================================
