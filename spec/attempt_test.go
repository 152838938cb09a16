package spec

import (
	"errors"
	"math"
	"testing"
)

// R10: the text form has one way to write each attempt, and its bound holds.
func TestAttemptText(t *testing.T) {
	for text, want := range map[string]Attempt{
		"1.0": {1, 0}, "0.1": {0, 1}, "7.42": {7, 42},
		"18446744073709551615.18446744073709551615": {math.MaxUint64, math.MaxUint64},
	} {
		got, err := ParseAttempt(text)
		if err != nil || got != want {
			t.Errorf("ParseAttempt(%q) = %v, %v, want %v", text, got, err, want)
		}
		if got.String() != text || len(text) > MaxAttemptLen {
			t.Errorf("%v is written %q, %d bytes, want %q", got, got.String(), len(got.String()), text)
		}
	}
	for _, text := range []string{
		"", ".", "0.0", "1", "1.", ".1", "01.1", "1.01", "+1.1", "1.+1", "-1.1", " 1.1", "1.1 ", "1.1.1", "1,1", "0x1.1", "1_0.1",
		"18446744073709551616.0", "1.18446744073709551616", "١.١",
	} {
		if got, err := ParseAttempt(text); !errors.Is(err, ErrAttempt) || !got.IsZero() {
			t.Errorf("ParseAttempt(%q) = %v, %v, want a refusal", text, got, err)
		}
	}
	if (Attempt{}).String() != "" {
		t.Error("the zero attempt has a text: it would be sent")
	}
}

// R10, R30: the generation decides before the counter does.
func TestAttemptOrder(t *testing.T) {
	ordered := []Attempt{{}, {0, 1}, {0, 9}, {1, 0}, {1, 1}, {1, math.MaxUint64}, {2, 0}, {math.MaxUint64, 0}}
	for i, a := range ordered {
		for j, b := range ordered {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := a.Compare(b); got != want {
				t.Errorf("%v.Compare(%v) = %d, want %d", a, b, got, want)
			}
		}
	}
}
