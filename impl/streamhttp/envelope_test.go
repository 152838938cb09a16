package streamhttp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestEnvelopeTakesApartWhatIsJSONRPC(t *testing.T) {
	for text, want := range map[string]envelope{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":[1,"}",{"b":"\""}]}}`: {kind: Request, id: json.RawMessage(`1`), method: "tools/call", params: json.RawMessage(`{"a":[1,"}",{"b":"\""}]}`)},
		` { "method" : "ping" , "id" : "a b" , "jsonrpc" : "2.0" } `:                       {kind: Request, id: json.RawMessage(`"a b"`), method: "ping"},
		`{"jsonrpc":"2.0","id":-1.5e3,"method":"x"}`:                                       {kind: Request, id: json.RawMessage(`-1.5e3`), method: "x"},
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`:                           {kind: Notification, method: "notifications/initialized"},
		`{"jsonrpc":"2.0","\u006dethod":"n","extra":{"method":"other"}}`:                   {kind: Notification, method: "n"},
		`{"jsonrpc":"2.0","id":"r1","result":{}}`:                                          {kind: Response, id: json.RawMessage(`"r1"`), result: json.RawMessage(`{}`)},
		`{"jsonrpc":"2.0","id":7,"error":{"code":-1}}`:                                     {kind: Response, id: json.RawMessage(`7`), fault: json.RawMessage(`{"code":-1}`)},
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`:                              {kind: Response, fault: json.RawMessage(`{"code":-32700}`)},
	} {
		got, err := parseEnvelope([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.kind != want.kind || got.method != want.method || string(got.id) != string(want.id) ||
			string(got.params) != string(want.params) || string(got.result) != string(want.result) || string(got.fault) != string(want.fault) {
			t.Errorf("%s:\n got %+v\nwant %+v", text, got, want)
		}
	}
}

func TestEnvelopeRefusesWhatIsNot(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                  ``,
		"space":                  "  \n",
		"half":                   `{"jsonrpc":"2.0"`,
		"two":                    `{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`,
		"not an object":          `"jsonrpc"`,
		"array":                  `[{"jsonrpc":"2.0","method":"a"}]`,
		"no version":             `{"method":"a"}`,
		"other version":          `{"jsonrpc":"1.0","method":"a"}`,
		"key in another case":    `{"jsonrpc":"2.0","Method":"a"}`,
		"key twice":              `{"jsonrpc":"2.0","method":"a","method":"b"}`,
		"key twice, escaped":     `{"jsonrpc":"2.0","method":"a","\u006dethod":"b"}`,
		"id null":                `{"jsonrpc":"2.0","id":null,"method":"a"}`,
		"id object":              `{"jsonrpc":"2.0","id":{},"method":"a"}`,
		"id bool":                `{"jsonrpc":"2.0","id":true,"method":"a"}`,
		"id long":                `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", MaxIDLen) + `","method":"a"}`,
		"method number":          `{"jsonrpc":"2.0","method":1}`,
		"method empty":           `{"jsonrpc":"2.0","method":""}`,
		"method and result":      `{"jsonrpc":"2.0","id":1,"method":"a","result":1}`,
		"result and error":       `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`,
		"result without id":      `{"jsonrpc":"2.0","result":1}`,
		"error not an object":    `{"jsonrpc":"2.0","id":1,"error":"x"}`,
		"neither":                `{"jsonrpc":"2.0","id":1}`,
		"too deep for a decoder": strings.Repeat("[", 20000),
	} {
		if e, err := parseEnvelope([]byte(text)); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: got %+v, %v; want ErrMessage", name, e, err)
		}
	}
}

// FuzzEnvelope: whatever a peer sends, the scanner neither panics nor leaves
// the text, and it agrees with encoding/json about every value that it cut out.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[1,2,{"y":"\\\""}]}}`))
	f.Add([]byte(`{"":"\\","jsonrpc":"2.0","method":"\ud800","id":1e400}`))
	f.Add([]byte(`[[],{},"[",1]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parseEnvelope(text)
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Fatalf("%q: %v is not ErrMessage", text, err)
			}
			return
		}
		var plain map[string]json.RawMessage
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatalf("%q: accepted, but %v", text, err)
		}
		for key, part := range map[string]json.RawMessage{"params": e.params, "result": e.result, "error": e.fault} {
			if string(part) != string(plain[key]) {
				t.Fatalf("%q: %s is %q, want %q", text, key, part, plain[key])
			}
		}
	})
}
