package properties

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"

	"pgregory.net/rapid"
)

// Wired: the real client and the real server over a network in memory on which
// anything goes wrong, in virtual time, over HTTP/1.1 and HTTP/2. What both
// sides noted is judged by books that know nothing of either; what the servers
// did is judged by the model.

// judge returns what is wrong with a run that has ended.
func (r *wiredRun) judge() error {
	if err := r.judgeApplied(); err != nil {
		return err
	}
	return r.judgeCalls()
}

// judgeApplied: what the client applied is, stream by stream, what one handler
// emitted, each event once, in order, from the first one on.
func (r *wiredRun) judgeApplied() error {
	seen := map[string]bool{}
	at := map[client.StreamID]spec.EventID{}
	whose := map[client.StreamID]string{}
	tags := map[uint64]spec.Tag{} // by epoch
	epochs := map[spec.Tag]uint64{}
	for _, ev := range r.applied {
		if len(ev.Payload) == 0 {
			continue
		}
		id, err := spec.ParseEventID(ev.ID)
		if err != nil {
			return fmt.Errorf("applied %q: %w", ev.ID, err)
		}
		if seen[ev.ID] {
			return fmt.Errorf("duplicate: %s was applied twice", ev.ID)
		}
		seen[ev.ID] = true
		if tag, known := tags[ev.Stream.Epoch]; known && tag != id.Tag {
			return fmt.Errorf("merge: epoch %d applied events of two sessions", ev.Stream.Epoch)
		}
		if epoch, known := epochs[id.Tag]; known && epoch != ev.Stream.Epoch {
			return fmt.Errorf("merge: epochs %d and %d applied events of one session", epoch, ev.Stream.Epoch)
		}
		tags[ev.Stream.Epoch], epochs[id.Tag] = id.Tag, ev.Stream.Epoch
		before, had := at[ev.Stream]
		if had && before.Stream != id.Stream {
			return fmt.Errorf("merge: %v applied events of streams %d and %d", ev.Stream, before.Stream, id.Stream)
		}
		if id.Ordinal != before.Ordinal+1 {
			return fmt.Errorf("loss: %v applied ordinal %d after %d", ev.Stream, id.Ordinal, before.Ordinal)
		}
		at[ev.Stream] = id
		text, known := r.emitted[ev.ID]
		if ev.Answer {
			text, known = r.answered[ev.ID]
		}
		switch {
		case !known && ev.Answer && bytes.Contains(ev.Payload, []byte(`"error"`)):
			r.hits.hit("answered by the server itself")
		case !known:
			return fmt.Errorf("nobody emitted %s: %s", ev.ID, ev.Payload)
		case textOf(ev.Payload) != text:
			return fmt.Errorf("%s says %q and was emitted as %q", ev.ID, textOf(ev.Payload), text)
		case whose[ev.Stream] != "" && whose[ev.Stream] != label(text):
			return fmt.Errorf("merge: %v got events of %s and %s", ev.Stream, whose[ev.Stream], label(text))
		default:
			whose[ev.Stream] = label(text)
		}
	}
	return nil
}

// judgeCalls: each call has exactly one outcome, and it is true.
func (r *wiredRun) judgeCalls() error {
	doubled := 0
	for _, f := range r.plan.Faults {
		if f.Kind == "doubled" {
			doubled++
		}
	}
	made := 0
	for _, calls := range r.plan.Callers {
		made += len(calls)
	}
	if len(r.calls) != made {
		return fmt.Errorf("%d of %d calls came to an end", len(r.calls), made)
	}
	if len(r.forgotten) > 0 {
		return fmt.Errorf("the record does not know that the outcomes of %v are unknown", r.forgotten)
	}
	told := map[client.StreamID]bool{}
	for _, c := range r.calls {
		told[c.stream] = true
	}
	ends := 0
	for id, all := range r.outcomes {
		if len(all) != 1 {
			return fmt.Errorf("call %v has %d outcomes: %v", id, len(all), all)
		}
		// An epoch that ends between the two halves of making a call is told to
		// both: its caller, that no call was made, and OnOutcome, that it did not
		// run.
		if all[0].Kind == client.OutcomeNotRun && !told[id] {
			continue
		}
		ends++
	}
	if ends != made {
		return fmt.Errorf("%d calls and %d outcomes: the callers were told %v, and the outcomes are %v", made, ends, r.calls, r.outcomes)
	}
	for name, c := range r.calls {
		ran := r.executed[name]
		r.hits.when(ran > 1, "executed twice")
		kind, text, _ := strings.Cut(c.kind, " ")
		switch {
		case ran > 1 && doubled == 0:
			return fmt.Errorf("call %s ran %d times, and no request was doubled", name, ran)
		case kind == "answered" && label(text) != name:
			return fmt.Errorf("call %s was told %q", name, text)
		case kind == "answered" && ran == 0, kind == "failed" && ran == 0:
			return fmt.Errorf("call %s was %s and never ran", name, c.kind)
		case c.kind == "not run" && ran > 0:
			return fmt.Errorf("call %s is said not to have run, and ran %d times", name, ran)
		case kind == "answered":
			if err := r.judgeAnswer(name, text); err != nil {
				return err
			}
		}
		if kind == "unknown" {
			r.hits.hit("unknown: %s", string(r.outcomes[c.stream][0].Reason))
		}
		r.hits.hit("outcome %s", map[bool]string{true: "answered", false: c.kind}[kind == "answered"])
		r.hits.when(kind == "unknown" && ran > 0, "unknown and ran")
		r.hits.when(kind == "unknown" && ran == 0, "unknown and never ran")
	}
	return nil
}

