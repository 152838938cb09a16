package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"example.com/reattach/spec"
)

const traceTag = "00112233445566778899aabbccddeeff"

const traceHead = `{"reattach":"trace","version":1,"limits":{"events":2,"bytes":100,"event_bytes":50,"streams":3,"views":2,"requests":2}}`

// step writes a line of a trace: its number within the session, row, stream
// (-1: the session's table), from and to, where to may be a refusal, and what
// else it has to say.
func step(n int, row string, stream int, from, to string, more string) string {
	table := spec.SessionTable()
	of := ""
	if stream >= 0 {
		table, of = spec.StreamTable(), fmt.Sprintf(`"stream":%d,`, stream)
	}
	r, _ := table.Row(row)
	outcome := fmt.Sprintf(`"to":%q`, to)
	if reason, refused := strings.CutPrefix(to, "!"); refused {
		outcome = fmt.Sprintf(`"refused":%q`, reason)
	}
	return fmt.Sprintf(`{"session":%q,"n":%d,"row":%q,"trigger":%q,%s"from":%q,%s,%s}`, traceTag, n, row, r.Trigger, of, from, outcome, more)
}

// stood writes the numbers of the session.
func stood(seq, evicted, bytes int) string {
	return fmt.Sprintf(`"seq":%d,"evicted":%d,"bytes":%d`, seq, evicted, bytes)
}

// A session with one call whose window holds two events: three are emitted, the
// reader takes the first, breaks, and comes back at the second.
var goodTrace = []string{
	traceHead,
	step(1, "SS01", -1, "Absent", "Live", stood(0, 0, 0)),
	step(2, "ST02", 0, "Unopened", "Detached", stood(0, 0, 0)),
	step(3, "SS05", -1, "Live", "Live", stood(0, 0, 0)),
	step(4, "ST01", 1, "Unopened", "Attached", stood(0, 0, 0)),
	step(5, "ST04", 1, "Attached", "Attached", stood(0, 0, 0)+`,"size":10`),
	step(6, "ST04", 1, "Attached", "Attached", stood(1, 0, 10)+`,"head":1,"size":20`),
	step(7, "ST34", 1, "Attached", "Attached", stood(2, 0, 30)+`,"head":2,"event":"`+traceTag+`:1:1:1"`),
	step(8, "ST41", 1, "Attached", "Detached", stood(2, 0, 30)+`,"head":2,"handed":1,"view":1`),
	step(9, "ST10", 1, "Attached", "FinishedAttached", stood(2, 0, 30)), // replaced below
	step(10, "SS10", -1, "Live", "Live", stood(3, 1, 50)+`,"decision":{"verdict":"reattach","cursor":"`+traceTag+`:1:1:1","position":"`+traceTag+`:1:1:1","floor":"`+traceTag+`:1:1:1","head":"`+traceTag+`:3:1:3"}`),
	step(11, "ST26", 1, "FinishedDetached", "FinishedAttached", stood(3, 1, 50)+`,"head":3,"handed":1`),
}

func init() {
	goodTrace[9] = step(9, "ST09", 1, "Detached", "FinishedDetached", stood(2, 0, 30)+`,"head":2,"handed":1,"size":30`)
}

func judged(lines ...string) (TraceReport, error) {
	return AcceptTrace(context.Background(), strings.NewReader(strings.Join(lines, "\n")+"\n"))
}

func TestGoodTraceIsAccepted(t *testing.T) {
	report, err := judged(goodTrace...)
	if err != nil {
		t.Fatal(err)
	}
	if report.Lines != 11 || report.Sessions != 1 || report.Rows["ST04"] != 2 {
		t.Errorf("%+v", report)
	}
}

