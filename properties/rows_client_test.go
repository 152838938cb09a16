package properties

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// A clientRig is a real client core, seen through one of its two machines. The
// rig is its store: a change that the core hands out is applied to the rig's
// record when the test says that it was committed.
type clientRig struct {
	core     *client.Core
	machines *fsm.Client
	machine  string // epoch or clientstream
	target   *spec.Row
	broken   error // why the rig could not be set up
	seen     []firing

	record  client.Record
	pending []client.Action // commits that were handed out and not reported on
	last    []client.Action // what the last thing led to
	stream  client.StreamID // the stream under test
	conn    uint64          // its last connection
	opening uint64          // connection of the last initialize
	session string          // that was opened last
	ordinal uint64          // of the last event that was sent
	unknown client.StreamID // an unknown outcome of an earlier epoch
	was     client.Snapshot
}

const strange = "a session that nobody opened"

func newClientRig(machine string, machines *fsm.Client, target *spec.Row) *clientRig {
	r := &clientRig{machine: machine, machines: machines, target: target}
	o := client.CoreOptions{
		Machines: machines,
		Strict:   target.Guard.True.Has(spec.Strict),
		// A typed refusal proves something only where nothing re-sends.
		NoResending: target.Guard.True.Has(spec.ProvesNotExecuted),
		Observe: func(step *fsm.Step, refused *fsm.RefusedError) {
			if step != nil {
				r.seen = append(r.seen, firing{step.Row.ID[:2], step.Row.ID, step.From, step.To})
			} else {
				r.seen = append(r.seen, firing{refused.Machine, refused.Row, refused.State, refused.State})
			}
		},
	}
	if target.Guard.False.Has(spec.AttemptsLeft) {
		o.FenceAttempts = 1
	}
	if machine == "epoch" && carriesUnknowns(target) {
		r.haveUnknowns()
	}
	var err error
	if r.core, _, err = client.NewCore(r.record, o); err != nil {
		panic(err)
	}
	if machine == "clientstream" {
		r.broken = r.open()
	}
	return r
}

// carriesUnknowns says whether a row of the epoch's table is about a client
// with unknown outcomes of an earlier epoch.
func carriesUnknowns(row *spec.Row) bool {
	return row.Guard.True.Has(spec.UnknownsCarried) || row.Trigger == spec.CallerResolves ||
		len(row.From) == 1 && row.From[0] == spec.Quarantined
}

// haveUnknowns makes the rig's record that of a client whose last epoch was
// abandoned with two calls in flight.
func (r *clientRig) haveUnknowns() {
	for _, change := range []client.Change{
		{Kind: client.BeginEpoch, Session: "session-zero", Tag: spec.TagOf("session-zero", "")},
		{Kind: client.AddCall, Epoch: 1, Request: 1, Call: client.Call{Request: 1}},
		{Kind: client.AddCall, Epoch: 1, Request: 2, Call: client.Call{Request: 2}},
		{Kind: client.FenceEpoch, Epoch: 1, Reason: spec.ReasonSessionUnknown},
	} {
		r.commit(change)
	}
	r.unknown = r.record.Unknowns[0].Stream
}

func (r *clientRig) commit(change client.Change) {
	next, err := change.Apply(r.record)
	if err != nil {
		panic(fmt.Sprintf("properties: the rig's store refuses %v: %v", change.Kind, err))
	}
	r.record = next
}

// open opens an epoch and, for a call, gives it a stream.
func (r *clientRig) open() error {
	for _, t := range []spec.Trigger{spec.CallerOpens, spec.ServerOpens, spec.EpochCommitted} {
		if err := r.happen(t, spec.Guard{}); err != nil {
			return err
		}
	}
	r.stream = r.core.Standalone()
	if r.isCall() {
		return r.happen(spec.CallerCalls, spec.Guard{})
	}
	return nil
}

// isCall says which kind of stream the target speaks about. Only the standalone
// stream is listened to and offered.
func (r *clientRig) isCall() bool { return aboutCall(r.target) }

