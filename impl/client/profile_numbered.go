package client

import (
	"strings"

	"example.com/reattach/spec"
)

// NumberedProfile is for servers whose event ids are a text, the same in all of
// them, and a number that grows over all streams: many small servers do it, and
// so do those of the public conformance suite, whose prefix is "event-". It
// knows no more than that an id comes later than another.
func NumberedProfile(prefix string) *Profile {
	number := func(id string) (uint64, bool) {
		text, found := strings.CutPrefix(id, prefix)
		n, ok := canonical(text)
		return n, found && ok
	}
	return &Profile{
		Name: "numbered " + prefix,
		Waives: []Waiver{waivesPosition, waivesHoles, waivesRefusal,
			{"R1", "an id names neither its session nor its stream"}},
		form: func(id string, _ bool) bool {
			_, ok := number(id)
			return ok
		},
		next: func(at, id string, _ bool) spec.Reason {
			n, _ := number(id)
			last, _ := number(at)
			switch {
			case at == "" || n > last:
				return ""
			case n == last:
				return spec.ReasonEventRepeated
			}
			return spec.ReasonEventOutOfOrder
		},
	}
}
