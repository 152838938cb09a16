-------------------------- MODULE MCResumption_bugs --------------------------
(***************************************************************************)
(* The known ways to get it wrong, each as a replacement of one operator of*)
(* Resumption. A configuration MCResumption_bug_<name>.cfg puts one in     *)
(* (Decide <- NoFloorCheck) and names the rule that must then break. Where *)
(* a client's fault shows only against a server that is wrong as well, the *)
(* configuration puts in both; MCResumption_against_<name>.cfg has the     *)
(* wrong server alone, and shows that the client's rules then still hold.  *)
(***************************************************************************)
EXTENDS MCResumption

----------------------------------------------------------------------------
\* The server's verdict

NoFloorCheck(e, c) ==
  IF ~Alive(e)                                       THEN "session_unknown"
  ELSE IF c = NoCursor                               THEN "attach"
  ELSE IF c.tag # e                                  THEN "cursor_foreign"
  ELSE IF c.n > HeadOf(e)                            THEN "cursor_ahead"
  ELSE IF sess[e].st = "finished" /\ c.n = HeadOf(e) THEN "complete"
  ELSE                                                    "reattach"

NoHeadCheck(e, c) ==
  IF ~Alive(e)                                       THEN "session_unknown"
  ELSE IF c = NoCursor                               THEN "attach"
  ELSE IF c.tag # e                                  THEN "cursor_foreign"
  ELSE IF c.n < sess[e].floor                        THEN "cursor_evicted"
  ELSE IF sess[e].st = "finished" /\ c.n = HeadOf(e) THEN "complete"
  ELSE                                                    "reattach"

NoTagCheck(e, c) ==
  IF ~Alive(e)                                       THEN "session_unknown"
  ELSE IF c = NoCursor                               THEN "attach"
  ELSE IF c.n < sess[e].floor                        THEN "cursor_evicted"
  ELSE IF c.n > HeadOf(e)                            THEN "cursor_ahead"
  ELSE IF sess[e].st = "finished" /\ c.n = HeadOf(e) THEN "complete"
  ELSE                                                    "reattach"

----------------------------------------------------------------------------
\* Where an accepted view begins, and what its answer says

FreshStart(e) == Max(sess[e].floor, sess[e].handed)

\* Says the cursor, whatever happens next.
SaysCursor(e, c) == IF c = NoCursor THEN FreshStart(e) ELSE c.n

\* Strictly after, made inclusive.
InclusiveStart(e, c) == IF c = NoCursor THEN FreshStart(e) ELSE IF c.n > sess[e].floor THEN c.n - 1 ELSE c.n

\* An evicted cursor is moved to the oldest event retained.
ClampedStart(e, c) == IF c = NoCursor THEN FreshStart(e) ELSE Max(c.n, sess[e].floor)

\* Only what is emitted from now on: retained events fall into the seam.
LiveOnlyStart(e, c) == IF c = NoCursor THEN FreshStart(e) ELSE HeadOf(e)

\* Without a cursor: the whole window again; or nothing of it.
FreshFromFloor(e, c) == IF c = NoCursor THEN sess[e].floor ELSE c.n
FreshFromHead(e, c)  == IF c = NoCursor THEN HeadOf(e) ELSE c.n

----------------------------------------------------------------------------
\* Sessions, window and views

\* A resumption of a session that is gone is served from a new one, with ids from 1.
MintingServeResume(e, n, verdict) ==
  LET c == [tag |-> e, n |-> n]
      unborn == {d \in Epochs : sess[d].st = "unborn"}
      d == CHOOSE x \in unborn : \A y \in unborn : x <= y IN
  /\ request = [kind |-> "resume", e |-> e, n |-> n]
  /\ verdict = Decide(e, c)
  /\ request' = NoRequest
  /\ IF verdict = "session_unknown" /\ unborn # {}
     THEN /\ sess'  = [sess EXCEPT ![d] = Newborn]
          /\ views' = views \cup {[e |-> d, pos |-> 0, conn |-> "current"]}
          /\ wire'  = Append(wire, Frame("accepted", d, 0, 0))
     ELSE /\ sess'  = sess
          /\ views' = ViewsAfter(e, verdict, [e |-> e, pos |-> StartOf(e, c), conn |-> "current"])
          /\ wire'  = Append(wire, IF verdict \in Accepting     THEN Frame("accepted", e, Announced(e, c), 0)
                                   ELSE IF verdict = "complete" THEN Frame("complete", e, n, 0)
                                   ELSE                              Frame("refused", e, 0, 0))
  /\ UNCHANGED <<executed, late, post, durable, phase, hand>>

\* A refusal takes the session's view down with it.
DetachingServeResume(e, n, verdict) ==
  LET c == [tag |-> e, n |-> n] IN
  /\ request = [kind |-> "resume", e |-> e, n |-> n]
  /\ verdict = Decide(e, c)
  /\ request' = NoRequest
  /\ views' = Survivors(e) \cup (IF verdict \in Accepting THEN {[e |-> e, pos |-> n, conn |-> "current"]} ELSE {})
  /\ wire'  = Append(wire, IF verdict \in Accepting THEN Frame("accepted", e, n, 0)
                           ELSE IF verdict = "complete" THEN Frame("complete", e, n, 0) ELSE Frame("refused", e, 0, 0))
  /\ UNCHANGED <<sess, executed, late, post, durable, phase, hand>>

