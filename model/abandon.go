package model

import "example.com/reattach/spec"

// Abandons reports whether a server's answer with this reason to a resumption
// ends the epoch (R22): every final refusal does, for all its streams at once.
// An answer that asks to come later does not (R26), and neither does a newer
// attempt of the same client's kind (R10).
func Abandons(reason spec.Reason) bool {
	return !reason.RetryLater() && reason != spec.ReasonAttemptSuperseded
}

// WhenFenced is the epoch's state once the fence is durable (R22).
func WhenFenced(spec.State) spec.State { return spec.Abandoned }
