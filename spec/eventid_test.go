package spec

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const tagS1 = "3696ad59777e09d5f2daacb544022d43" // sha256("S1"), its first half

func TestTheTextFormOfAnEventID(t *testing.T) {
	for text, id := range map[string]EventID{
		tagS1 + ":0:0:0":   PositionZero(tagS1, 0),
		tagS1 + ":0:7:0":   PositionZero(tagS1, 7),
		tagS1 + ":41:3:12": {Tag: tagS1, Seq: 41, Stream: 3, Ordinal: 12},
		tagS1 + ":18446744073709551615:18446744073709551615:18446744073709551615": {tagS1, math.MaxUint64, math.MaxUint64, math.MaxUint64},
	} {
		if got := id.String(); got != text {
			t.Errorf("%+v is written %q, want %q", id, got, text)
		}
		if got, err := ParseEventID(text); err != nil || got != id {
			t.Errorf("%q reads as %+v, %v, want %+v", text, got, err, id)
		}
		if len(text) > MaxEventIDLen {
			t.Errorf("%q has %d bytes, more than the bound of %d", text, len(text), MaxEventIDLen)
		}
	}
}

// Everything that is nearly an event id is none: what reads two ways, or what
// nothing of ours ever writes, is refused whatever it looks like (R1, R5).
func TestNearMissesAreNoEventIDs(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                   "",
		"a tag alone":               tagS1,
		"three fields":              tagS1 + ":1:0",
		"five fields":               tagS1 + ":1:0:1:1",
		"a colon behind":            tagS1 + ":1:0:1:",
		"an empty tag":              ":1:0:1",
		"a short tag":               tagS1[1:] + ":1:0:1",
		"a long tag":                tagS1 + "0:1:0:1",
		"a tag in capitals":         strings.ToUpper(tagS1) + ":1:0:1",
		"a tag that is not hex":     "g" + tagS1[1:] + ":1:0:1",
		"an empty seq":              tagS1 + "::0:1",
		"an empty stream":           tagS1 + ":1::1",
		"an empty ordinal":          tagS1 + ":1:0:",
		"a leading zero":            tagS1 + ":01:0:1",
		"a zero written twice":      tagS1 + ":1:00:1",
		"a plus sign":               tagS1 + ":+1:0:1",
		"a minus sign":              tagS1 + ":1:0:-1",
		"minus zero":                tagS1 + ":1:-0:1",
		"a fraction":                tagS1 + ":1:0:1.0",
		"an exponent":               tagS1 + ":1:0:1e0",
		"hex":                       tagS1 + ":0x1:0:1",
		"an underscore":             tagS1 + ":1_0:0:1",
		"a space before":            " " + tagS1 + ":1:0:1",
		"a space behind":            tagS1 + ":1:0:1 ",
		"a space within":            tagS1 + ":1: 0:1",
		"a newline behind":          tagS1 + ":1:0:1\n",
		"a NUL behind":              tagS1 + ":1:0:1\x00",
		"another separator":         tagS1 + "-1-0-1",
		"a wide colon":              tagS1 + "\uff1a1:0:1",
		"digits of another script":  tagS1 + ":\u0661:0:1",
		"a number of 65 bits":       tagS1 + ":18446744073709551616:0:1",
		"a number of many digits":   tagS1 + ":1:0:" + strings.Repeat("1", 60),
		"more than the bound":       strings.Repeat("0", MaxEventIDLen+1),
		"a seq without an ordinal":  tagS1 + ":1:0:0",
		"an ordinal without a seq":  tagS1 + ":0:0:1",
		"the seed's form":           "S1:2",
		"two ids between commas":    tagS1 + ":1:0:1," + tagS1 + ":2:0:2",
		"quotes around":             `"` + tagS1 + `:1:0:1"`,
		"the tag where seq belongs": "1:" + tagS1 + ":0:1",
	} {
		id, err := ParseEventID(text)
		if !errors.Is(err, ErrEventID) {
			t.Errorf("%s: %q was accepted as %+v, error %v", name, text, id, err)
		}
		if id != (EventID{}) {
			t.Errorf("%s: the refusal came with %+v", name, id)
		}
	}
}

func TestWhatMakesAnEventIDValid(t *testing.T) {
	for name, test := range map[string]struct {
		id    EventID
		valid bool
	}{
		"position 0":               {PositionZero(tagS1, 4), true},
		"an event":                 {EventID{tagS1, 9, 4, 2}, true},
		"no tag":                   {EventID{"", 9, 4, 2}, false},
		"a seq without an ordinal": {EventID{tagS1, 9, 4, 0}, false},
		"an ordinal without a seq": {EventID{tagS1, 0, 4, 2}, false},
		"nothing at all":           {EventID{}, false},
	} {
		if test.id.Valid() != test.valid {
			t.Errorf("%s: Valid is %v", name, !test.valid)
		}
		if _, err := ParseEventID(test.id.String()); (err == nil) != test.valid {
			t.Errorf("%s: the parser says %v, Valid says %v", name, err, test.valid)
		}
	}
}

