package model

import "example.com/reattach/spec"

// Rules is what the contract says, one function a rule. The zero value is
// useless; [TheRules] returns the true ones, and a mutant replaces exactly one
// of them to show that something notices.
type Rules struct {
	// The server.
	SessionServes Check                                                     // R6 R12
	AttemptFormed Check                                                     // R10
	CursorFormed  Check                                                     // R1 R5
	TagMatches    Check                                                     // R1
	StreamKnown   Check                                                     // R1 R5
	NotBelowFloor Check                                                     // R5
	IssuedHere    Check                                                     // R1
	NotBeyondHead Check                                                     // R5
	AttemptInTime Check                                                     // R10
	ResumeStart   func(cursor uint64) uint64                                // R4
	FreshStart    func(floor, handed uint64) uint64                         // R7
	Announced     func(start uint64) uint64                                 // R8
	NextOrdinal   func(position, floor, head uint64) (next uint64, ok bool) // R4 R9
	Survives      func(older, newer ViewOf) bool                            // R10
	NextNumber    func(last uint64) (next uint64, ok bool)                  // R2
	Overflows     func(Load, Limits) bool                                   // R3

	// The client.
	TokenWhenTaken    func(token, taken uint64) uint64                 // R20
	TokenWhenApplied  func(token, taken uint64) uint64                 // R20
	CursorSent        func(token uint64) uint64                        // R25
	Committable       func(record spec.State, token, hand Mark) bool   // R20 R30
	Proves            func(sent, announced Mark) bool                  // R21
	IsNext            func(token, event Mark) bool                     // R21
	Abandons          func(spec.Reason) bool                           // R22
	WhenFenced        func(spec.State) spec.State                      // R22
	WhenCertaintyEnds func(CallState) CallState                        // R23
	WhenAnswered      func(CallState) CallState                        // R20 R29
	StateAtOpening    func(unknowns int) spec.State                    // R23
	WhenResolved      func(record spec.State, unknowns int) spec.State // R23
	MayCall           func(record spec.State, c CallState) bool        // R23
}

// TheRules returns the rules as the contract states them.
func TheRules() Rules {
	return Rules{
		SessionServes: SessionServes,
		AttemptFormed: AttemptFormed,
		CursorFormed:  CursorFormed,
		TagMatches:    TagMatches,
		StreamKnown:   StreamKnown,
		NotBelowFloor: NotBelowFloor,
		IssuedHere:    IssuedHere,
		NotBeyondHead: NotBeyondHead,
		AttemptInTime: AttemptInTime,
		ResumeStart:   ResumeStart,
		FreshStart:    FreshStart,
		Announced:     Announced,
		NextOrdinal:   NextOrdinal,
		Survives:      Survives,
		NextNumber:    NextNumber,
		Overflows:     Overflows,

		TokenWhenTaken:    TokenWhenTaken,
		TokenWhenApplied:  TokenWhenApplied,
		CursorSent:        CursorSent,
		Committable:       Committable,
		Proves:            Proves,
		IsNext:            IsNext,
		Abandons:          Abandons,
		WhenFenced:        WhenFenced,
		WhenCertaintyEnds: WhenCertaintyEnds,
		WhenAnswered:      WhenAnswered,
		StateAtOpening:    StateAtOpening,
		WhenResolved:      WhenResolved,
		MayCall:           MayCall,
	}
}
