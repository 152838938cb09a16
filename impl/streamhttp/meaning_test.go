package streamhttp

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// R23: of all that a ledger may say of a key, a seal proves that the call did
// not run, a lost response that it did, and nothing else proves anything.
func TestWhatARefusalOfALedgerMeans(t *testing.T) {
	means := map[spec.Reason]client.Meaning{
		spec.ReasonKeySealed: client.MeansNotRun, spec.ReasonKeyFuture: client.MeansNotRun, spec.ReasonLedgerFull: client.MeansNotRun,
		spec.ReasonResponseLost: client.MeansLost,
		spec.ReasonKeyReused:    client.MeansUnknown, spec.ReasonKeyUnknown: client.MeansUnknown, spec.ReasonKeyMalformed: client.MeansUnknown,
		spec.ReasonLedgerUnavailable: client.MeansUnknown, "a reason of tomorrow": client.MeansUnknown,
	}
	for reason, want := range means {
		fault := fmt.Appendf(nil, `{"code":%d,"message":"no","data":{"reason":%q}}`, spec.CodeLedger, reason)
		if got, why := meaningOf(envelope{fault: fault}); got != want || why != reason {
			t.Errorf("%s means %v, %s; want %v", reason, got, why, want)
		}
		// Another server's error is an answer, whatever it calls its reasons.
		fault = fmt.Appendf(nil, `{"code":-32001,"message":"no","data":{"reason":%q}}`, reason)
		if got, why := meaningOf(envelope{fault: fault}); got != client.MeansRan || why != "" {
			t.Errorf("%s in an error of the application's means %v, %s", reason, got, why)
		}
	}
}

// R23: a refusal with status 404 that says a key is sealed is about that key.
func TestASealIsOfOneKey(t *testing.T) {
	for says, want := range map[string]bool{"mine": true, "another": false, "": false} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"sealed","data":{"reason":"key_sealed","key":%q}}}`, spec.CodeLedger, says)
		transport := scripted(t, respond(404, body, ctype, "application/json"))
		for key, of := range map[string]bool{"mine": want, "": false} {
			got, err := transport.Post(t.Context(), client.PostRequest{Session: aSession, Request: 5, Key: key, Payload: []byte(`{}`)})
			if err != nil || got.Status != 404 || got.Sealed != of {
				t.Errorf("key %q, sealed %q: %+v, %v; want sealed %v", key, says, got, err, of)
			}
		}
	}
}

// R28: a key travels in params._meta under our name, with everything else as it
// was, and never twice.
func TestAKeyIsInTheMeta(t *testing.T) {
	for params, want := range map[string]string{
		``:                                    `{"_meta":{"` + spec.MetaKey + `":"k\"1"}}`,
		`null`:                                `{"_meta":{"` + spec.MetaKey + `":"k\"1"}}`,
		`{"a":[1, 2],"b":"x"}`:                `{"_meta":{"` + spec.MetaKey + `":"k\"1"},"a":[1, 2],"b":"x"}`,
		`{"_meta":{"progressToken":7},"a":1}`: `{"_meta":{"` + spec.MetaKey + `":"k\"1","progressToken":7},"a":1}`,
		`{"_meta":{"` + spec.MetaKey + `":"old"}}`: "",
		`{"_meta":7}`: "", `[1]`: "", `{`: "",
	} {
		got, ok := WithKey([]byte(params), `k"1`)
		if ok != (want != "") || string(got) != want {
			t.Errorf("%s became %s, %v; want %s", params, got, ok, want)
		}
	}
}

// R10: a request for a view says which attempt of its client it is, if it is
// numbered; a POST is none.
func TestAttemptsAreSent(t *testing.T) {
	var sent []string
	transport := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Method+" "+r.Header.Get(HeaderAttempt))
		w.WriteHeader(http.StatusNoContent)
	})
	for _, get := range []client.GetRequest{
		{Session: aSession, Request: 5, Cursor: "x", Attempt: spec.Attempt{Generation: 3, Counter: 4}},
		{Session: aSession, Attempt: spec.Attempt{Generation: 3, Counter: 5}}, {Session: aSession, Request: 5, Cursor: "x"},
	} {
		if _, err := transport.Get(t.Context(), get); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := transport.Post(t.Context(), client.PostRequest{Session: aSession, Request: 5, Payload: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"GET 3.4", "GET 3.5", "GET ", "POST "}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}
