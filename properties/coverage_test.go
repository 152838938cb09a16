package properties

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/properties/evidence"
	"example.com/reattach/spec"
)

// Coverage: nothing of the vocabulary is without a test that meets it. What is
// only named so far is listed here as planned, with the rule that it waits
// for, and must go from the list when it is built.

// Every row of the four tables has its place in the suite that drives to it,
// fires it and deletes it.
func TestEveryRowIsInTheRowSuite(t *testing.T) {
	var planned []string
	for _, plans := range []func(func(string, plan)){serverPlans, clientPlans} {
		plans(func(machine string, p plan) { planned = append(planned, machine+" "+p.target.ID) })
	}
	var want []string
	for _, table := range spec.Tables() {
		for _, row := range table.Rows {
			want = append(want, table.Machine+" "+row.ID)
		}
	}
	for _, fault := range differences("row", want, planned) {
		t.Errorf("properties/rows_*_test.go: %s", fault)
	}
}

// belowTheModel lists the rules that neither model nor modules state, and why.
var belowTheModel = map[string]string{
	"R14": "the model has no store; the core is in lockstep with it beside one that fails, and the suite of stores says what one has to do",
	"R13": "the closed system has one subject; the model's Service has several, in lockstep",
	"R15": "time and silence are not in the model",
	"R16": "the model's server asks nothing; the tests ask in every way that a session ends",
}

// ruleFaults returns what a rule lacks that this version claims to hold.
func ruleFaults(r spec.Rule, e evidence.Rule) (faults []string) {
	lacks := func(what, where string) {
		faults = append(faults, fmt.Sprintf("%s (%s, %s) %s: %s", r.ID, r.Name, r.Holds, what, where))
	}
	if r.IsPlanned() {
		return nil
	}
	if len(r.Citing()) == 0 && r.Where == "" {
		lacks("is cited by no row and says of nothing else that it holds it", "cite it in spec/table_*.go, or fill its Where in spec/rules_*.go")
	}
	if len(e.Functions)+len(e.Invariants)+evidence.Count(e.Formulas) == 0 && belowTheModel[r.ID] == "" {
		lacks("is neither modelled nor specified", "see model/rules.go and tla/README.md, or say why not in properties/coverage_test.go")
	}
	if evidence.Count(e.Tests) == 0 {
		lacks("is named by no test", "name it in the comment of the test that is about it")
	}
	if evidence.Count(e.Mutants) == 0 {
		lacks("is broken by no mutant", "add one to properties/mutants/code_*.go")
	}
	return faults
}

// Every rule that this version claims to hold, wholly or in part, is held by
// something, modelled or specified, tested by name, and broken by a mutant.
func TestEveryRuleHasItsEvidence(t *testing.T) {
	all, err := evidence.Collect("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range spec.Rules() {
		for _, fault := range ruleFaults(r, evidence.Of(all, r.ID)) {
			t.Error(fault)
		}
	}
	for id, why := range belowTheModel {
		if e := evidence.Of(all, id); len(e.Functions)+len(e.Invariants)+evidence.Count(e.Formulas) > 0 {
			t.Errorf("properties/coverage_test.go: %s is modelled or specified, and listed as not, because %s: take it from the list", id, why)
		}
	}
	// A rule without anything lacks everything.
	bare := spec.Rule{ID: "R99", Name: "bare", Holds: spec.Whole}
	if faults := ruleFaults(bare, evidence.Rule{}); len(faults) != 4 {
		t.Errorf("a rule without any evidence lacks %d things, want 4: %v", len(faults), faults)
	}
	bare.Holds = spec.NotYet
	if faults := ruleFaults(bare, evidence.Rule{}); len(faults) != 0 {
		t.Errorf("a planned rule lacks %v", faults)
	}
}

// plannedReasons are named, and nothing gives them yet.
var plannedReasons = map[spec.Reason]string{
	spec.ReasonReplayNotPermitted: "R27: no deployment replays",
}

// outOfReach are given by the core and never reach a client, as the options
// stand; the row suite provokes them there.
var outOfReach = map[spec.Reason]string{
	spec.ReasonTooManyStreams: "session.Options wants more Streams than Requests, so too_many_requests is always said first (SS07)",
}

// A provocation makes a real server refuse a peer over a real socket.
type provocation func(t *testing.T) *reply