// Whatever id there is, its text reads back as that id and no other, through
// every way of writing it.
func TestEventIDsSurviveTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := EventID{Tag: TagOf(rapid.String().Draw(t, "session"), rapid.StringN(0, 3, -1).Draw(t, "generation")), Stream: rapid.Uint64().Draw(t, "stream")}
		if rapid.Bool().Draw(t, "an event") {
			id.Seq = rapid.Uint64Range(1, math.MaxUint64).Draw(t, "seq")
			id.Ordinal = rapid.Uint64Range(1, math.MaxUint64).Draw(t, "ordinal")
		}
		text := id.String()
		back, err := ParseEventID(text)
		if err != nil || back != id || !id.Valid() || len(text) > MaxEventIDLen {
			t.Fatalf("%+v is written %q and reads back as %+v, %v", id, text, back, err)
		}
		marshalled, _ := id.MarshalText()
		var unmarshalled EventID
		if err := unmarshalled.UnmarshalText(marshalled); err != nil || unmarshalled != id || string(marshalled) != text {
			t.Fatalf("MarshalText writes %q, which reads back as %+v, %v", marshalled, unmarshalled, err)
		}
		prefix := []byte("id: ")
		if appended, _ := id.AppendText(prefix); string(appended) != "id: "+text {
			t.Fatalf("AppendText writes %q", appended)
		}
	})
}

// One byte changed makes another id or none, never the same one.
func TestNoTwoTextsAreOneEventID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(EventID{tagS1, rapid.Uint64Range(1, 1<<40).Draw(t, "seq"), rapid.Uint64Range(0, 99).Draw(t, "stream"), rapid.Uint64Range(1, 1<<40).Draw(t, "ordinal")}.String())
		id, _ := ParseEventID(string(text))
		text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] ^= byte(rapid.IntRange(1, 255).Draw(t, "change"))
		if other, err := ParseEventID(string(text)); err == nil && other == id {
			t.Fatalf("%q reads as %+v too", text, id)
		}
	})
}

// The parser accepts exactly what the formatter writes, whatever it is fed.
func FuzzParseEventID(f *testing.F) {
	for _, seed := range []string{
		"", tagS1, tagS1 + ":0:0:0", tagS1 + ":1:0:1", tagS1 + ":41:3:12", tagS1 + ":01:3:12", tagS1 + ":+1:3:12", tagS1 + ":1:0:0",
		tagS1 + ":18446744073709551615:0:18446744073709551615", tagS1 + ":18446744073709551616:0:1", tagS1 + ":1:0:1:1", ":::", "S1:2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseEventID(text)
		switch {
		case err != nil:
			if !errors.Is(err, ErrEventID) || id != (EventID{}) {
				t.Errorf("%q: a refusal with %+v and %v", text, id, err)
			}
		case id.String() != text || !id.Valid():
			t.Errorf("%q was accepted as %+v, which is written %q", text, id, id)
		}
	})
}

// A tag is what the contract says: the first 32 hex digits of SHA-256 over the
// session id, and over the store's generation where there is one.
func TestTags(t *testing.T) {
	if got := TagOf("S1", ""); got != tagS1 {
		t.Errorf("the tag of S1 is %s, want %s", got, tagS1)
	}
	if got, want := TagOf("S1", "g7"), Tag("2e5016664c2e76b0a39a87202e5395f6"); got != want {
		t.Errorf("the tag of S1 in generation g7 is %s, want %s", got, want)
	}
	if TagOf("S1", "") == TagOf("S2", "") || TagOf("S1", "1") == TagOf("S1", "2") {
		t.Error("two sessions, or two generations, share a tag")
	}
	for _, tag := range []string{"", "3696", tagS1 + "0", tagS1[:31] + "A", tagS1[:31] + ":"} {
		if Tag(tag).Valid() {
			t.Errorf("%q passes for a tag", tag)
		}
	}
}

// The id of an event is written once per event and once per view: into a
// buffer that is large enough it costs no allocation.
func TestAppendTextAllocatesNothing(t *testing.T) {
	id, buffer := EventID{tagS1, math.MaxUint64, math.MaxUint64, math.MaxUint64}, make([]byte, 0, MaxEventIDLen)
	if n := testing.AllocsPerRun(100, func() { id.AppendText(buffer) }); n != 0 {
		t.Errorf("AppendText allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { id.AppendText(nil) }); n == 0 {
		t.Error("AppendText to nothing allocates nothing: this test measures nothing")
	}
}