func aboutCall(row *spec.Row) bool {
	if row.Guard.True.Has(spec.AttemptSuperseded) && row.Covers(spec.Requested) {
		return false // a POST has no attempt
	}
	return !row.Guard.False.Has(spec.IsCall) && row.Trigger != spec.StandaloneOffered && row.Trigger != spec.CallerListens
}

func (r *clientRig) state() spec.State {
	if r.machine == "epoch" {
		return r.core.State()
	}
	s, _ := r.snap()
	return s.State
}

func (r *clientRig) snap() (client.StreamSnapshot, bool) {
	for _, s := range r.core.Snapshot().Streams {
		if s.ID == r.stream {
			return s, true
		}
	}
	return client.StreamSnapshot{State: spec.Unsent}, false
}

func (r *clientRig) fired() (all []firing) {
	all, r.seen = r.seen, nil
	return all
}

func (r *clientRig) snapshot() string { return fmt.Sprintf("%+v", r.core.Snapshot()) }

// id returns the event id at a distance from the last one sent.
func (r *clientRig) id(ahead uint64) string {
	n := r.ordinal + ahead
	return spec.EventID{Tag: spec.TagOf(r.session, ""), Seq: n, Stream: r.stream.Request, Ordinal: n}.String()
}

// prepare gives a stream that is being read the kind of position that the
// target asks for, and an epoch that is being fenced the wish to close.
func (r *clientRig) prepare(t spec.Trigger, want spec.Guard) error {
	s, _ := r.snap()
	switch {
	case r.machine == "epoch":
		if t == spec.EpochCommitted && r.core.State() == spec.Opening {
			return r.happen(spec.ServerOpens, spec.Guard{})
		}
		if r.core.State() == spec.Fencing && want.True.Has(spec.ClosingWished) {
			return r.act(r.core.Terminate())
		}
	case s.State == spec.Streaming && want.False.Has(spec.Positioned) && s.Cursor != "":
		return r.position(client.Event{HasID: true}) // an explicit empty id
	case s.State == spec.Streaming && (want.True.Has(spec.Orderable) || want.True.Has(spec.MovesPosition)) && s.Cursor == "":
		return r.position(client.Event{HasID: true, ID: r.id(0)})
	case s.State == spec.Streaming && want.False.Has(spec.Orderable) && s.Cursor != "foreign":
		if s.Cursor != "" {
			return errors.New("this stream has an id of ours already")
		}
		return r.position(client.Event{HasID: true, ID: "foreign"})
	}
	return nil
}

// position has a position event arrive that moves the token, and commits it.
func (r *clientRig) position(ev client.Event) error {
	if err := r.act(r.core.EventArrives(r.stream, r.conn, ev)); err != nil {
		return err
	}
	return r.happen(spec.StreamCommitted, spec.Guard{})
}

// act takes what a core's method returned.
func (r *clientRig) act(actions []client.Action, err error) error {
	r.last = actions
	for _, a := range actions {
		switch a.Do {
		case spec.SendInitialize:
			r.opening = a.Conn
		case spec.SendPost, spec.SendGet, spec.SendResume:
			r.conn = a.Conn
		}
		if a.Change.Kind != 0 {
			r.pending = append(r.pending, a)
		}
	}
	return err
}

// committed applies the oldest change of those kinds that was handed out, if
// there is one, and returns the record.
func (r *clientRig) committed(effects ...spec.Effect) client.Record {
	i := slices.IndexFunc(r.pending, func(a client.Action) bool { return slices.Contains(effects, a.Do) })
	if i >= 0 {
		r.commit(r.pending[i].Change)
		r.pending = slices.Delete(r.pending, i, i+1)
	}
	return r.record
}

