package spec

import (
	"slices"
	"testing"
)

// Each verdict selects exactly one trigger of the stream table, and no two
// select the same; but replay, which no deployment declares yet, refuses.
func TestVerdictsSelectTheirTriggersOneToOne(t *testing.T) {
	want := map[Verdict]Trigger{
		VerdictRefuse: ClientIsRefused, VerdictAttach: ClientAttaches, VerdictReattach: ClientReattaches,
		VerdictComplete: ClientCompletes, VerdictReplay: ClientIsRefused,
	}
	if len(Verdicts()) != len(want) {
		t.Errorf("there are %d verdicts, want %d", len(Verdicts()), len(want))
	}
	selected := map[Trigger]Verdict{}
	for _, v := range Verdicts() {
		trigger := v.Trigger()
		if trigger != want[v] {
			t.Errorf("%v selects %v, want %v", v, trigger, want[v])
		}
		if !slices.Contains(StreamTable().Triggers, trigger) {
			t.Errorf("%v selects %v, which is not the stream's", v, trigger)
		}
		if other, taken := selected[trigger]; taken && v != VerdictReplay {
			t.Errorf("%v and %v both select %v", other, v, trigger)
		}
		selected[trigger] = v
	}
}

// The zero value refuses: a decision that was never made lets nothing through.
func TestTheZeroVerdictRefuses(t *testing.T) {
	var undecided Verdict
	if undecided != VerdictRefuse || Verdict(99).Trigger() != ClientIsRefused {
		t.Error("an undecided verdict is not a refusal")
	}
	if VerdictReattach.String() != "reattach" || Verdict(99).String() != "?99" {
		t.Errorf("verdicts are called %v and %v", VerdictReattach, Verdict(99))
	}
}
