package properties

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// What was exercised over wires: by a real server or a real client behind HTTP,
// in memory or over sockets. The rows, reasons and verdicts that the suites
// drive the cores to (L2) and that lockstep meets (L3) are asserted where that
// happens; what the wired runs met (L4) is known when all of them are over.

// wired is what they met, in this process.
var wired = &coverage{rows: map[string]int{}, reasons: map[spec.Reason]bool{}, verdicts: map[spec.Verdict]bool{}}

type coverage struct {
	mu       sync.Mutex
	rows     map[string]int // how often each fired, or forbade
	reasons  map[spec.Reason]bool
	verdicts map[spec.Verdict]bool
}

// server returns an observer that notes what a server does, and tells next.
func (c *coverage) server(next func(session.Observation)) func(session.Observation) {
	return func(o session.Observation) {
		c.note(&o.Step, o.Refused)
		if d := o.Decision; d != nil {
			c.mu.Lock()
			c.verdicts[d.Verdict] = true
			c.reasons[d.Reason] = true
			c.mu.Unlock()
		}
		if next != nil {
			next(o)
		}
	}
}

// client returns an observer that notes what a client does, and tells next.
func (c *coverage) client(next func(*fsm.Step, *fsm.RefusedError)) func(*fsm.Step, *fsm.RefusedError) {
	return func(step *fsm.Step, refused *fsm.RefusedError) {
		c.note(step, refused)
		if next != nil {
			next(step, refused)
		}
	}
}

func (c *coverage) note(step *fsm.Step, refused *fsm.RefusedError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if step != nil && step.Row != nil {
		c.rows[step.Row.ID]++
	}
	if refused != nil {
		c.rows[refused.Row]++
		c.reasons[refused.Reason] = true
	}
}

// misses names what no wired run met and nothing excuses, and what is excused
// and was met.
func (c *coverage) misses() (faults []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, table := range spec.Tables() {
		for _, row := range table.Rows {
			why := unwiredRows[row.ID]
			switch met := c.rows[row.ID] > 0; {
			case !met && why == "" && ownMoves[row.Forbid] == "" && races[row.ID] == "":
				faults = append(faults, fmt.Sprintf("row %s (%s: %s at %v) was met by no wired run", row.ID, table.Machine, row.Source(), row.Trigger))
			case met && why != "":
				faults = append(faults, fmt.Sprintf("row %s was met, although %s: take it from the list", row.ID, why))
			}
		}
	}
	for _, reason := range spec.WireReasons() {
		if !c.reasons[reason] && plannedReasons[reason] == "" && outOfReach[reason] == "" && aboveTheCore[reason] == "" {
			faults = append(faults, fmt.Sprintf("reason %s was given by no wired run", reason))
		}
	}
	for _, verdict := range spec.Verdicts() {
		if !c.verdicts[verdict] && verdict != spec.VerdictReplay { // R27: no deployment replays
			faults = append(faults, fmt.Sprintf("verdict %v was given by no wired run", verdict))
		}
	}
	return faults
}

// aboveTheCore are reasons that HTTP gives before any machine is asked.
var aboveTheCore = map[spec.Reason]string{
	spec.ReasonSessionRequired:   "a request that names no session meets no machine",
	spec.ReasonCursorWithMessage: "it is seen in the head of the request",
	spec.ReasonStoreUnavailable:  "what a store refuses fires no row",
}

// TestMain holds the whole suite against the vocabulary when all of it ran.
func TestMain(m *testing.M) {
	code := m.Run()
	if wholeSuite() {
		for _, fault := range wired.misses() {
			fmt.Printf("properties/coverage_wired_test.go: %s\n", fault)
			code = 1
		}
	}
	os.Exit(code)
}

func wholeSuite() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return !testing.Short() && !raceDetector // which has fewer runs
}

// ownMoves are reasons for which a core refuses a move of the code around it: a
// trigger that comes when it cannot. No peer and no caller makes one happen, so
// the row suite does; some are met over wires all the same, in races.
var ownMoves = map[spec.Reason]string{
	spec.ReasonOutOfTurn:        "an answer to what was not asked",
	spec.ReasonNoConnection:     "a connection's word without a connection",
	spec.ReasonCommitInHand:     "a second transaction while one is in hand",
	spec.ReasonNoView:           "a view's word without a view",
	spec.ReasonViewInTheWay:     "a budget that elapses or retention that ends under a view",
	spec.ReasonStreamUnopened:   "a word about a stream before its number",
	spec.ReasonStreamForgotten:  "a budget of a stream without a record",
	spec.ReasonStreamFinished:   "a budget of a stream that has none left",
	spec.ReasonStreamStandalone: "a budget or an answer that the standalone stream has not",
	spec.ReasonStreamUnfinished: "retention that ends before the stream does",
	spec.ReasonSessionInUse:     "a budget that elapses under a request",
	spec.ReasonStreamCompleted:  "a word about a stream that is over",
	spec.ReasonStreamLost:       "a word about a stream that is over",
}

// races are rows that only a race comes to, now and then.
var races = map[string]string{
	"EP53": "another process takes over while the fence is being written, or after it",
}

// unwiredRows are those that no wired run can meet, and why.
var unwiredRows = map[string]string{
	"SS07": "the options leave room for a stream of every call that is allowed (outOfReach)",
	"EP54": "an attempt is superseded on a stream, and there is none before an epoch is open",
	"ST22": "Decide refuses the cursor first", // that of a stream which was never opened
	"ST23": "Decide refuses the cursor first", // that of a stream without a record
	"ST28": "Decide refuses the cursor first",
	"ST29": "Decide refuses the cursor first",
}

// The check notices what is missing, and what is excused for nothing.
func TestWiredCoverageIsChecked(t *testing.T) {
	none := &coverage{rows: map[string]int{}, reasons: map[spec.Reason]bool{}, verdicts: map[spec.Verdict]bool{}}
	all := strings.Join(none.misses(), "\n")
	for _, want := range []string{"row SS01 ", "row EP01 ", "row CS01 ", "reason cursor_evicted ", "verdict reattach "} {
		if !strings.Contains(all, want) {
			t.Errorf("nothing was met, and %q is not missed", want)
		}
	}
	for id := range unwiredRows {
		none.rows[id]++
		if !slices.ContainsFunc(none.misses(), func(f string) bool { return strings.HasPrefix(f, "row "+id+" was met") }) {
			t.Errorf("row %s is excused and was met, and nobody says so", id)
		}
	}
}
