package session

import (
	"errors"
	"fmt"
	"io"

	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// A ViewState is what a core knows of one view. It belongs to the core: others
// may read it, and hold on to it after it has ended.
//
// Start ≤ At, and the view has taken exactly the stream's events after Start up
// to At (R4).
type ViewState struct {
	Stream   uint64
	Start    window.Position // where it began: what R8 announces
	At       window.Position // the last event that it took, or Start
	Mode     spec.Verdict    // attach or reattach
	Skipped  uint64          // events before Start that were evicted and never handed to a view (R7)
	Finished bool            // the stream was finished when the view began
	End      ViewEnd         // StillOpen, or how it ended

	rec  *record
	wait waiter // the registry's
}

// ViewEnd says how a view ended.
type ViewEnd uint8

const (
	StillOpen     ViewEnd = iota // it has not ended
	EndDelivered                 // its stream is finished, and it took the last event
	EndSuperseded                // a newer view took its place: it writes nothing more (R10)
	EndOvertaken                 // its next event is evicted: the client gets R5 next (R9)
	EndStalled                   // it accepted too little for too long (R9)
	EndOnPurpose                 // the server ended it between two events: the client may resume
	EndSession                   // the session is over (R6)
	EndBroken                    // its connection is gone
)

var viewEndNames = [...]string{"open", "delivered", "superseded", "overtaken", "stalled", "ended on purpose", "session over", "broken"}

func (e ViewEnd) String() string {
	if int(e) < len(viewEndNames) {
		return viewEndNames[e]
	}
	return fmt.Sprintf("ViewEnd(%d)", uint8(e))
}

// What a view's reader is told when there is nothing more, for errors.Is; a
// [*ViewOverError] says where. A view that was delivered to its end says io.EOF.
var (
	ErrSuperseded  = errors.New("session: view superseded by a newer one")
	ErrOvertaken   = errors.New("session: view overtaken by eviction, resumption required")
	ErrStalled     = errors.New("session: view cut because it accepts too little, resumption required")
	ErrViewEnded   = errors.New("session: view ended by the server, the client may resume")
	ErrSessionOver = errors.New("session: session over")
	ErrBroken      = errors.New("session: view's connection is gone")
)

// A ViewOverError says that a view ended before its stream did.
type ViewOverError struct {
	End      ViewEnd
	Position spec.EventID // the last event that the view took, or where it began
}

func (e *ViewOverError) Error() string { return fmt.Sprintf("%v, at %v", e.Unwrap(), e.Position) }

// Unwrap returns the error that stands for the way in which the view ended.
func (e *ViewOverError) Unwrap() error {
	switch e.End {
	case EndSuperseded:
		return ErrSuperseded
	case EndOvertaken:
		return ErrOvertaken
	case EndStalled:
		return ErrStalled
	case EndOnPurpose:
		return ErrViewEnded
	case EndSession:
		return ErrSessionOver
	default:
		return ErrBroken
	}
}

// over returns what a view that has ended says to its reader.
func (c *Core) over(v *ViewState) error {
	if v.End == EndDelivered {
		return io.EOF
	}
	return &ViewOverError{End: v.End, Position: c.eventID(v.At)}
}

// beginView gives the stream a view: at position 0, or where it was decided (R8).
func (c *Core) beginView(rec *record, op *operation) {
	v := &ViewState{
		Stream:   rec.number,
		Start:    window.Position{Stream: rec.number},
		Mode:     spec.VerdictAttach,
		Finished: finished(rec.state),
		rec:      rec,
	}
	if d := op.decision; d != nil { // else it opens together with its stream
		v.Start.Seq, v.Start.Ordinal = d.Position.Seq, d.Position.Ordinal
		v.Mode, v.Skipped = d.Verdict, d.Skipped
		rec.grant(d)
	}
	v.At = v.Start
	rec.view, op.view = v, v
	c.body.views++
}

// grant remembers the attempt of what was granted: older ones come too late
// from here on. One without a number changes nothing about that (R10).
func (rec *record) grant(d *Decision) {
	if d.Attempt.Compare(rec.newest) > 0 {
		rec.newest = d.Attempt
	}
}

// endView takes the stream's view away from it.
func (c *Core) endView(rec *record, e spec.Effect, t spec.Trigger) {
	v := rec.view
	switch {
	case e == spec.SupersedeView:
		v.End = EndSuperseded
	case e == spec.CutView && t == spec.ViewStalls:
		v.End = EndStalled
	case e == spec.CutView:
		v.End = EndOvertaken
	case e == spec.DropView:
		v.End = EndBroken
	case t == spec.ViewDelivers:
		v.End = EndDelivered
	case t == spec.SessionEnds:
		v.End = EndSession
	default:
		v.End = EndOnPurpose
	}
	rec.view = nil
	c.body.views--
	c.note(e, rec, v)
}

func finished(s spec.State) bool { return s == spec.FinishedDetached || s == spec.FinishedAttached }
