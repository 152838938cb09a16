package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// reading reads the body of a response at so many bytes a second until it
// ends, for so long at most, and returns what it read and how that ended. It
// takes as much at a time as comes in a quarter of a second.
func (w *wire) reading(rate int, most time.Duration) (text string, took time.Duration, err error) {
	start := time.Now()
	var b strings.Builder
	buf := make([]byte, max(1, rate/4))
	for time.Since(start) < most {
		n, err := io.ReadFull(w.resp.Body, buf)
		b.Write(buf[:n])
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) && errors.Is(err, io.EOF) {
				err = io.EOF
			}
			return b.String(), time.Since(start), err
		}
		time.Sleep(time.Second / 4)
	}
	return b.String(), time.Since(start), nil
}

// stalls notes when a view was cut for its pace.
func stalls(o *Options) (at func() time.Duration) {
	var mu sync.Mutex // the writer of the view observes, the test asks
	var start, cut time.Time
	o.Session.Observe = func(ob session.Observation) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ob.Step.Row == nil:
		case ob.Step.Row.Trigger == spec.ClientCalls:
			start = time.Now()
		case ob.Step.Row.Trigger == spec.ViewStalls:
			cut = time.Now()
		}
	}
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return cut.Sub(start)
	}
}

// R9, the rate cut: given a backlog of small events, when a reader takes less
// than 1 KiB a second of it, then it is cut when data was pending for 30 s,
// between two events, with resumption-required, the place where it stands, and
// retry; and it resumes there exactly. One that takes more is not cut. (Between
// the two lie buffers, at either end and a few KiB each; of a reader so slow that
// one of them lasts for longer than an event is waited for, the connection is
// aborted.)
func TestSlowReaderIsCutBetweenEvents(t *testing.T) {
	for _, c := range []struct {
		rate      int
		cut, told bool
	}{{100, true, false}, {600, true, false}, {800, true, true}, {1300, false, false}, {4000, false, false}} {
		t.Run(fmt.Sprint(c.rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Session: session.Options{WindowEvents: 1000}}
				cut := stalls(&o)
				r := newPipeRig(t, bench{}.app, o)
				r.open()
				w := r.call(1, "count", `{"n":900,"size":100}`, HeaderNotify, "1")
				text, took, err := w.reading(c.rate, 10*time.Minute)
				if !c.cut {
					if cut() > 0 || !strings.Contains(text, `"result":{"n":900}`) {
						t.Errorf("after %v, %d bytes, %v: it was cut", took, len(text), err)
					}
					return
				}
				if cut() < 30*time.Second || cut() > 38*time.Second {
					t.Errorf("cut after %v", cut())
				}
				events := sse.NewReader(strings.NewReader(text), sse.Options{Comments: true})
				var at, told string
				var required, retry bool
				for {
					ev, err := events.Next()
					if err != nil {
						if c.told && err != io.EOF {
							t.Errorf("the view ended with %v", err)
						}
						break
					}
					retry = retry || ev.HasRetry
					switch {
					case ev.Kind == sse.Comment && string(ev.Comment) == commentRequired:
						required = true
					case strings.Contains(string(ev.Data), MethodResumptionRequired):
						told = string(ev.Data)
					case ev.Kind == sse.Message && ev.HasID:
						at = string(ev.ID)
					}
				}
				if c.told && (!required || !retry || !strings.Contains(told, at)) {
					t.Errorf("at %s it was told required %v, retry %v, %q", at, required, retry, told)
				}
				rest := r.resume(at).all()
				var ordinal int
				fmt.Sscanf(ids(rest[:1]), "%d:1:", &ordinal)
				if _, before, _ := strings.Cut(at, ":"); !strings.HasPrefix(before, fmt.Sprint(ordinal-1)+":") || len(rest) != 902-ordinal {
					t.Errorf("after %s came %d, %d in all", at, ordinal, len(rest))
				}
			})
		})
	}
}

