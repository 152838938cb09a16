package killed

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// A Policy says what a crash may do to what is applied and what is recorded.
type Policy uint8

const (
	Atomic Policy = iota // one transaction: nothing is repeated, nothing is lost
	Repeat               // applied, then recorded: a crash repeats one event at most
	Lose                 // recorded, then applied: a crash loses one event at most
)

func (p Policy) String() string { return [...]string{"atomic", "repeat", "lose"}[p] }

// A Left is what a process that was killed left behind.
type Left struct {
	Record  client.Record
	Applied []Line // in the order in which they were applied
}

// A Line is an event with a payload that was applied.
type Line struct {
	ID      string // "" of an answer that the ledger gave
	Payload []byte
}

// A Count is what happened, over a whole run.
type Count struct {
	Kills    int
	Events   int // applied
	Answers  int // calls that were answered
	Asked    int // of them by the ledger
	Sessions int // that the client had
	Open     int // kills that left a call in flight

	Repeats int // events that were applied twice in a row
	Missing int // events that were recorded and never applied
	Behind  int // tokens that were found behind what was applied, after each kill
	Ahead   int // events that they were found ahead of it
}

// A flow is what was applied of one stream.
type flow struct {
	next     uint64 // ordinal
	key      string
	answered bool
}

type flowID struct {
	tag    spec.Tag
	stream uint64
}

// judge compares what was applied with what the record says, and both with the
// policy. The error says each way in which they do not fit.
func (b *Bank) judge(p Policy, kills int, left Left) (Count, error) {
	n := Count{Kills: kills}
	flows, answered, errs := map[flowID]*flow{}, map[string]int{}, []error{}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, line := range left.Applied {
		n.Events++
		what, err := noteOf(line.Payload)
		if err != nil {
			wrong("applied, and not of the bank: %q: %v", line.Payload, err)
			continue
		}
		if what.answer && what.Key != "" {
			if answered[what.Key]++; answered[what.Key] > 1 {
				n.Repeats++
			}
		}
		if line.ID == "" {
			n.Asked++
			if !what.answer {
				wrong("applied, with no id and no answer: %q", line.Payload)
			}
			continue
		}
		id, err := spec.ParseEventID(line.ID)
		if err != nil {
			wrong("applied: %v", err)
			continue
		}
		at := flowID{id.Tag, id.Stream}
		if flows[at] == nil {
			flows[at] = &flow{next: 1, key: what.Key}
		}
		n.add(flows[at], id, what, wrong)
	}
	open := n.tokens(flows, left.Record, wrong)
	for at, f := range flows {
		if at.stream != 0 && !f.answered && !open[at] && at.tag == left.Record.Tag && left.Record.State == client.RecordOpen {
			n.Missing++ // its answer was recorded
		}
	}
	n.Sessions = int(left.Record.Epoch)
	n.Answers = len(answered)
	b.mu.Lock()
	for key, times := range answered {
		if b.ran[key] != 1 {
			wrong("key %s was answered %d times and ran %d times", key, times, b.ran[key])
		}
	}
	b.mu.Unlock()
	if len(left.Record.Calls) > 0 {
		n.Open++
	}
	n.fits(p, wrong)
	return n, errors.Join(errs...)
}

// add follows a stream.
func (n *Count) add(f *flow, id spec.EventID, what told, wrong func(string, ...any)) {
	if what.State != "" {
		what.Step = id.Ordinal
	}
	switch {
	case what.Step != id.Ordinal || what.Key != f.key:
		wrong("event %v carries step %d of key %q on the stream of %q", id, what.Step, what.Key, f.key)
	case id.Ordinal == f.next:
		f.next++
	case id.Ordinal == f.next-1:
		if what.Key == "" || !what.answer { // else it was counted by its key
			n.Repeats++
		}
	case id.Ordinal > f.next:
		n.Missing += int(id.Ordinal - f.next)
		f.next = id.Ordinal + 1
	default:
		wrong("event %v was applied behind ordinal %d", id, f.next-1)
	}
	f.answered = f.answered || what.answer
}

