package spec

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryRuleOfTheContractIsThere(t *testing.T) {
	want := strings.Fields("R1 R2 R3 R4 R5 R6 R7 R8 R9 R9b R10 R11 R12 R13 R14 R15 R16 R20 R21 R22 R23 R24 R25 R26 R27 R28 R29 R30")
	var got []string
	names := map[string]string{}
	for _, r := range Rules() {
		got = append(got, r.ID)
		if other, taken := names[r.Name]; taken {
			t.Errorf("%s and %s are both called %q", other, r.ID, r.Name)
		}
		names[r.Name] = r.ID
		if r.Name == "" || !strings.HasSuffix(r.Text, ".") || len(r.Text) < 60 {
			t.Errorf("%s has no name or no sentence: %q %q", r.ID, r.Name, r.Text)
		}
		if r.Source == "" {
			t.Errorf("%s says not where it comes from", r.ID)
		}
		if again, ok := RuleOf(r.ID); !ok || again != r {
			t.Errorf("RuleOf(%s) is %v, %v", r.ID, again, ok)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules\n got %v\nwant %v", got, want)
	}
	if r, ok := RuleOf("R17"); ok {
		t.Errorf("there is a rule R17: %v", r)
	}
}

// What a row cites exists and is held: no row stands on a rule that this
// version does not keep.
func TestRowsCiteRulesThatHold(t *testing.T) {
	for _, table := range Tables() {
		for _, row := range table.Rows {
			for i, id := range row.Cites {
				r, ok := RuleOf(id)
				switch {
				case !ok:
					t.Errorf("row %s cites %s, which is no rule", row.ID, id)
				case r.IsPlanned():
					t.Errorf("row %s cites %s, of which nothing holds yet", row.ID, id)
				case slices.Contains(row.Cites[:i], id):
					t.Errorf("row %s cites %s twice", row.ID, id)
				}
			}
		}
	}
}

// What a rule claims to hold can be found: in rows that cite it, or in the
// place that it names.
func TestRulesSayWhatHoldsThem(t *testing.T) {
	whole := strings.Fields("R1 R2 R3 R4 R5 R6 R7 R8 R9 R9b R10 R11 R12 R16 R20 R21 R22 R23 R24 R25 R26 R28 R30")
	for _, r := range Rules() {
		if r.IsWhole() != slices.Contains(whole, r.ID) {
			t.Errorf("%s holds %q; whole are to be exactly %v", r.ID, r.Holds, whole)
		}
		switch {
		case r.IsPlanned():
			if r.Where != "" {
				t.Errorf("%s is planned, and yet held in %s", r.ID, r.Where)
			}
		case !r.IsWhole() && (!strings.HasPrefix(r.Holds, Without) || r.Holds == Without):
			t.Errorf("%s holds %q, which is none of whole, without …, not yet", r.ID, r.Holds)
		case len(r.Citing()) == 0 && r.Where == "":
			t.Errorf("%s holds %q, yet no row cites it and it names no place", r.ID, r.Holds)
		}
	}
}

// Citing finds a rule's rows in all tables and no others.
func TestCitingFindsTheRows(t *testing.T) {
	var got []string
	r, _ := RuleOf("R30")
	for _, row := range r.Citing() {
		got = append(got, row.ID)
	}
	if want := []string{"EP52", "EP53", "EP54", "EP49", "CS07", "CS97", "CS81", "CS86"}; !slices.Equal(got, want) {
		t.Errorf("rows of R30: got %v, want %v", got, want)
	}
}
