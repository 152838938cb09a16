package streamhttp

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// validSeeds are texts at the edges of the grammar, most of them not JSON.
var validSeeds = []string{
	``, ` `, `null`, `nul`, `nulll`, `true `, ` false`, `tru`, `f`, `0`, `-0`, `-`, `00`, `01`, `-01`, `1.`, `.5`, `1.5`, `1.5e`, `1e+`, `1e+0`, `1E-07`, `1e5.`, `0x1`,
	`""`, `"`, `"a`, `"\`, `"\"`, `"\""`, `"\q"`, `"\u12"`, `"\u12G4"`, `"\u12aF"`, `"\uD800"`, "\"\x1f\"", "\"\x00\"", "\"\x7f\x80\xff\"", "\"\n\"", `"0123456\"`, `"01234567\"`, `"0123456\"8"`,
	`"` + strings.Repeat("x", 7) + "\x1f\"", `"` + strings.Repeat("x", 15) + "\n\"", "\"\xa0\xa2\xdc\x9f!!!!\"",
	`{}`, `{`, `}`, `{ }`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a":1,"b":2}`, `{,}`, `{1:2}`, `{"a" : [ ] , "b":{}}`, `{"a":1]`, `{"a":1}}`,
	`[]`, `[`, `]`, `[ ]`, `[1,]`, `[,1]`, `[1 2]`, `[1,2]`, `[1}`, `[[],[[]]]`, `[[],[[]]`, "\ufeff{}", "{}\x00", "\t\r\n {}\v",
	strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
	strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
	strings.Repeat(`{"a":`, maxDepth) + "1" + strings.Repeat("}", maxDepth),
	strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1),
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1.25e3,"message":"na\u00efve \"quoted\" \\ done"}}`,
}

func checkValid(t interface{ Errorf(string, ...any) }, text []byte) bool {
	got, want := valid(text), json.Valid(text)
	if got != want {
		t.Errorf("%.80q is valid: %v, by encoding/json %v", text, got, want)
	}
	return want
}

// Whatever is a byte off a message is judged as encoding/json judges it.
func TestValidIsJSONValid(t *testing.T) {
	seen := map[bool]int{}
	for _, text := range validSeeds {
		seen[checkValid(t, []byte(text))]++
		if len(text) > 1000 {
			continue
		}
		for i := range len(text) {
			seen[checkValid(t, []byte(text[:i]))]++
			for _, c := range []byte("\x00\x1f \"\\{}[],:-+.0e9uaAfF\x80\xff") {
				other := []byte(text)
				other[i] = c
				seen[checkValid(t, other)]++
			}
		}
	}
	if seen[true] < 100 || seen[false] < 1000 {
		t.Errorf("too few of one kind: %v", seen)
	}
}

// Texts of the grammar's own letters, which come near to JSON more often than
// any bytes do.
func TestValidIsJSONValidAtRandom(t *testing.T) {
	seen := map[bool]int{}
	piece := rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `,`, `:`, `"k"`, `"k":1`, ` `, `-1.5e+3`, `0`, `null`, `"\u00e9"`, `"`, `\`, `xxxxxxxxxxx`, "\n", `{"a":[1,2,{}]}`})
	rapid.Check(t, func(t *rapid.T) {
		seen[checkValid(t, []byte(strings.Join(rapid.SliceOfN(piece, 1, 9).Draw(t, "text"), "")))]++
	})
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("only one kind: %v", seen)
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range validSeeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkValid(t, text) })
}

// A known method is what any other text of the same method says.
func TestMethodText(t *testing.T) {
	for text, name := range knownMethods {
		if methodText([]byte(text)) != name || methodText([]byte(strings.Replace(text, "i", `\u0069`, 1))) != name {
			t.Errorf("%s is read as %q", text, methodText([]byte(text)))
		}
	}
	for text, want := range map[string]string{`"x/y"`: "x/y", `""`: "", `1`: "", `null`: "", `"a\/b"`: "a/b", "\"\xff\"": "\ufffd"} {
		if got := methodText([]byte(text)); got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
	}
}

func BenchmarkValid(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"message":"` + strings.Repeat("x", 149) + `"}}`)
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			valid(text)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		for b.Loop() {
			json.Valid(text)
		}
	})
	b.Run("envelope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := parseEnvelope(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
