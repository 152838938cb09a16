-------------------------- MODULE HostileClient_bugs --------------------------
(* The server's known mistakes, met by an opponent; those of Resumption are repeated here in short. *)
EXTENDS HostileClient

NoFloorCheck(e, c) ==
  IF ~Alive(e)                                       THEN "session_unknown"
  ELSE IF c = NoCursor                               THEN "attach"
  ELSE IF c.tag # e                                  THEN "cursor_foreign"
  ELSE IF c.n > HeadOf(e)                            THEN "cursor_ahead"
  ELSE IF sess[e].st = "finished" /\ c.n = HeadOf(e) THEN "complete"
  ELSE                                                    "reattach"

NoTagCheck(e, c) ==
  IF ~Alive(e)                                       THEN "session_unknown"
  ELSE IF c = NoCursor                               THEN "attach"
  ELSE IF c.n < sess[e].floor                        THEN "cursor_evicted"
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

FreshStart(e)        == Max(sess[e].floor, sess[e].handed)
ClampedStart(e, c)   == IF c = NoCursor THEN FreshStart(e) ELSE Max(c.n, sess[e].floor)
InclusiveStart(e, c) == IF c = NoCursor THEN FreshStart(e) ELSE IF c.n > sess[e].floor THEN c.n - 1 ELSE c.n
SaysCursor(e, c)     == IF c = NoCursor THEN FreshStart(e) ELSE c.n

NobodySuperseded(e) == views

AnyAttempt(e, c, attempt, dedup) == Decide(e, c)

\* A request without a number starts the numbers anew.
ForgettingRequest(e, c, attempt, dedup, verdict, pos) ==
  /\ verdict = Answer(e, c, attempt, dedup)
  /\ pos = PositionOf(e, c, verdict)
  /\ views'  = ViewsAfter(e, verdict, [e |-> e, pos |-> StartOf(e, c), conn |-> "other"])
  /\ newest' = IF verdict \in Accepting \cup {"complete"} THEN [newest EXCEPT ![e] = attempt] ELSE newest
  /\ UNCHANGED <<sess, executed, wire, request, late, post, durable, phase, hand>>

ReplaysToAll(e, c, attempt, dedup) ==
  LET v == Decide(e, c) IN IF v = "cursor_evicted" /\ Replays THEN "replay" ELSE v

RevivingInitialize(e) ==
  /\ sess[e].st \in {"unborn", "gone"}
  /\ sess'  = [sess EXCEPT ![e] = Newborn]
  /\ UNCHANGED <<views, executed, wire, request, late, post, durable, phase, hand, newest>>

\* A request to a session that nobody knows is served from a new one.
MintingRequest(e, c, attempt, dedup, verdict, pos) ==
  /\ verdict = Answer(e, c, attempt, dedup)
  /\ pos = PositionOf(e, c, verdict)
  /\ sess'   = IF verdict = "session_unknown" THEN [sess EXCEPT ![e] = Newborn] ELSE sess
  /\ views'  = ViewsAfter(e, verdict, [e |-> e, pos |-> StartOf(e, c), conn |-> "other"])
  /\ newest' = newest
  /\ UNCHANGED <<executed, wire, request, late, post, durable, phase, hand>>

\* A POST that comes again runs again; nothing leaves a full window; numbers start anew in an empty one.
RepeatingPost(k, e, verdict) ==
  /\ verdict = "executed"
  /\ sess[e].st = "live"
  /\ IssuedInAll < MaxEvents
  /\ sess' = [sess EXCEPT ![e] = Issued(@, k)]
  /\ executed' = [executed EXCEPT ![k] = @ + 1]
  /\ UNCHANGED <<views, wire, request, late, post, durable, phase, hand, newest>>

Unbounded(s, payload) == [s EXCEPT !.events = Append(@, payload)]

RestartingEvict(e) ==
  /\ Alive(e)
  /\ sess[e].floor < HeadOf(e)
  /\ sess' = [sess EXCEPT ![e] = IF @.floor + 1 = Len(@.events) THEN [Newborn EXCEPT !.st = @] ELSE [@ EXCEPT !.floor = @ + 1]]
  /\ UNCHANGED <<views, executed, wire, request, late, post, durable, phase, hand>>

RefusalDetaches(e, verdict, view) ==
  IF verdict \in Accepting THEN Survivors(e) \cup {view} ELSE Survivors(e)
=============================================================================
