package model

import (
	"fmt"
	"slices"
	"strings"
)

var (
	lifeTexts  = [...]string{"unborn", "live", "gone"}
	phaseTexts = [numPhases]string{"idle", "opening", "detached", "resuming", "streaming", "complete", "doubt"}
	frameTexts = [numFrames]string{"", "opened", "accepted", "complete", "refused", "event", "end"}
)

func (l Life) String() string  { return lifeTexts[l] }
func (p Phase) String() string { return phaseTexts[p] }

// Lines describes the state, one fact a line; what is as it was in the
// beginning is left out.
func (s State) lines() []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for e := range s.Sessions {
		ss := &s.Sessions[e]
		if ss.Life == Unborn {
			continue
		}
		add("session %d is %s", e+1, ss.Life)
		for stream := range ss.Handed {
			of := of(e+1, stream)
			if head := ss.head(stream); head > 0 {
				add("%s has issued 1 to %d, evicted up to %d, handed over up to %d", of, head, ss.floor(stream), ss.Handed[stream])
			}
			if ss.Finished>>stream&1 == 1 {
				add("%s is finished", of)
			}
			for _, v := range s.Views[e][stream] {
				if v.Conn != NoConn {
					add("%s has a view on the %s connection at %d", of, connTexts[v.Conn], v.Position)
				}
			}
		}
	}
	for stream := range s.Lines {
		s.Lines[stream].describe(stream, add)
	}
	if s.Record.Session != 0 {
		add("the record says %s, session %d, tokens %v", s.Record.State.Spec(), s.Record.Session, s.Record.Token)
	}
	for e := range s.Applied {
		for stream, run := range s.Applied[e] {
			if run != 0 {
				add("applied of %s: %s", of(e+1, stream), run)
			}
		}
	}
	for k := range s.Calls {
		if s.Calls[k] != CallNew {
			add("call %d is %s, ran %d times", k+1, s.Calls[k], s.Executed[k])
		}
		if s.Posts[k] != 0 {
			add("the POST of call %d is on its way to session %d", k+1, s.Posts[k])
		}
	}
	return lines
}

func of(session, stream int) string {
	if stream == 0 {
		return fmt.Sprintf("stream 0 of session %d", session)
	}
	return fmt.Sprintf("stream %d of session %d", stream, session)
}

func (l *Line) describe(stream int, add func(string, ...any)) {
	if l.Phase != PhaseIdle {
		add("the client is %s on stream %d", l.Phase, stream)
	}
	if l.Hand != (Hand{}) {
		add("event %d of session %d is in hand on stream %d", l.Hand.Ordinal, l.Hand.Session, stream)
	}
	switch l.Request.Kind {
	case AskOpen:
		add("initialize is under way")
	case AskResume:
		add("a resumption of session %d after %d is under way on stream %d", l.Request.Session, l.Request.Ordinal, stream)
	}
	if l.Late.Kind != NoRequest {
		add("a resumption of session %d after %d is late on stream %d", l.Late.Session, l.Late.Ordinal, stream)
	}
	if n := l.frames(); n > 0 {
		var frames []string
		for _, f := range l.Wire[:n] {
			frames = append(frames, f.String())
		}
		add("in flight on stream %d: %s", stream, strings.Join(frames, ", "))
	}
}

// String renders a frame: its kind, its session and its ordinal.
func (f Frame) String() string {
	switch f.Kind {
	case Opened:
		return fmt.Sprintf("opened session %d", f.Session)
	case End, Refused, NoFrame:
		return frameTexts[f.Kind]
	}
	return fmt.Sprintf("%s %d of session %d", frameTexts[f.Kind], f.Ordinal, f.Session)
}

// String renders the ordinals of a run.
func (r Run) String() string {
	var ordinals []string
	for i := range r.Len() {
		ordinals = append(ordinals, fmt.Sprint(r.At(i)))
	}
	return strings.Join(ordinals, " ")
}

// String describes the state, one fact a line.
func (s State) String() string { return strings.Join(s.lines(), "\n") }

// Since returns what is said of the state and was not said of an earlier one.
func (s State) Since(before State) []string {
	was := before.lines()
	return slices.DeleteFunc(s.lines(), func(line string) bool { return slices.Contains(was, line) })
}
