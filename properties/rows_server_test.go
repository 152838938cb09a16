package properties

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/window"
	"example.com/reattach/spec"

	"pgregory.net/rapid"
)

// A serverRig is a real session core, seen through one of its two machines.
type serverRig struct {
	cfg     *session.Config
	core    *session.Core
	machine string // session or stream
	stream  uint64 // the stream under test
	seen    []firing
	unborn  error // why there is no session: a table without ST02 opens none

	was      session.StreamInfo // of the stream, before the last thing happened
	view     *session.ViewState // what the last thing gave
	taken    session.Taken
	decision session.Decision
	number   uint64 // of the stream that would be opened
}

const eventLimit = 64

func newServerRig(machine string, machines *fsm.Server, target *spec.Row) *serverRig {
	r := &serverRig{machine: machine, cfg: session.DefaultConfig()}
	r.cfg.Machines = machines
	r.cfg.Window = window.Limits{Events: 32, Age: 1 << 20, Bytes: 4096, MaxEvent: eventLimit}
	r.cfg.Observe = func(o session.Observation) {
		f := firing{machine: o.Machine, from: o.Step.From, to: o.Step.To}
		if o.Refused != nil {
			f.row = o.Refused.Row
		} else {
			f.row = o.Step.Row.ID
		}
		r.seen = append(r.seen, f)
	}
	for fact, limit := range map[spec.Fact]*int{spec.RequestsCapped: &r.cfg.Requests, spec.StreamsCapped: &r.cfg.Streams, spec.ViewsCapped: &r.cfg.Views} {
		if target.Guard.True.Has(fact) {
			*limit = 1
		}
	}
	r.core = session.NewCore(r.cfg)
	if machine == "stream" {
		r.unborn = r.core.Initialize(session.SessionID{1}, nil, false, false)
		if !target.Guard.True.Has(spec.Standalone) {
			r.stream = r.core.NextStream()
		}
	}
	return r
}

func (r *serverRig) state() spec.State {
	if r.machine == "session" {
		return r.core.State()
	}
	return r.core.Stream(r.stream).State
}

func (r *serverRig) fired() (all []firing) {
	all, r.seen = r.seen, nil
	return all
}

func (r *serverRig) snapshot() string { return string(r.core.Snapshot()) }

