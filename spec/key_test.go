package spec

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

const someNonce = "0123456789abcdef0123456789abcdef"

func TestAKeyIsReadAsItIsWritten(t *testing.T) {
	for _, minted := range []uint64{0, 1, 1_764_547_200_000, math.MaxUint64} {
		k := Key{Ledger: "00ff00ff00ff00ff", Minted: minted, Nonce: someNonce}
		text := k.String()
		if len(text) > MaxKeyLen {
			t.Errorf("%s has %d bytes, bound %d", text, len(text), MaxKeyLen)
		}
		got, err := ParseKey(text)
		if err != nil || got != k {
			t.Errorf("ParseKey(%q) = %v, %v", text, got, err)
		}
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	const name = "00ff00ff00ff00ff"
	for _, text := range []string{
		"", ".", "..", name, name + ".1", name + ".1.", "." + "1." + someNonce,
		name + ".+1." + someNonce, name + ".01." + someNonce, name + ".-1." + someNonce, name + ".." + someNonce,
		name + ".1_0." + someNonce, name + ".18446744073709551616." + someNonce,
		strings.ToUpper(name) + ".1." + someNonce, name[1:] + ".1." + someNonce, name + "0.1." + someNonce,
		name + ".1." + someNonce + " ", " " + name + ".1." + someNonce, name + ".1." + someNonce + ".",
		name + ".1." + someNonce[1:], name + ".1." + strings.ToUpper(someNonce), name + ".1." + "g" + someNonce[1:],
		strings.Repeat("0", MaxKeyLen+1),
	} {
		if k, err := ParseKey(text); !errors.Is(err, ErrKey) || k != (Key{}) {
			t.Errorf("ParseKey(%q) = %v, %v; want it refused", text, k, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add("00ff00ff00ff00ff.1764547200000." + someNonce)
	f.Add("00ff00ff00ff00ff.0." + someNonce)
	f.Add("00ff00ff00ff00ff.01." + someNonce)
	f.Fuzz(func(t *testing.T, text string) {
		k, err := ParseKey(text)
		if err != nil {
			if !errors.Is(err, ErrKey) {
				t.Fatalf("an untyped refusal of %q: %v", text, err)
			}
			return
		}
		if !k.Valid() || k.String() != text || len(text) > MaxKeyLen {
			t.Fatalf("%q was read as %+v, which writes %q", text, k, k.String())
		}
	})
}

// The same arguments, however another program wrote them down, are the same
// call; and other arguments are another.
func TestADigestTellsArgumentsApart(t *testing.T) {
	alike := []string{
		`{"name":"count","arguments":{"a":1,"b":[true,null,"x"]}}`,
		` { "arguments" : {"b":[ true,null,"\u0078" ], "a":1 }, "name":"count" } `,
		`{"name":"count","_meta":{"reattach/key":"k","progressToken":7},"arguments":{"a":1,"b":[true,null,"x"]}}`,
	}
	for _, text := range alike[1:] {
		if DigestCall("tools/call", json.RawMessage(text)) != DigestCall("tools/call", json.RawMessage(alike[0])) {
			t.Errorf("another digest for %s", text)
		}
	}
	for _, text := range []string{``, `null`, `{"_meta":{}}`} {
		if DigestCall("m", json.RawMessage(text)) != DigestCall("m", json.RawMessage(`{}`)) {
			t.Errorf("%q is not the same as no params", text)
		}
	}
	seen := map[string]string{}
	for _, text := range []string{
		alike[0], `{}`, `[]`, `{"a":1}`, `{"a":1.0}`, `{"a":"1"}`, `{"a":{"_meta":1}}`, `{"a":{}}`, `{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[12]}`,
		`{"a":1,"a":2}`, `{"a":2,"a":1}`, `{"a":2}`, `{"a":"\ud800"}`, `{"a":"\ud801"}`, `{"a":"\ufffd"}`, `{"a":"b\",\"c\":\"d"}`, `{"a":"b","c":"d"}`,
		`{`, `{"a":1`, `{"a":null}`, `0`, `"x"`, `{"a":"\n"}`, `{"a":"n"}`,
	} {
		for _, method := range []string{"m", "mm"} {
			d := DigestCall(method, json.RawMessage(text))
			if other, taken := seen[d]; taken {
				t.Errorf("%s %s and %s have one digest", method, text, other)
			}
			seen[d] = method + " " + text
		}
	}
}

// The form of the digest is durable on both sides: it may not change.
func TestTheDigestIsSHA256OfTheCanonicalForm(t *testing.T) {
	const want = "tools/call\x00" + `{"arguments":{"n":1.50,"t":"\u000a\""},"name":"count"}`
	text := string(append([]byte("tools/call\x00"), appendCanonical(nil, []byte(`{"name":"count","_meta":1,"arguments":{"t":"\n\"","n":1.50}}`), "_meta")...))
	if text != want {
		t.Errorf("canonical form\n got %q\nwant %q", text, want)
	}
	if d := DigestCall("m", nil); len(d) != 64 || strings.ToLower(d) != d {
		t.Errorf("a digest %q", d)
	}
}

func FuzzDigestCall(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"\ud83d\ude00"}],"_meta":{}}`, `null`, `[`, `"\ud800"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := DigestCall("m", json.RawMessage(text))
		if !json.Valid([]byte(text)) {
			return
		}
		canonical := appendCanonical(nil, []byte(text), "_meta")
		if !json.Valid(canonical) {
			t.Fatalf("%q has the canonical form %q, which is not JSON", text, canonical)
		}
		if again := DigestCall("m", canonical); again != d {
			t.Fatalf("%q and its canonical form %q differ", text, canonical)
		}
	})
}

// Three reasons prove that a key did not run; a ledger that cannot say so
// proves nothing (R23).
func TestReasonsThatProveThatAKeyDidNotRun(t *testing.T) {
	for r, want := range map[Reason]bool{
		ReasonKeySealed: true, ReasonKeyFuture: true, ReasonLedgerFull: true,
		ReasonKeyReused: false, ReasonKeyUnknown: false, ReasonKeyMalformed: false, ReasonLedgerUnavailable: false, ReasonResponseLost: false, ReasonSessionUnknown: false,
	} {
		if r.KnownNotExecuted() != want {
			t.Errorf("%s: known as not executed is %v", string(r), !want)
		}
	}
}
