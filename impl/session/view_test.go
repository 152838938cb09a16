package session_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// Stories of a view as its reader meets it.

func TestNextWakesForEventsAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, session.Options{})
		s := opens(t, r, "alice")
		for _, c := range []struct {
			name string
			do   func(*session.View) error
			want error
		}{
			{"superseded", func(*session.View) error { _, _, err := s.Resume(session.Request{}); return err }, session.ErrSuperseded},
			{"ended on purpose", func(v *session.View) error { return v.Stream().EndView() }, session.ErrViewEnded},
			{"broken", func(v *session.View) error { return v.Break() }, session.ErrBroken},
			{"session over", func(*session.View) error { return s.Terminate() }, session.ErrSessionOver},
		} {
			v, _, err := s.Resume(session.Request{})
			if err != nil {
				t.Fatal(err)
			}
			got := make(chan error)
			go func() {
				d, err := v.Next(t.Context(), nil)
				if err == nil && string(d.Payload) != "x" {
					err = errors.New("took " + string(d.Payload))
				}
				got <- err
				_, err = v.Next(t.Context(), nil)
				got <- err
			}()
			synctest.Wait() // it sleeps
			if _, err := s.Standalone().Emit([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := <-got; err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			synctest.Wait()
			if err := c.do(v); err != nil {
				t.Fatal(err)
			}
			if err := <-got; !errors.Is(err, c.want) {
				t.Errorf("the reader of a view that is %s gets %v", c.name, err)
			}
			if err := v.Break(); err != nil {
				t.Errorf("%s: breaking a view that has ended: %v", c.name, err)
			}
		}
	})
}

func TestNextGivesUpWithItsContext(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	v, _, err := s.Resume(session.Request{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Next(ctx, nil); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	if _, err := s.Standalone().Emit([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if d, err := v.Next(t.Context(), nil); err != nil || string(d.Payload) != "x" {
		t.Errorf("and then %q, %v: the view was not to end", d.Payload, err)
	}
}

func TestEventsOfAViewThatIsDelivered(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	st, v, err := s.Call(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"1", "2"} {
		if _, err := st.Emit([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.Answer([]byte("3")); err != nil {
		t.Fatal(err)
	}
	if v.Lag() != 3 || v.Mode() != "attach" || v.Finished() || v.Skipped() != 0 || v.Position() != spec.PositionZero(s.Tag(), st.Number()) {
		t.Errorf("lag %d, mode %s, position %v", v.Lag(), v.Mode(), v.Position())
	}
	var all string
	for d, err := range v.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all += string(d.Payload)
		if d.Last != (all == "123") {
			t.Errorf("%q is last: %v", d.Payload, d.Last)
		}
	}
	if all != "123" {
		t.Errorf("the view yields %s", all)
	}
	if _, err := v.Next(t.Context(), nil); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	select {
	case <-st.Done():
		t.Error("an answer is no cancellation")
	default:
	}
}

func TestTakeStopsWhereItIsTold(t *testing.T) {
	r := registry(t, session.Options{})
	s := opens(t, r, "alice")
	v, _, err := s.Resume(session.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"1", "2", "3", "4"} {
		if _, err := s.Standalone().Emit([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	var wire []byte
	for _, want := range []struct {
		n    int
		wire string
	}{{2, "12"}, {2, "1234"}, {0, "1234"}} {
		n, err := v.Take(func(d session.Delivery) bool {
			wire = append(wire, d.Payload...)
			return len(wire)%2 != 0
		})
		if err != nil || n != want.n || string(wire) != want.wire {
			t.Fatalf("took %d, wire %s, %v", n, wire, err)
		}
	}
}