\* Initialize hands out the id of a session that has ended.
RevivingOpenSession(e) ==
  /\ request.kind = "open"
  /\ sess[e].st \in {"unborn", "gone"}
  /\ sess'    = [sess EXCEPT ![e] = Newborn]
  /\ request' = NoRequest
  /\ wire'    = Append(wire, Frame("opened", e, 0, 0))
  /\ UNCHANGED <<views, executed, late, post, durable, phase, hand>>

\* The counter lives in the window, and starts again when the window is empty.
RestartingEvict(e) ==
  /\ Alive(e)
  /\ sess[e].floor < HeadOf(e)
  /\ sess' = [sess EXCEPT ![e] = IF @.floor + 1 = Len(@.events) THEN [Newborn EXCEPT !.st = @] ELSE [@ EXCEPT !.floor = @ + 1]]
  /\ UNCHANGED <<views, executed, wire, request, late, post, durable, phase, hand>>

Unbounded(s, payload) == [s EXCEPT !.events = Append(@, payload)]

\* The older view is left to write on.
NobodySuperseded(e) == views

\* A write finds its way to whatever connection the client has, not to that of its view.
WritesToPresentConnection(v) ==
  LET n == v.pos + 1 IN
  /\ v \in views
  /\ v.pos >= sess[v.e].floor
  /\ v.pos < HeadOf(v.e)
  /\ Len(wire) < WireCap
  /\ views' = (views \ {v}) \cup {[v EXCEPT !.pos = n]}
  /\ sess'  = [sess EXCEPT ![v.e].handed = Max(@, n)]
  /\ wire'  = IF phase = "streaming" THEN Append(wire, Frame("event", v.e, n, sess[v.e].events[n])) ELSE wire
  /\ UNCHANGED <<executed, request, late, post, durable, phase, hand>>

\* The answer to a late request goes to whatever connection the client has.
UnboundServeLate(e, n, verdict) ==
  /\ late = [kind |-> "resume", e |-> e, n |-> n]
  /\ verdict = Decide(e, [tag |-> e, n |-> n])
  /\ late' = NoRequest
  /\ UNCHANGED views
  /\ wire' = Append(wire, IF verdict \in Accepting THEN Frame("accepted", e, n, 0) ELSE Frame("refused", e, 0, 0))
  /\ UNCHANGED <<sess, executed, request, post, durable, phase, hand>>

----------------------------------------------------------------------------
\* The client's proof