// prepare fills the session up to the caps that a guard asks for, gives a view
// something to take, and makes that the last event, or not.
func (r *serverRig) prepare(t spec.Trigger, want spec.Guard) error {
	switch {
	case r.machine == "stream" && r.state() == spec.Attached && (t == spec.ViewDelivers || t == spec.HandlerAnswers):
		_, err := r.core.Emit(r.stream, []byte("event"), 0)
		return err
	case r.machine == "session" && r.core.State() == spec.Live:
		capped := want.True.Has(spec.RequestsCapped) || want.True.Has(spec.StreamsCapped) || want.True.Has(spec.ViewsCapped)
		if capped && r.core.NextStream() == 1 {
			if want.True.Has(spec.StreamsCapped) {
				r.cfg.Streams = 2 // the standalone stream and one call's
			}
			_, err := r.core.Call(nil)
			return err
		}
	case r.state() == spec.FinishedAttached && want.True.Has(spec.DeliversLast):
		for {
			info := r.core.Stream(r.stream)
			if info.View.At.Ordinal+1 >= info.Head.Ordinal {
				return nil
			}
			if _, err := r.core.Deliver(r.stream, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *serverRig) happen(t spec.Trigger, want spec.Guard) (err error) {
	r.was, r.view, r.taken, r.decision, r.number = r.core.Stream(r.stream), nil, session.Taken{}, session.Decision{}, r.core.NextStream()
	payload := []byte("event")
	if want.False.Has(spec.EventFits) {
		payload = make([]byte, eventLimit+1)
	}
	c, n := r.core, r.stream
	if r.unborn != nil {
		return r.unborn
	}
	switch t {
	case spec.ClientInitializes:
		return c.Initialize(session.SessionID{1}, nil, want.True.Has(spec.ServerFull), want.True.Has(spec.ServerDraining))
	case spec.ClientCalls:
		r.view, err = c.Call(nil)
	case spec.ClientNotifies:
		err = c.Notify()
	case spec.ClientResumes:
		r.decision, r.view, err = c.Resume(session.Request{}, 0)
	case spec.ClientTerminates:
		err = c.Terminate()
	case spec.SessionBudgetElapses:
		err = c.Expire(want.True.Has(spec.InUse))
	case spec.ServerDrains:
		err = c.Drain(0)

	case spec.StreamOpens:
		r.view, err = c.OpenStream(n, want.True.Has(spec.WithView), nil)
	case spec.HandlerEmits:
		_, err = c.Emit(n, payload, 0)
	case spec.HandlerAnswers:
		_, err = c.Answer(n, payload, 0)
	case spec.HandlerEndsView:
		err = c.EndView(n, 0)
	case spec.ClientAttaches, spec.ClientReattaches, spec.ClientCompletes, spec.ClientIsRefused:
		return r.ask(t)
	case spec.ViewDelivers:
		r.taken, err = c.Deliver(n, 0)
	case spec.ViewOvertaken:
		err = c.Overtake(n, 0)
	case spec.ViewStalls:
		err = c.Stall(n, 0)
	case spec.ViewBreaks:
		err = c.Break(n, 0)
	case spec.DetachBudgetElapses:
		err = c.ElapseDetach(n, 0)
	case spec.RetentionEnds:
		err = c.EndRetention(n)
	case spec.RecordsCapped:
		err = c.CapRecords(n)
	case spec.SessionEnds:
		err = c.EndStream(n)
	default:
		return fmt.Errorf("nobody said how %v happens: add it to serverRig.happen in properties/rows_server_test.go", t)
	}
	return err
}

// ask lets the decision function choose the trigger wherever it can: the cursor
// is the one that deserves it. Where no cursor leads to the trigger, which is
// what the table's forbid rows say, the decision is forged.
func (r *serverRig) ask(t spec.Trigger) (err error) {
	cursors := map[spec.Trigger]spec.EventID{
		spec.ClientReattaches: r.event(r.was.Floor),
		spec.ClientCompletes:  r.event(r.was.Head),
		spec.ClientIsRefused:  {Tag: r.core.Tag(), Seq: 1 << 40, Stream: r.stream, Ordinal: 1 << 40},
	}
	request := session.Request{}
	if t != spec.ClientAttaches {
		request.Cursors = []string{cursors[t].String()}
	}
	d := session.Decide(request, r.core)
	if d.Verdict.Trigger() != t || d.Position.Stream != r.stream && t != spec.ClientIsRefused {
		d = session.Decision{Position: spec.EventID{Tag: r.core.Tag(), Stream: r.stream}}
		for _, v := range spec.Verdicts() {
			if v.Trigger() == t {
				d.Verdict = v
				break
			}
		}
	}
	r.decision = d
	r.view, err = r.core.Apply(d, 0)
	if _, refused := err.(*session.RefusalError); refused && t == spec.ClientIsRefused {
		return nil // the row fired: refusing is what it does
	}
	return err
}

func (r *serverRig) event(p window.Position) spec.EventID {
	return spec.EventID{Tag: r.core.Tag(), Seq: p.Seq, Stream: r.stream, Ordinal: p.Ordinal}
}

// shows checks what an effect did to the real window, streams and views.
func (r *serverRig) shows(e spec.Effect) error {
	now := r.core.Stream(r.stream)
	older := r.was.View
	expect := func(ok bool, what string) error {
		if ok {
			return nil
		}
		return errors.New(what)
	}
	ended := func(end session.ViewEnd) error {
		if older == nil {
			return errors.New("there was no view")
		}
		if older.End != end {
			return fmt.Errorf("the view is %v, want %v", older.End, end)
		}
		if _, err := r.core.DeliverTo(older, 0); err == nil {
			return errors.New("an ended view could still take something")
		}
		return nil
	}
	switch e {
	case spec.IssueSession:
		return expect(r.core.ID() == session.SessionID{1}, "the session has another id")
	case spec.OpenStandalone:
		return expect(r.core.Stream(0).State == spec.Detached, "stream 0 is not open")
	case spec.OpenStream:
		return expect(r.core.Stream(r.number).State == spec.Attached && r.view != nil, "no stream with a view was opened")
	case spec.DecideCursor:
		return expect(r.decision.Verdict == spec.VerdictAttach && r.view != nil, "no decision was made")
	case spec.EndStreams:
		return expect(len(r.core.Streams()) == 0, "a stream has still a record")
	case spec.EndViews:
		return expect(r.core.Stream(0).View == nil, "the standalone stream's view is still open")
	case spec.AssignNumber:
		return expect(r.core.NextStream() == r.stream+1, "the number was not taken")
	case spec.AnnouncePosition:
		return expect(r.view != nil && now.View == r.view && r.view.Start == r.view.At, "no view begins at a position")
	case spec.Record, spec.RecordUnknown:
		ev, ok := r.core.Window().Next(window.Position{Seq: r.was.Head.Seq, Stream: r.stream, Ordinal: r.was.Head.Ordinal})
		return expect(ok && now.Head.Ordinal == r.was.Head.Ordinal+1 && len(ev.Payload) > 0, "no event was recorded")
	case spec.Finish:
		return expect(strings.HasPrefix(now.State.String(), "Finished"), "the stream is not finished")
	case spec.Deliver:
		return expect(r.taken.OK, "the view took nothing")
	case spec.SupersedeView:
		return ended(session.EndSuperseded)
	case spec.EndView:
		if r.taken.Last {
			return expect(now.View == nil, "the view is still there")
		}
		return expect(older != nil && now.View == nil && older.End != session.StillOpen, "the view did not end")
	case spec.CutView:
		if older != nil && older.End == session.EndStalled {
			return ended(session.EndStalled)
		}
		return ended(session.EndOvertaken)
	case spec.DropView:
		return ended(session.EndBroken)
	case spec.AnswerComplete:
		return expect(r.decision.Verdict == spec.VerdictComplete && r.view == nil, "not answered as complete")
	case spec.RefuseCursor:
		return expect(r.decision.Verdict == spec.VerdictRefuse && r.view == nil, "not refused")
	case spec.ForgetStream:
		return expect(now.State == spec.Forgotten && !r.core.Window().Has(r.stream), "the record is still there")
	case spec.CancelWork, spec.Bury:
		for _, n := range r.core.Notes() {
			if n.Effect == e {
				return nil
			}
		}
		return errors.New("the surroundings were not told")
	}
	return fmt.Errorf("nobody said how %v shows: add it to serverRig.shows in properties/rows_server_test.go", e)
}

// serverPlans yields a plan for each row of the server's two tables.
func serverPlans(yield func(machine string, p plan)) {
	for _, table := range []spec.Table{spec.SessionTable(), spec.StreamTable()} {
		for i := range table.Rows {
			row := &table.Rows[i]
			standalone := spec.FactsOf(spec.Standalone)
			yield(table.Machine, plan{table: table, target: row, lasting: standalone, holding: standalone & row.Guard.True})
		}
	}
}

// Given a new server, when each row of its two tables is driven to and fired,
// then each does on the real core what it says.
func TestEveryServerRowFires(t *testing.T) {
	serverPlans(func(machine string, p plan) {
		t.Run(p.target.ID, func(t *testing.T) {
			checkRow(t, newServerRig(machine, fsm.DefaultServer(), p.target), p)
		})
	})
}

// Given the tables without one row, when the move of that row is tried on the
// real core, then it is refused and nothing changes; for each row in turn.
func TestEveryServerRowIsNeeded(t *testing.T) {
	serverPlans(func(machine string, p plan) {
		t.Run(p.target.ID, func(t *testing.T) {
			sessions, streams := spec.SessionTable(), spec.StreamTable()
			if machine == "session" {
				sessions = sessions.Without(p.target.ID)
			} else {
				streams = streams.Without(p.target.ID)
			}
			machines, err := fsm.NewServer(sessions, streams)
			if err != nil {
				t.Fatal(err)
			}
			checkDeleted(t, newServerRig(machine, machines, p.target), p)
		})
	})
}

// The same on cores with a past: other streams come and go, events are emitted
// and evicted, before and between the steps that lead to a row drawn at random.
func TestServerRowsAmidTraffic(t *testing.T) {
	var plans []plan
	var machines []string
	serverPlans(func(machine string, p plan) {
		if !p.target.Guard.True.Has(spec.StreamsCapped) && !p.target.Guard.True.Has(spec.RequestsCapped) && !p.target.Guard.True.Has(spec.ViewsCapped) {
			plans, machines = append(plans, p), append(machines, machine)
		}
	})
	hits := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(plans)-1).Draw(t, "row")
		r := newServerRig(machines[i], fsm.DefaultServer(), plans[i].target)
		checkRow(t, &busyRig{serverRig: r, t: t}, plans[i])
		hits[plans[i].target.ID]++
	})
	if len(hits) < len(plans)/3 {
		t.Errorf("only %d of %d rows were drawn", len(hits), len(plans))
	}
}

