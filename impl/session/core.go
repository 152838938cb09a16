package session

import (
	"cmp"
	"fmt"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"
)

// A Core is one session: its streams, their views, its window. It is a plain
// value for one goroutine at a time, and moves only by its methods.
//
// Every method that is named for a trigger fires that one trigger. If the table
// has no row for it, or a row that forbids, nothing changes and the error is a
// [*fsm.RefusedError]. Time is an argument: a stamp of the caller's clock.
type Core struct {
	cfg    *Config
	id     SessionID
	meta   any
	window window.Window
	body   *body // nil while no stream but the standalone one was opened, and nothing happened on that
	state  spec.State
	// requests are open just now. A caller of the bare core says so to Expire.
	requests int32
}

// NewCore returns the core of a session that does not exist yet: it is Absent
// and refuses everything but Initialize.
func NewCore(cfg *Config) *Core {
	c := new(Core)
	c.init(cfg)
	return c
}

func (c *Core) init(cfg *Config) { c.cfg, c.state = cfg, cfg.Machines.Session.Table().Initial }

// State returns the session's state.
func (c *Core) State() spec.State { return c.state }

// ID returns the session's id. It is a secret.
func (c *Core) ID() SessionID { return c.id }

// Tag returns the tag that stands for the session in event ids.
func (c *Core) Tag() spec.Tag {
	if c.body != nil {
		return c.body.tag
	}
	return spec.TagOf(c.id.Text(), c.cfg.Generation)
}

// Window returns the session's window. It is to be read only.
func (c *Core) Window() *window.Window { return &c.window }

// eventID gives a position its session.
func (c *Core) eventID(p window.Position) spec.EventID {
	return spec.EventID{Tag: c.Tag(), Seq: p.Seq, Stream: p.Stream, Ordinal: p.Ordinal}
}

// Initialize fires ClientInitializes. An absent session begins, with its
// standalone stream at position 0 (R7), unless the server is full or draining.
// One that exists, or has ended, refuses: an id never begins twice (R6).
func (c *Core) Initialize(id SessionID, meta any, full, draining bool) error {
	c.begin()
	facts := spec.FactsOf().With(spec.ServerFull, full).With(spec.ServerDraining, draining)
	return c.fireSession(spec.ClientInitializes, facts, &operation{opening: &opening{id, meta}})
}

// Call fires ClientCalls: a stream opens together with its view, at position 0
// and before its handler may emit (R7). If there is no room for its record the
// finished stream that is closest to eviction is forgotten. meta is kept with
// the stream.
func (c *Core) Call(meta any) (*ViewState, error) {
	c.begin()
	facts := spec.FactsOf().
		With(spec.RequestsCapped, c.inFlight() >= c.cfg.Requests).
		With(spec.StreamsCapped, c.streamsCapped())
	op := operation{opening: &opening{meta: meta}}
	err := c.fireSession(spec.ClientCalls, facts, &op)
	return op.view, err
}

// Notify fires ClientNotifies: a message that wants no stream of its own.
func (c *Core) Notify() error {
	c.begin()
	return c.fireSession(spec.ClientNotifies, 0, &operation{})
}

// Resume fires ClientResumes: it evicts what is due, decides, and does what was
// decided. The view is there exactly if the verdict is attach or reattach. The
// error says why not: a [*RefusalError] if the cursor was refused, else a
// [*fsm.RefusedError]; the decision's reason is the same.
func (c *Core) Resume(r Request, now int64) (Decision, *ViewState, error) {
	c.begin()
	c.evictDue(now)
	d := Decide(r, c)
	op := operation{now: now, decision: &d}
	if err := c.fireSession(spec.ClientResumes, spec.FactsOf().With(spec.ViewsCapped, c.viewsCapped(d)), &op); err != nil {
		return d.refusedBy(err), nil, err
	}
	return d, op.view, nil
}

// Terminate fires ClientTerminates.
func (c *Core) Terminate() error {
	c.begin()
	return c.fireSession(spec.ClientTerminates, 0, &operation{})
}

// Expire fires SessionBudgetElapses. The caller, who has the clock, says
// whether the session is in use by an open request, or was within the budget;
// open views and running calls the core knows itself.
func (c *Core) Expire(inUse bool) error {
	c.begin()
	facts := spec.FactsOf().With(spec.InUse, inUse || c.Busy())
	return c.fireSession(spec.SessionBudgetElapses, facts, &operation{})
}

// Drain fires ServerDrains: nothing new is taken, and the standalone stream's
// view ends cleanly. Those of calls go on, so that what finishes in time is
// answered: see EndViews (R12).
func (c *Core) Drain(now int64) error {
	c.begin()
	err := c.fireSession(spec.ServerDrains, 0, &operation{now: now})
	if err == nil {
		c.retire() // views may have been in the way
	}
	return err
}