// Each step that the contract forbids is refused at its line, with what is
// wrong and with what would have been right.
func TestFirstForbiddenStepIsNamed(t *testing.T) {
	upTo := func(n int, then string) []string { return append(append([]string{}, goodTrace[:n+1]...), then) }
	decided := func(n int, numbers, decision string) string {
		return step(n, "SS10", -1, "Live", "Live", numbers+`,"decision":{`+decision+`}`)
	}
	id := func(rest string) string { return `"` + traceTag + ":" + rest + `"` }
	for _, test := range []struct {
		name       string
		lines      []string
		why, right string
	}{
		{"before the session began", []string{traceHead, step(1, "SS09", -1, "Live", "Live", stood(0, 0, 0))},
			"the session is Absent", "SS01 ClientInitializes in Absent, to Live"},
		{"a view takes an event twice", upTo(7, step(8, "ST34", 1, "Attached", "Attached", stood(2, 0, 30)+`,"head":2,"handed":1,"view":1,"event":`+id("1:1:1"))),
			"next event is " + traceTag + ":2:1:2", "ST34 ViewDelivers of stream 1: event " + traceTag + ":2:1:2 in Attached"},
		{"a view leaves an event out", upTo(6, step(7, "ST34", 1, "Attached", "Attached", stood(2, 0, 30)+`,"head":2,"event":`+id("2:1:2"))),
			"next event is " + traceTag + ":1:1:1", "event " + traceTag + ":1:1:1"},
		{"a broken view takes an event", upTo(8, step(9, "ST34", 1, "Attached", "Attached", stood(2, 0, 30)+`,"head":2,"handed":1,"event":`+id("2:1:2"))),
			"stream 1 is Detached", "ST09 HandlerAnswers"},
		{"a number is used twice", upTo(5, step(6, "ST04", 1, "Attached", "Attached", stood(0, 0, 0)+`,"size":20`)),
			"the newest seq is 1, not 0", ""},
		{"the window holds too much", upTo(9, decided(10, stood(3, 0, 60), `"verdict":"reattach","cursor":`+id("1:1:1")+`,"position":`+id("1:1:1"))),
			"evicted up to 0 only, and up to 1 it must be", ""},
		{"an evicted cursor is served", upTo(9, decided(10, stood(3, 1, 50), `"verdict":"reattach","cursor":`+id("0:1:0")+`,"position":`+id("0:1:0"))),
			"the model decides refuse cursor_evicted", "ClientResumes with verdict refuse cursor_evicted"},
		{"an evicted cursor is clamped", upTo(9, decided(10, stood(3, 1, 50), `"verdict":"reattach","cursor":`+id("0:1:0")+`,"position":`+id("1:1:1"))),
			"the model decides refuse cursor_evicted", "cursor_evicted"},
		{"a good cursor is refused", upTo(9, decided(10, stood(3, 1, 50), `"verdict":"refuse","reason":"cursor_evicted","cursor":`+id("1:1:1"))),
			"the model decides reattach", "verdict reattach at " + traceTag + ":1:1:1"},
		{"a good cursor begins elsewhere", upTo(9, decided(10, stood(3, 1, 50), `"verdict":"reattach","cursor":`+id("1:1:1")+`,"position":`+id("2:1:2"))),
			"the model puts the view at " + traceTag + ":1:1:1", ""},
		{"a stream's move is missing", upTo(3, step(4, "ST04", 1, "Attached", "Attached", stood(0, 0, 0)+`,"size":10`)),
			"something else must come first", "StreamOpens of stream 1 in Unopened, to Attached"},
		{"a stream opens by itself", upTo(2, step(3, "ST01", 1, "Unopened", "Attached", stood(0, 0, 0))),
			"nothing has happened that leads to it", "SS05 ClientCalls"},
		{"a stream is forgotten with events retained", upTo(9, step(10, "ST50", 1, "FinishedDetached", "Forgotten", stood(3, 1, 50)+`,"head":3,"handed":1`)),
			"nothing has happened that leads to it", ""},
		{"a stream is not forgotten with nothing retained", upTo(9, step(10, "SS09", -1, "Live", "Live", stood(3, 3, 0))),
			"must be forgotten first", "RetentionEnds of stream 1 in FinishedDetached, to Forgotten"},
		{"a session in use expires", upTo(4, step(5, "SS14", -1, "Live", "Expired", stood(0, 0, 0))),
			"the model refuses it: session_in_use", "SS13 ClientTerminates"},
		{"a retained view is overtaken", upTo(7, step(8, "ST38", 1, "Attached", "Detached", stood(2, 0, 30)+`,"head":2,"handed":1,"view":1`)),
			"ordinal 2, is retained", "ST34 ViewDelivers"},
		{"an event too large is taken", upTo(4, step(5, "ST04", 1, "Attached", "Attached", stood(0, 0, 0)+`,"size":51`)),
			"the model refuses it: event_too_large", ""},
		{"an event that fits is refused", upTo(4, step(5, "ST05", 1, "Attached", "!event_too_large", stood(0, 0, 0)+`,"size":50`)),
			"the model does not refuse it", "ST04 HandlerEmits of stream 1 as " + traceTag + ":1:1:1"},
		{"a step is missing", upTo(4, goodTrace[6]), "the one before it in this session was 4", "ST04"},
		{"a bystander's bytes", upTo(6, step(7, "SS09", -1, "Live", "Live", stood(2, 0, 29))), "the window retains 30 bytes, not 29", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := judged(test.lines...)
			var wrong *TraceError
			if !errors.As(err, &wrong) {
				t.Fatalf("%v, want a TraceError", err)
			}
			if wrong.Line != len(test.lines) {
				t.Errorf("refused at line %d of %d", wrong.Line, len(test.lines))
			}
			if !strings.Contains(wrong.Why, test.why) {
				t.Errorf("why: %s\nwant: %s", wrong.Why, test.why)
			}
			if all := strings.Join(wrong.Allowed, "\n"); !strings.Contains(all, test.right) || all == "" {
				t.Errorf("allowed:\n%s\nwant in it: %s", all, test.right)
			}
		})
	}
}

