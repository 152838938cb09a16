package client

import (
	"testing"

	"example.com/reattach/spec"
)

// A numbered id is later than another or it is doubt (R22).
func TestNumberedProfile(t *testing.T) {
	p := NumberedProfile("event-")
	for _, tc := range []struct {
		at, id string
		want   spec.Reason
	}{
		{"", "event-7", ""},
		{"event-7", "event-8", ""},
		{"event-7", "event-12", ""}, // what lies between belongs to others, or was lost: waived
		{"event-7", "event-7", spec.ReasonEventRepeated},
		{"event-7", "event-6", spec.ReasonEventOutOfOrder},
		{"event-7", "event-08", spec.ReasonEventUnorderable},
		{"event-7", "8", spec.ReasonEventUnorderable},
		{"event-7", "event-", spec.ReasonEventUnorderable},
		{"cursor", "event-8", spec.ReasonEventUnorderable},
	} {
		if got := p.judge(tc.at, tc.id, true); got != tc.want {
			t.Errorf("%s after %q: %q, want %q", tc.id, tc.at, got, tc.want)
		}
	}
	if !p.orders("event-7", false) || p.orders("7", true) {
		t.Error("it orders ids with the prefix, on every stream, and no others")
	}
	if len(p.Waives) == 0 {
		t.Error("it says that it waives nothing")
	}
}
