package model

import "slices"

// LedgerRules are the decisions of the ledger and of its client that can be got
// wrong: one function each, as the operators of tla/Ledger.tla that
// tla/Ledger_bugs.tla replaces.
type LedgerRules struct {
	AtStart           func(LedgerEntry) LedgerEntry // what is durable before a handler runs
	AtRefusal         func(LedgerEntry) LedgerEntry // and before a refusal that seals is sent
	AtQuery           func(LedgerEntry) LedgerEntry // a query for an unknown key seals it
	Foreign           func(s *LedgerState, i, k uint8) bool
	Below             func(s *LedgerState, i, k uint8) bool
	Seen              func(s *LedgerState, i uint8, e LedgerEntry) LedgerEntry
	OfStart           func(s *LedgerState, e LedgerEntry) LedgerAnswer
	MayRaise          func(to, from uint8) bool
	HorizonAfterCrash func(uint8) uint8
	Forgettable       func(s *LedgerState, l, k uint8) bool
	NameAfterLoss     func(name, born uint8) uint8
	MayDouble         func(m *Ledger, s *LedgerState, k uint8) bool
	RefusalProves     func(m *Ledger, s *LedgerState, k uint8) bool
	Opening           KeeperState // of an epoch while something is unknown
}

// TheLedgerRules returns the true ones.
func TheLedgerRules() LedgerRules {
	seal := func(e LedgerEntry) LedgerEntry {
		if e.St == EntryNone {
			return LedgerEntry{St: EntrySealed}
		}
		return e
	}
	return LedgerRules{
		AtStart:   func(e LedgerEntry) LedgerEntry { return e },
		AtRefusal: seal,
		AtQuery:   seal,
		Foreign:   func(s *LedgerState, i, k uint8) bool { return s.Key[k].Name != s.Uses[i] },
		Below:     func(s *LedgerState, i, k uint8) bool { return s.Key[k].Minted < s.Horizon[s.Uses[i]-1] },
		Seen:      func(_ *LedgerState, _ uint8, e LedgerEntry) LedgerEntry { return e },
		OfStart: func(s *LedgerState, e LedgerEntry) LedgerAnswer {
			if s.Gen[e.I-1] == e.G {
				return AnswerRunning
			}
			return AnswerUnknown
		},
		MayRaise:          func(to, from uint8) bool { return to > from },
		HorizonAfterCrash: func(h uint8) uint8 { return h },
		Forgettable:       func(s *LedgerState, l, k uint8) bool { return s.Key[k].Minted < s.Horizon[l] },
		NameAfterLoss:     func(_, born uint8) uint8 { return born + 1 },
		MayDouble:         func(m *Ledger, s *LedgerState, k uint8) bool { return !m.Scope.NoResend && !s.Doubled[k] },
		RefusalProves:     func(m *Ledger, s *LedgerState, k uint8) bool { return m.Scope.NoResend && s.Sent[k] == 1 },
		Opening:           KeeperQuarantined,
	}
}

// A LedgerInvariant is a sentence about a state, or about a step.
type LedgerInvariant struct {
	Name  string // as in tla/LedgerRules.tla
	Holds func(m *Ledger, before, after *LedgerState) bool
}

