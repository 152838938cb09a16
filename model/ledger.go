package model

import "fmt"

// The ledger of R28 and the client's calls, as tla/Ledger.tla has them: action
// by action, name by name, and with nothing of the implementation. There is no
// clock: a minting time is any number, and the horizon rises by any amount at
// any time.

// Bounds of a [LedgerScope].
const (
	ledgerKeys      = 4
	ledgerInstances = 2
	ledgerEpochs    = 4
	ledgerNames     = 4
)

// A LedgerScope says how much of everything there is.
type LedgerScope struct {
	Keys, Instances, Epochs, Sends, Crashes, Names, Times uint8
	Shared                                                bool // the instances share one ledger; else each has its own
	NoResend                                              bool // no intermediary re-sends POSTs
}

// A LedgerEntry is what stands in a ledger of one key. A start names the
// generation of the instance that made it.
type LedgerEntry struct {
	St   EntryState
	I, G uint8
}

// The small types of the state.
type (
	EntryState   uint8
	HandlerState uint8
	HostState    uint8
	KeeperState  uint8
	KeyOutcome   uint8
	LedgerAnswer uint8
)

const (
	EntryNone EntryState = iota
	EntryStarted
	EntryDone
	EntrySealed
)

const (
	HandlerIdle HandlerState = iota
	HandlerBegun
	HandlerRan
)

const (
	HostUnborn HostState = iota
	HostLive
	HostGone
)

const (
	KeeperNone KeeperState = iota
	KeeperQuarantined
	KeeperOpen
	KeeperAbandoned
)

const (
	KeyNew KeyOutcome = iota
	KeyInFlight
	KeyUnknown
	KeyExecuted
	KeyNotExecuted
	KeyDecided
)

// What a ledger may answer.
const (
	AnswerExecute LedgerAnswer = iota
	AnswerRunning
	AnswerExecuted
	AnswerSealed
	AnswerUnknown
	AnswerRefused // a plain refusal, which says nothing
	numAnswers
)

func (a LedgerAnswer) String() string {
	return [...]string{"execute", "running", "executed", "sealed", "unknown", "refused"}[a]
}

// A LedgerState is one state. Names, instances, epochs and keys count from 1;
// index 0 of an array is the first.
type LedgerState struct {
	Gen     [ledgerInstances]uint8
	Uses    [ledgerInstances]uint8 // name of the ledger that it uses
	Born    uint8
	Entry   [ledgerNames][ledgerKeys]LedgerEntry // durable
	Horizon [ledgerNames]uint8                   // durable
	Handler [ledgerInstances][ledgerKeys]HandlerState
	Session [ledgerEpochs]struct {
		St      HostState
		I, Name uint8
	}
	Runs [ledgerKeys]uint8

	Posts   [ledgerKeys][ledgerEpochs]uint8 // copies under way
	Doubled [ledgerKeys]bool

	Epoch   uint8 // of the record; durable, as all that follows
	Record  KeeperState
	Outcome [ledgerKeys]KeyOutcome
	Key     [ledgerKeys]struct{ Name, Minted uint8 }
	Sent    [ledgerKeys]uint8
}

// A Ledger is the model at a scope.
type Ledger struct {
	Scope LedgerScope
	Rules LedgerRules
}

// NewLedger returns the model under the true rules.
func NewLedger(scope LedgerScope) *Ledger {
	if scope.Keys > ledgerKeys || scope.Instances > ledgerInstances || scope.Epochs > ledgerEpochs || scope.Names > ledgerNames {
		panic(fmt.Sprintf("reattach: BUG: a scope larger than the model: %+v", scope))
	}
	return &Ledger{scope, TheLedgerRules()}
}

// Initial is the state before anything.
func (m *Ledger) Initial() (s LedgerState) {
	for i := range m.Scope.Instances {
		s.Gen[i], s.Uses[i] = 1, i+1
		if m.Scope.Shared {
			s.Uses[i] = 1
		}
		s.Born = max(s.Born, s.Uses[i])
	}
	for l := range m.Scope.Names {
		s.Horizon[l] = 1
	}
	return s
}

// Verdict is what the ledger of instance i says of key k (R28).
func (m *Ledger) Verdict(s *LedgerState, i, k uint8) LedgerAnswer {
	e := m.Rules.Seen(s, i, s.Entry[s.Uses[i]-1][k])
	switch {
	case m.Rules.Foreign(s, i, k), m.Rules.Below(s, i, k):
		return AnswerUnknown
	case e.St == EntryNone:
		return AnswerExecute
	case e.St == EntryDone:
		return AnswerExecuted
	case e.St == EntrySealed:
		return AnswerSealed
	}
	return m.Rules.OfStart(s, e)
}

// answers is what a POST of session e may be answered at instance i. A new key
// is executed, or sealed and refused; where there is no session, a plain 404 is
// an answer as well.
func (m *Ledger) answers(s *LedgerState, k, e, i uint8, a LedgerAnswer) bool {
	v := m.Verdict(s, i, k)
	if s.Session[e].St == HostLive && s.Session[e].I == i+1 {
		return a == v || v == AnswerExecute && a == AnswerSealed
	}
	return a == AnswerRefused || a == AnswerSealed && (v == AnswerExecute || v == AnswerSealed)
}

// meaning is what the client makes of an answer; a plain refusal proves
// something only of the one copy that there ever was (R23).
func (m *Ledger) meaning(s *LedgerState, k uint8, a LedgerAnswer) KeyOutcome {
	switch {
	case a == AnswerExecuted:
		return KeyExecuted
	case a == AnswerSealed:
		return KeyNotExecuted
	case a == AnswerRefused && m.Rules.RefusalProves(m, s, k):
		return KeyNotExecuted
	}
	return KeyUnknown
}

// hear notes an answer to a POST. Once doubted, a call is settled by a query
// only.
func (m *Ledger) hear(s *LedgerState, k uint8, a LedgerAnswer, heard bool) {
	if heard && s.Outcome[k] == KeyInFlight {
		s.Outcome[k] = m.meaning(s, k, a)
	}
}

func (s *LedgerState) inEpoch() bool {
	return s.Record == KeeperQuarantined || s.Record == KeeperOpen
}

func (m *Ledger) unsettled(s *LedgerState) bool {
	for k := range m.Scope.Keys {
		if s.Outcome[k] == KeyInFlight || s.Outcome[k] == KeyUnknown {
			return true
		}
	}
	return false
}

func (m *Ledger) crashes(s *LedgerState) (n uint8) {
	for i := range m.Scope.Instances {
		n += s.Gen[i] - 1
	}
	return n
}
