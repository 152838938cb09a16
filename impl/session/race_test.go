package session_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// TestEmitAndResumeAtOnce lets handlers emit while readers break off and come
// back, two for each stream, so that they supersede each other. What the
// readers of a stream took, put together, has no gap and no repeat behind any
// cursor: whoever resumes at n gets n+1 next, or is told that it is gone.
func TestEmitAndResumeAtOnce(t *testing.T) {
	for name, o := range map[string]session.Options{
		"everything is retained": {WindowEvents: 1 << 14},
		"readers are overtaken":  {WindowEvents: 8},
	} {
		t.Run(name, func(t *testing.T) { emitAndResume(t, registry(t, o), o.WindowEvents > 8) })
	}
}

const racedEvents = 1500

func emitAndResume(t *testing.T, r *session.Registry, retained bool) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := opens(t, r, "alice")
	var all sync.WaitGroup
	var mu sync.Mutex
	ends := map[string]int{}
	for range 4 {
		st, v, err := s.Call(nil)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for i := uint64(1); i <= racedEvents; i++ {
				emit := st.Emit
				if i == racedEvents {
					emit = st.Answer
				}
				if _, err := emit(binary.BigEndian.AppendUint64(nil, i)); err != nil {
					t.Errorf("emit %d: %v", i, err)
				}
				if i%64 == 0 {
					time.Sleep(50 * time.Microsecond)
				}
			}
		})
		start := v.Position()
		for range 2 {
			all.Go(func() {
				c := &comingBack{t: t, s: s, cursor: start, ends: map[string]int{}}
				c.run(ctx, retained)
				mu.Lock()
				defer mu.Unlock()
				for end, n := range c.ends {
					ends[end] += n
				}
			})
		}
	}
	all.Wait()
	t.Log(ends)
	if retained && (ends["broken"] == 0 || ends["superseded"] == 0 || ends["to the end"] == 0) || !retained && ends["gone"] == 0 {
		t.Errorf("the point of the test was not reached: %v", ends)
	}
}

// comingBack is a reader that breaks off at random and resumes.
type comingBack struct {
	t      *testing.T
	s      *session.Session
	cursor spec.EventID
	ends   map[string]int
}

func (c *comingBack) run(ctx context.Context, retained bool) {
	for {
		v, d, err := c.s.Resume(session.Request{Cursors: []string{c.cursor.String()}})
		switch {
		case d.Verdict == spec.VerdictComplete:
			c.ends["to the end"]++
			return
		case errors.Is(err, spec.ReasonCursorEvicted) && !retained:
			c.ends["gone"]++
			return
		case err != nil:
			c.t.Errorf("resume at %v: %v", c.cursor, err)
			return
		case v.Position() != c.cursor:
			c.t.Errorf("resumed at %v, announced %v", c.cursor, v.Position())
			return
		}
		if !c.read(ctx, v) {
			return
		}
	}
}

// read takes events until the view ends or it has had enough, and reports
// whether it is to come back.
func (c *comingBack) read(ctx context.Context, v *session.View) bool {
	defer v.Break()
	var buf []byte
	for range rand.IntN(200) {
		d, err := v.Next(ctx, buf)
		switch {
		case err == io.EOF:
			return true // it hears that it is complete
		case errors.Is(err, session.ErrSuperseded):
			c.ends["superseded"]++
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			return true
		case errors.Is(err, session.ErrOvertaken):
			c.ends["overtaken"]++
			return true
		case err != nil:
			c.t.Errorf("at %v: %v", c.cursor, err)
			return false
		}
		n := binary.BigEndian.Uint64(d.Payload)
		if n != d.ID.Ordinal || n != c.cursor.Ordinal+1 || d.ID.Seq <= c.cursor.Seq || d.ID.Stream != c.cursor.Stream {
			c.t.Errorf("%v with payload %d follows %v", d.ID, n, c.cursor)
			return false
		}
		c.cursor, buf = d.ID, d.Payload
	}
	c.ends["broken"]++
	return true
}

// TestRegistryAtOnce opens, finds, uses, drains and ends sessions from many
// goroutines: for the race detector, and for what is left at the end.
func TestRegistryAtOnce(t *testing.T) {
	r := registry(t, session.Options{Sessions: 50, SubjectSessions: 30, DetachBudget: 32 * time.Millisecond, SessionBudget: 64 * time.Millisecond, WindowAge: 32 * time.Millisecond})
	var all sync.WaitGroup
	for i := range 8 {
		subject := []string{"alice", "bob"}[i%2]
		all.Go(func() {
			for range 60 {
				s, err := r.Open(subject, nil)
				if errors.Is(err, spec.ReasonTooManySessions) {
					time.Sleep(time.Millisecond)
					continue
				}
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				if _, err := r.Lookup("eve", s.ID(), spec.ClientCalls); !errors.Is(err, spec.ReasonSessionUnknown) {
					t.Errorf("eve finds it: %v", err)
				}
				s.Enter()
				st, v, err := s.Call(nil)
				if err != nil {
					t.Errorf("call: %v", err)
				}
				_, _ = st.Emit([]byte("x"))
				_, _ = v.Next(t.Context(), nil)
				_ = v.Break()
				s.Leave()
				if rand.IntN(3) == 0 {
					_ = s.Terminate()
				}
				_ = r.Stats()
			}
		})
	}
	all.Wait()
	deadline := time.Now().Add(20 * time.Second)
	for r.Stats().Sessions > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("abandoned sessions are still there: %+v", r.Stats())
		}
		time.Sleep(5 * time.Millisecond)
	}
	if st := r.Stats(); st.Subjects != 0 {
		t.Errorf("%+v", st)
	}
}
