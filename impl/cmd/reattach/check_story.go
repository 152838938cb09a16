package main

import (
	"fmt"
	"strings"

	"example.com/reattach/model"
)

// A telling is one step of a counterexample in words and as arrows.
type telling struct {
	sentence string
	arrows   []arrow
}

// An arrow is one line of a sequence diagram: a message from one participant
// to another, or, without a sender, a note over one of them.
type arrow struct {
	from, to participant
	text     string
	lost     bool // the message does not arrive anywhere
}

// A participant of a sequence diagram, by the name that it has there.
type participant string

const (
	theClient   participant = "client"
	theNetwork  participant = "network"
	theServer   participant = "server"
	theStranger participant = "stranger" // another client of the same subject
)

func message(from, to participant, format string, args ...any) arrow {
	return arrow{from: from, to: to, text: fmt.Sprintf(format, args...)}
}

func note(over participant, format string, args ...any) arrow {
	return arrow{to: over, text: fmt.Sprintf(format, args...)}
}

// tell makes a telling of a sentence and its arrows.
func tell(sentence string, arrows ...arrow) telling { return telling{sentence, arrows} }

// A story tells a counterexample, step by step. What an action does not name
// is seen in the states around it.
type story struct {
	before, after model.State
	model.Action
}

// tellAll tells every step.
func tellAll(c *model.Counterexample) []telling {
	tellings := make([]telling, len(c.Steps))
	var before model.State
	for i, step := range c.Steps {
		tellings[i] = story{before, step.State, step.Action}.tell()
		before = step.State
	}
	return tellings
}

func (s story) tell() telling {
	switch s.Name {
	case model.OpenSession, model.Emit, model.Execute, model.Finish, model.EvictOldest, model.EndSession:
		return s.ofSession()
	case model.ServeResume, model.ServeLate, model.Others, model.Send, model.EndView, model.Mislead:
		return s.ofView()
	case model.Open, model.ReadOpened, model.Resume, model.ReadAccepted, model.ReadComplete, model.ReadRefused, model.ReadEvent, model.ReadEnd:
		return s.ofConnection()
	case model.Cut, model.Commit, model.Fence, model.Call, model.CallBroken, model.PostRefused, model.ResolveUnknown, model.Crash:
		return s.ofRecord()
	}
	panic(fmt.Sprintf("reattach: BUG: nobody said how to tell %v: add it to story.tell in impl/cmd/reattach/check_story.go", s.Action))
}

// ofSession tells what happens to a session.
func (s story) ofSession() telling {
	e := s.Session
	switch s.Name {
	case model.OpenSession:
		return tell(fmt.Sprintf("The server opens session %d and answers with its id.", e),
			message(theNetwork, theServer, "initialize"), message(theServer, theNetwork, "session %d", e))
	case model.Emit:
		did := s.issued(e)
		return tell(fmt.Sprintf("The server emits: session %d %s.", e, did), note(theServer, "session %d %s", e, did))
	case model.Execute:
		e = s.before.Posts[s.Call-1]
		did := s.issued(e)
		return tell(fmt.Sprintf("The POST of call %d arrives and the call runs; session %d %s, the answer.", s.Call, e, did),
			message(theNetwork, theServer, "POST, call %d", s.Call), note(theServer, "call %d runs, session %d %s, the answer", s.Call, e, did))
	case model.Finish:
		return tell(fmt.Sprintf("The answer was the last event: %s is finished.", s.stream(e)), note(theServer, "%s is finished", s.stream(e)))
	case model.EvictOldest:
		return tell(fmt.Sprintf("Session %d evicts the oldest event that it retains.", e), note(theServer, "session %d evicts its oldest event", e))
	default: // EndSession
		return tell(fmt.Sprintf("Session %d ends: it expires, or is lost with its process.", e), note(theServer, "session %d ends", e))
	}
}

// issued says which event a step recorded. A wrong server may number it as it
// likes, or not at all.
func (s story) issued(session uint8) string {
	was, is := issuedBy(s.before, session), issuedBy(s.after, session)
	if is == was {
		return fmt.Sprintf("records an event over one of the %d that it has issued", was)
	}
	return fmt.Sprintf("records its event %d", is)
}

func issuedBy(s model.State, session uint8) (n int) {
	for _, ev := range s.Sessions[session-1].Issued {
		if ev != 0 {
			n++
		}
	}
	return n
}

// stream names the stream of the action, with its session unless that is 0.
func (s story) stream(session uint8) string {
	if session == 0 {
		return fmt.Sprintf("stream %d", s.Stream)
	}
	return fmt.Sprintf("stream %d of session %d", s.Stream, session)
}

