package model

import "example.com/reattach/spec"

// A Mutant is one known way to get a rule wrong: it replaces that rule's
// function, and the exploration of its scope must find the rule violated.
type Mutant struct {
	Name  string
	Rule  string // whose invariant is violated
	Story string // what the wrong code believes
	Scope string // where it is found
	Apply func(*Rules)
}

// MutantNamed returns the mutant of that name.
func MutantNamed(name string) (Mutant, bool) {
	for _, m := range Mutants() {
		if m.Name == name {
			return m, true
		}
	}
	return Mutant{}, false
}

// pass is a check that has nothing against any cursor.
func pass(Standing, Cursor) spec.Reason { return "" }

// Mutants lists the mutants of the rules, those of the server first.
func Mutants() []Mutant { return append(serverMutants(), clientMutants()...) }

func serverMutants() []Mutant {
	return []Mutant{
		{"numbers-restart", "R2", "nothing is retained of the old numbers, so they may begin again", "stream",
			func(r *Rules) { r.NextNumber = func(uint64) (uint64, bool) { return 1, true } }},
		{"window-unbounded", "R3", "memory is cheap", "stream",
			func(r *Rules) { r.Overflows = func(Load, Limits) bool { return false } }},
		{"event-left-out", "R4", "the next event is the one after the next", "calls",
			func(r *Rules) {
				r.NextOrdinal = func(at, floor, head uint64) (uint64, bool) { return at + 2, floor <= at && at+1 < head }
			}},
		{"evicted-written", "R4", "a view's next event is always there", "stream",
			func(r *Rules) {
				r.NextOrdinal = func(at, floor, head uint64) (uint64, bool) { return at + 1, at < head }
			}},
		{"inclusive-replay", "R5", "the event that the cursor names is the first one to send", "stream",
			func(r *Rules) { r.ResumeStart = func(cursor uint64) uint64 { return max(cursor, 1) - 1 } }},
		{"replay-from-start", "R5", "an old client wants the whole history", "stream",
			func(r *Rules) { r.ResumeStart = func(uint64) uint64 { return 0 } }},
		{"floor-unchecked", "R5", "an evicted cursor is just an old one", "stream",
			func(r *Rules) { r.NotBelowFloor = pass }},
		{"ahead-accepted", "R5", "the cursor will become good in time", "stream",
			func(r *Rules) { r.NotBeyondHead = pass }},
		{"tag-unchecked", "R5", "a cursor with good numbers is a good cursor", "stream",
			func(r *Rules) { r.TagMatches = pass }},
		{"seq-unchecked", "R5", "stream and ordinal name the event well enough", "server",
			func(r *Rules) { r.IssuedHere = pass }},
		{"stream-unchecked", "R5", "an unknown stream is an empty one", "server",
			func(r *Rules) { r.StreamKnown = pass }},
		{"session-minted", "R6", "a client whose session is gone is given another", "stream",
			func(r *Rules) { r.SessionServes = pass }},
		{"fresh-from-floor", "R7", "without a cursor everything retained is new", "stream",
			func(r *Rules) { r.FreshStart = func(floor, _ uint64) uint64 { return floor } }},
		{"fresh-below-floor", "R7", "without a cursor a stream begins where it was left, whatever is gone", "stream",
			func(r *Rules) { r.FreshStart = func(_, handed uint64) uint64 { return handed } }},
		{"fresh-too-late", "R7", "the event after the last one handed over was surely on its way", "stream",
			func(r *Rules) { r.FreshStart = func(floor, handed uint64) uint64 { return max(floor, handed) + 1 } }},
		{"announced-wrong", "R8", "the position announced is that of the first event to come", "stream",
			func(r *Rules) { r.Announced = func(start uint64) uint64 { return start + 1 } }},
		{"both-views-write", "R10", "the older view will find out by itself", "stream",
			func(r *Rules) { r.Survives = func(older, newer ViewOf) bool { return true } }},
	}
}

