package client

import (
	"errors"
	"testing"

	"example.com/reattach/spec"
	"github.com/google/go-cmp/cmp"
)

// R30: every write says what must be there, and is refused if it is not.
func TestAChangeMeetsOnlyTheRecordItExpects(t *testing.T) {
	open := Record{Version: 4, Epoch: 2, State: RecordOpen, SessionID: session, Tag: tag, NextRequest: 6,
		Streams: []Token{{Request: 0, LastEventID: "s"}, {Request: 5, LastEventID: "a"}}, Calls: []Call{{Request: 4}, {Request: 5}},
		Unknowns: []Unknown{{Stream: StreamID{1, 2}}}, Seen: []Span{{1, 3}}}
	fenced, err := Change{Kind: FenceEpoch, Epoch: 2}.Apply(open)
	if err != nil {
		t.Fatal(err)
	}
	next := open.Clone() // an open record of another epoch, with the same streams
	next.Epoch = 3

	for name, c := range map[string]struct {
		change  Change
		refused []Record
	}{
		"an event":              {Change{Kind: AdvanceToken, Epoch: 2, Request: 5, Before: "a", After: "b"}, []Record{fenced, next, {}}},
		"an answer":             {Change{Kind: AdvanceToken, Epoch: 2, Request: 5, Before: "a", After: "b", Answers: true}, []Record{fenced, next, {}}},
		"the first position":    {Change{Kind: AdvanceToken, Epoch: 2, Request: 4, After: "b", Opens: 4}, []Record{fenced, next, {}}},
		"a standalone event":    {Change{Kind: AdvanceToken, Epoch: 2, Before: "s", After: "t"}, []Record{fenced, next, {}}},
		"a call":                {Change{Kind: AddCall, Epoch: 2, Call: Call{Request: 6}}, []Record{fenced, next, {}}},
		"a removal":             {Change{Kind: RemoveCall, Epoch: 2, Request: 4}, []Record{fenced, next, {}}},
		"a doubt about one":     {Change{Kind: DoubtCall, Epoch: 2, Request: 4}, []Record{fenced, next, {}}},
		"a fence":               {Change{Kind: FenceEpoch, Epoch: 2}, []Record{next, {}}},
		"a resolution":          {Change{Kind: ResolveUnknown, Unknown: StreamID{1, 2}}, []Record{{}}},
		"an event, token moved": {Change{Kind: AdvanceToken, Epoch: 2, Request: 5, Before: "", After: "b"}, []Record{open}},
		"an event, no call":     {Change{Kind: AdvanceToken, Epoch: 2, Request: 3, After: "b"}, []Record{open}},
		"a stream seen before":  {Change{Kind: AdvanceToken, Epoch: 2, Request: 4, After: "b", Opens: 2}, []Record{open}},
		"a removal, no call":    {Change{Kind: RemoveCall, Epoch: 2, Request: 3}, []Record{open}},
		"a used request id":     {Change{Kind: AddCall, Epoch: 2, Call: Call{Request: 5}}, []Record{open}},
		"an epoch over another": {Change{Kind: BeginEpoch, Epoch: 2, Session: "x", Tag: tag}, []Record{open, next, {}}},
		"no such unknown":       {Change{Kind: ResolveUnknown, Unknown: StreamID{1, 3}}, []Record{open, {}}},
	} {
		before := open.Clone()
		got, err := c.change.Apply(open)
		if expected := !cmpHas(c.refused, open); expected != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (got.Version != 5 || got.Validate() != nil) {
			t.Errorf("%s: version %d, %v", name, got.Version, got.Validate())
		}
		if diff := cmp.Diff(before, open); diff != "" {
			t.Fatalf("%s changed the record that it was given: %s", name, diff)
		}
		for _, r := range c.refused {
			_, err := c.change.Apply(r)
			if !errors.Is(err, spec.ReasonRecordStale) && !errors.Is(err, ErrNoUnknown) && !errors.Is(err, ErrRequestUsed) {
				t.Errorf("%s upon epoch %d, %v: %v", name, r.Epoch, r.State, err)
			}
		}
	}
}

func cmpHas(records []Record, r Record) bool {
	for _, have := range records {
		if cmp.Equal(have, r) {
			return true
		}
	}
	return false
}

// A fence whose first write may have been durable is written again, and says
// the same; a wish to close comes on top.
func TestAFenceMayBeWrittenTwice(t *testing.T) {
	r := Record{}
	for _, ch := range history()[:6] {
		r, _ = ch.Apply(r)
	}
	once, err := Change{Kind: FenceEpoch, Epoch: 1, Reason: spec.ReasonRefused}.Apply(r)
	if err != nil || once.State != RecordFenced || len(once.Unknowns) != 2 {
		t.Fatalf("%+v, %v", once, err)
	}
	twice, err := Change{Kind: FenceEpoch, Epoch: 1, Reason: spec.ReasonCallerDecided}.Apply(once)
	if err != nil || twice.Reason != spec.ReasonRefused || !cmp.Equal(twice.Unknowns, once.Unknowns) {
		t.Errorf("%+v, %v", twice, err)
	}
	closed, _ := Change{Kind: FenceEpoch, Epoch: 1, Closing: true}.Apply(twice)
	again, _ := Change{Kind: FenceEpoch, Epoch: 1}.Apply(closed)
	if closed.State != RecordClosed || again.State != RecordClosed {
		t.Errorf("closed: %v, then %v", closed.State, again.State)
	}
}