// tokens compares each token with what was applied, and tells which streams are
// open.
func (n *Count) tokens(flows map[flowID]*flow, r client.Record, wrong func(string, ...any)) map[flowID]bool {
	open := map[flowID]bool{}
	for _, token := range r.Streams {
		id, err := spec.ParseEventID(token.LastEventID)
		if err != nil {
			wrong("the token of request %d: %v", token.Request, err)
			continue
		}
		at := flowID{id.Tag, id.Stream}
		open[at] = true
		applied := uint64(0)
		if f := flows[at]; f != nil {
			applied = f.next - 1
		}
		switch {
		case id.Ordinal == applied:
		case id.Ordinal > applied:
			n.Ahead += int(id.Ordinal - applied) // one of each life that ended so
		case id.Ordinal+1 == applied:
			n.Behind++
		default:
			wrong("the token is %v, and ordinal %d was applied last", id, applied)
		}
	}
	return open
}

// fits holds what happened against the policy.
func (n *Count) fits(p Policy, wrong func(string, ...any)) {
	if p != Repeat && (n.Repeats > 0 || n.Behind > 0) {
		wrong("%v: %d events were applied twice, %d tokens are behind what was applied", p, n.Repeats, n.Behind)
	}
	if p != Lose && (n.Missing > 0 || n.Ahead > 0) {
		wrong("%v: %d events were never applied, %d tokens are ahead of what was applied", p, n.Missing, n.Ahead)
	}
	// A token may stay so until its stream goes on, which may take several lives.
	if n.Repeats+n.Behind > n.Kills || n.Missing+n.Ahead > n.Kills {
		wrong("%v: in %d kills %d events were repeated and %d lost; now %d tokens are behind and %d ahead", p, n.Kills, n.Repeats, n.Missing, n.Behind, n.Ahead)
	}
}

// complete holds what the last process left against the bank's books: no call is
// open, every one that ran is answered, and everything that was told was applied,
// but for what was lost with a session that the bank had ended, and then not
// silently. It returns the books without that.
func (b *Bank) complete(p Policy, n Count, left Left) (map[string]int64, error) {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	r := left.Record
	if r.State != client.RecordOpen || len(r.Calls) > 0 || len(r.Unknowns) > 0 {
		wrong("at the end the record is %v in epoch %d (%s), with calls %v and unknown outcomes %v", r.State, r.Epoch, string(r.Reason), r.Calls, r.Unknowns)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n.Sessions > 1+b.ended {
		wrong("the client had %d sessions, and the bank ended %d", n.Sessions, b.ended)
	}
	if token, _ := r.Token(0); b.told[r.Tag] != ordinalOf(token.LastEventID) {
		wrong("the standalone stream stands at %q, and told %d events", token.LastEventID, b.told[r.Tag])
	}
	if lost := len(b.ran) - n.Answers; p != Lose && lost != 0 || lost > n.Kills {
		wrong("%v: of %d calls that ran, %d were never answered", p, len(b.ran), lost)
	}
	books := maps.Clone(b.books)
	for tag, told := range b.told {
		for ordinal := left.last(tag) + 1; ordinal <= told && tag != r.Tag; ordinal++ {
			books[interest] -= int64(ordinal)
		}
	}
	return books, errors.Join(errs...)
}

// last is the ordinal of the last event of a session's standalone stream that was
// applied.
func (l Left) last(tag spec.Tag) (ordinal uint64) {
	for _, line := range l.Applied {
		if id, err := spec.ParseEventID(line.ID); err == nil && id.Tag == tag && id.Stream == 0 {
			ordinal = id.Ordinal
		}
	}
	return ordinal
}

func ordinalOf(id string) uint64 {
	e, _ := spec.ParseEventID(id) // what is none has none
	return e.Ordinal
}

// told is a note as it came.
type told struct {
	note
	answer bool
}

func noteOf(payload []byte) (told, error) {
	var m struct{ Params, Result *note }
	switch err := json.Unmarshal(payload, &m); {
	case err != nil:
		return told{}, err
	case m.Result != nil:
		return told{*m.Result, true}, nil
	case m.Params != nil:
		return told{*m.Params, false}, nil
	}
	return told{}, errors.New("neither a result nor a notification")
}