// LedgerInvariants lists what must hold, of every step and so of every state.
func LedgerInvariants() []LedgerInvariant {
	keys := func(holds func(m *Ledger, s, t *LedgerState, k uint8) bool) func(m *Ledger, s, t *LedgerState) bool {
		return func(m *Ledger, s, t *LedgerState) bool {
			for k := range m.Scope.Keys {
				if !holds(m, s, t, k) {
					return false
				}
			}
			return true
		}
	}
	settled := func(o KeyOutcome) bool { return o == KeyExecuted || o == KeyNotExecuted || o == KeyDecided }
	return []LedgerInvariant{
		{"R28_RunsAtMostOnce", keys(func(_ *Ledger, _, t *LedgerState, k uint8) bool { return t.Runs[k] <= 1 })},
		{"R23_NotExecutedIsTrue", keys(func(_ *Ledger, _, t *LedgerState, k uint8) bool {
			return t.Outcome[k] != KeyNotExecuted || t.Runs[k] == 0
		})},
		{"R28_ExecutedIsTrue", keys(func(_ *Ledger, _, t *LedgerState, k uint8) bool {
			return t.Outcome[k] != KeyExecuted || t.Runs[k] == 1
		})},
		{"R28_OneHandler", keys(oneHandler)},
		{"R23_FenceEndsCertainty", keys(func(_ *Ledger, _, t *LedgerState, k uint8) bool {
			return t.inEpoch() || t.Outcome[k] != KeyInFlight
		})},
		{"R28_StartedBeforeRun", keys(func(m *Ledger, s, t *LedgerState, k uint8) bool {
			if t.Runs[k] == s.Runs[k] {
				return true
			}
			l := s.Key[k].Name
			return s.Entry[l-1][k].St == EntryStarted || s.Key[k].Minted < s.Horizon[l-1] || !m.used(s, l)
		})},
		{"R28_OnlyUnderItsOwnName", keys(func(m *Ledger, s, t *LedgerState, k uint8) bool {
			for i := range m.Scope.Instances {
				if s.Handler[i][k] != HandlerBegun && t.Handler[i][k] == HandlerBegun && s.Uses[i] != s.Key[k].Name {
					return false
				}
			}
			return true
		})},
		{"R28_HorizonNeverFalls", func(m *Ledger, s, t *LedgerState) bool {
			for l := range m.Scope.Names {
				if t.Horizon[l] < s.Horizon[l] {
					return false
				}
			}
			return true
		}},
		{"R28_ForgottenBelowHorizonOnly", keys(func(m *Ledger, s, t *LedgerState, k uint8) bool {
			for l := range m.Scope.Names {
				if s.Entry[l][k] != (LedgerEntry{}) && t.Entry[l][k] == (LedgerEntry{}) && s.Key[k].Minted >= s.Horizon[l] && m.used(t, l+1) {
					return false
				}
			}
			return true
		})},
		{"R28_EntryFinal", keys(func(m *Ledger, s, t *LedgerState, k uint8) bool {
			for l := range m.Scope.Names {
				was, is := s.Entry[l][k], t.Entry[l][k]
				if (was.St == EntryDone || was.St == EntrySealed) && is != was && is != (LedgerEntry{}) {
					return false
				}
			}
			return true
		})},
		{"R23_SettledForGood", keys(func(_ *Ledger, s, t *LedgerState, k uint8) bool {
			return !settled(s.Outcome[k]) || s.Outcome[k] == t.Outcome[k]
		})},
		{"R23_QuarantineUntilSettled", func(m *Ledger, s, t *LedgerState) bool {
			return s.Record != KeeperQuarantined || t.Record != KeeperOpen || !m.unsettled(s)
		}},
		{"R23_OpensInQuarantine", func(m *Ledger, s, t *LedgerState) bool {
			return s.Epoch == t.Epoch || (t.Record == KeeperOpen) == !m.unsettled(s)
		}},
		{"R23_NoCallInQuarantine", keys(func(_ *Ledger, s, t *LedgerState, k uint8) bool {
			return s.Outcome[k] != KeyNew || t.Outcome[k] == KeyNew || s.Record == KeeperOpen
		})},
	}
}

// oneHandler: no second run is under way.
func oneHandler(m *Ledger, _, t *LedgerState, k uint8) bool {
	busy, ran := uint8(0), false
	for i := range m.Scope.Instances {
		if t.Handler[i][k] != HandlerIdle {
			busy++
		}
		ran = ran || t.Handler[i][k] == HandlerRan
	}
	if !ran {
		busy += t.Runs[k]
	}
	return busy <= 1
}

func (m *Ledger) used(s *LedgerState, name uint8) bool {
	for i := range m.Scope.Instances {
		if s.Uses[i] == name {
			return true
		}
	}
	return false
}

// A LedgerReport says what an exploration found.
type LedgerReport struct {
	States, Edges, Depth int
	Violated             string // the first invariant that does not hold; "" if all do
	Steps                []LedgerAction
}

// Explore visits every reachable state, breadth first, and stops at the first
// violation: no shorter path violates any of the invariants that are named, or
// any at all if none is.
func (m *Ledger) Explore(names ...string) (r LedgerReport) {
	type from struct {
		parent int
		by     LedgerAction
	}
	initial := m.Initial()
	found, states, ways := map[LedgerState]struct{}{initial: {}}, []LedgerState{initial}, []from{{}}
	invariants := slices.DeleteFunc(LedgerInvariants(), func(i LedgerInvariant) bool {
		return len(names) > 0 && !slices.Contains(names, i.Name)
	})
	for begin, end := 0, 1; begin < end; begin, end = end, len(states) {
		r.Depth++
		for id := begin; id < end; id++ {
			for a := range m.Candidates {
				next := states[id]
				if !m.Apply(&next, a) {
					continue
				}
				r.Edges++
				for _, inv := range invariants {
					if !inv.Holds(m, &states[id], &next) {
						r.Violated, r.States = inv.Name, len(states)
						for at := id; at != 0; at = ways[at].parent {
							r.Steps = append([]LedgerAction{ways[at].by}, r.Steps...)
						}
						r.Steps = append(r.Steps, a)
						return r
					}
				}
				if _, seen := found[next]; !seen {
					found[next] = struct{}{}
					states, ways = append(states, next), append(ways, from{id, a})
				}
			}
		}
	}
	r.States = len(states)
	return r
}
