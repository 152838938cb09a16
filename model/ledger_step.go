package model

import "fmt"

// A LedgerAction is one labelled step; which of its parts count depends on the
// name. K, E, I and L count from 0.
type LedgerAction struct {
	Name       LedgerStep
	K, E, I, L uint8
	N          uint8 // a minting time, or a horizon
	Answer     LedgerAnswer
	Heard      bool
}

// A LedgerStep names an action of tla/Ledger.tla.
type LedgerStep uint8

const (
	LOpen LedgerStep = iota
	LCall
	LQuery
	LCallBroken
	LResend
	LDecide
	LAbandon
	LLift
	LArrive
	LRun
	LFinish
	LCrash
	LEndSession
	LDouble
	LLose
	LRaiseHorizon
	LForget
)

var ledgerSteps = [...]string{"Open", "Call", "Query", "CallBroken", "Resend", "Decide", "Abandon", "Lift", "Arrive", "Run", "Finish", "Crash",
	"EndSession", "Double", "Lose", "RaiseHorizon", "Forget"}

func (n LedgerStep) String() string { return ledgerSteps[n] }

func (a LedgerAction) String() string {
	return fmt.Sprintf("%s(key %d, epoch %d, instance %d, ledger %d, %d, %s, heard %v)", a.Name, a.K+1, a.E+1, a.I+1, a.L+1, a.N, a.Answer, a.Heard)
}

// Apply makes the step if it is enabled, and reports whether it was.
func (m *Ledger) Apply(s *LedgerState, a LedgerAction) bool {
	switch a.Name {
	case LOpen, LCall, LQuery, LCallBroken, LResend, LDecide, LAbandon, LLift:
		return m.client(s, a)
	case LArrive:
		return m.arrive(s, a)
	case LRun:
		ok := s.Handler[a.I][a.K] == HandlerBegun
		if ok {
			s.Handler[a.I][a.K] = HandlerRan
			s.Runs[a.K]++
		}
		return ok
	case LFinish:
		return m.finish(s, a)
	case LCrash:
		return m.crash(s, a.I)
	}
	return m.others(s, a)
}

func (m *Ledger) client(s *LedgerState, a LedgerAction) bool {
	k := a.K
	switch a.Name {
	case LOpen:
		if s.inEpoch() || a.E == 0 && a.I != 0 || a.E != s.Epoch || a.E >= m.Scope.Epochs {
			return false
		}
		s.Session[a.E].St, s.Session[a.E].I, s.Session[a.E].Name = HostLive, a.I+1, s.Uses[a.I]
		s.Epoch, s.Record = a.E+1, KeeperOpen
		if m.unsettled(s) {
			s.Record = m.Rules.Opening
		}
	case LCall:
		if s.Record != KeeperOpen || s.Outcome[k] != KeyNew {
			return false
		}
		e := s.Epoch - 1
		s.Outcome[k], s.Posts[k][e], s.Sent[k] = KeyInFlight, 1, 1
		s.Key[k].Name, s.Key[k].Minted = s.Session[e].Name, a.N
	case LQuery:
		return m.query(s, a)
	case LCallBroken:
		if !s.inEpoch() || s.Outcome[k] != KeyInFlight {
			return false
		}
		s.Outcome[k] = KeyUnknown
	case LResend:
		if !s.inEpoch() || s.Outcome[k] != KeyUnknown || s.Sent[k] >= m.Scope.Sends || s.Session[s.Epoch-1].Name != s.Key[k].Name {
			return false
		}
		s.Outcome[k] = KeyInFlight
		s.Posts[k][s.Epoch-1]++
		s.Sent[k]++
	case LDecide:
		if s.Outcome[k] != KeyUnknown {
			return false
		}
		s.Outcome[k] = KeyDecided
	case LAbandon:
		if !s.inEpoch() {
			return false
		}
		s.Record = KeeperAbandoned
		for k := range m.Scope.Keys {
			if s.Outcome[k] == KeyInFlight {
				s.Outcome[k] = KeyUnknown
			}
		}
	case LLift:
		if s.Record != KeeperQuarantined || m.unsettled(s) {
			return false
		}
		s.Record = KeeperOpen
	}
	return true
}

// query asks for the outcome, in the present epoch; a key that the ledger does
// not know is sealed by it.
func (m *Ledger) query(s *LedgerState, a LedgerAction) bool {
	if !s.inEpoch() || s.Outcome[a.K] != KeyUnknown || s.Session[s.Epoch-1].St != HostLive {
		return false
	}
	i := s.Session[s.Epoch-1].I - 1
	v := m.Verdict(s, i, a.K)
	if v == AnswerExecute {
		v = AnswerSealed
	}
	if a.Answer != v {
		return false
	}
	if v == AnswerSealed {
		e := &s.Entry[s.Uses[i]-1][a.K]
		*e = m.Rules.AtQuery(*e)
	}
	if means := m.meaning(s, a.K, v); a.Heard && (means == KeyExecuted || means == KeyNotExecuted) {
		s.Outcome[a.K] = means
	}
	return true
}