// A busyRig is a serverRig in whose session other things happen all the time.
type busyRig struct {
	*serverRig
	t      *rapid.T
	others []uint64
}

func (b *busyRig) prepare(t spec.Trigger, want spec.Guard) error {
	if b.machine == "stream" && b.state() != spec.Unopened {
		b.traffic()
	}
	return b.serverRig.prepare(t, want)
}

func (b *busyRig) traffic() {
	for range rapid.IntRange(0, 4).Draw(b.t, "traffic") {
		switch rapid.IntRange(0, 3).Draw(b.t, "what") {
		case 0:
			if v, err := b.core.Call(nil); err == nil {
				b.others = append(b.others, v.Stream)
			}
		case 1:
			if len(b.others) > 0 {
				n := rapid.SampledFrom(b.others).Draw(b.t, "stream")
				_, _ = b.core.Emit(n, []byte("other"), 0) // finished ones refuse
			}
		case 2:
			if len(b.others) > 0 {
				n := rapid.SampledFrom(b.others).Draw(b.t, "stream")
				_, _ = b.core.Answer(n, []byte("answer"), 0)
			}
		case 3:
			// Only what others emitted may go: the rig's own history is what
			// leads to the row.
			if ev, ok := first(b.core.Window()); ok && ev.Stream != b.stream && len(b.others) > 0 {
				b.core.EvictOldest()
			}
		}
	}
	b.fired()
}

func first(w *window.Window) (window.Event, bool) {
	for ev := range w.All() {
		return ev, true
	}
	return window.Event{}, false
}