Always(f) == TRUE
AnyLater(f) == f.e = rec.e /\ f.n > rec.tok
AnyEvent(f) == TRUE

\* Asks to continue while the old connection is still read.
KeepingResume(e, n) ==
  /\ phase \in {"detached", "streaming"}
  /\ hand = NoHand
  /\ rec.e = e
  /\ rec.tok = n
  /\ request' = [kind |-> "resume", e |-> e, n |-> n]
  /\ phase'   = "resuming"
  /\ UNCHANGED <<server, wire, late, post, durable, hand>>

UnprovenReadEvent(e, n, outcome) ==
  /\ phase \in {"resuming", "streaming"}
  /\ hand = NoHand
  /\ wire # <<>>
  /\ wire[1].kind = "event"
  /\ wire[1].e = e
  /\ wire[1].n = n
  /\ outcome = "next"
  /\ IsNext(wire[1])
  /\ hand' = [e |-> e, n |-> n, k |-> wire[1].k]
  /\ wire' = Tail(wire)
  /\ UNCHANGED <<sess, executed, post, durable, views, request, late, phase>>

\* The cursor is taken from the event in hand, before it is applied.
UnappliedResume(e, n) ==
  /\ phase = "detached"
  /\ rec.e = e
  /\ n = LastRead
  /\ request' = [kind |-> "resume", e |-> e, n |-> n]
  /\ phase'   = "resuming"
  /\ UNCHANGED <<server, wire, late, post, durable, hand>>

----------------------------------------------------------------------------
\* The client's record

\* The token is written when the event is read.
TokenFirstReadEvent(e, n, outcome) ==
  /\ phase = "streaming"
  /\ hand = NoHand
  /\ wire # <<>>
  /\ wire[1].kind = "event"
  /\ wire[1].e = e
  /\ wire[1].n = n
  /\ outcome = "next"
  /\ IsNext(wire[1])
  /\ rec'  = [rec EXCEPT !.tok = n]
  /\ hand' = [e |-> e, n |-> n, k |-> wire[1].k]
  /\ wire' = Tail(wire)
  /\ UNCHANGED <<sess, executed, post, calls, applied, views, request, late, phase>>

\* First the application, then the token, in two transactions; k marks what lies between.
Between == MaxCalls + 1
TwoStepCommit(outcome) ==
  /\ hand # NoHand
  /\ Committable
  /\ outcome = "applied"
  /\ IF hand.k # Between
     THEN /\ applied' = [applied EXCEPT ![hand.e] = Append(@, hand.n)]
          /\ hand'    = [hand EXCEPT !.k = Between]
          /\ UNCHANGED rec
     ELSE /\ rec'  = [rec EXCEPT !.tok = hand.n]
          /\ hand' = NoHand
          /\ UNCHANGED applied
  /\ UNCHANGED <<server, wire, request, late, post, calls, phase>>

\* A call counts as answered when its answer is read.
AnsweringReadEvent(e, n, outcome) ==
  /\ phase = "streaming"
  /\ hand = NoHand
  /\ wire # <<>>
  /\ wire[1].kind = "event"
  /\ wire[1].e = e
  /\ wire[1].n = n
  /\ outcome = "next"
  /\ IsNext(wire[1])
  /\ calls' = [k \in Calls |-> IF k = wire[1].k /\ calls[k] = "inflight" THEN "answered" ELSE calls[k]]
  /\ hand'  = [e |-> e, n |-> n, k |-> wire[1].k]
  /\ wire'  = Tail(wire)
  /\ UNCHANGED <<sess, executed, post, rec, applied, views, request, late, phase>>

\* A late answer settles a call whose outcome was declared unknown.
SettlingCommit(outcome) ==
  /\ hand # NoHand
  /\ Committable
  /\ outcome = "applied"
  /\ rec'     = [rec EXCEPT !.tok = hand.n]
  /\ applied' = [applied EXCEPT ![hand.e] = Append(@, hand.n)]
  /\ calls'   = [k \in Calls |-> IF k = hand.k THEN "answered" ELSE calls[k]]
  /\ hand'    = NoHand
  /\ UNCHANGED <<server, wire, request, late, post, phase>>

