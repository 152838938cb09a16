package properties

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/reattach/model"
	"example.com/reattach/spec"
)

// A spoiled trace is a good one with one mistake in it.
type spoiled struct {
	lines []string // the header is line 0
	steps []model.TraceLine
}

func newSpoiled(t *testing.T, trace []byte) *spoiled {
	t.Helper()
	s := &spoiled{lines: strings.Split(strings.TrimSuffix(string(trace), "\n"), "\n")}
	s.read(t)
	return s
}

func (s *spoiled) read(t *testing.T) {
	t.Helper()
	s.steps = make([]model.TraceLine, len(s.lines))
	for i, line := range s.lines[1:] {
		if err := json.Unmarshal([]byte(line), &s.steps[i+1]); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *spoiled) with(lines []string, renumbered bool) []byte {
	if !renumbered {
		return []byte(strings.Join(lines, "\n") + "\n")
	}
	numbers := map[string]int{}
	var b bytes.Buffer
	for i, line := range lines {
		if i > 0 {
			of, rest, _ := strings.Cut(line, `,"n":`)
			_, rest, _ = strings.Cut(rest, ",")
			numbers[of]++
			line = fmt.Sprintf(`%s,"n":%d,%s`, of, numbers[of], rest)
		}
		b.WriteString(line + "\n")
	}
	return b.Bytes()
}

func (s *spoiled) dropped(at int) []string { return slices.Delete(slices.Clone(s.lines), at, at+1) }

func (s *spoiled) doubled(at int) []string {
	return slices.Insert(slices.Clone(s.lines), at, s.lines[at])
}

func (s *spoiled) swapped(at, with int) []string {
	lines := slices.Clone(s.lines)
	lines[at], lines[with] = lines[with], lines[at]
	return lines
}

// next is the next step of the same session for which ok, or 0.
func (s *spoiled) next(at int, ok func(model.TraceLine) bool) int {
	for i := at + 1; i < len(s.steps); i++ {
		if s.steps[i].Session == s.steps[at].Session && ok(s.steps[i]) {
			return i
		}
	}
	return 0
}

// previous is the step before in the same session.
func (s *spoiled) previous(at int) (l model.TraceLine) {
	for i := at - 1; i > 0 && l.Row == ""; i-- {
		if s.steps[i].Session == s.steps[at].Session {
			l = s.steps[i]
		}
	}
	return l
}

func anyStep(model.TraceLine) bool { return true }

// rejectedAt returns the line at which the trace is refused, counted from 0 as
// in lines; -1 if it is accepted.
func rejectedAt(t *testing.T, trace []byte) int {
	t.Helper()
	_, err := accept(t, trace)
	var wrong *model.TraceError
	var form *model.TraceFormError
	switch {
	case err == nil:
		return -1
	case errors.As(err, &wrong):
		if wrong.Why == "" || wrong.Did == "" {
			t.Errorf("the refusal says nothing: %+v", wrong)
		}
		return wrong.Line - 1
	case errors.As(err, &form):
		return form.Line - 1
	}
	t.Fatal(err)
	return 0
}

// Given a good trace, when a step is lost, doubled or out of order, then it is
// refused at the very line, because steps are numbered.
func TestSpoiledOrderIsNoticed(t *testing.T) {
	for seed := range uint64(2) {
		s := newSpoiled(t, play(t, seeded(seed), 80))
		for at := 1; at < len(s.lines); at++ {
			after := s.next(at, anyStep)
			if after == 0 {
				continue // the end of a session: nobody can know
			}
			if got := rejectedAt(t, s.with(s.dropped(at), false)); got != after-1 {
				t.Fatalf("seed %d: without line %d it is refused at %d, want %d\n%s", seed, at, got, after-1, s.lines[at])
			}
			if got := rejectedAt(t, s.with(s.doubled(at), false)); got != at+1 {
				t.Fatalf("seed %d: with line %d twice it is refused at %d", seed, at, got)
			}
			if got := rejectedAt(t, s.with(s.swapped(at, after), false)); got != at {
				t.Fatalf("seed %d: with lines %d and %d swapped it is refused at %d", seed, at, after, got)
			}
		}
	}
}

// Given a good trace whose steps are numbered anew after one was lost or
// doubled, when the lost one was a step that changed anything, then the model
// notices by what is told later, at the first step that shows it.
func TestMissingStepsAreNoticedWithoutNumbers(t *testing.T) {
	h := hits{}
	for seed := range uint64(40) {
		s := newSpoiled(t, play(t, seeded(100+seed), 80))
		for at := 1; at < len(s.lines); at++ {
			step := s.steps[at]
			if step.Refused != "" || step.Trigger == spec.ClientNotifies.String() {
				continue // nothing changed
			}
			shows := anyStep
			switch step.Trigger {
			case spec.ViewDelivers.String(), spec.ViewBreaks.String(), spec.ViewOvertaken.String(), spec.ViewStalls.String(), spec.HandlerEndsView.String():
				shows = func(l model.TraceLine) bool { return l.Stream != nil && *l.Stream == *step.Stream }
			case spec.RetentionEnds.String(): // several come in any order
				shows = func(l model.TraceLine) bool { return l.Trigger != step.Trigger }
			case spec.ServerDrains.String():
				shows = func(l model.TraceLine) bool { return l.Stream == nil }
			}
			if last := s.next(at, shows); last > 0 {
				got := rejectedAt(t, s.with(s.dropped(at), true))
				if got < at || got > last-1 {
					t.Fatalf("seed %d: without line %d it is refused at %d, want %d at the latest\n%s", seed, at, got, last-1, s.lines[at])
				}
				h.hit("lost %s", step.Trigger)
			}
			if got := rejectedAt(t, s.with(s.doubled(at), true)); got != at+1 && step.Row != "SS17" {
				t.Fatalf("seed %d: with line %d twice it is refused at %d\n%s", seed, at, got, s.lines[at])
			}
			h.hit("doubled %s", step.Trigger)
		}
	}
	h.log(t)
	for _, trigger := range []spec.Trigger{spec.ClientInitializes, spec.ClientCalls, spec.ClientResumes, spec.StreamOpens,
		spec.HandlerEmits, spec.HandlerAnswers, spec.ViewDelivers, spec.ViewBreaks, spec.RetentionEnds, spec.ClientReattaches,
		spec.ClientIsRefused, spec.DetachBudgetElapses, spec.SessionEnds} {
		h.need(t, "lost "+trigger.String(), "doubled "+trigger.String())
	}
}

var numbersOfLine = regexp.MustCompile(`"(seq|evicted|bytes|head|handed|view|size|stream|skipped)":(\d+)|[0-9a-f]{32}:(\d+):(\d+):(\d+)`)

// Given a good trace, when any number in it is another one, then it is refused
// at that line; where a number says what will be (a size), at the next one. Only
// a stream's number can be replaced by that of one to which the same might happen.
func TestSpoiledNumbersAreNoticed(t *testing.T) {
	h := hits{}
	for seed := range uint64(2) {
		s := newSpoiled(t, play(t, seeded(200+seed), 70))
		for at := 1; at < len(s.lines); at++ {
			line := s.lines[at]
			for _, m := range numbersOfLine.FindAllStringSubmatchIndex(line, -1) {
				name, from := "event id", 6
				if m[2] >= 0 {
					name, from = line[m[2]:m[3]], 4
				}
				for ; from < len(m) && m[from] >= 0; from += 2 {
					n, err := strconv.ParseUint(line[m[from]:m[from+1]], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					lines := slices.Clone(s.lines)
					lines[at] = line[:m[from]] + strconv.FormatUint(n+1, 10) + line[m[from+1]:]
					want := []int{at}
					if name == "size" {
						want = []int{s.next(at, anyStep)}
					}
					if name == "bytes" && s.previous(at).Row == "ST44" {
						continue // this is where the size of the answer to a cancelled call is told
					}
					if name == "size" && (s.steps[at].Refused != "" || want[0] == 0) {
						continue // too large by more, or never to be seen
					}
					if strings.Contains(line, `"verdict":"refuse"`) && strings.HasSuffix(line[:m[0]], `"cursor":"`) {
						want = append(want, -1, s.next(at, anyStep)) // another one may be refused for the same reason
					}
					got := rejectedAt(t, s.with(lines, false))
					if name == "stream" && got != at {
						if got != -1 && got < at {
							t.Fatalf("seed %d: with another stream it is refused at %d, before %d", seed, got, at)
						}
						continue // it might have happened to that one too
					}
					if !slices.Contains(want, got) {
						t.Fatalf("seed %d: with another %s it is refused at %d, want %v\n%s\n%s", seed, name, got, want, line, lines[at])
					}
					h.hit("another %s", name)
				}
			}
		}
	}
	h.log(t)
	h.need(t, "another seq", "another evicted", "another bytes", "another head", "another handed", "another view",
		"another size", "another stream", "another event id")
}