// judgeAnswer: whoever has the answer has all that came before it.
func (r *wiredRun) judgeAnswer(name, text string) error {
	run, _, _ := strings.Cut(strings.TrimPrefix(text, name+"/"), " ")
	got := 0
	for _, ev := range r.applied {
		if strings.HasPrefix(r.emitted[ev.ID], name+"/"+run+"#") {
			got++
		}
	}
	want := 0
	for _, text := range r.emitted {
		if strings.HasPrefix(text, name+"/"+run+"#") {
			want++
		}
	}
	if got != want {
		return fmt.Errorf("loss: call %s was answered, and %d of its %d events were applied", name, got, want)
	}
	return nil
}

// playWired plays a plan in a bubble of its own, and judges it.
func playWired(t *testing.T, plan wiredPlan, h hits) {
	t.Helper()
	r := &wiredRun{plan: plan, hits: h}
	var err error
	synctest.Test(t, func(*testing.T) { err = r.run() })
	if err == nil {
		err = r.judge()
	}
	if err != nil {
		text, _ := json.Marshal(plan)
		t.Fatalf("%v\nplan: %s", err, text)
	}
	h.add(r.net.hits)
	for _, s := range r.states {
		h.when(s.To == spec.Abandoned && s.From != spec.Opening, fmt.Sprintf("abandoned: %s", s.Reason))
		h.when(s.To == spec.Open && s.Epoch > 1, "a later epoch opened")
		h.when(s.To == spec.Quarantined, "quarantined")
	}
	for _, trace := range r.traces {
		report := accepted(t, trace.Bytes())
		for row, n := range report.Rows {
			h["row "+row] += n
		}
		h["traces accepted"]++
		h["steps accepted"] += report.Lines
	}
}

func (h hits) add(more hits) {
	for what, n := range more {
		h[what] += n
	}
}

// Given a client and servers with a network between them on which connections
// end, break, fall silent, are late and say everything twice, when servers
// restart, drain and are away, then nothing is delivered twice, lost silently or
// merged, and every call has exactly one outcome, which is true. From fixed
// seeds, so that what happened can be counted.
func TestWired(t *testing.T) {
	h := hits{}
	for seed := range uint64(lockstepRuns(80)) {
		playWired(t, drawWiredPlan(seeded(seed)), h)
	}
	h.log(t)
	for _, kind := range wiredFaults {
		if kind.what != "none" && kind.what != "trickle" {
			h.when(h["fault "+kind.what+" down=false"]+h["fault "+kind.what+" down=true"] > 0, "fault "+kind.what)
			h.need(t, "fault "+kind.what)
		}
	}
	h.need(t, "outcome answered", "outcome unknown", "outcome not run", "unknown and ran", "unknown and never ran", "pending",
		"a later epoch opened", "quarantined", "abandoned: session_unknown", "abandoned: cursor_evicted", "abandoned: caller_decided",
		"executed twice", "dial refused", "traces accepted",
		"row ST24", "row ST25", "row ST26", "row ST33", "row ST36", "row ST41", "row ST16", "row SS12", "row SS14", "row ST50", "row ST60")
}