func (r *clientRig) happen(t spec.Trigger, want spec.Guard) error {
	if r.broken != nil {
		return r.broken
	}
	r.was = r.core.Snapshot()
	if r.machine == "clientstream" && r.stream != (client.StreamID{}) {
		if done, err := r.happenToStream(t, want); done {
			return err
		}
	}
	c := r.core
	fails := client.Opened{Standalone: ""}
	switch t {
	case spec.CallerOpens:
		return r.act(c.Open())
	case spec.ServerOpens:
		o := client.Opened{SessionID: fmt.Sprintf("session-%d", r.core.Snapshot().Opening)} // no server opens one twice
		if r.machine == "clientstream" && r.target.Trigger == spec.StandaloneOffered {
			o.Standalone = spec.PositionZero(spec.TagOf(o.SessionID, ""), 0).String()
		}
		actions, err := c.Opened(r.opening, o)
		if err == nil {
			r.session = o.SessionID
		}
		return r.act(actions, err)
	case spec.OpeningFails:
		if fails.SessionID = ""; r.core.State() == spec.Opening && r.was.Opening == r.opening {
			return r.act(c.Opened(r.opening, fails)) // an answer that names no session
		}
		return r.act(c.OpeningFails(r.opening, spec.ReasonRefused))
	case spec.EpochCommitted:
		record := r.committed(spec.CommitEpoch)
		return r.act(c.EpochCommitted(record))
	case spec.CallerCalls:
		call := client.Call{Key: "key", Label: "label"}
		if want.True.Has(spec.LedgerForeign) { // a status query for a key of nobody's
			call.Query = true
		}
		id, actions, err := c.Call(call, want.True.Has(spec.PassesQuarantine))
		if err == nil && r.machine == "clientstream" {
			r.stream = id
		}
		return r.act(actions, err)
	case spec.CallerNotifies:
		return r.act(c.Notify([]byte("{}"), want.True.Has(spec.PassesQuarantine)))
	case spec.CallerResolves:
		return r.act(c.Resolve(r.unknown, client.DidExecute))
	case spec.ResolutionCommitted:
		record := r.record
		for want.False.Has(spec.UnknownsCarried) && len(record.Unknowns) > 0 { // the last one
			r.commit(client.Change{Kind: client.ResolveUnknown, Unknown: record.Unknowns[0].Stream})
			record = r.record
		}
		return r.act(c.ResolutionCommitted(record))
	case spec.ResolutionCommitFailed:
		return r.act(c.ResolutionCommitFailed(r.unknown, spec.ReasonCommitFailed))
	case spec.ServerContradicts:
		return r.act(c.Contradict(r.core.Snapshot().Record.Epoch, spec.ReasonSessionUnknown))
	case spec.AnotherTakesOver:
		return r.act(c.TakenOver(r.core.Snapshot().Record.Epoch, spec.ReasonLeaseLost))
	case spec.CallerAbandons:
		return r.act(c.Abandon())
	case spec.CallerTerminates:
		return r.act(c.Terminate())
	case spec.FenceCommitted:
		return r.act(c.FenceCommitted(r.committed(spec.CommitFence)))
	case spec.FenceCommitFailed:
		return r.act(c.FenceCommitFailed(want.True.Has(spec.RecordStale), spec.ReasonCommitFailed))
	}
	return fmt.Errorf("nobody said how %v happens: add it to clientRig.happen in properties/rows_client_test.go", t)
}

