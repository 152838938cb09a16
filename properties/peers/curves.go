package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"example.com/reattach/impl/session"
)

// A curve is a plot that is still to be measured.
type curve struct {
	plot
	at   []int
	ways []way
}

// A way does the work in a setting; the doer's sample says what a piece took.
type way struct {
	name string
	open func(at int) (sample func(n int) float64, close func(), err error)
}

func curves() []curve {
	return []curve{
		{plot{name: "sessions", title: "Append of 256 B over so many sessions in turn, by id, full windows", xUnit: "sessions", yUnit: "ns"},
			[]int{1, 10, 100, 1000, 5000},
			[]way{appendOver("ours", openOurs(false)), appendOver("bound by id", openBoundMap), appendOver("go-sdk", openGosdk(fullWindows))}},
		{plot{name: "idle", title: "Append of 256 B to one session while so many are open", xUnit: "sessions", yUnit: "ns"},
			[]int{1, 10, 100, 1000, 10_000},
			[]way{appendAmong("ours", openOurs(false)), appendAmong("go-sdk", openGosdk(oneWindow)), appendAmong("centrifuge", openCentrifuge)}},
		{plot{name: "window", title: "A window of so many events of 256 B: append, and read all of it", xUnit: "events", yUnit: "ns"},
			[]int{16, 64, 256, 1024, 4096},
			[]way{{"append", appendWithin}, {"read all", readWithin}}},
		{plot{name: "size", title: "Append of events of so many bytes, 64 retained", xUnit: "bytes", yUnit: "ns"},
			[]int{1, 16, 64, 256, 1024, 4096, 16_384, 65_536},
			[]way{{"ours", appendSized}, {"copy under a lock", copySized}}},
		{plot{name: "connections", title: "A notification over HTTP, with so many calls of 1,000 at a time", xUnit: "connections", yUnit: "ns"},
			[]int{1, 2, 8, 32},
			[]way{callsAtATime(server{"ours", true, serveOurs}), callsAtATime(server{"bare ring", false, serveBareRing}), callsAtATime(server{"go-sdk", true, serveGosdk})}},
	}
}

// writePlots measures the curves and writes a picture of each.
func writePlots(dir string, each time.Duration, progress io.Writer) error {
	for _, c := range curves() {
		for _, w := range c.ways {
			l := line{name: w.name}
			for _, at := range c.at {
				y, err := w.measure(at, each)
				if err != nil {
					return fmt.Errorf("%s of %s at %d: %w", c.name, w.name, at, err)
				}
				l.points = append(l.points, [2]float64{float64(at), y})
				fmt.Fprintf(progress, "%s: %s at %d: %s ns\n", c.name, w.name, at, number(y))
			}
			c.lines = append(c.lines, l)
		}
		if err := os.WriteFile(filepath.Join(dir, "performance-"+c.name+".svg"), []byte(c.svg()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the median of five samples.
func (w way) measure(at int, each time.Duration) (float64, error) {
	sample, done, err := w.open(at)
	if err != nil {
		return 0, err
	}
	defer done()
	var r result
	n := calibrate(sample, each)
	for range 5 {
		r.samples = append(r.samples, sample(n))
	}
	return r.median(), nil
}

func appendOver(name string, open func(int) (store, error)) way {
	return way{name, func(at int) (func(int) float64, func(), error) {
		return appenders(at, at, windowEvents, []keeper{{name, open}})[0].open()
	}}
}

func appendAmong(name string, open func(int) (store, error)) way {
	return way{name, func(at int) (func(int) float64, func(), error) {
		return appenders(at, 1, windowEvents+100, []keeper{{name, open}})[0].open()
	}}
}

// filled is a stream whose window has had twice as many events as it holds.
func filled(o session.Options, payload []byte) (*session.Session, func(), error) {
	r, err := session.NewRegistry(o)
	if err != nil {
		return nil, nil, err
	}
	s, err := r.Open("", nil)
	if err != nil {
		return nil, nil, err
	}
	for range 2 * o.WindowEvents {
		if _, err := s.Emit(0, payload); err != nil {
			return nil, nil, err
		}
	}
	return s, r.Close, nil
}

func appendWithin(events int) (func(int) float64, func(), error) {
	payload := event()
	s, done, err := filled(session.Options{WindowEvents: events}, payload)
	return func(n int) float64 { return timed(n, func(int) { s.Emit(0, payload) }) }, done, err
}

func readWithin(events int) (func(int) float64, func(), error) {
	s, done, err := filled(session.Options{WindowEvents: events}, event())
	if err != nil {
		return nil, nil, err
	}
	e, err := s.Emit(0, event())
	if err != nil {
		return nil, nil, err
	}
	e.ID.Seq -= uint64(events)
	e.ID.Ordinal -= uint64(events)
	request, wire := session.Request{Cursors: []string{e.ID.String()}}, newWire()
	return func(n int) float64 {
		return timed(n, func(int) {
			view, _, err := s.Resume(request)
			if err != nil {
				panic(err)
			}
			read, _ := view.Take(func(d session.Delivery) bool {
				wire.event(d.ID, d.Payload)
				return true
			})
			if read != events {
				panic(fmt.Sprintf("read %d events, want %d", read, events))
			}
			wire.reset()
			_ = view.Break()
		})
	}, done, nil
}

const sizedEvents = 64

func appendSized(size int) (func(int) float64, func(), error) {
	payload := make([]byte, size)
	s, done, err := filled(session.Options{WindowEvents: sizedEvents}, payload)
	return func(n int) float64 { return timed(n, func(int) { s.Emit(0, payload) }) }, done, err
}

func copySized(size int) (func(int) float64, func(), error) {
	payload, ring := make([]byte, size), make([]byte, size*sizedEvents)
	var mu sync.Mutex
	return func(n int) float64 {
		return timed(n, func(i int) {
			mu.Lock()
			copy(ring[i%sizedEvents*size:], payload)
			mu.Unlock()
		})
	}, func() {}, nil
}

// callsAtATime has so many clients, each with a connection and a session.
func callsAtATime(s server) way {
	return way{s.name, func(clients int) (func(int) float64, func(), error) {
		first, done, err := serve(s, false)
		if err != nil {
			return nil, nil, err
		}
		readers := []*reader{first}
		for range clients - 1 {
			r, err := newReader(s, first.url)
			if err != nil {
				done()
				return nil, nil, err
			}
			readers = append(readers, r)
		}
		return func(n int) float64 {
			began := time.Now()
			var all sync.WaitGroup
			for _, r := range readers {
				all.Go(func() {
					for range n {
						r.callToTheEnd(s.name)
					}
				})
			}
			all.Wait()
			return float64(time.Since(began).Nanoseconds()) / float64(n*clients*burst)
		}, done, nil
	}}
}
