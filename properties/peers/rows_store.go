package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// The rows of the store: no HTTP.

func storeRows() []row {
	gosdk := keeper{"go-sdk", openGosdk(fullWindows)}
	peers := []keeper{gosdk, {"mcp-go", openMcpgo}, {"centrifuge", openCentrifuge}, {"go-sse finite", openGosse}}
	byID, byHandle := keeper{"ours", openOurs(false)}, keeper{"ours", openOurs(true)}
	boundID, boundHandle := keeper{"bound by id", openBoundMap}, keeper{"bound by handle", openBoundHandles}
	with := func(first ...keeper) []keeper { return append(first, peers...) }
	against := func(gosdk, mcpgo, centrifuge, gosse float64) (targets []target) {
		for name, times := range map[string]float64{"go-sdk": gosdk, "mcp-go": mcpgo, "centrifuge": centrifuge, "go-sse finite": gosse} {
			if times > 0 {
				targets = append(targets, target{of: name, to: "ours", atLeast: times})
			}
		}
		return targets
	}
	atMost := func(bound string, times float64, more ...target) []target {
		return append([]target{{of: "ours", to: bound, atMost: times}}, more...)
	}
	hot := keeper{"go-sdk", openGosdk(oneWindow)}
	return []row{
		{"append-id", "append 256 B at a full window, by session id, own copy, with its age", "ns",
			appenders(1, 1, windowEvents+100, with(byID, boundID)), atMost("bound by id", 1.5, against(6, 10, 15, 10)...)},
		{"append-handle", "the same by a handle at hand", "ns",
			appenders(1, 1, windowEvents+100, with(byHandle, boundHandle, keeper{"window alone", openWindow})), atMost("bound by handle", 1.5, against(15, 25, 40, 25)...)},
		{"append-many", "append over 10,000 sessions in turn, by id", "ns",
			appenders(manySessions, manySessions, windowEvents, with(byID, boundID)), atMost("bound by id", 1.3, against(3, 5, 10, 3.5)...)},
		{"append-parallel", "append from every processor, each to a session of its own, by id", "ns",
			parallel(64, windowEvents+100, with(byID, boundID)), against(40, 7, 8, 7)},
		{"append-idle", "append to one session while 9,999 are open and quiet, by id", "ns",
			append(appenders(manySessions, 1, windowEvents+100, []keeper{byID, hot, {"centrifuge", openCentrifuge}, {"go-sse finite", openGosse}}),
				renamed("ours, alone", appenders(1, 1, windowEvents+100, []keeper{byID}))...),
			append(atMost("ours, alone", 1.3), against(10_000, 0, 12, 8)...)},
		{"read-16", "read the 16 events after a cursor, as the store hands them out", "ns",
			readers(16, false, []keeper{{"ours", openWindow}, boundHandle}, peers), against(2.5, 4, 20, 3)},
		{"read-16-wire", "the same, each encoded for the wire as its server does", "ns",
			readers(16, true, []keeper{{"ours", openWindow}, {"ours, resumed", openOurs(true)}}, peers), against(2.5, 4, 20, 3)},
		{"read-255", "read the 255 events after a cursor, each encoded for the wire as its server does", "ns",
			readers(255, true, []keeper{{"ours", openWindow}, {"ours, resumed", openOurs(true)}, {"bound, copy alone", openBoundHandles}}, peers), against(3, 6, 6, 5)},
		{"memory-window", "memory of a full window of 256 × 256 B, a session", "B",
			memory(1000, windowEvents, with(byID, boundID)), append([]target{{of: "ours", to: "payload", atMost: 1.10}}, against(1.0, 1.4, 1.7, 1.4)...)},
		{"memory-idle", "memory of an idle session", "B",
			memory(manySessions, 0, []keeper{byID, {"go-sdk", openGosdk(fullWindows)}, {"centrifuge", openCentrifuge}, {"go-sse finite", openGosse}}),
			append([]target{{of: "ours", to: "200 B", atMost: 1}}, against(1.7, 0, 3.7, 48)...)},
	}
}

func renamed(name string, doers []doer) []doer {
	for i := range doers {
		doers[i].name = name
	}
	return doers
}

// timed runs f n times and returns what one took.
func timed(n int, f func(i int)) float64 {
	began := time.Now()
	for i := range n {
		f(i)
	}
	return float64(time.Since(began).Nanoseconds()) / float64(n)
}

// appenders append to the first speaking of so many sessions in turn, each of
// which has had full events before.
func appenders(sessions, speaking, full int, keepers []keeper) (doers []doer) {
	for _, k := range keepers {
		doers = append(doers, doer{name: k.name, open: func() (func(int) float64, func(), error) {
			s, err := k.open(sessions)
			if err != nil {
				return nil, nil, err
			}
			fill(s, speaking, full)
			payload, next := event(), 0
			return func(n int) float64 {
				return timed(n, func(int) {
					s.append(next, payload)
					if next++; next == speaking {
						next = 0
					}
				})
			}, s.close, nil
		}})
	}
	return doers
}

// parallel appends from as many goroutines as there are processors.
func parallel(sessions, full int, keepers []keeper) (doers []doer) {
	for _, k := range keepers {
		doers = append(doers, doer{name: k.name, open: func() (func(int) float64, func(), error) {
			s, err := k.open(sessions)
			if err != nil {
				return nil, nil, err
			}
			fill(s, sessions, full)
			payload, workers := event(), runtime.GOMAXPROCS(0)
			return func(n int) float64 {
				began := time.Now()
				var all sync.WaitGroup
				for w := range workers {
					all.Go(func() {
						for range n/workers + 1 {
							s.append(w, payload)
						}
					})
				}
				all.Wait()
				return float64(time.Since(began).Nanoseconds()) / float64(n)
			}, s.close, nil
		}})
	}
	return doers
}

func readers(n int, encoded bool, own, peers []keeper) (doers []doer) {
	for _, k := range append(own, peers...) {
		doers = append(doers, doer{name: k.name, open: func() (func(int) float64, func(), error) {
			const total = windowEvents + 100
			s, err := k.open(1)
			if err != nil {
				return nil, nil, err
			}
			fill(s, 1, total)
			read, err := s.reader(total, n, encoded)
			if err != nil {
				s.close()
				return nil, nil, err
			}
			if got := read(); got != n {
				s.close()
				return nil, nil, fmt.Errorf("read %d events, want %d", got, n)
			}
			return func(times int) float64 { return timed(times, func(int) { read() }) }, s.close, nil
		}})
	}
	return doers
}

// memory measures what so many sessions take that have had so many events each,
// the payloads and the limit of an idle session beside it.
func memory(sessions, events int, keepers []keeper) (doers []doer) {
	for _, k := range keepers {
		doers = append(doers, doer{name: k.name, fixed: true, n: 1, open: func() (func(int) float64, func(), error) {
			return func(int) float64 {
				before := heap()
				s, err := k.open(sessions)
				if err != nil {
					panic(err)
				}
				fill(s, sessions, events)
				after := heap()
				s.close()
				return float64(after-before) / float64(sessions)
			}, func() {}, nil
		}})
	}
	constant := func(name string, bytes float64) doer {
		return doer{name: name, fixed: true, n: 1, open: func() (func(int) float64, func(), error) {
			return func(int) float64 { return bytes }, func() {}, nil
		}}
	}
	if events > 0 {
		return append(doers, constant("payload", windowEvents*eventBytes))
	}
	return append(doers, constant("200 B", 200))
}

// heap is what is in use: stacks too, for some keep a goroutine a session.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
