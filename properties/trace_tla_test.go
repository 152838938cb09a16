package properties

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// Traces for TLC: what the real session did is what the TLA+ module Window
// allows. tla/TraceRecorded.tla holds the traces, TLC replays them all in one
// run (model trace-window of the manifest), and the test here sees to it that
// they are still what the session does.

const recordedFile = "../tla/TraceRecorded.tla"

var updateTraces = flag.Bool("update-traces", false, "write "+recordedFile+" anew; then run ./tla/check")

// The scope, which tla/TraceWindow.cfg says too.
const (
	scopeStreams = 6 // the highest number
	scopeEvents  = 20
	scopeWindow  = 3
	scopeRecords = 4
)

// playScope returns the trace of one session that stays within the scope.
func playScope(t *testing.T, d dice) []model.TraceLine {
	t.Helper()
	var trace bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		o := session.Options{WindowEvents: scopeWindow, WindowAge: 4 * time.Second, Streams: scopeRecords, Requests: scopeRecords - 1,
			DetachBudget: 3 * time.Second, SessionBudget: time.Hour}
		tracer, err := session.NewTracer(&trace, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Observe = tracer.Observe
		r, err := session.NewRegistry(o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := r.Open("", nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &scoped{s: s, ids: []spec.EventID{s.StandalonePosition()}}
		for range 60 {
			p.step(d)
		}
		r.Close()
	})
	var lines []model.TraceLine
	for _, text := range strings.Split(strings.TrimSpace(trace.String()), "\n")[1:] {
		var l model.TraceLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		if l.Trigger == spec.ServerDrains.String() { // the end of the registry is beyond the module
			break
		}
		lines = append(lines, l)
	}
	return lines
}

// A scoped session is one that is played with.
type scoped struct {
	s      *session.Session
	views  []*session.View
	ids    []spec.EventID
	calls  int
	events int
}

func (p *scoped) step(d dice) {
	stream := p.s.Stream(uint64(d(scopeStreams + 1)))
	if p.calls > 0 && d(4) > 0 {
		stream = p.s.Stream(uint64(1 + d(p.calls)))
	}
	switch d(16) {
	case 0, 1:
		if p.calls < scopeStreams {
			if st, v, err := p.s.Call(nil); err == nil {
				p.calls, p.views = int(st.Number()), append(p.views, v)
			}
		}
	case 2, 3, 4, 5, 6:
		emit := stream.Emit
		if d(4) == 0 {
			emit = stream.Answer
		}
		if p.events < scopeEvents-scopeStreams { // as many calls may be cancelled, with an event each
			if e, err := emit([]byte("x")); err == nil {
				p.events, p.ids = p.events+1, append(p.ids, e.ID)
			}
		}
	case 7, 8, 9:
		if len(p.views) > 0 {
			p.views[len(p.views)-1-d(min(3, len(p.views)))].TryNext(nil)
		}
	case 10, 11, 12:
		id := p.ids[len(p.ids)-1-d(min(6, len(p.ids)))]
		switch d(8) {
		case 0:
			id.Tag = spec.TagOf("another", "")
		case 1:
			id.Seq, id.Ordinal = id.Seq+1, id.Ordinal+1
		case 2:
			id.Stream++
		}
		cursors := []string{id.String()}
		if d(6) == 0 {
			cursors = nil
		}
		if v, _, err := p.s.Resume(session.Request{Cursors: cursors}); err == nil && v != nil {
			p.views = append(p.views, v)
		}
	case 13:
		if len(p.views) > 0 {
			p.views[len(p.views)-1].Break()
		}
	case 14:
		stream.EndView()
	case 15:
		time.Sleep(time.Duration(d(2000)) * time.Millisecond)
	}
}

// inWindow says a trace in the words of the module Window: one label a line.
func inWindow(t *testing.T, lines []model.TraceLine) (labels []string) {
	t.Helper()
	say := func(format string, args ...any) { labels = append(labels, fmt.Sprintf(format, args...)) }
	var evicted uint64
	for _, l := range lines {
		for ; evicted < l.Evicted; evicted++ {
			say(`[do |-> "EvictOldest", reply |-> "ok"]`)
		}
		why := "ok"
		if l.Refused != "" {
			why = string(l.Refused)
		}
		var n uint64
		if l.Stream != nil {
			n = *l.Stream
		}
		attached := l.From == spec.Attached.String() || l.From == spec.FinishedAttached.String()
		switch l.Trigger {
		case spec.ClientInitializes.String(), spec.RetentionEnds.String(), spec.RecordsCapped.String(), spec.ClientIsRefused.String(),
			spec.ClientAttaches.String(), spec.ClientReattaches.String(), spec.ClientCompletes.String(): // part of another step
		case spec.ClientCalls.String():
			if l.Refused == spec.ReasonTooManyStreams {
				say(`[do |-> "Call", reply |-> [why |-> %q, s |-> 0]]`, why)
			} // calls in flight are no part of the module; what opens is the next line
		case spec.StreamOpens.String():
			if n > 0 {
				say(`[do |-> "Call", reply |-> [why |-> "ok", s |-> %d]]`, n)
			}
		case spec.HandlerEmits.String(), spec.HandlerAnswers.String():
			do := map[string]string{spec.HandlerEmits.String(): "Emit", spec.HandlerAnswers.String(): "Answer"}[l.Trigger]
			if why != "ok" {
				say(`[do |-> %q, s |-> %d, reply |-> [why |-> %q, seq |-> 0, n |-> 0, evicted |-> 0, lag |-> 0]]`, do, n, why)
				continue
			}
			lag, leaves := uint64(0), uint64(0)
			if attached {
				lag = l.Head + 1 - l.View
			}
			if l.Seq-l.Evicted == scopeWindow {
				leaves = 1
			}
			evicted += leaves
			say(`[do |-> %q, s |-> %d, reply |-> [why |-> "ok", seq |-> %d, n |-> %d, evicted |-> %d, lag |-> %d]]`, do, n, l.Seq+1, l.Head+1, leaves, lag)
		case spec.HandlerEndsView.String():
			say(`[do |-> "EndView", s |-> %d, reply |-> %q]`, n, why)
		case spec.ViewStalls.String(): // to Window one reason to end a view is as good as another
			say(`[do |-> "EndView", s |-> %d, reply |-> %q]`, n, why)
		case spec.ViewBreaks.String():
			say(`[do |-> "Break", s |-> %d, reply |-> %q]`, n, why)
		case spec.ViewDelivers.String():
			say(`[do |-> "Deliver", s |-> %d, reply |-> [why |-> "ok", seq |-> %d, n |-> %d, last |-> %s]]`, n, l.Event.Seq, l.Event.Ordinal,
				strings.ToUpper(fmt.Sprint(l.Row == "ST36")))
		case spec.ViewOvertaken.String():
			say(`[do |-> "Deliver", s |-> %d, reply |-> [why |-> "overtaken", seq |-> 0, n |-> 0, last |-> FALSE]]`, n)
		case spec.DetachBudgetElapses.String():
			if l.Seq-l.Evicted == scopeWindow {
				evicted++
			}
			say(`[do |-> "ElapseDetach", s |-> %d, reply |-> %q]`, n, why)
		case spec.ClientResumes.String():
			say("%s", resumeInWindow(l))
		default:
			t.Fatalf("nobody said what %s is in Window", l.Trigger)
		}
	}
	return labels
}

func resumeInWindow(l model.TraceLine) string {
	d := l.Decision
	if d.Verdict == spec.VerdictAttach.String() {
		return fmt.Sprintf(`[do |-> "Attach", reply |-> [seq |-> %d, n |-> %d, skipped |-> %d]]`, d.Position.Seq, d.Position.Ordinal, d.Skipped)
	}
	tag, why, at := "own", d.Verdict, d.Position.Ordinal
	if d.Cursor.Tag != l.Session {
		tag = "foreign"
	}
	if d.Reason != "" {
		why, at = string(d.Reason), 0
	}
	if d.Reason == spec.ReasonCursorMalformed {
		tag = "malformed"
	}
	return fmt.Sprintf(`[do |-> "Resume", c |-> [tag |-> %q, seq |-> %d, s |-> %d, n |-> %d], reply |-> [why |-> %q, at |-> %d]]`,
		tag, d.Cursor.Seq, d.Cursor.Stream, d.Cursor.Ordinal, why, at)
}

// recorded is the text of the module.
func recorded(t *testing.T, h hits) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("---------------------------- MODULE TraceRecorded ----------------------------\n" +
		"(* Traces of the real session, in the words of module Window. Written by        *)\n" +
		"(*   go test ./properties -run TestRecordedTraces -update-traces                 *)\n" +
		"EXTENDS Naturals, Sequences\n\n" +
		"RecordedTraces == <<\n")
	const traces = 30
	for seed := range uint64(traces) {
		labels := inWindow(t, playScope(t, seeded(seed)))
		fmt.Fprintf(&b, "  <<%s>>", strings.Join(labels, ",\n    "))
		if seed < traces-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
		for _, l := range labels {
			name, rest, _ := strings.Cut(strings.TrimPrefix(l, `[do |-> "`), `"`)
			h[name]++
			if _, why, ok := strings.Cut(rest, `why |-> "`); ok {
				why, _, _ = strings.Cut(why, `"`)
				h.hit("%s %s", name, why)
			}
		}
	}
	b.WriteString(">>\n\nReplayed == RecordedTraces\n=============================================================================\n")
	return b.String()
}

// Given the traces that TLC accepted, when the session is played again, then it
// does the same.
func TestRecordedTracesAreWhatTheSessionDoes(t *testing.T) {
	h := hits{}
	text := recorded(t, h)
	h.log(t)
	h.need(t, "Call ok", "Emit ok", "Emit stream_finished", "Answer ok", "EndView", "Break", "Attach", "Resume reattach", "Resume cursor_evicted",
		"Resume cursor_foreign", "Resume cursor_unissued", "Resume cursor_ahead", "Deliver ok", "Deliver overtaken", "EvictOldest", "ElapseDetach")
	if *updateTraces {
		if err := os.WriteFile(recordedFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	on, err := os.ReadFile(recordedFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(on) != text {
		t.Errorf("%s is stale: go test ./properties -run TestRecordedTraces -update-traces, then go run ./tla/check -update -run trace", recordedFile)
	}
}