// happenToStream is happen for the triggers of the stream under test.
func (r *clientRig) happenToStream(t spec.Trigger, want spec.Guard) (done bool, err error) {
	c, id, conn := r.core, r.stream, r.conn
	s, _ := r.snap()
	if s.Conn != conn { // a stream without a connection is offered what arrives on none
		conn = s.Conn
	}
	sid := r.session
	if want.False.Has(spec.SameSession) {
		sid = strange
	}
	stale := want.True.Has(spec.RecordStale)
	switch t {
	case spec.CallerSends:
		err = r.act(c.Send(id, []byte("call")))
	case spec.CallCommitted:
		err = r.act(c.CallCommitted(id, r.committed(spec.CommitCall)))
	case spec.CallCommitFailed:
		err = r.act(c.CallCommitFailed(id, stale, spec.ReasonCommitFailed))
	case spec.StandaloneOffered:
		err = r.act(c.Offer(id))
	case spec.CallerListens:
		err = r.act(c.Listen(id))
	case spec.DialFails:
		err = r.act(c.DialFails(id, conn, spec.ReasonRefused))
	case spec.ServerAccepts:
		err = r.act(c.Accepts(id, conn, client.Accepted{SessionID: sid, Position: r.announced(s, want)}))
	case spec.ServerAnswersOnce:
		err = r.act(c.AnswersOnce(id, conn, sid, client.Event{Payload: []byte("answer"), Answer: true}))
	case spec.ServerCompletes:
		err = r.act(c.Completes(id, conn, sid))
	case spec.ServerDefers:
		err = r.act(c.Defers(id, conn, 0))
	case spec.ServerChallenges:
		err = r.act(c.Challenges(id, conn))
	case spec.ServerRefuses:
		refusal := client.Refusal{Status: 429, Reason: spec.ReasonTooManyRequests}
		if want.True.Has(spec.AttemptSuperseded) {
			refusal = client.Refusal{Status: 409, Reason: spec.ReasonAttemptSuperseded}
		}
		if want.True.Has(spec.SessionGone) {
			refusal = client.Refusal{Status: 404, Reason: spec.ReasonSessionUnknown}
		}
		err = r.act(c.Refuses(id, conn, refusal))
	case spec.EventArrives:
		err = r.act(c.EventArrives(id, conn, r.event(s, want)))
	case spec.StreamEnds:
		err = r.act(c.StreamEnds(id, conn))
	case spec.ConnectionBreaks:
		err = r.act(c.ConnectionBreaks(id, conn))
	case spec.ClientReconnects:
		err = r.act(c.Reconnect(id, want.False.Has(spec.AttemptsLeft)))
	case spec.CallerResumes:
		err = r.act(c.Resume(id))
	case spec.StreamCommitted:
		err = r.act(c.StreamCommitted(id, r.committed(spec.Commit, spec.CommitToken, spec.CommitUnknown, spec.CommitRemoval)))
	case spec.StreamCommitFailed:
		err = r.act(c.StreamCommitFailed(id, stale, spec.ReasonCommitFailed))
	case spec.EpochEnds:
		err = r.act(c.Abandon())
	default:
		return false, nil
	}
	return true, err
}

// announced is the position that an answer announces.
func (r *clientRig) announced(s client.StreamSnapshot, want spec.Guard) string {
	proper := s.Cursor
	if s.State == spec.Requested {
		proper = spec.PositionZero(spec.TagOf(r.session, ""), r.stream.Request).String()
	}
	switch {
	case want.False.Has(spec.PositionAnnounced), want.False.Has(spec.Positioned), want.False.Has(spec.Orderable):
		return ""
	case want.False.Has(spec.PositionExpected):
		return r.id(5) // of the same stream, and not where we are
	default:
		return proper
	}
}

// event is one that makes the facts of the guard true.
func (r *clientRig) event(s client.StreamSnapshot, want spec.Guard) client.Event {
	payload := []byte("event")
	if want.False.Has(spec.HasPayload) {
		payload = nil
	}
	toCompletion := len(r.target.From) == 1 && r.target.From[0] == spec.Completed
	ev := client.Event{Payload: payload, Answer: want.True.Has(spec.IsAnswer) || toCompletion}
	switch {
	case want.False.Has(spec.InOrder):
		ev.ID, ev.HasID = r.id(7), true
	case want.True.Has(spec.MovesPosition):
		ev.HasID = true // cleared
	case payload == nil && want.False.Has(spec.PositionAnnounced):
		// neither id nor payload: a bare retry
	case payload == nil:
		ev.ID, ev.HasID = s.Cursor, true
	case s.Cursor == "foreign":
		ev.ID, ev.HasID = "foreign-next", true
	case s.Cursor == "":
		// a stream that carries no ids
	default:
		r.ordinal++
		ev.ID, ev.HasID = r.id(0), true
	}
	return ev
}