// provocations has one for every reason that reaches a client.
var provocations = map[spec.Reason]provocation{
	spec.ReasonSessionRequired: func(t *testing.T) *reply {
		return (&peer{t: t, url: newStage(t, streamhttp.Options{}).server.URL}).attach()
	},
	spec.ReasonAlreadyInitialized: func(t *testing.T) *reply {
		return newStage(t, streamhttp.Options{}).open().send("POST", initializeText)
	},
	spec.ReasonCursorMalformed: func(t *testing.T) *reply {
		return newStage(t, streamhttp.Options{}).open().attach("no such form")
	},
	spec.ReasonCursorWithMessage: func(t *testing.T) *reply {
		p := newStage(t, streamhttp.Options{}).open()
		return p.send("POST", workText, "Last-Event-ID", p.standalone)
	},
	spec.ReasonAttemptMalformed: func(t *testing.T) *reply {
		p := newStage(t, streamhttp.Options{}).open()
		return p.send("GET", "", "Last-Event-ID", p.standalone, "Reattach-Attempt", "1.01")
	},
	spec.ReasonAttemptSuperseded: func(t *testing.T) *reply {
		p := newStage(t, streamhttp.Options{}).open()
		p.send("GET", "", "Last-Event-ID", p.standalone, "Reattach-Attempt", "1.2")
		return p.send("GET", "", "Last-Event-ID", p.standalone, "Reattach-Attempt", "1.1")
	},
	spec.ReasonSessionUnknown: func(t *testing.T) *reply {
		p := newStage(t, streamhttp.Options{}).open()
		p.session = strings.Repeat("A", len(p.session))
		return p.attach()
	},
	spec.ReasonSessionTerminated: func(t *testing.T) *reply {
		p := newStage(t, streamhttp.Options{}).open()
		p.send("DELETE", "")
		return p.attach()
	},
	spec.ReasonSessionExpired: func(t *testing.T) *reply {
		s := newStage(t, streamhttp.Options{Session: session.Options{SessionBudget: 20 * time.Millisecond}})
		p := s.open()
		s.await(spec.SessionBudgetElapses)
		return p.attach()
	},
	spec.ReasonCursorForeign: func(t *testing.T) *reply {
		s := newStage(t, streamhttp.Options{})
		return s.open().attach(s.open().standalone)
	},
	spec.ReasonCursorUnissued: func(t *testing.T) *reply {
		p := newStage(t, streamhttp.Options{}).open()
		return p.attach(elsewhere(t, p.standalone, func(id *spec.EventID) { id.Stream = 9 }))
	},
	spec.ReasonCursorEvicted: func(t *testing.T) *reply {
		s := newStage(t, windowOf(1))
		p := s.open()
		_, m := s.call(p)
		ids := emit(t, m.Stream, "e", 1, 3)
		return p.attach(ids[0])
	},
	spec.ReasonCursorAhead: func(t *testing.T) *reply {
		p := newStage(t, streamhttp.Options{}).open()
		return p.attach(elsewhere(t, p.standalone, func(id *spec.EventID) { id.Seq, id.Ordinal = 9, 9 }))
	},
	spec.ReasonTooManySessions: func(t *testing.T) *reply {
		s := newStage(t, streamhttp.Options{Session: session.Options{Sessions: 1}})
		s.open()
		return (&peer{t: t, url: s.server.URL}).send("POST", initializeText)
	},
	spec.ReasonTooManyViews: func(t *testing.T) *reply {
		s := newStage(t, streamhttp.Options{Session: session.Options{Views: 1}})
		p := s.open()
		s.call(p)
		return p.attach()
	},
	spec.ReasonTooManyRequests: func(t *testing.T) *reply {
		s := newStage(t, streamhttp.Options{Session: session.Options{Requests: 1}})
		p := s.open()
		s.call(p)
		return p.send("POST", workText)
	},
	spec.ReasonDraining: func(t *testing.T) *reply {
		s := newStage(t, streamhttp.Options{})
		p := s.open()
		_ = s.handler.Drain(t.Context()) // nothing runs
		return p.attach()
	},
	spec.ReasonStoreUnavailable: func(t *testing.T) *reply {
		full := &faultyStore{Store: session.NewMemoryStore(), nth: 2, fault: storeFaults[0], events: map[uint64]string{}}
		return newStage(t, streamhttp.Options{Session: session.Options{Store: full}}).open().send("POST", workText)
	},
}

const (
	initializeText = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	workText       = `{"jsonrpc":"2.0","id":99,"method":"work"}`
)

// elsewhere returns an id that names another place.
func elsewhere(t *testing.T, id string, move func(*spec.EventID)) string {
	t.Helper()
	parsed, err := spec.ParseEventID(id)
	if err != nil {
		t.Fatal(err)
	}
	move(&parsed)
	return parsed.String()
}

// Given a real server, when a peer asks for what it must not have, then it
// gets the reason, with its status and, where waiting helps, a time to wait;
// and every reason that can reach a client is provoked.
func TestEveryWireReasonIsProvoked(t *testing.T) {
	for reason, provoke := range provocations {
		t.Run(string(reason), func(t *testing.T) {
			r := provoke(t)
			r.refused(reason)
			if later := r.header.Get("Retry-After") != ""; later != reason.RetryLater() {
				t.Errorf("Retry-After is %q, want one: %v", r.header.Get("Retry-After"), reason.RetryLater())
			}
		})
	}
	covered := slices.Concat(textsOf(maps.Keys(provocations)), textsOf(maps.Keys(plannedReasons)), textsOf(maps.Keys(outOfReach)))
	for _, fault := range differences("reason", textsOf(slices.Values(spec.WireReasons())), covered) {
		t.Errorf("properties/coverage_test.go: %s: add it to provocations", fault)
	}
}