// Given one thing that goes wrong, when it does, then what it leads to is this.
func TestWiredStories(t *testing.T) {
	long := []wiredCall{{Events: 10, Gap: 10 * time.Second}}
	all := func(kind string, down bool, after int, wait time.Duration) (faults []wiredFault) {
		for range 50 {
			faults = append(faults, wiredFault{kind, down, after, wait})
		}
		return faults
	}
	for _, story := range []struct {
		name  string
		plan  wiredPlan
		leads []string
		never []string
	}{
		{"nothing goes wrong", wiredPlan{Callers: [][]wiredCall{long, long}},
			[]string{"outcome answered", "row ST36"}, []string{"outcome unknown", "outcome not run", "pending", "row ST25", "row ST33", "quarantined"}},
		{"every connection ends behind some bytes", wiredPlan{Faults: all("end", true, 1500, 0), Callers: [][]wiredCall{long}},
			[]string{"outcome answered", "row ST24"}, []string{"outcome unknown", "abandoned: session_unknown"}},
		{"every connection breaks behind some bytes", wiredPlan{Faults: all("reset", true, 1500, 0), Callers: [][]wiredCall{long}},
			[]string{"outcome answered", "row ST24"}, []string{"outcome unknown", "abandoned: session_unknown"}},
		{"everything arrives twice at once", wiredPlan{Faults: all("doubled", false, 0, 0), Callers: [][]wiredCall{{{Events: 3, Gap: time.Second}, {Events: 3, Gap: time.Second}}}},
			[]string{"fault doubled down=false"}, []string{"outcome not run"}},
		{"everything arrives once more later", wiredPlan{Faults: all("doubled", false, 0, 7*time.Second), Callers: [][]wiredCall{{{Events: 3, Gap: time.Second}, {Events: 9, Gap: time.Second}}}},
			[]string{"executed twice"}, []string{"outcome not run"}},
		{"the line is dead for longer than a call waits", wiredPlan{Callers: [][]wiredCall{long},
			Events: []wiredEvent{{After: 15 * time.Second, Do: "away", For: 3 * time.Minute}}},
			[]string{"pending", "row ST44", "outcome failed", "answered by the server itself"}, []string{"outcome answered"}},
		{"the line is dead for longer than a session lives", wiredPlan{Callers: [][]wiredCall{{{}, {After: 40 * time.Minute}, {}}},
			Events: []wiredEvent{{After: 15 * time.Second, Do: "away", For: 30 * time.Minute}}},
			[]string{"outcome answered", "abandoned: session_expired", "row SS14", "a later epoch opened"}, nil},
		{"the server restarts under a call", wiredPlan{Callers: [][]wiredCall{long}, Events: []wiredEvent{{After: 15 * time.Second, Do: "restart"}}},
			[]string{"outcome unknown", "unknown and ran", "abandoned: session_unknown"}, []string{"outcome answered", "outcome not run"}},
		{"the server drains under a call", wiredPlan{Callers: [][]wiredCall{long}, Events: []wiredEvent{{After: 15 * time.Second, Do: "drain"}}},
			[]string{"row ST16", "row SS12", "outcome unknown", "unknown and ran"}, []string{"outcome answered"}},
		{"nobody is there at a call", wiredPlan{Callers: [][]wiredCall{{{After: 20 * time.Second}}}, Events: []wiredEvent{{After: 15 * time.Second, Do: "away", For: 40 * time.Second}}},
			[]string{"outcome not run", "dial refused"}, []string{"outcome unknown"}},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, HTTP/2 %v", story.name, http2), func(t *testing.T) {
				h := hits{}
				story.plan.HTTP2, story.plan.Window = http2, 256
				story.plan.Detach, story.plan.Session = 30*time.Second, 5*time.Minute
				playWired(t, story.plan, h)
				h.need(t, story.leads...)
				for _, what := range story.never {
					if h[what] > 0 {
						t.Errorf("%s happened %d times", what, h[what])
					}
				}
				if t.Failed() {
					h.log(t)
				}
			})
		}
	}
}

// The same as TestWired with plans that differ each time, and shrink.
func TestWiredRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := rapid.Custom(func(t *rapid.T) wiredPlan { return drawWiredPlan(drawn(t)) }).Draw(t, "plan")
		r := &wiredRun{plan: plan, hits: hits{}}
		var err error
		rapid.SyncTest(t, func(*rapid.T) { err = r.run() }) // and every handler has returned
		if err == nil {
			err = r.judge()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
