package main

import (
	"encoding/json"
	"fmt"
	"sync"
)

// A ledger is what really happened in one run of a scenario: what the servers'
// application emitted and executed, and what the client's application applied.
// Neither server nor client sees it or is asked; every number of a [Result]
// but the memory comes from here.
//
// Each emitted event carries a mark, "S<session>#<n>", that only the ledger
// gives out: sessions are numbered in the order in which servers name them,
// the events of a session in the order in which its application emits.
type ledger struct {
	mu       sync.Mutex
	changed  chan struct{}  // closed and replaced whenever something is written
	numbers  map[string]int // session id → number, from 1
	emitted  [][]bool       // by session number-1 and mark number-1
	executed map[string]int // call key → times its tool ran
}

func newLedger() *ledger {
	return &ledger{changed: make(chan struct{}), numbers: map[string]int{}, executed: map[string]int{}}
}

// A mark names one emitted event.
type mark struct{ session, n int }

func (m mark) String() string { return fmt.Sprintf("S%d#%d", m.session, m.n) }

// mint returns the next mark of a session.
func (l *ledger) mint(sessionID string) mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.numbers[sessionID]
	if s == 0 {
		s = len(l.emitted) + 1
		l.numbers[sessionID] = s
		l.emitted = append(l.emitted, nil)
	}
	l.emitted[s-1] = append(l.emitted[s-1], false)
	return mark{s, len(l.emitted[s-1])}
}

// didEmit notes that the server took the event with this mark.
func (l *ledger) didEmit(m mark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emitted[m.session-1][m.n-1] = true
	l.wake()
}

// didExecute notes that the tool ran for the call with this key.
func (l *ledger) didExecute(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.executed[key]++
	l.wake()
}

// wasExecuted answers what a job registry behind the tool would.
func (l *ledger) wasExecuted(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.executed[key] > 0
}

// firstSession returns the id of the session that a server named first.
func (l *ledger) firstSession() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range l.numbers {
		if n == 1 {
			return id
		}
	}
	return ""
}

// wake lets everyone who waits look again; l.mu is held.
func (l *ledger) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// counts are the numbers of a ledger at the end of a run.
type counts struct {
	emitted, applied, duplicates, lost, merged, executions int
}

// count compares what was emitted with what one application or more applied.
func (l *ledger) count(apps ...*application) counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counted(apps...)
}

// counted is count with l.mu held.
func (l *ledger) counted(apps ...*application) counts {
	var c counts
	for _, session := range l.emitted {
		for _, was := range session {
			if was {
				c.emitted++
			}
		}
	}
	for _, n := range l.executed {
		c.executions = max(c.executions, n)
	}
	for _, app := range apps {
		for _, log := range app.logs {
			log.count(l, &c)
		}
	}
	return c
}

// A journal is one log of an application: the events that it takes to be one
// history. It belongs to the session of its first event.
type journal struct {
	session int
	applied map[mark]int
	excused bool // its application was told that the history is broken, or is gone
}

func (j *journal) count(l *ledger, c *counts) {
	for m, times := range j.applied {
		c.applied += times
		c.duplicates += times - 1
		if m.session != j.session {
			c.merged += times
		}
	}
	if j.excused || j.session == 0 {
		return
	}
	for i, was := range l.emitted[j.session-1] {
		if was && j.applied[mark{j.session, i + 1}] == 0 {
			c.lost++
		}
	}
}

// An application is the one behind a client: it applies what it is given and
// believes what it is told.
type application struct {
	ledger *ledger
	logs   []*journal // the last one is being written; guarded by ledger.mu
	told   string
}

func newApplication(l *ledger) *application {
	return &application{ledger: l, logs: []*journal{{applied: map[mark]int{}}}}
}

// apply applies one message.
func (a *application) apply(msg []byte) {
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := markOf(msg)
	if !ok {
		return // it stands for no event: the one that it should have been is missing
	}
	j := a.logs[len(a.logs)-1]
	if j.session == 0 {
		j.session = m.session
	}
	j.applied[m]++
	l.wake()
}

// has reports whether the application applied the event with this mark;
// ledger.mu is held.
func (a *application) has(m mark) bool {
	for _, j := range a.logs {
		if j.applied[m] > 0 {
			return true
		}
	}
	return false
}

// hasAny reports whether the application applied anything; ledger.mu is held.
func (a *application) hasAny() bool { return a.logs[0].session != 0 }

const (
	toldNothing   = "nothing"
	toldResumed   = "resumed"
	toldRefused   = "refused: "
	toldAbandoned = "abandoned: "
)

// resumed tells the application that its stream goes on where it was.
func (a *application) resumed() {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	if a.told == "" {
		a.told = toldResumed
	}
}

// broken tells the application that what it has is all it will get: what is
// missing from here on is known to be missing. The first reason stands.
func (a *application) broken(how, reason string) {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	if a.told == "" || a.told == toldResumed {
		a.told = how + reason
	}
	a.logs[len(a.logs)-1].excused = true
}

// leave says that nobody is left who could be misled.
func (a *application) leave() {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.logs[len(a.logs)-1].excused = true
}

// begin begins a new log, because the application was told that a new session
// has begun.
func (a *application) begin() {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.logs = append(a.logs, &journal{applied: map[mark]int{}})
}

func (a *application) hasBeenTold() string {
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	if a.told == "" {
		return toldNothing
	}
	return a.told
}

// The two forms in which the tool's messages carry a mark. It comes first, so
// that a cut at the mark is a cut inside the event.
type (
	notice struct {
		Mark string `json:"mark"`
		Key  string `json:"key,omitempty"`
		Pad  string `json:"pad,omitempty"`
	}
	toolNote struct {
		Data  notice `json:"data"`
		Level string `json:"level"`
	}
	toolResult struct {
		Structured notice `json:"structuredContent"`
		Content    []any  `json:"content"`
	}
)

// markOf finds the mark in a message.
func markOf(msg []byte) (mark, bool) {
	var m struct {
		Params toolNote
		Result toolResult
	}
	if json.Unmarshal(msg, &m) != nil {
		return mark{}, false
	}
	var at mark
	n, _ := fmt.Sscanf(m.Params.Data.Mark+m.Result.Structured.Mark, "S%d#%d", &at.session, &at.n)
	return at, n == 2
}
