package client

import (
	"slices"
	"strconv"
	"strings"

	"example.com/reattach/spec"
)

// A Profile says how one kind of server, which is not ours, orders its event
// ids, and which rules nobody can keep with it. It is opt-in
// ([CoreOptions].Profile): without one foreign ids are opaque, and an
// interruption of a stream that has them ends the epoch (R22).
//
// With a profile a stream whose cursor it can order is resumed after an
// interruption and after a restart, and every id must come right after the
// one before as far as the profile can tell. A position is announced by none
// of these servers, so the first event that arrives is the proof of a resumed
// view (R21).
//
// Servers of ours are judged as always: their ids are never a profile's.
type Profile struct {
	Name   string
	Waives []Waiver
	// SilentSession says that the server names its session in the answer to
	// initialize only: an answer without a session id counts as the session's.
	// Another session's id is doubt all the same.
	SilentSession bool

	// form reports whether id has the form of such a server's ids; call is
	// false for the standalone stream.
	form func(id string, call bool) bool
	// next returns why id cannot come right after at, "" if it can. Both have
	// the form; at is "" for the first id of a stream.
	next func(at, id string, call bool) spec.Reason
}

// A Waiver is a rule that does not hold with a profile, and what that means.
type Waiver struct {
	Rule  string // as R21
	Means string
}

// The waivers that several profiles share.
var (
	waivesEcho     = Waiver{"R21", "answers name no session: one that a proxy mixed up is noticed only if its ids do not fit"}
	waivesPosition = Waiver{"R8", "no position is announced: a resumed view is proven by its first event, and until then the stream is unproven"}
	waivesHoles    = Waiver{"R4", "an id says nothing of how many came before it: a lost event goes unnoticed"}
	waivesRefusal  = Waiver{"R5", "a cursor that the server no longer knows may be answered with an empty stream: the call is pending until its attempts are used up"}
)

// GoSDKProfile is for servers of github.com/modelcontextprotocol/go-sdk with
// an EventStore: ids are `<stream>_<index>`, the index grows by one from 0 on,
// and the standalone stream's name is empty. Holes and repeats are seen.
func GoSDKProfile() *Profile {
	return &Profile{
		Name: "go-sdk", SilentSession: true,
		Waives: []Waiver{waivesEcho, waivesPosition, waivesRefusal,
			{"R1", "an id does not name its session: a cursor of another session with the same stream name would look right"}},
		form: func(id string, call bool) bool {
			stream, _, ok := cutIndex(id)
			return ok && call == (stream != "")
		},
		next: func(at, id string, call bool) spec.Reason {
			stream, index, _ := cutIndex(id)
			before, last, _ := cutIndex(at)
			switch {
			case at == "" && call && index != 0:
				return spec.ReasonPositionUnexpected // it had events that nobody saw
			case at == "":
				return ""
			case before != stream:
				return spec.ReasonEventUnorderable
			case index <= last:
				return spec.ReasonEventRepeated
			case index != last+1:
				return spec.ReasonEventSkipped
			}
			return ""
		},
	}
}

// MCPGoProfile is for servers of github.com/mark3labs/mcp-go with an
// InMemoryEventStore: ids are numbers that grow over the whole store, so what
// lies between two of them belongs to other streams, or was lost.
func MCPGoProfile() *Profile {
	return &Profile{
		Name: "mcp-go", SilentSession: true,
		Waives: []Waiver{waivesEcho, waivesPosition, waivesHoles, waivesRefusal,
			{"R1", "an id names neither its session nor its stream"}},
		form: func(id string, _ bool) bool {
			_, ok := canonical(id)
			return ok
		},
		next: func(at, id string, _ bool) spec.Reason {
			n, _ := canonical(id)
			last, _ := canonical(at)
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

// TypeScriptSampleProfile is for servers of @modelcontextprotocol/sdk with the
// event store of its examples: ids are `<stream>_<ms>_<random>`. Within one
// millisecond they have no order, and the store replays them sorted as text: a
// resumption there may lose what the server sent before, unnoticed.
func TypeScriptSampleProfile() *Profile {
	return &Profile{
		Name: "typescript-sample",
		Waives: []Waiver{waivesPosition, waivesHoles, waivesRefusal,
			{"R2", "ids of one millisecond have no order, and the server's clock may step back, which ends the epoch"},
			{"R4", "events of one millisecond are replayed in any order, or not at all"},
			{"R21", "repeats are recognised among the last " + strconv.Itoa(maxForeignIDs) + " ids of a stream that this process saw"}},
		form: func(id string, _ bool) bool {
			_, _, ok := cutMillis(id)
			return ok
		},
		next: func(at, id string, _ bool) spec.Reason {
			stream, ms, _ := cutMillis(id)
			before, last, _ := cutMillis(at)
			switch {
			case at == "":
				return ""
			case id == at:
				return spec.ReasonEventRepeated
			case before != stream:
				return spec.ReasonEventUnorderable
			case ms < last:
				return spec.ReasonEventOutOfOrder
			}
			return ""
		},
	}
}

// Profiles lists the profiles, by name.
func Profiles() []*Profile {
	return []*Profile{GoSDKProfile(), MCPGoProfile(), TypeScriptSampleProfile()}
}

// ProfileNamed returns the profile of that name, or nil.
func ProfileNamed(name string) *Profile {
	all := Profiles()
	if i := slices.IndexFunc(all, func(p *Profile) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// orders reports whether a stream at this cursor can be resumed. A nil profile
// orders nothing.
func (p *Profile) orders(cursor string, call bool) bool { return p != nil && p.form(cursor, call) }

// judge is the proof of one id after the cursor; a nil profile proves nothing.
func (p *Profile) judge(cursor, id string, call bool) spec.Reason {
	switch {
	case p == nil:
		return ""
	case !p.form(id, call) || cursor != "" && !p.form(cursor, call):
		return spec.ReasonEventUnorderable
	}
	return p.next(cursor, id, call)
}

// silent reports whether an answer need not name its session.
func (p *Profile) silent() bool { return p != nil && p.SilentSession }

// cutIndex takes `<stream>_<index>` apart.
func cutIndex(id string) (stream string, index uint64, ok bool) {
	i := strings.LastIndexByte(id, '_')
	if i < 0 {
		return "", 0, false
	}
	index, ok = canonical(id[i+1:])
	return id[:i], index, ok
}

// cutMillis takes `<stream>_<ms>_<random>` apart. The stream's name may hold
// the separator.
func cutMillis(id string) (stream string, ms uint64, ok bool) {
	i := strings.LastIndexByte(id, '_')
	if i < 0 || i == len(id)-1 {
		return "", 0, false
	}
	return cutIndex(id[:i])
}

// canonical reads a number as it is formatted, which fits in 63 bits.
func canonical(text string) (uint64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return uint64(n), err == nil && n >= 0 && strconv.FormatInt(n, 10) == text
}