// An answer that ends a cancelled call has a size that only the next step tells:
// what fits is believed, what does not is not.
func TestSizeThatIsToldLater(t *testing.T) {
	upTo := append(append([]string{}, goodTrace[:9]...), step(9, "ST44", 1, "Detached", "FinishedDetached", stood(2, 0, 30)+`,"head":2,"handed":1`))
	for _, test := range []struct {
		evicted, bytes int
		why            string
	}{
		{1, 45, ""}, {1, 70, ""}, {1, 71, "does not fit"}, {1, 19, "does not fit"}, {0, 55, "up to 1 it must be"}, {2, 25, ""}, {3, 0, "must be forgotten"},
	} {
		_, err := judged(append(upTo, step(10, "SS09", -1, "Live", "Live", stood(3, test.evicted, test.bytes)))...)
		if (err == nil) != (test.why == "") || err != nil && !strings.Contains(err.Error(), test.why) {
			t.Errorf("evicted %d, bytes %d: %v, want %q", test.evicted, test.bytes, err, test.why)
		}
	}
}

// What is no trace, or too much of one, is refused with a typed error and the
// line.
func TestWhatIsNoTrace(t *testing.T) {
	head := func(old, new string) string { return strings.Replace(traceHead, old, new, 1) }
	begin := goodTrace[1]
	for _, test := range []struct {
		name, text string
		line       int
		limit      bool
		says       string
	}{
		{"empty", "", 1, false, "begins with its header"},
		{"no JSON", "hello\n", 1, false, "no header"},
		{"a step instead of a header", begin + "\n", 1, false, "no header"},
		{"something else", `{"reattach":"record","version":1}` + "\n", 1, false, `a "record"`},
		{"another version", head(`"version":1`, `"version":2`) + "\n", 1, false, "version 2"},
		{"no limit", head(`"views":2`, `"views":0`) + "\n", 1, false, "views is 0"},
		{"a window beyond the bound", head(`"events":2`, `"events":4097`) + "\n", 1, true, "at most 4096"},
		{"cut", traceHead + "\n" + begin, 2, false, "was cut"},
		{"an endless line", traceHead + "\n" + strings.Repeat("x", MaxTraceLine) + "\n", 2, true, "more than"},
		{"unknown field", traceHead + "\n" + `{"session":"","mood":1}` + "\n", 2, false, "mood"},
		{"two objects", traceHead + "\n" + begin + "{}\n", 2, false, "something behind it"},
		{"a number that is none", traceHead + "\n" + strings.Replace(begin, `"seq":0`, `"seq":-1`, 1) + "\n", 2, false, "seq"},
		{"no tag", traceHead + "\n" + strings.Replace(begin, "0011", "zz11", 1) + "\n", 2, false, "no tag"},
		{"no row", traceHead + "\n" + strings.Replace(begin, "SS01", "SS99", 1) + "\n", 2, false, "no row"},
		{"another trigger", traceHead + "\n" + strings.Replace(begin, "ClientInitializes", "ClientCalls", 1) + "\n", 2, false, "is about ClientInitializes"},
		{"another from", traceHead + "\n" + strings.Replace(begin, "Absent", "Expired", 1) + "\n", 2, false, "begins in Absent"},
		{"another to", traceHead + "\n" + strings.Replace(begin, `"to":"Live"`, `"to":"Draining"`, 1) + "\n", 2, false, "leads to Live"},
		{"a refusal that is none", traceHead + "\n" + strings.Replace(begin, `"to":"Live"`, `"refused":"draining"`, 1) + "\n", 2, false, "not draining"},
		{"a resumption without decision", traceHead + "\n" + step(1, "SS10", -1, "Live", "Live", stood(0, 0, 0)) + "\n", 2, false, "a decision"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := AcceptTrace(t.Context(), strings.NewReader(test.text))
			var form *TraceFormError
			if !errors.As(err, &form) {
				t.Fatalf("%v, want a TraceFormError", err)
			}
			if form.Line != test.line || errors.Is(err, ErrTraceLimit) != test.limit || !strings.Contains(strings.ReplaceAll(err.Error(), `"`, ``), strings.ReplaceAll(test.says, `"`, ``)) {
				t.Errorf("%v (limit %v), want line %d, %q", err, errors.Is(err, ErrTraceLimit), test.line, test.says)
			}
		})
	}
}