// The reason that is out of reach is so by the options alone: they refuse the
// setting that would bring it about.
func TestOutOfReach(t *testing.T) {
	_, err := streamhttp.NewHandler(func(context.Context, *streamhttp.Message) {}, streamhttp.Options{Session: session.Options{Streams: 2, Requests: 2}})
	if err == nil || !strings.Contains(err.Error(), "want more than Requests") {
		t.Errorf("as many streams as requests: %v", err)
	}
	if row, ok := spec.SessionTable().Row("SS07"); !ok || len(outOfReach) != 1 || outOfReach[row.Forbid] == "" {
		t.Errorf("row SS07 is %v; out of reach are %v", row, outOfReach)
	}
}

// What is listed as planned is planned: no source of the server gives it.
func TestPlannedReasonsAreNotGiven(t *testing.T) {
	used := map[spec.Reason]string{} // by the file that names it
	for _, dir := range []string{"../impl/session", "../impl/streamhttp"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources in %s: %v", dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, reason := range spec.WireReasons() {
				if strings.Contains(string(text), "spec."+identifier(reason)) {
					used[reason] = file
				}
			}
		}
	}
	for reason, why := range plannedReasons {
		if file := used[reason]; file != "" {
			t.Errorf("%s: it gives %s, which properties/coverage_test.go lists as planned (%s): provoke it there", file, reason, why)
		}
	}
	if used[spec.ReasonTooManySessions] == "" && used[spec.ReasonSessionRequired] == "" {
		t.Error("not even the reasons that are given are found: the search is broken")
	}
}

// identifier is the name of a reason's constant.
func identifier(r spec.Reason) string {
	name := "Reason"
	for word := range strings.SplitSeq(string(r), "_") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// Given a real server, when a peer asks for views, then every verdict but the
// planned one is what it gets, as the contract says it looks on the wire.
func TestEveryVerdictIsGiven(t *testing.T) {
	s := newStage(t, streamhttp.Options{})
	p := s.open()
	r, m := s.call(p)
	ids := emit(t, m.Stream, "e", 1, 2)
	r.drop()
	s.await(spec.ViewBreaks)
	given := map[spec.Verdict]*reply{spec.VerdictAttach: p.attach(), spec.VerdictReattach: p.attach(ids[0]), spec.VerdictRefuse: p.attach("?")}
	given[spec.VerdictReattach].read(1)
	answer(t, m.Stream, "done")
	given[spec.VerdictReattach].rest()
	given[spec.VerdictComplete] = p.attach(elsewhere(t, ids[1], func(id *spec.EventID) { id.Seq++; id.Ordinal++ }))

	for verdict, want := range map[spec.Verdict]struct {
		status         int
		position, mode string
	}{
		spec.VerdictAttach:   {200, p.standalone, "attach"},
		spec.VerdictReattach: {200, ids[0], "reattach"},
		spec.VerdictComplete: {204, "", ""},
		spec.VerdictRefuse:   {400, "", ""},
	} {
		got := given[verdict]
		if got.status != want.status || want.mode != "" && (got.header.Get("Reattach-Position") != want.position || got.header.Get("Reattach-Mode") != want.mode) {
			t.Errorf("%v: status %d, position %q, mode %q; want %+v", verdict, got.status, got.header.Get("Reattach-Position"), got.header.Get("Reattach-Mode"), want)
		}
	}
	covered := append(textsOf(maps.Keys(given)), spec.VerdictReplay.String()) // R27: no deployment replays
	for _, fault := range differences("verdict", textsOf(slices.Values(spec.Verdicts())), covered) {
		t.Errorf("properties/coverage_test.go: %s", fault)
	}
}

// differences names what is wanted and not covered, and what is covered
// and not wanted, or twice.
func differences(what string, want, covered []string) (faults []string) {
	for _, name := range want {
		if !slices.Contains(covered, name) {
			faults = append(faults, fmt.Sprintf("%s %s is exercised by no test", what, name))
		}
	}
	seen := map[string]bool{}
	for _, name := range covered {
		if !slices.Contains(want, name) || seen[name] {
			faults = append(faults, fmt.Sprintf("%s %s is listed, and there is none such or it is listed twice", what, name))
		}
		seen[name] = true
	}
	return faults
}

func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		want, covered string
		faults        int
	}{
		{"a b", "b a", 0}, {"a b", "a", 1}, {"a", "a b", 1}, {"a", "a a", 1}, {"a b", "c", 3},
	} {
		if got := differences("letter", strings.Fields(test.want), strings.Fields(test.covered)); len(got) != test.faults {
			t.Errorf("want %q, covered %q: %v", test.want, test.covered, got)
		}
	}
}

// textsOf returns the texts of values, sorted.
func textsOf[T any](values func(func(T) bool)) (texts []string) {
	for v := range values {
		texts = append(texts, fmt.Sprint(v))
	}
	slices.Sort(texts)
	return texts
}
