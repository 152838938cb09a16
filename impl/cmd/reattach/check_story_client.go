package main

import (
	"fmt"

	"example.com/reattach/model"
)

// ofConnection tells what the client asks on a connection, and what it reads
// there.
func (s story) ofConnection() telling {
	e, n := s.Session, s.Ordinal
	switch s.Name {
	case model.Open:
		return tell("The client asks for a session.", message(theClient, theNetwork, "initialize"))
	case model.ReadOpened:
		state := s.after.Record.State.Spec()
		return tell(fmt.Sprintf("The client reads the answer; its record says: session %d, %v.", e, state),
			message(theNetwork, theClient, "session %d", e), note(theClient, "record: session %d, %v", e, state))
	case model.Resume:
		return tell(fmt.Sprintf("The client asks to go on with %s after %d.", s.stream(e), n), message(theClient, theNetwork, "GET, session %d, after %d", e, n))
	case model.ReadAccepted:
		verdict, shown := s.judged("takes it for proven", "proven")
		return tell(fmt.Sprintf("The client reads the acceptance, session %d at position %d, and %s.", e, n, verdict),
			message(theNetwork, theClient, "200, session %d, position %d", e, n), note(theClient, "%s", shown))
	case model.ReadComplete:
		verdict, shown := s.judged("believes it", "complete")
		return tell("The client reads that the stream is complete, and "+verdict+".", message(theNetwork, theClient, "204"), note(theClient, "%s", shown))
	case model.ReadRefused:
		does, shown := "is in doubt about the whole epoch", "doubt"
		if s.after.Lines[s.Stream].Phase != model.PhaseDoubt {
			does, shown = "gives the session up without a fence", "no fence"
		}
		return tell("The client reads the refusal, and "+does+".", message(theNetwork, theClient, "refused"), note(theClient, "%s", shown))
	case model.ReadEvent:
		verdict, shown := s.judged("takes it in hand", "in hand")
		if token := s.after.Record.Token[s.Stream]; token != s.before.Record.Token[s.Stream] {
			verdict, shown = fmt.Sprintf("%s; its durable token moves to %d", verdict, token), fmt.Sprintf("%s, token %d", shown, token)
		}
		return tell(fmt.Sprintf("The client reads event %d of session %d, and %s.", n, e, verdict),
			message(theNetwork, theClient, "event %d of session %d", n, e), note(theClient, "%s", shown))
	default: // ReadEnd
		return tell("The client finds its connection over.", message(theNetwork, theClient, "(connection over)"))
	}
}

// judged says what the client made of what it read.
func (s story) judged(well, shown string) (words, mark string) {
	if s.Reply == model.ReplyDoubt {
		return "is in doubt about the whole epoch", "doubt"
	}
	return well, shown
}

// ofRecord tells what becomes of calls, of the record, and of the process that
// holds it.
func (s story) ofRecord() telling {
	k := s.Call
	switch s.Name {
	case model.Cut:
		arrives := "nothing of what was in flight arrives"
		if s.Ordinal > 0 {
			arrives = fmt.Sprintf("of what was in flight only the first %d arrive", s.Ordinal)
		}
		return tell("The connection breaks; "+arrives+".", note(theNetwork, "cut, %s", arrives))
	case model.Commit:
		return s.commit()
	case model.Fence:
		state, calls := s.after.Record.State.Spec(), callsWords(s.after)
		return tell(fmt.Sprintf("The client fences the epoch: its record says %v%s.", state, calls), note(theClient, "fence, record: %v%s", state, calls))
	case model.Call:
		again := ""
		if s.before.Calls[k-1] != model.CallNew {
			again = " again"
		}
		return tell(fmt.Sprintf("The client records call %d%s and sends its POST.", k, again), message(theClient, theNetwork, "POST, call %d%s", k, again))
	case model.CallBroken:
		return tell(fmt.Sprintf("The connection of call %d's POST breaks%s.", k, callsWords(s.after)),
			arrow{theNetwork, theClient, fmt.Sprintf("POST of call %d broken", k), true}, note(theClient, "call %d is %v", k, s.after.Calls[k-1]))
	case model.PostRefused:
		return tell(fmt.Sprintf("The POST of call %d meets a session that is gone; the client reads 404, and is in doubt about the whole epoch.", k),
			message(theNetwork, theServer, "POST, call %d", k), message(theServer, theClient, "404"), note(theClient, "doubt"))
	case model.ResolveUnknown:
		state := s.after.Record.State.Spec()
		return tell(fmt.Sprintf("The caller decides what call %d was; the record says %v.", k, state), note(theClient, "call %d decided, record: %v", k, state))
	default: // Crash
		return tell("The client dies and starts again from its record.", note(theClient, "crash, starts from its record"))
	}
}

// callsWords says what the record holds of the calls that were made.
func callsWords(s model.State) (words string) {
	for k, is := range s.Calls {
		if is != model.CallNew {
			words += fmt.Sprintf(", call %d %v", k+1, is)
		}
	}
	return words
}

// commit tells how the transaction with the event in hand went.
func (s story) commit() telling {
	hand, token := s.before.Lines[s.Stream].Hand, s.after.Record.Token[s.Stream]
	event := fmt.Sprintf("event %d of session %d", hand.Ordinal, hand.Session)
	switch s.Reply {
	case model.ReplyApplied:
		answer := ""
		if hand.Call != 0 {
			answer = fmt.Sprintf(", call %d %v", hand.Call, s.after.Calls[hand.Call-1])
		}
		return tell(fmt.Sprintf("The client applies %s; its record says %v, token %d%s.", event, s.after.Record.State.Spec(), token, answer),
			note(theClient, "applies %s, token %d%s", event, token, answer))
	case model.ReplyFailed:
		return tell("The transaction with "+event+" fails; nothing is applied.", note(theClient, "commit of %s fails", event))
	default:
		return tell("The record refuses the transaction with "+event+": the fence came first.", note(theClient, "commit of %s refused", event))
	}
}