// A trace from anywhere costs a bounded amount of work, whatever it holds.
func TestWorkOfATraceIsBounded(t *testing.T) {
	judge := NewTraceJudge(TraceLimits{Events: 1, Bytes: 10, EventBytes: 1, Streams: 1, Views: 1, Requests: 1})
	judge.work = MaxTraceWork
	err := judge.Accept(&TraceLine{Session: traceTag, N: 1, Row: "SS01", Trigger: "ClientInitializes", From: "Absent", To: "Live"})
	if !errors.Is(err, ErrTraceLimit) {
		t.Errorf("%v, want ErrTraceLimit", err)
	}
	judge = NewTraceJudge(TraceLimits{Events: 1, Bytes: 10, EventBytes: 1, Streams: 1, Views: 1, Requests: 1})
	for i := range MaxTraceSessions + 1 {
		err = judge.Accept(&TraceLine{Session: spec.Tag(fmt.Sprintf("%032x", i)), N: 1, Row: "SS01", Trigger: "ClientInitializes", From: "Absent", To: "Live"})
	}
	if !errors.Is(err, ErrTraceLimit) {
		t.Errorf("%v, want ErrTraceLimit", err)
	}
}

// A long trace costs what its window holds: the events that no rule asks for
// any more are dropped, and that changes no verdict.
func TestLongTraceIsJudgedByItsWindow(t *testing.T) {
	judge := NewTraceJudge(TraceLimits{Events: 4, Bytes: 100, EventBytes: 10, Streams: 2, Views: 1, Requests: 1})
	say := func(l TraceLine) {
		t.Helper()
		if err := judge.Accept(&l); err != nil {
			t.Fatal(err)
		}
	}
	zero := uint64(0)
	say(TraceLine{Session: traceTag, N: 1, Row: "SS01", Trigger: "ClientInitializes", From: "Absent", To: "Live"})
	say(TraceLine{Session: traceTag, N: 2, Row: "ST02", Trigger: "StreamOpens", Stream: &zero, From: "Unopened", To: "Detached"})
	for seq := range uint64(3000) {
		evicted := seq - min(seq, 4)
		say(TraceLine{Session: traceTag, N: seq + 3, Row: "ST04", Trigger: "HandlerEmits", Stream: &zero, From: "Detached", To: "Detached",
			Seq: seq, Evicted: evicted, Bytes: int(seq - evicted), Head: seq, Size: 1})
	}
	if kept := len(judge.sessions[traceTag].model.issued); kept > 200 {
		t.Errorf("%d events are kept for a window of 4", kept)
	}
}

// The reader's error and the end of the context come back as they are.
func TestTraceThatCannotBeRead(t *testing.T) {
	broken := errors.New("broken")
	_, err := AcceptTrace(t.Context(), io.MultiReader(strings.NewReader(traceHead+"\n"), failing{broken}))
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := AcceptTrace(ctx, strings.NewReader(strings.Join(goodTrace, "\n")+"\n")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// Whatever a file holds, the answer is one of the typed errors or acceptance,
// and a refusal names a line that there is.
func FuzzTrace(f *testing.F) {
	good := strings.Join(goodTrace, "\n") + "\n"
	f.Add(good)
	for n := range goodTrace {
		f.Add(strings.Join(goodTrace[:n], "\n") + "\n")
		f.Add(strings.Join(append(append([]string{}, goodTrace[:n]...), goodTrace[min(n+1, len(goodTrace)-1):]...), "\n") + "\n")
	}
	for _, change := range [][2]string{{`"n":7`, `"n":18446744073709551615`}, {`"seq":2`, `"seq":18446744073709551615`}, {`:1:1:1"`, `:1:1:18446744073709551615"`},
		{`"size":10`, `"size":-10`}, {`"size":10`, `"size":9223372036854775807`}, {`"stream":1`, `"stream":18446744073709551615`}, {`"bytes":30`, `"bytes":-1`}} {
		f.Add(strings.Replace(good, change[0], change[1], 1))
	}
	if recorded, err := os.ReadFile("testdata/recorded.trace"); err == nil {
		f.Add(string(recorded))
	}
	f.Fuzz(func(t *testing.T, text string) {
		report, err := AcceptTrace(t.Context(), strings.NewReader(text))
		lines := strings.Count(text, "\n") + 1
		var wrong *TraceError
		var form *TraceFormError
		switch {
		case err == nil:
			if report.Lines != lines-2 {
				t.Errorf("accepted %d lines of %d", report.Lines, lines)
			}
		case errors.As(err, &wrong):
			if wrong.Line < 2 || wrong.Line > lines || wrong.Why == "" {
				t.Errorf("%+v of %d lines", wrong, lines)
			}
		case errors.As(err, &form):
			if form.Line < 1 || form.Line > lines {
				t.Errorf("%+v of %d lines", form, lines)
			}
		default:
			t.Errorf("untyped: %v", err)
		}
	})
}