// TestCase55CutInside (R9): the budget ends while an event of 3 MiB is half
// written. The connection is aborted; nothing is written inside the event, no
// part of it is taken for one, and no id of it is used.
//
// The faster one of the readers would have had the time to be told.
func TestCase55CutInside(t *testing.T) {
	for _, rate := range []int{600, 840} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { cutInside(t, rate) }) })
	}
}

func cutInside(t *testing.T, rate int) {
	var o Options
	cut := stalls(&o)
	app := bench{"big": func(_ context.Context, m *Message) {
		_, _ = m.Stream.Emit("small", nil)
		_, _ = m.Stream.Emit("big", strings.Repeat("line\n", 3<<20/6)) // each is a \n in JSON
		_, _ = m.Stream.Answer(nil)
	}}.app
	r := newPipeRig(t, app, o)
	r.open()
	w := r.call(1, "big", `{}`, HeaderNotify, "1")
	text, _, err := w.reading(rate, 10*time.Minute)
	if cut() < 30*time.Second || cut() > 38*time.Second || err == nil || err == io.EOF {
		t.Errorf("after %v: %v", cut(), err)
	}
	if strings.Contains(text, commentRequired) || strings.Contains(text, "retry:") || strings.Contains(text, MethodResumptionRequired) {
		t.Error("something was written inside the event")
	}
	events := sse.NewReader(strings.NewReader(text), sse.Options{})
	var messages []sse.Event
	for {
		ev, err := events.Next()
		if err != nil {
			if !errors.Is(err, sse.ErrTruncated) {
				t.Errorf("the reader says %v", err)
			}
			break
		}
		if ev.Kind == sse.Message && ev.HasID {
			messages = append(messages, ev.Clone())
		}
	}
	if got := ids(messages); got != "1:1:1" {
		t.Errorf("taken for events: %s", got)
	}
	if got := ids(r.resume(string(messages[0].ID)).all()); got != "2:1:2 3:1:3" {
		t.Errorf("resumed: %s", got)
	}
}

// R9: pending without a break: a reader that is behind for a while, but has
// taken everything in between, is not cut, however slow it is on average.
func TestBreaksBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{}, 10)
		r := newPipeRig(t, bench{"gated": gated(gate)}.app, Options{})
		r.open()
		w := r.call(1, "gated", `{"n":9,"size":2000}`)
		for range 10 {
			gate <- struct{}{}
			time.Sleep(20 * time.Second) // 2 KB in 20 s: below the rate, and no view stalls
			w.message()
		}
	})
}

// R9b: views of clients that resume are ended cleanly after their time, with
// retry, however busy the line is kept by whoever holds it; those of clients
// that might take that for the end of their call only after the longer one.
func TestViewsLiveForABoundedTime(t *testing.T) {
	for _, c := range []struct {
		name, version string
		headers       []string
		want          time.Duration
	}{
		{"2025-11-25", Version20251125, nil, 10 * time.Minute},
		{"2025-06-18", Version20250618, nil, 2 * time.Hour},
		{"2025-06-18, one of ours", Version20250618, []string{HeaderAttempt, "1.1"}, 10 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newPipeRig(t, bench{"wait": func(ctx context.Context, m *Message) { <-ctx.Done() }}.app, Options{})
				r.version = c.version
				r.open()
				start := time.Now()
				w := r.call(1, "wait", `{}`, c.headers...)
				position := w.position()
				messages, retry, err := w.farewell()
				if took := time.Since(start); took != c.want || messages != 0 || retry == 0 || err != io.EOF {
					t.Errorf("ended after %v with %d messages, retry %v, %v", took, messages, retry, err)
				}
				again := r.resume(position) // it has resumed: so it can
				start = time.Now()
				if _, _, err := again.farewell(); err != io.EOF || time.Since(start) != 10*time.Minute {
					t.Errorf("the resumed view ended after %v, %v", time.Since(start), err)
				}
			})
		})
	}
}