\* The commit compares less than the whole record.
TokenOnly    == rec.tok + 1 = hand.n
IgnoresFence == rec.e = hand.e /\ rec.tok + 1 = hand.n
IgnoresEpoch == RecordLive /\ rec.tok + 1 = hand.n
IgnoresToken == RecordLive /\ rec.e = hand.e
IgnoresAll   == RecordLive

----------------------------------------------------------------------------
\* Abandonment and quarantine

\* A refusal is answered with a new session, and the old epoch is never closed.
SilentRetry ==
  /\ phase = "resuming"
  /\ wire # <<>>
  /\ wire[1].kind = "refused"
  /\ phase' = "idle"
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, durable, hand>>

\* Doubt is waited out.
NoFence ==
  /\ phase = "doubt"
  /\ phase' = "detached"
  /\ UNCHANGED <<server, wire, request, late, post, durable, hand>>

\* A restart takes an abandoned record for a live one.
RevivingCrash ==
  /\ rec'   = IF rec.st = "abandoned" THEN [rec EXCEPT !.st = "open"] ELSE rec
  /\ phase' = IF rec.st = "none" THEN "idle" ELSE "detached"
  /\ hand'  = NoHand
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, calls, applied>>

StillInFlight == calls
AssumedNotDone == [k \in Calls |-> IF calls[k] = "inflight" THEN "new" ELSE calls[k]]

OpensOpen == "open"

\* The new record forgets what the old one did not know.
ForgetfulReadOpened(e) ==
  /\ phase = "opening"
  /\ wire # <<>>
  /\ wire[1] = Frame("opened", e, 0, 0)
  /\ rec'   = [st |-> "open", e |-> e, tok |-> 0]
  /\ calls' = [k \in Calls |-> IF calls[k] = "unknown" THEN "new" ELSE calls[k]]
  /\ phase' = "detached"
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, applied, hand>>

\* The new record keeps the old token.
TokenKeepingReadOpened(e) ==
  /\ phase = "opening"
  /\ wire # <<>>
  /\ wire[1] = Frame("opened", e, 0, 0)
  /\ rec'   = [st |-> StateAtOpening, e |-> e, tok |-> rec.tok]
  /\ phase' = "detached"
  /\ Leave
  /\ UNCHANGED <<sess, executed, post, calls, applied, hand>>

\* An unknown call is sent again, just to be sure.
ResendingCall(k) ==
  /\ RecordLive
  /\ phase \in {"detached", "resuming", "streaming"}
  /\ InFlight = {}
  /\ calls[k] \in {"new", "unknown"}
  /\ calls' = [calls EXCEPT ![k] = "inflight"]
  /\ post'  = [post EXCEPT ![k] = rec.e]
  /\ UNCHANGED <<server, wire, request, late, rec, applied, phase, hand>>

\* The POST leaves, and the record is written when there is time.
UnrecordedCall(k) ==
  /\ MayCall
  /\ phase \in {"detached", "resuming", "streaming"}
  /\ calls[k] = "new"
  /\ post[k] = 0
  /\ executed[k] = 0
  /\ post'  = [post EXCEPT ![k] = rec.e]
  /\ UNCHANGED <<server, wire, request, late, rec, calls, applied, phase, hand>>

\* The first decision ends the quarantine.
HastyResolve(k) ==
  /\ calls[k] = "unknown"
  /\ calls' = [calls EXCEPT ![k] = "resolved"]
  /\ rec'   = IF rec.st = "quarantined" THEN [rec EXCEPT !.st = "open"] ELSE rec
  /\ UNCHANGED <<server, wire, request, late, post, applied, phase, hand>>
=============================================================================
