package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// tracedSession is the trace of a real session: a call emits two events, its
// connection breaks behind the first, and the client comes back for the second.
func tracedSession(t *testing.T) []string {
	t.Helper()
	var trace bytes.Buffer
	var o session.Options
	tracer, err := session.NewTracer(&trace, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Observe = tracer.Observe
	r, err := session.NewRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Open("", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, view, err := s.Call(nil)
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = stream.Emit([]byte("one"))
	must(err)
	_, err = stream.Answer([]byte("two"))
	must(err)
	first, _, err := view.TryNext(nil)
	must(err)
	must(view.Break())
	again, decision, err := s.Resume(session.Request{Cursors: []string{first.ID.String()}})
	must(err)
	if decision.Verdict != spec.VerdictReattach {
		t.Fatalf("%+v", decision)
	}
	_, _, err = again.TryNext(nil)
	must(err)
	return strings.SplitAfter(strings.TrimSuffix(trace.String(), "\n"), "\n")
}

func judgedTrace(t *testing.T, in string, args ...string) (code int, out, diag string) {
	t.Helper()
	var o, d bytes.Buffer
	code = judgeTrace(context.Background(), args, strings.NewReader(in), &o, &d)
	return code, o.String(), d.String()
}

func TestTraceOfRealSessionIsAllowed(t *testing.T) {
	trace := strings.Join(tracedSession(t), "") + "\n"
	code, out, diag := judgedTrace(t, trace, "-")
	if code != exitOK || diag != "" || !strings.HasPrefix(out, "Every step is allowed: 11 of 1 sessions, 0 of them refusals") {
		t.Errorf("exit %d: %q, %q", code, out, diag)
	}
	file := filepath.Join(t.TempDir(), "one.trace")
	if err := os.WriteFile(file, []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	var o, d bytes.Buffer
	if code := run(t.Context(), []string{"trace", "-verbose", file}, &o, &d); code != exitOK || !strings.Contains(o.String(), "  ST26       1\n") {
		t.Errorf("from a file: exit %d: %q, %q", code, &o, &d)
	}
}

// A server that hands the first event out again is found out at that line, and
// the answer says which event it should have been.
func TestTraceShowsTheFirstForbiddenStep(t *testing.T) {
	lines := tracedSession(t)
	last := len(lines) - 1
	lines[last] = strings.Replace(lines[last], `:2:1:2"`, `:1:1:1"`, 1)
	code, out, diag := judgedTrace(t, strings.Join(lines, "")+"\n", "-")
	if code != exitFailed || diag != "" {
		t.Errorf("exit %d: %q", code, diag)
	}
	for _, want := range []string{
		"Line 12 is not allowed: step 11 of session ",
		"\n  it says   ST36 ViewDelivers of stream 1 in FinishedAttached, to FinishedDetached\n",
		"\n  but       the view's next event is ", ":2:1:2, not\n",
		"\n  allowed   ST17 HandlerEndsView of stream 1 in FinishedAttached, to FinishedDetached\n",
		"\n            ST36 ViewDelivers of stream 1: event ",
		"\n            SS05 ClientCalls in Live, to Live\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestTraceOfNothing(t *testing.T) {
	good := strings.Join(tracedSession(t), "")
	for _, test := range []struct {
		name, in, args string
		code           int
		says           string
	}{
		{"help", "", "-h", exitOK, "Usage: reattach trace"},
		{"no file", "", "", exitMisuse, "wants one file, got 0"},
		{"two files", "", "a b", exitMisuse, "wants one file, got 2"},
		{"no such file", "", filepath.Join(t.TempDir(), "none"), exitMisuse, "none"},
		{"unknown flag", "", "-loud -", exitMisuse, "not defined"},
		{"empty", "", "-", exitMisuse, "line 1: empty"},
		{"no trace", "hello\n", "-", exitMisuse, "line 1: no header"},
		{"cut", good[:len(good)-20], "-", exitMisuse, "line 12: the line has no end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, diag := judgedTrace(t, test.in, strings.Fields(test.args)...)
			if code != test.code || !strings.Contains(diag, test.says) || out != "" {
				t.Errorf("exit %d: %q, %q, want %d, %q", code, out, diag, test.code, test.says)
			}
		})
	}
}