// arrive: a copy of a POST arrives, early or late, anywhere.
func (m *Ledger) arrive(s *LedgerState, a LedgerAction) bool {
	if s.Posts[a.K][a.E] == 0 || !m.answers(s, a.K, a.E, a.I, a.Answer) {
		return false
	}
	waits := a.Answer == AnswerExecute || a.Answer == AnswerRunning
	if waits && a.Heard {
		return false
	}
	s.Posts[a.K][a.E]--
	e := &s.Entry[s.Uses[a.I]-1][a.K]
	switch a.Answer {
	case AnswerExecute:
		*e = m.Rules.AtStart(LedgerEntry{EntryStarted, a.I + 1, s.Gen[a.I]})
		s.Handler[a.I][a.K] = HandlerBegun
	case AnswerSealed:
		*e = m.Rules.AtRefusal(*e)
	}
	if !waits {
		m.hear(s, a.K, a.Answer, a.Heard)
	}
	return true
}

// finish: the outcome is durable, then it is answered, to all who joined too.
func (m *Ledger) finish(s *LedgerState, a LedgerAction) bool {
	if s.Handler[a.I][a.K] != HandlerRan {
		return false
	}
	s.Handler[a.I][a.K] = HandlerIdle
	e := &s.Entry[s.Uses[a.I]-1][a.K]
	if m.Rules.Seen(s, a.I, *e) == (LedgerEntry{EntryStarted, a.I + 1, s.Gen[a.I]}) {
		*e = LedgerEntry{St: EntryDone}
	}
	m.hear(s, a.K, AnswerExecuted, a.Heard)
	return true
}

// crash: an instance dies with its handlers and sessions, and another
// generation takes its place.
func (m *Ledger) crash(s *LedgerState, i uint8) bool {
	if m.crashes(s) >= m.Scope.Crashes {
		return false
	}
	s.Gen[i]++
	s.Handler[i] = [ledgerKeys]HandlerState{}
	for e := range s.Session {
		if s.Session[e].St == HostLive && s.Session[e].I == i+1 {
			s.Session[e].St = HostGone
		}
	}
	h := &s.Horizon[s.Uses[i]-1]
	*h = m.Rules.HorizonAfterCrash(*h)
	return true
}

func (m *Ledger) others(s *LedgerState, a LedgerAction) bool {
	switch a.Name {
	case LEndSession:
		if s.Session[a.E].St != HostLive {
			return false
		}
		s.Session[a.E].St = HostGone
	case LDouble:
		if !m.Rules.MayDouble(m, s, a.K) || s.Posts[a.K][a.E] == 0 {
			return false
		}
		s.Posts[a.K][a.E]++
		s.Doubled[a.K] = true
	case LLose:
		used := false
		for i := range m.Scope.Instances {
			used = used || s.Uses[i] == a.L+1
		}
		if !used || s.Born >= m.Scope.Names {
			return false
		}
		for i := range m.Scope.Instances {
			if s.Uses[i] == a.L+1 {
				s.Uses[i] = m.Rules.NameAfterLoss(a.L+1, s.Born)
			}
		}
		s.Born++
		s.Entry[a.L] = [ledgerKeys]LedgerEntry{}
	case LRaiseHorizon:
		if a.L >= s.Born || !m.Rules.MayRaise(a.N, s.Horizon[a.L]) {
			return false
		}
		s.Horizon[a.L] = a.N
	case LForget:
		if s.Entry[a.L][a.K] == (LedgerEntry{}) || !m.Rules.Forgettable(s, a.L, a.K) {
			return false
		}
		s.Entry[a.L][a.K] = LedgerEntry{}
	}
	return true
}

// Candidates yields every action of the scope, enabled or not.
func (m *Ledger) Candidates(yield func(LedgerAction) bool) {
	ok := true
	do := func(a LedgerAction) { ok = ok && yield(a) }
	each := func(n uint8, f func(uint8)) {
		for x := range n {
			f(x)
		}
	}
	sc := m.Scope
	do(LedgerAction{Name: LAbandon})
	do(LedgerAction{Name: LLift})
	each(sc.Epochs, func(e uint8) {
		do(LedgerAction{Name: LEndSession, E: e})
		each(sc.Instances, func(i uint8) { do(LedgerAction{Name: LOpen, E: e, I: i}) })
	})
	each(sc.Instances, func(i uint8) { do(LedgerAction{Name: LCrash, I: i}) })
	each(sc.Names, func(l uint8) {
		do(LedgerAction{Name: LLose, L: l})
		each(sc.Times+1, func(h uint8) { do(LedgerAction{Name: LRaiseHorizon, L: l, N: h + 1}) })
	})
	each(sc.Keys, func(k uint8) {
		for _, name := range []LedgerStep{LCallBroken, LResend, LDecide} {
			do(LedgerAction{Name: name, K: k})
		}
		each(sc.Times, func(t uint8) { do(LedgerAction{Name: LCall, K: k, N: t + 1}) })
		each(sc.Names, func(l uint8) { do(LedgerAction{Name: LForget, K: k, L: l}) })
		each(sc.Epochs, func(e uint8) { do(LedgerAction{Name: LDouble, K: k, E: e}) })
		each(sc.Instances, func(i uint8) { do(LedgerAction{Name: LRun, K: k, I: i}) })
		for _, heard := range []bool{false, true} {
			each(sc.Instances, func(i uint8) { do(LedgerAction{Name: LFinish, K: k, I: i, Heard: heard}) })
			each(uint8(numAnswers), func(a uint8) {
				do(LedgerAction{Name: LQuery, K: k, Answer: LedgerAnswer(a), Heard: heard})
				each(sc.Epochs, func(e uint8) {
					each(sc.Instances, func(i uint8) {
						do(LedgerAction{Name: LArrive, K: k, E: e, I: i, Answer: LedgerAnswer(a), Heard: heard})
					})
				})
			})
		}
	})
}
