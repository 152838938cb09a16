package spec

import "strings"

// A Fact is a named truth that a guard reads. The implementation computes it,
// and the model computes it again on its own.
type Fact uint8

const (
	// Facts of the server.
	ServerFull     Fact = iota // the cap of sessions, or of the subject's sessions, is reached
	ServerDraining             // shutdown has begun
	RequestsCapped             // the session has no room for another call in flight
	StreamsCapped              // nor for another stream's record, and none can be forgotten
	ViewsCapped                // nor for another view, and the one asked for would supersede none
	InUse                      // a request, view or call is open, or one ended within the budget
	WithView                   // the stream is opened by the request that will carry it
	EventFits                  // the event is within its bounds and numbers are left
	Standalone                 // the stream is the standalone one
	DeliversLast               // what the view takes is the last event of a finished stream

	// Facts of the client.
	SameSession       // the answer carries the session id that the request carried
	PositionAnnounced // the answer, or the event without payload in hand, announces a position
	PositionExpected  // the answer's position is the cursor sent, or position 0 of an unseen stream of this session
	HasPayload        // the event is a delivery, not a position
	InOrder           // its id is exactly what must come next
	MovesPosition     // it changes the token although it delivers nothing
	IsAnswer          // what is in hand is the response to the stream's call
	IsCall            // the stream belongs to a call
	Positioned        // the stream has a token
	Orderable         // its ids can be ordered
	Strict            // a truncated stream is to be abandoned (R24)
	AttemptsLeft      // the limits of R26 are not reached
	SessionGone       // the refusal says that the session is no more, or casts doubt on it
	ProvesNotExecuted // the refusal proves that the call did not run (R23)
	AppliesEvent      // the transaction in hand applies an event
	MarksUnknown      // the transaction in hand makes the call an unknown outcome
	RecordStale       // the record is not what the transaction expected: fenced, or another holder's
	PassesQuarantine  // the message may be sent in quarantine (R23)
	UnknownsCarried   // an unknown outcome of an earlier epoch is unresolved
	ClosingWished     // the fence is the caller's wish to end the session
	LedgerForeign     // a status query or a keyed re-send whose key is of a ledger that this session's server did not name (R28)
	AttemptSuperseded // the refusal says that a newer attempt at the view was made (R10)

	numFacts
)

var factNames = [numFacts]string{
	ServerFull: "ServerFull", ServerDraining: "ServerDraining", RequestsCapped: "RequestsCapped", StreamsCapped: "StreamsCapped",
	ViewsCapped: "ViewsCapped", InUse: "InUse", WithView: "WithView", EventFits: "EventFits", Standalone: "Standalone", DeliversLast: "DeliversLast",
	SameSession: "SameSession", PositionAnnounced: "PositionAnnounced", PositionExpected: "PositionExpected",
	HasPayload: "HasPayload", InOrder: "InOrder", MovesPosition: "MovesPosition", IsAnswer: "IsAnswer", IsCall: "IsCall",
	Positioned: "Positioned", Orderable: "Orderable", Strict: "Strict", AttemptsLeft: "AttemptsLeft", SessionGone: "SessionGone",
	ProvesNotExecuted: "ProvesNotExecuted", AppliesEvent: "AppliesEvent", MarksUnknown: "MarksUnknown", RecordStale: "RecordStale",
	PassesQuarantine: "PassesQuarantine", UnknownsCarried: "UnknownsCarried", ClosingWished: "ClosingWished",
	LedgerForeign: "LedgerForeign", AttemptSuperseded: "AttemptSuperseded",
}

func (f Fact) String() string { return nameOf(factNames[:], int(f)) }

// Facts is a set of facts that are true.
type Facts uint64

// FactsOf returns the set of the given facts.
func FactsOf(facts ...Fact) (set Facts) {
	for _, f := range facts {
		set |= 1 << f
	}
	return set
}

// Has reports whether f is in the set.
func (s Facts) Has(f Fact) bool { return s&(1<<f) != 0 }

// With returns the set with f in it exactly if is holds.
func (s Facts) With(f Fact, is bool) Facts {
	if is {
		return s | 1<<f
	}
	return s &^ (1 << f)
}

// List returns the facts of the set in order.
func (s Facts) List() (facts []Fact) {
	for f := Fact(0); f < numFacts; f++ {
		if s.Has(f) {
			facts = append(facts, f)
		}
	}
	return facts
}

func (s Facts) String() string {
	var names []string
	for _, f := range s.List() {
		names = append(names, f.String())
	}
	return "{" + strings.Join(names, " ") + "}"
}

// A Guard is a conjunction: every fact of True holds and none of False does.
type Guard struct{ True, False Facts }

// Holds reports whether the guard is satisfied by what is true.
func (g Guard) Holds(facts Facts) bool { return facts&g.True == g.True && facts&g.False == 0 }

// Reads returns every fact that the guard looks at.
func (g Guard) Reads() Facts { return g.True | g.False }

func (g Guard) String() string {
	var terms []string
	for f := Fact(0); f < numFacts; f++ {
		switch {
		case g.True.Has(f):
			terms = append(terms, f.String())
		case g.False.Has(f):
			terms = append(terms, "!"+f.String())
		}
	}
	return strings.Join(terms, " ")
}
