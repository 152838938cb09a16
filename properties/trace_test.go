package properties

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// Traces: what real registries did, line by line, is what the model allows.
// docs/traces.md has the format.

// A played registry is one in which everything happens, in virtual time, at
// moments that a dice chooses; everything it does is traced.
type played struct {
	registry *session.Registry
	trace    bytes.Buffer
	sessions []*session.Session
	views    []*session.View
	ids      []string // event ids that were seen
}

var playedOptions = session.Options{
	WindowEvents: 6, WindowBytes: 120, EventBytes: 60, WindowAge: 4 * time.Second,
	Streams: 5, Views: 3, Requests: 4, DetachBudget: 3 * time.Second, SessionBudget: 10 * time.Second,
	Unknown: func(c session.LostCall) []byte { return []byte(strings.Repeat("?", int(1+c.Stream%50))) },
}

// play returns the trace of so many steps.
func play(t *testing.T, d dice, steps int) []byte {
	t.Helper()
	p := &played{}
	synctest.Test(t, func(t *testing.T) {
		o := playedOptions
		tracer, err := session.NewTracer(&p.trace, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Observe = tracer.Observe
		if p.registry, err = session.NewRegistry(o); err != nil {
			t.Fatal(err)
		}
		for range steps {
			p.step(d)
		}
		p.registry.Close()
		if err := tracer.Err(); err != nil {
			t.Fatal(err)
		}
	})
	return p.trace.Bytes()
}

func (p *played) step(d dice) {
	if len(p.sessions) == 0 || d(60) == 0 {
		if s, err := p.registry.Open("ann", nil); err == nil {
			p.sessions = append(p.sessions, s)
			p.ids = append(p.ids, s.StandalonePosition().String())
		}
		return
	}
	s := p.sessions[len(p.sessions)-1-d(min(3, len(p.sessions)))]
	stream := s.Stream(uint64(d(9)))
	saw := func(e session.Emitted, err error) {
		if err == nil {
			p.ids = append(p.ids, e.ID.String())
		}
	}
	view := func() *session.View {
		if len(p.views) == 0 {
			return nil
		}
		return p.views[len(p.views)-1-d(min(6, len(p.views)))]
	}
	switch d(42) {
	case 0, 1, 2, 3:
		if _, v, err := s.Call(nil); err == nil {
			p.views = append(p.views, v)
			p.ids = append(p.ids, v.Position().String())
		}
	case 4, 5, 6, 7, 8, 9, 10:
		saw(stream.Emit(make([]byte, 1+d(64))))
	case 11, 12, 13:
		saw(stream.Answer(make([]byte, 1+d(50))))
	case 14, 15, 16, 17, 18, 19, 20:
		if v := view(); v != nil {
			v.TryNext(nil)
		}
	case 21, 22:
		if v := view(); v != nil {
			v.Break()
		}
	case 23:
		stream.EndView()
	case 24, 25, 26, 27, 28, 29, 30, 31:
		cursors := []string{p.ids[len(p.ids)-1-d(min(12, len(p.ids)))]}
		switch d(12) {
		case 0:
			cursors = nil
		case 1:
			cursors[0] += "0"
		case 2:
			cursors[0] = strings.Replace(cursors[0], ":1:", ":2:", 1)
		case 3:
			cursors = append(cursors, cursors[0])
		case 4:
			cursors[0] = "nonsense"
		}
		var attempts []string
		if d(3) == 0 {
			attempts = []string{fmt.Sprintf("1.%d", d(9))}
		} else if d(20) == 0 {
			attempts = []string{"one"}
		}
		if v, _, err := s.Resume(session.Request{Cursors: cursors, Attempts: attempts}); err == nil && v != nil {
			p.views = append(p.views, v)
		}
	case 32:
		s.Notify()
	case 33:
		if d(6) == 0 {
			s.Terminate()
		}
	case 34:
		s.Initialize()
	case 35, 36, 37:
		time.Sleep(time.Duration(d(1500)) * time.Millisecond)
	case 38:
		if d(4) == 0 {
			time.Sleep(time.Duration(d(12000)) * time.Millisecond)
		}
		p.registry.Sweep()
	case 39:
		if d(40) == 0 {
			p.registry.Drain()
			if d(2) == 0 {
				p.registry.EndViews()
			}
		}
	case 40, 41:
		if v := view(); v != nil {
			[]func() error{v.Stall, v.Stall, v.End}[d(3)]() // one that is over stays as it is
		}
	}
}

// accept judges a trace.
func accept(t testing.TB, trace []byte) (model.TraceReport, error) {
	t.Helper()
	return model.AcceptTrace(t.Context(), bytes.NewReader(trace))
}

// accepted fails unless the model allows every step, and keeps the trace of a
// failure.
func accepted(t testing.TB, trace []byte) model.TraceReport {
	t.Helper()
	report, err := accept(t, trace)
	var wrong *model.TraceError
	if errors.As(err, &wrong) {
		t.Fatalf("%v\nallowed instead:\n  %s\n%s", err, strings.Join(wrong.Allowed, "\n  "), around(trace, wrong.Line))
	}
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// around shows the lines of the same session before a line.
func around(trace []byte, line int) string {
	lines := strings.Split(string(trace), "\n")
	mine, _, _ := strings.Cut(lines[line-1], `","n"`)
	var b strings.Builder
	for i := range line {
		if strings.HasPrefix(lines[i], mine) && i > line-40 {
			fmt.Fprintf(&b, "%5d %s\n", i+1, lines[i])
		}
	}
	return b.String()
}

// Given registries in which everything happens, when the model replays what
// they did, then it allows every step; and every row that a registry can bring
// about was among them.
func TestTracesOfRegistriesAreAccepted(t *testing.T) {
	h := hits{}
	for seed := range uint64(lockstepRuns(20)) {
		report := accepted(t, play(t, seeded(seed), 1200))
		for row, n := range report.Rows {
			h["row "+row] += n
		}
		h["refusals"] += report.Refusals
	}
	h.log(t)
	h.needRows(t, map[string]string{}, spec.SessionTable(), spec.StreamTable())
}