func clientMutants() []Mutant {
	return []Mutant{
		{"token-before-apply", "R20", "the token moves when the event arrives", "stream",
			func(r *Rules) { r.TokenWhenTaken = func(_, taken uint64) uint64 { return taken } }},
		{"token-left-behind", "R20", "the token can be written later", "stream",
			func(r *Rules) { r.TokenWhenApplied = func(token, _ uint64) uint64 { return token } }},
		{"commit-after-fence", "R22", "what is in hand is in hand", "small",
			func(r *Rules) {
				r.Committable = func(_ spec.State, token, hand Mark) bool {
					return token.Session == hand.Session && token.Ordinal+1 == hand.Ordinal
				}
			}},
		{"commit-in-next-epoch", "R21", "the record is open, so the event may be applied", "small",
			func(r *Rules) {
				r.Committable = func(record spec.State, _, hand Mark) bool { return EpochLives(record) }
			}},
		{"cursor-guessed", "R25", "what is in hand will have been applied by then", "stream",
			func(r *Rules) { r.CursorSent = func(token uint64) uint64 { return token + 1 } }},
		{"proof-skipped", "R21", "200 means resumed", "hostile",
			func(r *Rules) { r.Proves = func(_, _ Mark) bool { return true } }},
		{"session-unproven", "R21", "the position fits, whosever it is", "hostile",
			func(r *Rules) {
				r.Proves = func(sent, announced Mark) bool { return sent.Ordinal == announced.Ordinal }
			}},
		{"clamp-trusted", "R21", "the server announced honestly where it begins", "hostile",
			func(r *Rules) {
				r.Proves = func(sent, announced Mark) bool { return sent.Session == announced.Session }
			}},
		{"hole-accepted", "R21", "greater is next", "hostile",
			func(r *Rules) {
				r.IsNext = func(token, event Mark) bool { return token.Session == event.Session && event.Seq > token.Seq }
			}},
		{"repeat-accepted", "R21", "better twice than never", "hostile",
			func(r *Rules) {
				r.IsNext = func(token, event Mark) bool {
					return token.Session == event.Session && event.Ordinal <= token.Ordinal+1
				}
			}},
		{"epochs-merged", "R21", "an ordinal that follows is an event that follows", "hostile",
			func(r *Rules) {
				r.IsNext = func(token, event Mark) bool { return event.Ordinal == token.Ordinal+1 }
			}},
		{"refusal-retried", "R22", "404 means: open another session and go on", "small",
			func(r *Rules) { r.Abandons = func(spec.Reason) bool { return false } }},
		{"fence-in-memory", "R22", "the fence need not be durable", "small",
			func(r *Rules) { r.WhenFenced = func(was spec.State) spec.State { return was } }},
		{"certainty-kept", "R23", "a call in flight will be answered some day", "small",
			func(r *Rules) { r.WhenCertaintyEnds = func(c CallState) CallState { return c } }},
		{"unknown-is-never-sent", "R20", "a call without an answer did not happen", "small",
			func(r *Rules) {
				r.WhenCertaintyEnds = func(c CallState) CallState {
					if c == CallInFlight {
						return CallNew
					}
					return c
				}
			}},
		{"unknown-is-done", "R20", "a call that was sent was done", "small",
			func(r *Rules) {
				r.WhenCertaintyEnds = func(c CallState) CallState {
					if c == CallInFlight {
						return CallAnswered
					}
					return c
				}
			}},
		{"late-answer-settles", "R23", "better a late answer than a decision", "small",
			func(r *Rules) { r.WhenAnswered = func(CallState) CallState { return CallAnswered } }},
		{"resolution-reopens", "R22", "when nothing is unknown any more the epoch may go on", "small",
			func(r *Rules) { r.WhenResolved = func(spec.State, int) spec.State { return spec.Open } }},
		{"quarantine-skipped", "R23", "a new session is a new start", "small",
			func(r *Rules) { r.StateAtOpening = func(int) spec.State { return spec.Open } }},
		{"quarantine-ends-early", "R23", "one decision is enough", "pair",
			func(r *Rules) {
				r.WhenResolved = func(was spec.State, _ int) spec.State { return WhenResolved(was, 0) }
			}},
		{"quarantine-for-ever", "R23", "once doubted, always doubted", "small",
			func(r *Rules) { r.WhenResolved = func(was spec.State, _ int) spec.State { return was } }},
		{"call-in-quarantine", "R23", "calls need not wait for decisions", "pair",
			func(r *Rules) { r.MayCall = func(_ spec.State, c CallState) bool { return c == CallNew } }},
		{"unknown-resent", "R23", "an unknown outcome is a call to try again", "calls",
			func(r *Rules) {
				r.MayCall = func(record spec.State, c CallState) bool {
					return record == spec.Open && (c == CallNew || c == CallUnknown)
				}
			}},
	}
}