// shows checks that the effect came out as data, or what it led to did.
func (r *clientRig) shows(e spec.Effect) error {
	find := func(e spec.Effect) *client.Action {
		for i := range r.last {
			if r.last[i].Do == e {
				return &r.last[i]
			}
		}
		return nil
	}
	switch e {
	case spec.EndClientStreams:
		for _, s := range r.core.Snapshot().Streams {
			if s.State != spec.Lost && s.State != spec.Completed && s.State != spec.NotExecuted {
				return fmt.Errorf("stream %v is still %v", s.ID, s.State)
			}
		}
		return nil
	case spec.OpenClientStream:
		if len(r.core.Snapshot().Streams) != len(r.was.Streams)+1 {
			return errors.New("no stream was opened")
		}
		return nil
	case spec.Abandon:
		if r.core.State() != spec.Fencing || find(spec.CommitFence) == nil {
			return fmt.Errorf("the epoch is %v, and no fence was handed out", r.core.State())
		}
		return nil
	case spec.Yield:
		if r.core.State() != spec.Abandoned || find(spec.ReportYielded) == nil || find(spec.CommitFence) != nil || find(spec.SendDelete) != nil {
			return fmt.Errorf("the epoch is %v, and %v was handed out", r.core.State(), names(r.last))
		}
		return nil
	case spec.CloseConnection:
		if s, _ := r.snap(); s.Conn != 0 && find(spec.SendResume) == nil {
			return fmt.Errorf("connection %d may still speak", s.Conn)
		}
		for _, s := range r.was.Streams {
			if s.ID == r.stream && s.Conn != 0 && find(e) == nil {
				return errors.New("nobody was told to close the connection")
			}
		}
		return nil
	case spec.SendDelete:
		if r.target.Trigger == spec.OpeningFails && r.target.ID != "EP09" {
			return nil // the answer named no session: there is nothing to delete
		}
		if r.target.ID == "EP09" {
			return nil
		}
	}
	a := find(e)
	if a == nil {
		return fmt.Errorf("no such action among %v", names(r.last))
	}
	switch e {
	case spec.SendResume:
		if s, _ := r.snap(); a.Session.ID != r.session || a.Cursor == "" || a.Cursor != s.Cursor || a.Conn == 0 {
			return fmt.Errorf("resumes session %q at %q on connection %d", a.Session.ID, a.Cursor, a.Conn)
		}
	case spec.SendPost, spec.SendGet, spec.SendMessage:
		if a.Session.ID != r.session || a.Conn == 0 {
			return fmt.Errorf("session %q, connection %d", a.Session.ID, a.Conn)
		}
	case spec.SendDelete:
		if a.Session.ID != r.session {
			return fmt.Errorf("session %q", a.Session.ID)
		}
	case spec.CommitFence, spec.CommitEpoch, spec.CommitCall, spec.CommitRemoval, spec.CommitToken, spec.Commit, spec.CommitUnknown, spec.CommitResolution:
		if want := changeOf[e]; a.Change.Kind != want {
			return fmt.Errorf("hands out change %v, want %v", a.Change.Kind, want)
		}
		if e == spec.Commit && len(a.Events) != 1 {
			return fmt.Errorf("%d events in the transaction, want 1", len(a.Events))
		}
	case spec.ReportUnknown, spec.ReportNotRun:
		if a.Outcome == nil {
			return errors.New("no outcome")
		}
	case spec.ReturnEvent:
		if len(a.Events) != 1 {
			return errors.New("no event")
		}
	}
	return nil
}

var changeOf = map[spec.Effect]client.ChangeKind{
	spec.CommitFence: client.FenceEpoch, spec.CommitEpoch: client.BeginEpoch, spec.CommitCall: client.AddCall,
	spec.CommitRemoval: client.RemoveCall, spec.CommitToken: client.AdvanceToken, spec.Commit: client.AdvanceToken,
	spec.CommitUnknown: client.DoubtCall, spec.CommitResolution: client.ResolveUnknown,
}