// ofView tells what the server does about requests for views, and on them.
func (s story) ofView() telling {
	e, n := s.Session, s.Ordinal
	asked := fmt.Sprintf("GET, session %d, after %d", e, n)
	switch s.Name {
	case model.ServeResume:
		status, words := s.answer(e, n)
		return tell("The server "+words+".", message(theNetwork, theServer, "%s", asked), message(theServer, theNetwork, "%s", status))
	case model.ServeLate:
		status, words := s.answer(e, n)
		return tell(fmt.Sprintf("A request of a connection that the client has left arrives late, for session %d after %d; the server %s, and the answer reaches nobody.", e, n, words),
			message(theNetwork, theServer, "%s (late)", asked), arrow{theServer, theNetwork, status, true})
	case model.Others:
		status, words := s.answer(e, s.Cursor.Ordinal)
		return tell(fmt.Sprintf("Another client of the same subject asks session %d for a view %s; the server %s.", e, cursorWords(s.Cursor), words),
			message(theStranger, theServer, "GET, session %d, %s", e, cursorWords(s.Cursor)), message(theServer, theStranger, "%s", status))
	case model.Mislead:
		return tell(fmt.Sprintf("The server, which is wrong, accepts: it announces session %d at %d, and serves session %d from behind %d.", e, n, s.Cursor.Tag, s.Cursor.Ordinal),
			message(theNetwork, theServer, "GET, session %d, after %d", s.before.Lines[s.Stream].Request.Session, s.before.Lines[s.Stream].Request.Ordinal),
			message(theServer, theNetwork, "200, session %d, position %d", e, n), note(theServer, "serves session %d from behind %d", s.Cursor.Tag, s.Cursor.Ordinal))
	case model.Send:
		return s.send()
	default: // EndView
		if s.Conn == model.Current {
			return tell(fmt.Sprintf("The server ends its view of %s.", s.stream(e)), message(theServer, theNetwork, "(no more on this connection)"))
		}
		return tell(fmt.Sprintf("The server ends the view of %s that %s.", s.stream(e), whose(s.Conn)), note(theServer, "ends the view that %s", whose(s.Conn)))
	}
}

// answer says in short and in words how the server answered a request for a
// view; position is what the request named.
func (s story) answer(session, position uint8) (status, words string) {
	switch s.Reply {
	case model.ReplyAttach, model.ReplyReattach:
		at := position
		for _, v := range newViews(s.before, s.after, session) {
			at = v.Position
		}
		if wire := s.sent(); wire.Kind == model.Accepted {
			if at != wire.Ordinal {
				return fmt.Sprintf("200, session %d, position %d", wire.Session, wire.Ordinal),
					fmt.Sprintf("accepts: it announces position %d of session %d, and begins behind %d", wire.Ordinal, wire.Session, at)
			}
			return fmt.Sprintf("200, session %d, position %d", wire.Session, at), fmt.Sprintf("accepts, and announces position %d of session %d", at, wire.Session)
		}
		return fmt.Sprintf("200, session %d, position %d", session, at), fmt.Sprintf("accepts, at position %d", at)
	case model.ReplyComplete:
		return "204", "says that the stream is complete"
	default:
		return "refused, " + s.Reply.String(), "refuses: " + s.Reply.String()
	}
}

// sent returns the last frame on the wire of the action's stream.
func (s story) sent() (last model.Frame) {
	for _, f := range s.after.Lines[s.Stream].Wire {
		if f.Kind != model.NoFrame {
			last = f
		}
	}
	return last
}

// newViews returns the views of a session that a step began.
func newViews(before, after model.State, session uint8) (views []model.View) {
	for stream := range after.Views[session-1] {
		was := before.Views[session-1][stream]
		for _, v := range after.Views[session-1][stream] {
			if v.Conn != model.NoConn && v != was[0] && v != was[1] {
				views = append(views, v)
			}
		}
	}
	return views
}

// send tells that an event was written on a view.
func (s story) send() telling {
	e, next := s.Session, s.Ordinal+1
	for _, v := range newViews(s.before, s.after, e) {
		next = v.Position
	}
	event := fmt.Sprintf("event %d of session %d", next, e)
	switch s.Conn {
	case model.Current:
		return tell("The server writes "+event+" to the client's connection.", message(theServer, theNetwork, "%s", event))
	case model.Dead:
		return tell("The server writes "+event+" to a connection that the client has left.", arrow{theServer, theNetwork, event, true})
	default:
		return tell("The server writes "+event+" to the other client's connection.", message(theServer, theStranger, "%s", event))
	}
}

func whose(conn uint8) string {
	if conn == model.Dead {
		return "the client has left"
	}
	return "the other client has"
}

// cursorWords says what a request for a view presents.
func cursorWords(k model.Key) string {
	if k.Tag == 0 {
		return "without a cursor"
	}
	return fmt.Sprintf("after event %d of stream %d, seq %d, session %d", k.Ordinal, k.Stream, k.Seq, k.Tag)
}

// storyText tells the counterexample as numbered sentences.
func storyText(c *model.Counterexample) string {
	var b strings.Builder
	for i, t := range tellAll(c) {
		b.WriteString(wrapped(fmt.Sprintf("%3d. ", i+1), t.sentence))
	}
	return b.String()
}