// EndViews fires HandlerEndsView for every stream that has a view: what a drain
// does with the views of calls that are still running when its time is up
// (R12). The error is the first refusal, if the table at work refuses any.
func (c *Core) EndViews(now int64) (err error) {
	c.begin()
	for _, rec := range c.records() {
		if rec.view == nil {
			continue
		}
		if refused := c.fire(rec, spec.HandlerEndsView, 0, &operation{now: now}); refused != nil {
			err = cmp.Or(err, refused)
			continue
		}
		c.retire() // the view may have been in the way
	}
	return err
}

// Busy reports whether a request or a view is open, or a call is running: what
// keeps a session alive (R9b).
func (c *Core) Busy() bool {
	return c.requests > 0 || c.body != nil && (c.body.views > 0 || c.body.inFlight > 0)
}

func (c *Core) inFlight() int {
	if c.body == nil {
		return 0
	}
	return c.body.inFlight
}

// streamsCapped reports whether there is room for another stream's record
// neither now nor after one that is finished was forgotten.
func (c *Core) streamsCapped() bool {
	return c.NextStream() == lastStream || c.recordsFull() && c.oldestFinished() == nil
}

// viewsCapped reports whether what was decided would be one view too many. One
// that supersedes another is never too many: a half-open connection locks
// nobody out (R10).
func (c *Core) viewsCapped(d Decision) bool {
	if c.body == nil || c.body.views < c.cfg.Views || !d.begins() {
		return false
	}
	return c.glance(d.Position.Stream).view == nil
}

// fireSession fires a trigger of the session and runs the row's effects.
func (c *Core) fireSession(t spec.Trigger, facts spec.Facts, op *operation) error {
	step, err := c.cfg.Machines.Session.Fire(c.state, t, facts)
	if err == nil && c.cfg.Persist != nil {
		if err := c.persistSession(step, op); err != nil {
			return err
		}
	}
	if c.cfg.Observe != nil {
		c.observe(c.cfg.Machines.Session, nil, step, err, op)
	}
	if err != nil {
		return err
	}
	if err := c.perform(step, nil, op); err != nil {
		return err
	}
	c.state = step.To
	return nil
}

// fire fires a trigger of a stream on the cold path.
func (c *Core) fire(rec *record, t spec.Trigger, facts spec.Facts, op *operation) error {
	step, err := c.cfg.Machines.Stream.Fire(rec.state, t, facts)
	return c.take(rec, step, err, op)
}

// take runs what the stream's machine said: the effects of the row, and then
// the move. It is where every move of a stream goes through.
func (c *Core) take(rec *record, step fsm.Step, err error, op *operation) error {
	if err == nil && c.cfg.Persist != nil {
		if err := c.persistStream(step, rec, op); err != nil {
			return err
		}
	}
	if c.cfg.Observe != nil {
		c.observe(c.cfg.Machines.Stream, rec, step, err, op)
	}
	if err != nil {
		return err
	}
	if err := c.perform(step, rec, op); err != nil {
		return err
	}
	c.move(rec, step.To, op.now)
	return nil
}

// would returns the refusal that a trigger of a stream would meet, so that what
// moves several streams at once moves all of them or none.
func (c *Core) would(rec *record, t spec.Trigger, facts spec.Facts) error {
	step, err := c.cfg.Machines.Stream.Resolve(rec.state, t, facts)
	if err != nil && c.cfg.Observe != nil {
		c.observe(c.cfg.Machines.Stream, rec, step, err, &operation{})
	}
	return err
}

// observe tells the configured observer, who must be there. rec is nil for the
// session's machine.
func (c *Core) observe(m *fsm.Machine, rec *record, step fsm.Step, err error, op *operation) {
	o := Observation{Machine: m.Table().Machine, Step: step, Seq: c.window.Seq(), Bytes: c.window.Bytes(), Size: len(op.payload)}
	o.Evicted = o.Seq - uint64(c.window.Len())
	o.Refused, _ = err.(*fsm.RefusedError)
	switch {
	case c.state != spec.Absent || c.id != SessionID{}:
		o.Tag = c.Tag()
	case op.opening != nil && err == nil: // it begins
		o.Tag = spec.TagOf(op.opening.id.Text(), c.cfg.Generation)
	}
	if rec == nil {
		o.Decision = op.decision
		c.cfg.Observe(o)
		return
	}
	head, _ := c.window.Head(rec.number)
	o.Stream, o.Head, o.Handed = rec.number, head.Ordinal, rec.handed.Ordinal
	if rec.view != nil {
		o.View = rec.view.At.Ordinal
	}
	if step.Row != nil && step.Row.Trigger == spec.ViewDelivers {
		o.Event, o.EventSeq = op.at.Ordinal, op.at.Seq
	}
	c.cfg.Observe(o)
}

// bug reports a mistake of this program, never one of a peer.
func bug(format string, args ...any) {
	panic("reattach: BUG: session: " + fmt.Sprintf(format, args...))
}
