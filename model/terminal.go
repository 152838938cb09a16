package model

import "example.com/reattach/spec"

// SessionServes is terminal absence (R6): a session that is unknown or has
// ended answers every resumption with that, and a resumption never makes one.
// A session that is draining says "not now" (R12).
func SessionServes(s Standing, _ Cursor) spec.Reason {
	switch s.Session {
	case spec.Live:
		return ""
	case spec.Draining:
		return spec.ReasonDraining
	case spec.Expired:
		return spec.ReasonSessionExpired
	case spec.Terminated:
		return spec.ReasonSessionTerminated
	}
	return spec.ReasonSessionUnknown
}
