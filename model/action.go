package model

import (
	"fmt"
	"strings"

	"example.com/reattach/spec"
)

// An Action is one step of the closed system: a name of the TLA+ module and
// its parameters. Every choice and every reply is a parameter, so that a state
// and an action have exactly one successor. Parameters that a name does not
// have are zero.
type Action struct {
	Name    Name
	Session uint8 // e
	Stream  uint8 // which stream; not a parameter where there is only one
	Ordinal uint8 // n
	Call    uint8 // k
	Conn    uint8 // of a view
	Reply   Reply // verdict, outcome
	Cursor  Key   // c: of Other, and of Mislead where its view begins
}

// A Key is a cursor in the closed system: tag and numbers. Tag 0: no cursor.
type Key struct{ Tag, Seq, Stream, Ordinal uint8 }

// A Name is the name of an action.
type Name uint8

const (
	noName Name = iota
	OpenSession
	Emit
	Execute
	Finish
	EvictOldest
	EndSession
	ServeResume
	ServeLate
	Others // "Other" in TLA+
	Send
	EndView
	Cut
	Open
	ReadOpened
	Resume
	ReadAccepted
	ReadComplete
	ReadRefused
	ReadEvent
	ReadEnd
	Commit
	Fence
	Call
	CallBroken
	PostRefused
	ResolveUnknown
	Crash
	Mislead // of the hostile server only
	numNames
)

var nameTexts = [numNames]string{
	OpenSession: "OpenSession", Emit: "Emit", Execute: "Execute", Finish: "Finish", EvictOldest: "EvictOldest",
	EndSession: "EndSession", ServeResume: "ServeResume", ServeLate: "ServeLate", Others: "Other", Send: "Send",
	EndView: "EndView", Cut: "Cut", Open: "Open", ReadOpened: "ReadOpened", Resume: "Resume", ReadAccepted: "ReadAccepted",
	ReadComplete: "ReadComplete", ReadRefused: "ReadRefused", ReadEvent: "ReadEvent", ReadEnd: "ReadEnd", Commit: "Commit",
	Fence: "Fence", Call: "Call", CallBroken: "CallBroken", PostRefused: "PostRefused", ResolveUnknown: "ResolveUnknown",
	Crash: "Crash", Mislead: "Mislead",
}

func (n Name) String() string { return nameTexts[n] }

// Names lists the names of all actions of the TLA+ module.
func Names() []Name {
	var names []Name
	for n := OpenSession; n < Mislead; n++ {
		names = append(names, n)
	}
	return names
}

// A Reply is the parameter of an action that says how it went: the verdict of
// the server, or what the client made of what it read.
type Reply uint8

const (
	noReply Reply = iota
	ReplyAttach
	ReplyReattach
	ReplyComplete
	ReplySessionUnknown
	ReplyCursorForeign
	ReplyCursorEvicted
	ReplyCursorAhead
	ReplyCursorUnissued
	ReplyProven
	ReplyDoubt
	ReplyNext
	ReplyApplied
	ReplyFailed
	ReplyRefused
	numReplies
)

var replyTexts = [numReplies]string{
	"", "attach", "reattach", "complete", "session_unknown", "cursor_foreign", "cursor_evicted", "cursor_ahead", "cursor_unissued",
	"proven", "doubt", "next", "applied", "failed", "refused",
}

func (r Reply) String() string { return replyTexts[r] }

// replyOf returns the parameter that stands for a decision.
func replyOf(d Decision) Reply {
	switch d.Verdict {
	case spec.VerdictAttach:
		return ReplyAttach
	case spec.VerdictReattach:
		return ReplyReattach
	case spec.VerdictComplete:
		return ReplyComplete
	}
	for r := ReplySessionUnknown; r <= ReplyCursorUnissued; r++ {
		if replyTexts[r] == string(d.Reason) {
			return r
		}
	}
	panic("reattach: BUG: the closed system has no reply for the reason " + string(d.Reason))
}

// either returns yes or no as a reply.
func either(is bool, yes, no Reply) Reply {
	if is {
		return yes
	}
	return no
}

// String renders the action as TLA+ would: its name and its parameters. A
// stream is named only if it is not the first.
func (a Action) String() string {
	var params []string
	number := func(n uint8) { params = append(params, fmt.Sprint(n)) }
	switch a.Name {
	case OpenSession, Emit, Finish, EvictOldest, EndSession, ReadOpened:
		number(a.Session)
	case ServeResume, ServeLate, Resume, ReadAccepted, ReadComplete, ReadEvent:
		number(a.Session)
		number(a.Ordinal)
	case Others:
		number(a.Session)
		params = append(params, a.Cursor.String())
	case Mislead:
		number(a.Session)
		number(a.Ordinal)
		params = append(params, a.Cursor.String())
	case Send, EndView:
		number(a.Session)
		number(a.Ordinal)
		params = append(params, connTexts[a.Conn])
	case Cut:
		number(a.Ordinal)
	case Execute, Call, CallBroken, PostRefused, ResolveUnknown:
		number(a.Call)
	}
	if a.Reply != noReply {
		params = append(params, a.Reply.String())
	}
	if a.Stream != 0 {
		params = append(params, fmt.Sprintf("stream %d", a.Stream))
	}
	if len(params) == 0 {
		return a.Name.String()
	}
	return a.Name.String() + "(" + strings.Join(params, ", ") + ")"
}

var connTexts = [numConns]string{"none", "current", "dead", "other"}

// String renders the key like an event id.
func (k Key) String() string {
	if k.Tag == 0 {
		return "no cursor"
	}
	return fmt.Sprintf("<session %d>:%d:%d:%d", k.Tag, k.Seq, k.Stream, k.Ordinal)
}
