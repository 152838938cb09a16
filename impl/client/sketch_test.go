package client

import (
	"testing"
	"time"

	"example.com/reattach/spec"
)

// The second sketch of the source judges one resumption: status, session id,
// first event id. Every branch of it, through the core, with the contract's
// word where it differs on purpose.
func TestEveryBranchOfTheSketchThatValidatesAResumption(t *testing.T) {
	const token = 5 // ordinal and seq of the persisted event
	unproven := Accepted{SessionID: session}
	for _, c := range []struct {
		name   string
		sketch string // what the sketch says
		answer func(c *Core, id StreamID, conn uint64) ([]Action, error)
		first  *Event
		why    spec.Reason // "" if the epoch lives
		state  spec.State  // of the stream then
	}{
		{name: "404", sketch: "violation", answer: refuses(404, ""), why: spec.ReasonSessionUnknown},
		{name: "another status: 400", sketch: "violation", answer: refuses(400, spec.ReasonCursorMalformed), why: spec.ReasonCursorMalformed},
		{name: "another status: 409", sketch: "violation", answer: refuses(409, spec.ReasonCursorAhead), why: spec.ReasonCursorAhead},
		{name: "another status: 403", sketch: "violation", answer: refuses(403, ""), why: spec.ReasonRefused},
		{name: "another status: 307", sketch: "violation", answer: refuses(307, ""), why: spec.ReasonRedirected},
		{name: "another status: 503 (deliberate: not now, R26)", sketch: "violation",
			answer: func(c *Core, id StreamID, conn uint64) ([]Action, error) { return c.Defers(id, conn, time.Second) }, state: spec.Ended},
		{name: "another status: 401 (deliberate: new credentials, R26)", sketch: "violation",
			answer: func(c *Core, id StreamID, conn uint64) ([]Action, error) { return c.Challenges(id, conn) }, state: spec.Ended},
		{name: "no session id", sketch: "violation", answer: accepts(Accepted{}), why: spec.ReasonSessionMissing},
		{name: "another session id", sketch: "violation", answer: accepts(Accepted{SessionID: "minted"}), why: spec.ReasonSessionChanged},
		{name: "another session id, and the right position", sketch: "violation",
			answer: accepts(Accepted{"minted", at(token, 1, token)}), why: spec.ReasonSessionChanged},
		{name: "no first event id", sketch: "violation", answer: accepts(unproven), first: new(bare("x")), why: spec.ReasonEventWithoutID},
		{name: "no event at all (deliberate: unproven, keeps its cursor, R21 R26)", sketch: "violation", answer: accepts(unproven), state: spec.Unproven},
		{name: "no event at all, position announced (deliberate: proven, R21)", sketch: "violation",
			answer: accepts(Accepted{session, at(token, 1, token)}), state: spec.Streaming},
		{name: "repeated first event id", sketch: "violation", answer: accepts(unproven), first: new(message(at(token, 1, token))), why: spec.ReasonEventRepeated},
		{name: "repeated first event id, without payload (deliberate: a position, R21)", sketch: "violation",
			answer: accepts(unproven), first: new(position(at(token, 1, token))), state: spec.Streaming},
		{name: "a first event id that the caller cannot place strictly after", sketch: "for the caller to confirm",
			answer: accepts(unproven), first: new(message("e1")), why: spec.ReasonEventUnorderable},
		{name: "a later one than the next", sketch: "for the caller to confirm",
			answer: accepts(unproven), first: new(message(at(token+2, 1, token+2))), why: spec.ReasonEventSkipped},
		{name: "success", sketch: "the new token", answer: accepts(unproven), first: new(message(at(token+1, 1, token+1))), state: spec.Streaming},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, Record{}, CoreOptions{})
			g.open()
			id, conn := g.streaming(1)
			for n := uint64(1); n <= token; n++ {
				g.do(g.core.EventArrives(id, conn, message(at(n, 1, n))))
				g.commit()
			}
			resume := g.resumed(id, conn)
			if resume.Session.ID != session || resume.Cursor != at(token, 1, token) {
				t.Fatalf("sent %+v", resume)
			}
			g.do(c.answer(g.core, id, resume.Conn))
			if c.first != nil {
				g.do(g.core.EventArrives(id, resume.Conn, *c.first))
			}
			if c.why != "" {
				g.abandoned(c.why)
				if len(g.applied) != token || g.outcomes[id].Kind != OutcomeUnknown {
					t.Errorf("applied %v, outcome %v", ids(g.applied), g.outcomes[id])
				}
				return
			}
			g.commitAll()
			g.state(spec.Open)
			g.streamState(id, c.state)
			want := at(token, 1, token)
			if c.name == "success" {
				want = at(token+1, 1, token+1)
			}
			if got := g.stream(id).Cursor; got != want {
				t.Errorf("cursor %s, want %s", got, want)
			}
		})
	}
}

func refuses(status int, why spec.Reason) func(*Core, StreamID, uint64) ([]Action, error) {
	return func(c *Core, id StreamID, conn uint64) ([]Action, error) {
		return c.Refuses(id, conn, Refusal{Status: status, Reason: why})
	}
}

func accepts(a Accepted) func(*Core, StreamID, uint64) ([]Action, error) {
	return func(c *Core, id StreamID, conn uint64) ([]Action, error) { return c.Accepts(id, conn, a) }
}
