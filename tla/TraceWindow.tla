----------------------------- MODULE TraceWindow -----------------------------
(***************************************************************************)
(* Traces of the real session, accepted by Window: every step that was     *)
(* recorded is a step of Window with the reply that was recorded, from the *)
(* first one to the last. TraceRecorded holds the traces; what a line of a *)
(* trace is in Window, docs/traces.md says.                                *)
(***************************************************************************)
EXTENDS Window, TraceRecorded

VARIABLES
  trace,  \* which one is replayed; 0: none yet
  done    \* how many of its steps have been

TraceInit == Init /\ trace = 0 /\ done = 0

\* First one is chosen.
Choose(i) == trace = 0 /\ trace' = i /\ UNCHANGED <<vars, done>>

Happens(l) ==
  CASE l.do = "Call"         -> Call(l.reply)
    [] l.do = "Emit"         -> Emit(l.s, l.reply)
    [] l.do = "Answer"       -> Answer(l.s, l.reply)
    [] l.do = "EndView"      -> EndView(l.s, l.reply)
    [] l.do = "Break"        -> Break(l.s, l.reply)
    [] l.do = "Attach"       -> Attach(l.reply)
    [] l.do = "Resume"       -> Resume(l.c, l.reply)
    [] l.do = "Deliver"      -> Deliver(l.s, l.reply)
    [] l.do = "EvictOldest"  -> EvictOldest(l.reply)
    [] l.do = "ElapseDetach" -> ElapseDetach(l.s, l.reply)

Replay ==
  /\ trace > 0
  /\ done < Len(Replayed[trace])
  /\ Happens(Replayed[trace][done + 1])
  /\ done' = done + 1
  /\ trace' = trace

TraceNext == Replay \/ \E i \in 1..Len(Replayed) : Choose(i)
TraceSpec == TraceInit /\ [][TraceNext]_<<vars, trace, done>>

\* No trace stops before its end.
EveryStepIsAllowed == trace > 0 /\ done < Len(Replayed[trace]) => ENABLED Replay

\* A trace with one step left out stops: the check can fail (TraceWindow_step_lost.cfg).
LosesAStep == [i \in 1..Len(RecordedTraces) |->
  LET r == RecordedTraces[i]
      at == CHOOSE k \in 1..Len(r) : r[k].do = "Emit" /\ r[k].reply.why = "ok" /\ \A j \in 1..(k - 1) : ~(r[j].do = "Emit" /\ r[j].reply.why = "ok")
  IN SubSeq(r, 1, at - 1) \o SubSeq(r, at + 1, Len(r))]
=============================================================================
