package model

import (
	"context"
	"testing"
)

// breakers says, for each invariant, in which scope which mutant breaks it
// when nothing else is asked.
var breakers = map[string][2]string{
	"R2 Monotonic":                {"numbers-restart", "stream"},
	"R3 Bounded":                  {"window-unbounded", "stream"},
	"R4 WrittenInOrder":           {"event-left-out", "calls"},
	"R4 WireStrictlyAfter":        {"event-left-out", "calls"},
	"R6 AbsenceIsSaid":            {"session-minted", "stream"},
	"R5 VerdictExact":             {"floor-unchecked", "stream"},
	"R5 AcceptedAtCursor":         {"inclusive-replay", "stream"},
	"R6 NeverMinted":              {"session-minted", "stream"},
	"R7 NothingRepeated":          {"fresh-from-floor", "stream"},
	"R7 NothingPassedOver":        {"fresh-too-late", "stream"},
	"R7 NotBelowFloor":            {"fresh-below-floor", "stream"},
	"R8 AnnouncedPosition":        {"announced-wrong", "stream"},
	"R10 OneView":                 {"both-views-write", "stream"},
	"R4 AppliedExactly":           {"token-left-behind", "stream"},
	"R20 TokenIsLastApplied":      {"token-before-apply", "stream"},
	"R20 RecordedBeforePost":      {"unknown-is-never-sent", "small"},
	"R20 AnsweredWithItsEvent":    {"unknown-is-done", "small"},
	"R21 ProvenFirst":             {"proof-skipped", "hostile"},
	"R21 TakenOnlyIfNext":         {"hole-accepted", "hostile"},
	"R21 FromItsOwnSession":       {"commit-in-next-epoch", "small"},
	"R22 RefusalEndsEpoch":        {"refusal-retried", "small"},
	"R22 FenceBetweenEpochs":      {"refusal-retried", "small"},
	"R22 AbandonedForGood":        {"resolution-reopens", "small"},
	"R22 NothingAfterFence":       {"commit-after-fence", "small"},
	"R22 DoubtIsFenced":           {"fence-in-memory", "small"},
	"R23 AtMostOnce":              {"unknown-resent", "calls"},
	"R23 FenceEndsCertainty":      {"certainty-kept", "small"},
	"R23 UnknownKept":             {"unknown-resent", "calls"},
	"R23 OpensInQuarantine":       {"quarantine-skipped", "small"},
	"R23 QuarantineUntilResolved": {"quarantine-ends-early", "pair"},
	"R23 NoCallInQuarantine":      {"call-in-quarantine", "pair"},
	"R23 CompleteEndsCertainty":   {"certainty-kept", "calls"},
	"R25 CursorStaysHome":         {"cursor-guessed", "stream"},
}

// brokenSteps are steps that no rule's function can bring about, made by hand
// from an open session with one retained event.
var brokenSteps = map[string]struct {
	action Action
	spoil  func(*State)
}{
	"R5 RefusedTouchesNothing": {
		Action{Name: Others, Session: 1, Cursor: Key{Tag: 2}, Reply: ReplyCursorForeign},
		func(s *State) { s.Sessions[0].evict() },
	},
	"R6 GoneForGood": {
		Action{Name: ServeLate, Session: 2, Reply: ReplySessionUnknown},
		func(s *State) { s.Sessions[1].Life = Living },
	},
}

// A check that cannot fail is none: each invariant is broken by a mutant when
// it is asked alone, or by a step made by hand.
func TestEveryInvariantCanFail(t *testing.T) {
	for _, inv := range Invariants() {
		name := inv.Rule + " " + inv.Name
		t.Run(name, func(t *testing.T) {
			if broken, ok := brokenSteps[name]; ok {
				s := State{}
				s.Sessions[0] = ServerSession{Life: Living, Issued: [MaxEvents]Issue{issue(0, 0)}}
				s.Sessions[1].Life = Gone
				m, err := New(Config{Name: "by hand", Sessions: 2, Streams: 1, Events: 1, Window: 1, Wire: 1}, TheRules())
				if err != nil {
					t.Fatal(err)
				}
				spoiled := s
				broken.spoil(&spoiled)
				if !inv.step(m, &s, broken.action, &s) || inv.step(m, &s, broken.action, &spoiled) {
					t.Errorf("expected it to hold of the step that changes nothing, and not of\n%v", spoiled.Since(s))
				}
				return
			}
			breaker := breakers[name]
			mutant, found := MutantNamed(breaker[0])
			scope, named := ScopeNamed(breaker[1])
			if !found || !named {
				t.Fatalf("no mutant and scope break it: add them, or a step by hand")
			}
			rules := TheRules()
			mutant.Apply(&rules)
			m, err := New(scope, rules)
			if err != nil {
				t.Fatal(err)
			}
			r, err := m.explore(context.Background(), []Invariant{inv}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Counterexample == nil {
				t.Errorf("holds in all %d states of scope %s under the mutant %s", r.States, scope.Name, mutant.Name)
			}
		})
	}
}
