package spec

import "testing"

// A guard is a conjunction: each fact that it asks for, and none that it rules
// out; other facts do not matter.
func TestGuards(t *testing.T) {
	guard := Guard{True: FactsOf(SameSession, IsCall), False: FactsOf(Strict)}
	for _, test := range []struct {
		facts Facts
		holds bool
	}{
		{FactsOf(SameSession, IsCall), true},
		{FactsOf(SameSession, IsCall, Orderable, ServerFull), true},
		{FactsOf(SameSession), false},
		{FactsOf(IsCall), false},
		{FactsOf(SameSession, IsCall, Strict), false},
		{0, false},
	} {
		if guard.Holds(test.facts) != test.holds {
			t.Errorf("%v holds for %v: %v, want %v", guard, test.facts, !test.holds, test.holds)
		}
	}
	if !(Guard{}).Holds(0) || !(Guard{}).Holds(^Facts(0)) {
		t.Error("the empty guard does not always hold")
	}
	if got, want := guard.Reads(), FactsOf(SameSession, IsCall, Strict); got != want {
		t.Errorf("the guard reads %v, want %v", got, want)
	}
	if got := guard.String(); got != "SameSession IsCall !Strict" {
		t.Errorf("the guard is written %q", got)
	}
}

func TestFactsAreASet(t *testing.T) {
	set := FactsOf(InUse).With(ClosingWished, true).With(InUse, false).With(InUse, false)
	if set != FactsOf(ClosingWished) || set.Has(InUse) || !set.Has(ClosingWished) {
		t.Errorf("got %v, want ClosingWished alone", set)
	}
	if got := FactsOf(ClosingWished, ServerFull).String(); got != "{ServerFull ClosingWished}" {
		t.Errorf("the set is written %s", got)
	}
	if numFacts > 64 {
		t.Errorf("%d facts do not fit into Facts", numFacts)
	}
}
