package properties

import (
	"errors"
	"fmt"
	"slices"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/client"
	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// A clientStep is one thing that happens to a client.
type clientStep struct {
	Do     string
	Stream int
	Kind   string // of a position, an event or a refusal
	Pick   int
}

var clientMoves = []share[string]{
	{"commit", 300}, {"commit fails", 50}, {"open", 30}, {"opened", 40}, {"opening fails", 8}, {"call", 90}, {"ask", 25}, {"taken over", 1}, {"notify", 5}, {"resolve", 25},
	{"contradict", 2}, {"abandon", 8}, {"terminate", 8}, {"offer", 20}, {"listen", 30}, {"dial fails", 8}, {"accepts", 150}, {"answers once", 8},
	{"completes", 8}, {"defers", 8}, {"challenges", 5}, {"refuses", 10}, {"event", 300}, {"ends", 25}, {"breaks", 25}, {"reconnect", 80},
	{"resume", 25}, {"old connection", 15}, {"out of turn", 5}, {"forget", 10}, {"another process", 3}, {"crash", 8},
}

var positionKinds = []share[string]{
	{"right", 70}, {"none", 20}, {"one back", 1}, {"one ahead", 1}, {"of another stream", 1}, {"of nobody", 1}, {"nonsense", 1}, {"other session", 2}, {"no session", 1},
}

var eventKinds = []share[string]{
	{"next", 100}, {"answer", 12}, {"unsure answer", 4}, {"repeated", 1}, {"earlier", 1}, {"skipped", 1}, {"stale seq", 1}, {"of another stream", 1}, {"of nobody", 1}, {"nonsense", 1},
	{"without id", 1}, {"position", 10}, {"another position", 1}, {"cleared", 2}, {"retry", 6}, {"seen number", 1}, {"late beginning", 1},
}

// What a server may refuse with. Those that say "not now" come as "defers".
var refusals = []share[client.Refusal]{
	{client.Refusal{Status: 404}, 2}, {client.Refusal{Status: 404, Reason: spec.ReasonSessionUnknown}, 2}, {client.Refusal{Status: 404, Reason: spec.ReasonSessionExpired}, 1},
	{client.Refusal{Status: 404, Reason: spec.ReasonSessionTerminated}, 1}, {client.Refusal{Status: 400, Reason: spec.ReasonSessionRequired}, 1},
	{client.Refusal{Status: 400, Reason: spec.ReasonCursorMalformed}, 1}, {client.Refusal{Status: 409, Reason: spec.ReasonCursorForeign}, 1},
	{client.Refusal{Status: 409, Reason: spec.ReasonCursorUnissued}, 1}, {client.Refusal{Status: 409, Reason: spec.ReasonCursorEvicted}, 2},
	{client.Refusal{Status: 409, Reason: spec.ReasonCursorAhead}, 1}, {client.Refusal{Status: 403}, 1}, {client.Refusal{Status: 405}, 2}, {client.Refusal{Status: 307}, 1},
	{client.Refusal{Status: 409, Reason: spec.ReasonAttemptSuperseded}, 1}, {client.Refusal{Status: 409, Sealed: true}, 2}, {client.Refusal{Status: 404, Sealed: true}, 1}, {client.Refusal{Status: 500}, 1},
}

func drawClientStep(d dice) clientStep {
	s := clientStep{Do: pick(d, clientMoves), Stream: d(60), Pick: d(1 << 16)}
	switch s.Do {
	case "accepts", "answers once", "completes":
		s.Kind = pick(d, positionKinds)
	case "event":
		s.Kind = pick(d, eventKinds)
	}
	return s
}

func (p *clientPair) run(steps []clientStep) error {
	for i, s := range steps {
		if p.over {
			p.hits.hit("another process took the record over")
			return nil
		}
		p.hits.hit("move %s", s.Do)
		err := p.step(s)
		if err == nil {
			err = p.check()
		}
		if err != nil {
			return fmt.Errorf("%w\nstep %d, %+v, of:%s", err, i, p.options, script(steps, i))
		}
	}
	return nil
}

// target is the stream of a step: mostly one for which it is meant.
func (p *clientPair) target(s clientStep) (at client.StreamSnapshot, ok bool) {
	all := p.core.Snapshot().Streams
	if len(all) == 0 {
		return at, false
	}
	apt := map[string][]spec.State{
		"dial fails": {spec.Requested, spec.Resuming}, "accepts": {spec.Requested, spec.Resuming}, "answers once": {spec.Requested}, "completes": {spec.Resuming},
		"defers": {spec.Resuming}, "challenges": {spec.Resuming}, "refuses": {spec.Requested, spec.Resuming}, "event": {spec.Streaming, spec.Unproven},
		"ends": {spec.Streaming, spec.Unproven}, "breaks": {spec.Streaming, spec.Unproven, spec.Requested, spec.Resuming}, "reconnect": {spec.Ended, spec.Truncated},
		"resume": {spec.Suspended}, "forget": {spec.Completed, spec.NotExecuted, spec.Lost}, "old connection": {spec.Streaming, spec.Resuming, spec.Unproven},
	}[s.Do]
	var fit []client.StreamSnapshot
	for _, st := range all {
		if slices.Contains(apt, st.State) {
			fit = append(fit, st)
		}
	}
	if len(fit) > 0 && s.Pick%20 > 0 {
		all = fit
	}
	return all[s.Stream%len(all)], true
}

// step does one thing, whatever the state.
func (p *clientPair) step(s clientStep) error {
	c, t := p.core, p.twin
	switch s.Do {
	case "commit", "commit fails":
		which := 0
		if s.Pick%3 == 0 { // not in the order in which they were handed out
			which = s.Stream
		}
		return p.commit(which, s.Do == "commit fails")
	case "open", "opened", "opening fails":
		return p.opening(s)
	case "call":
		return p.call(s.Pick%4 == 0)
	case "ask":
		return p.ask(s)
	case "taken over":
		return p.takenOver(s)
	case "notify":
		actions, err := c.Notify(nil, s.Pick%4 == 0)
		return p.both("Notify", actions, err, t.Notify(s.Pick%4 == 0))
	case "resolve":
		unknowns := p.core.Record().Unknowns
		if len(unknowns) == 0 || p.others { // what another process wrote is not known yet
			return nil
		}
		actions, err := c.Resolve(unknowns[s.Stream%len(unknowns)].Stream, client.Decision(s.Pick%3))
		return p.both("Resolve", actions, err, t.Resolve())
	case "contradict":
		actions, err := c.Contradict(c.Snapshot().Record.Epoch, spec.ReasonSessionUnknown)
		return p.both("Contradict", actions, err, t.Contradict())
	case "abandon":
		// Another attempt at a fence waits for the one that is being written.
		if i := slices.IndexFunc(p.pending, func(a client.Action) bool { return a.Do == spec.CommitFence }); i >= 0 {
			return p.commit(i, s.Pick%2 == 0)
		}
		actions, err := c.Abandon()
		return p.both("Abandon", actions, err, t.Abandon())
	case "terminate":
		actions, err := c.Terminate()
		return p.both("Terminate", actions, err, t.Terminate())
	case "another process":
		return p.anotherProcess(s)
	case "crash":
		if p.others { // the model would not know what the next life begins from
			return p.commit(0, false)
		}
		return p.crash()
	}
	if on := map[spec.State]string{spec.Idle: "open", spec.Abandoned: "open", spec.Closed: "open", spec.Opening: "opened", spec.Fencing: "commit"}[c.State()]; on != "" && s.Pick%3 > 0 {
		s.Do = on // rather lead on to where there is something to read
		return p.step(s)
	}
	return p.streamStep(s)
}

// opening asks for a session, or answers. An opening is answered once, and the
// next one waits for its record.
func (p *clientPair) opening(s clientStep) error {
	if i := slices.IndexFunc(p.pending, func(a client.Action) bool { return a.Do == spec.CommitEpoch }); i >= 0 {
		return p.commit(i, s.Do == "opening fails")
	}
	switch s.Do {
	case "open":
		actions, err := p.core.Open()
		return p.both("Open", actions, err, p.twin.Open())
	case "opening fails":
		actions, err := p.core.OpeningFails(p.core.Snapshot().Opening, spec.ReasonRefused)
		return p.both("OpeningFails", actions, err, p.twin.OpeningFails())
	}
	return p.opened(s)
}

func (p *clientPair) opened(s clientStep) error {
	p.session++
	id := fmt.Sprintf("session-%d", p.session)
	o := client.Opened{SessionID: id, Ledger: []string{"", aLedger, aLedger, anotherLedger}[s.Pick/3%4]}
	if s.Pick%2 > 0 {
		o.Standalone = spec.PositionZero(spec.TagOf(id, ""), 0).String()
	}
	if s.Pick%16 == 1 { // the server's store has a generation (R14)
		o.Standalone = spec.PositionZero(spec.TagOf(id, "generation"), 0).String()
	}
	conn := p.core.Snapshot().Opening
	switch s.Pick % 23 {
	case 5:
		o.SessionID = ""
	case 6:
		o.Standalone = "nonsense"
	case 7:
		conn += 7 // an answer that nobody waits for
	}
	actions, err := p.core.Opened(conn, o)
	var other *client.ConnectionError
	if errors.As(err, &other) {
		p.hits.hit("answer on another connection refused")
		return nil
	}
	if o.SessionID == "" || o.Standalone == "nonsense" {
		return p.both("Opened", actions, err, p.twin.OpeningFails())
	}
	return p.both("Opened", actions, err, p.twin.Opened(model.Opening{SessionID: o.SessionID, Standalone: o.Standalone}))
}

// call opens a stream for a call and sends it: in the model one step.
func (p *clientPair) call(passes bool) error {
	var call client.Call
	if ledger := p.core.Record().Ledger; ledger != "" {
		p.keys++
		call = client.Call{Key: spec.Key{Ledger: ledger, Minted: p.keys, Nonce: fmt.Sprintf("%032x", p.keys)}.String(), Method: "work", Digest: "of nothing"}
	}
	id, actions, err := p.core.Call(call, passes)
	want, r := p.twin.Call(passes)
	if fault := p.both("Call", actions, err, r); fault != nil || err != nil {
		return fault
	}
	if twinID(id) != want {
		return fmt.Errorf("Call: the core opens %v, the model %v", id, want)
	}
	actions, err = p.core.Send(id, nil)
	return p.both("Send", actions, err, "")
}

// Names of ledgers.
const aLedger, anotherLedger = "000000000000000a", "000000000000000b"

// ask opens a status query or a keyed re-send of a call whose outcome is
// unknown, whether or not the server names its ledger.
func (p *clientPair) ask(s clientStep) error {
	record := p.core.Record()
	if len(record.Unknowns) == 0 || p.others {
		return nil
	}
	u := record.Unknowns[s.Stream%len(record.Unknowns)]
	call, about := client.Call{Key: u.Key, Query: true}, model.StreamID{}
	if s.Pick%2 == 0 && u.Key != "" {
		call, about = client.Call{Key: u.Key, Method: u.Method, Digest: u.Digest, Resends: u.Stream}, twinID(u.Stream)
	}
	k, _ := spec.ParseKey(u.Key)
	foreign := k.Ledger == "" || k.Ledger != record.Ledger
	id, actions, err := p.core.Call(call, false)
	want, r := p.twin.Ask(about, foreign)
	if fault := p.both("Call", actions, err, r); fault != nil || err != nil {
		return fault
	}
	p.hits.hit("asked, query %v, in %v", call.Query, p.core.State())
	p.books.about[id] = about != (model.StreamID{})
	if twinID(id) != want {
		return fmt.Errorf("Call: the core opens %v, the model %v", id, want)
	}
	actions, err = p.core.Send(id, nil)
	return p.both("Send", actions, err, "")
}

// takenOver has another process take the lease (R30). Mostly nobody tells: the
// next write finds out.
func (p *clientPair) takenOver(s clientStep) error {
	if s.Pick%4 > 0 {
		if p.record.State != client.RecordOpen || p.others || !slices.Contains([]spec.State{spec.Open, spec.Quarantined, spec.Fencing}, p.core.State()) {
			return nil
		}
		next, err := client.Change{Kind: client.TakeLease, Lease: p.record.Lease}.Apply(p.record)
		p.record, p.others = next, true
		p.hits.hit("another process took the lease")
		return err
	}
	actions, err := p.core.TakenOver(p.core.Record().Epoch, spec.ReasonLeaseLost)
	for _, a := range actions {
		if a.Do == spec.SendDelete || a.Change.Kind == client.FenceEpoch {
			return fmt.Errorf("TakenOver hands out %v", a.Do)
		}
	}
	return p.both("TakenOver", actions, err, p.twin.TakenOver())
}

// anotherProcess fences the record behind the client's back (R30).
func (p *clientPair) anotherProcess(s clientStep) error {
	if p.record.State != client.RecordOpen || p.others || p.core.Record().Epoch != p.record.Epoch || p.core.State() == spec.Abandoned || p.core.State() == spec.Opening {
		return nil
	}
	if slices.ContainsFunc(p.record.Calls, func(c client.Call) bool { return c.Resends != client.StreamID{} }) {
		return nil // whether it leaves an unknown outcome depends on when the fence is written, which the model is not told
	}
	fence := client.Change{Kind: client.FenceEpoch, Lease: p.record.Lease, Epoch: p.record.Epoch, Reason: spec.ReasonCallerDecided}
	next, err := fence.Apply(p.record)
	if err != nil {
		return err
	}
	before := p.record
	p.record, p.others = next, true
	if fault := p.books.committed(client.Action{Change: fence}, before, next); fault != nil || s.Pick%8 > 0 {
		return fault
	}
	begin := client.Change{Kind: client.BeginEpoch, Lease: p.record.Lease, Epoch: p.record.Epoch, Session: "theirs", Tag: spec.TagOf("theirs", "")}
	p.record, err = begin.Apply(p.record)
	p.hits.hit("another process began the next epoch")
	return err
}

// streamStep does one thing to a stream.
func (p *clientPair) streamStep(s clientStep) error {
	c, t := p.core, p.twin
	st, ok := p.target(s)
	if !ok {
		return nil
	}
	id, conn, twin := st.ID, st.Conn, twinID(st.ID)
	session := p.record.SessionID
	switch s.Kind {
	case "other session":
		session = "another"
	case "no session":
		session = ""
	}
	switch s.Do {
	case "offer", "listen":
		return p.standalone(s.Do)
	case "dial fails":
		actions, err := c.DialFails(id, conn, spec.ReasonRefused)
		return p.both("DialFails", actions, err, t.DialFails(twin))
	case "accepts":
		position := p.position(st, s)
		p.hits.hit("position %s", s.Kind)
		told, named := position, session
		if f := p.fault.accepts; f != nil {
			told, named = f(p, st, position)
		}
		actions, err := c.Accepts(id, conn, client.Accepted{SessionID: named, Position: told})
		return p.both(fmt.Sprintf("Accepts(%v, %q)", id, position), actions, err, t.Accepts(twin, session, position))
	case "answers once":
		actions, err := c.AnswersOnce(id, conn, session, client.Event{Payload: []byte("answer"), Answer: true})
		return p.both("AnswersOnce", actions, err, t.AnswersOnce(twin, session))
	case "completes":
		actions, err := c.Completes(id, conn, session)
		return p.both("Completes", actions, err, t.Completes(twin, session))
	case "defers":
		actions, err := c.Defers(id, conn, 0)
		return p.both("Defers", actions, err, t.Defers(twin))
	case "challenges":
		actions, err := c.Challenges(id, conn)
		return p.both("Challenges", actions, err, t.Challenges(twin))
	case "refuses":
		return p.refuses(st, pick(func(n int) int { return s.Pick % n }, refusals))
	case "event":
		ev := p.event(st, s)
		p.hits.hit("event %s", s.Kind)
		told := ev
		if f := p.fault.event; f != nil {
			told = f(p, st, ev)
		}
		actions, err := c.EventArrives(id, conn, told)
		return p.both(fmt.Sprintf("EventArrives(%v, %+v)", id, ev), actions, err,
			t.EventArrives(twin, model.Arrival{ID: ev.ID, HasID: ev.HasID, Payload: len(ev.Payload) > 0, Answer: ev.Answer,
				Unsure: ev.Answer && ev.Means == client.MeansUnknown && p.isKeyed(id)}))
	case "ends":
		actions, err := c.StreamEnds(id, conn)
		return p.both("StreamEnds", actions, err, t.StreamEnds(twin))
	case "breaks":
		actions, err := c.ConnectionBreaks(id, conn)
		return p.both("ConnectionBreaks", actions, err, t.ConnectionBreaks(twin))
	case "reconnect":
		outOfTime := s.Pick%20 == 0
		left := !outOfTime && p.attempts[id] < p.options.ResumeAttempts
		actions, err := c.Reconnect(id, outOfTime)
		return p.both("Reconnect", actions, err, t.Reconnect(twin, left))
	case "resume":
		if st.State == spec.Suspended {
			p.attempts[id] = 0
		}
		actions, err := c.Resume(id)
		return p.both("Resume", actions, err, t.Resume(twin))
	case "old connection":
		return p.oldConnection(st, s)
	case "out of turn":
		if st.InHand.Kind != 0 {
			return nil
		}
		actions, err := c.StreamCommitted(id, p.record)
		return p.both("StreamCommitted", actions, err, t.StreamCommitted(twin))
	case "forget":
		if id.Request < p.record.NextRequest && c.Forget(id) {
			t.Forget(twin)
			p.hits.hit("forgot a stream")
		}
		return nil
	}
	panic("reattach: BUG: nobody said how a client " + s.Do)
}

// isKeyed says whether a ledger answers for the call itself.
func (p *clientPair) isKeyed(id client.StreamID) bool {
	call, ok := p.record.Call(id.Request)
	return ok && call.Key != "" && !call.Query
}

func (p *clientPair) standalone(do string) error {
	id := p.core.Standalone()
	at := slices.IndexFunc(p.core.Snapshot().Streams, func(s client.StreamSnapshot) bool { return s.ID == id })
	if at < 0 {
		return nil
	}
	positioned := p.core.Snapshot().Streams[at].Cursor != ""
	if unsent := p.core.Snapshot().Streams[at].State == spec.Unsent; unsent && positioned != (do == "offer") {
		do = map[bool]string{true: "offer", false: "listen"}[positioned] // a caller cannot do the other
	}
	if do == "offer" {
		actions, err := p.core.Offer(id)
		return p.both("Offer", actions, err, p.twin.Offer())
	}
	actions, err := p.core.Listen(id)
	return p.both("Listen", actions, err, p.twin.Listen())
}

func (p *clientPair) refuses(st client.StreamSnapshot, f client.Refusal) error {
	gone := f.Status == 404
	switch f.Reason {
	case spec.ReasonSessionRequired, spec.ReasonSessionUnknown, spec.ReasonSessionExpired, spec.ReasonSessionTerminated:
		gone = true
	}
	proves := st.ID.Request != 0 && (f.Sealed || p.options.NoResending && f.Reason != "")
	reason := f.Reason
	if reason == "" {
		reason = spec.ReasonRefused
	}
	p.hits.hit("refusal %d %s", f.Status, f.Reason)
	if f.Reason != "" {
		reason = f.Reason
	}
	actions, err := p.core.Refuses(st.ID, st.Conn, f)
	return p.both(fmt.Sprintf("Refuses(%v, %+v)", st.ID, f), actions, err, p.twin.Refuses(twinID(st.ID), reason, gone, proves))
}

// oldConnection has an earlier connection of a stream speak: nothing of it is
// heard, and the model is not even told (R21).
func (p *clientPair) oldConnection(st client.StreamSnapshot, s clientStep) error {
	old := p.conns[st.ID]
	if old == 0 || old == st.Conn {
		return nil
	}
	if p.fault.oldHeard {
		old = st.Conn
	}
	p.hits.hit("an old connection spoke")
	before := fmt.Sprintf("%+v", p.core.Snapshot())
	var err error
	switch s.Pick % 4 {
	case 0:
		_, err = p.core.EventArrives(st.ID, old, p.event(st, clientStep{Kind: "next"}))
	case 1:
		_, err = p.core.Accepts(st.ID, old, client.Accepted{SessionID: p.record.SessionID, Position: st.Cursor})
	case 2:
		_, err = p.core.ConnectionBreaks(st.ID, old)
	case 3:
		_, err = p.core.Refuses(st.ID, old, client.Refusal{Status: 404})
	}
	var other *client.ConnectionError
	var refused *fsm.RefusedError
	if !errors.As(err, &other) || errors.As(err, &refused) || fmt.Sprintf("%+v", p.core.Snapshot()) != before {
		return fmt.Errorf("an old connection of %v was heard: %v", st.ID, err)
	}
	return nil
}