func names(actions []client.Action) (all []string) {
	for _, a := range actions {
		all = append(all, a.Do.String())
	}
	return all
}

// clientPlans yields a plan for each row of the client's two tables.
func clientPlans(yield func(machine string, p plan)) {
	for _, table := range []spec.Table{spec.EpochTable(), spec.ClientStreamTable()} {
		for i := range table.Rows {
			row := &table.Rows[i]
			p := plan{table: table, target: row, lasting: spec.FactsOf(spec.IsCall, spec.Strict, spec.UnknownsCarried)}
			p.holding = spec.Facts(0).With(spec.IsCall, aboutCall(row)).With(spec.Strict, row.Guard.True.Has(spec.Strict)).
				With(spec.UnknownsCarried, carriesUnknowns(row))
			p.avoid = detours(table, row)
			switch want := row.Guard; {
			case row.ID == "EP13": // closed while the record of the epoch is being written
				p.through = []spec.Effect{spec.CommitEpoch}
			case table.Machine == "epoch":
			case want.True.Has(spec.AppliesEvent), row.Covers(spec.Completed) && len(row.From) == 1:
				p.through = []spec.Effect{spec.Commit}
			case want.True.Has(spec.MarksUnknown):
				p.through = []spec.Effect{spec.CommitUnknown}
			case want.False.Has(spec.AppliesEvent) && row.Covers(spec.Committing):
				p.through = []spec.Effect{spec.CommitToken}
			case row.Covers(spec.NotExecuted) && len(row.From) == 1:
				p.through = []spec.Effect{spec.CommitRemoval}
			case want.Reads().Has(spec.Positioned) && row.Covers(spec.Committing):
				p.through = []spec.Effect{spec.Commit}
			}
			yield(table.Machine, p)
		}
	}
}

// detours are rows that lead to the target on paper only: a rig speaks either
// about a call or about the standalone stream, and it reports on a transaction
// only what the target asks for.
func detours(table spec.Table, target *spec.Row) (avoid []string) {
	skip := func(t spec.Trigger) {
		for _, row := range table.Rows {
			if row.Trigger == t {
				avoid = append(avoid, row.ID)
			}
		}
	}
	if table.Machine == "epoch" {
		return []string{"EP13"} // without an opening there is nothing to be committed
	}
	skip(spec.StreamCommitFailed)
	if aboutCall(target) || target.Trigger == spec.CallerListens {
		skip(spec.StandaloneOffered)
	}
	if aboutCall(target) || target.Trigger == spec.StandaloneOffered {
		skip(spec.CallerListens)
	}
	if !aboutCall(target) {
		skip(spec.CallerSends)
	}
	if target.Guard.Reads().Has(spec.Positioned) || target.Guard.False.Has(spec.IsAnswer) {
		skip(spec.ServerAnswersOnce) // a single message answers, and moves no position
	}
	if target.Trigger == spec.EpochEnds {
		skip(spec.EpochEnds) // an epoch ends once
	}
	return avoid
}

// Given a new client, when each row of its two tables is driven to and fired,
// then each does on the real core what it says.
func TestEveryClientRowFires(t *testing.T) {
	clientPlans(func(machine string, p plan) {
		t.Run(p.target.ID, func(t *testing.T) {
			checkRow(t, newClientRig(machine, fsm.DefaultClient(), p.target), p)
		})
	})
}

// Given the tables without one row, when the move of that row is tried on the
// real core, then it is refused and nothing changes; for each row in turn.
func TestEveryClientRowIsNeeded(t *testing.T) {
	clientPlans(func(machine string, p plan) {
		t.Run(p.target.ID, func(t *testing.T) {
			epochs, streams := spec.EpochTable(), spec.ClientStreamTable()
			if machine == "epoch" {
				epochs = epochs.Without(p.target.ID)
			} else {
				streams = streams.Without(p.target.ID)
			}
			machines, err := fsm.NewClient(epochs, streams)
			if err != nil {
				t.Fatal(err)
			}
			checkDeleted(t, newClientRig(machine, machines, p.target), p)
		})
	})
}
