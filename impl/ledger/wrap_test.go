package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A bench is a server with a ledger in front of one tool, which waits, and a
// session of it.
type bench struct {
	t       *testing.T
	url     string
	session string
	ledger  *ledger.Ledger
	handler *streamhttp.Handler
	works   chan context.Context // of each call that began
	goOn    chan struct{}
	opened  string // the answer to initialize
}

func newBench(t *testing.T, o ledger.Options) *bench {
	t.Helper()
	l, err := ledger.New(ledger.NewMemoryStore(), o)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, ledger: l, works: make(chan context.Context, 4), goOn: make(chan struct{})}
	b.handler, err = streamhttp.NewHandler(l.Wrap(func(ctx context.Context, m *streamhttp.Message) {
		switch {
		case m.Method == "initialize":
			_, _ = m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": map[string]any{"experimental": map[string]int{"other": 7}}})
		case m.Method == "panic":
			panic("of the application")
		case m.Kind == streamhttp.Request:
			b.works <- ctx
			select {
			case <-b.goOn:
				_, _ = m.Stream.Answer("done")
			case <-ctx.Done():
			}
		}
	}), streamhttp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.handler)
	b.url = server.URL
	t.Cleanup(func() {
		b.handler.Close()
		server.CloseClientConnections()
		server.Close()
	})
	header, text := b.send(http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	b.session, b.opened = header.Get("Mcp-Session-Id"), text
	return b
}

func (b *bench) send(method, body string) (http.Header, string) {
	r, _ := http.NewRequestWithContext(b.t.Context(), method, b.url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if b.session != "" {
		r.Header.Set("Mcp-Session-Id", b.session)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err.Error()
	}
	defer response.Body.Close()
	var all bytes.Buffer
	_, _ = all.ReadFrom(response.Body)
	return response.Header, all.String()
}

func (b *bench) key(n int) spec.Key {
	return spec.Key{Ledger: b.ledger.Name(), Minted: uint64(time.Now().UnixMilli()), Nonce: fmt.Sprintf("%032x", n)}
}

// call sends a call with something in the place of its key.
func (b *bench) call(id int, method string, key any) string {
	meta, _ := json.Marshal(map[string]any{spec.MetaKey: key})
	_, text := b.send(http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":%s}}`, id, method, meta))
	return text
}

func (b *bench) await(k spec.Key, want spec.KeyState) spec.OutcomeResult {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		got, err := b.ledger.Query("", k)
		if err == nil && got.State == want {
			return got
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("it is %+v, %v; want %s", got, err, want)
		}
	}
}

func TestTheAnswerToInitializeNamesTheLedger(t *testing.T) {
	b := newBench(t, ledger.Options{})
	var a struct {
		Result struct {
			Version      string `json:"protocolVersion"`
			Capabilities struct {
				Experimental struct {
					Other    int
					Reattach spec.LedgerCapability
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(b.opened), &a); err != nil {
		t.Fatal(err)
	}
	if e := a.Result.Capabilities.Experimental; e.Reattach.Ledger != b.ledger.Name() || e.Other != 7 || a.Result.Version != "2025-11-25" {
		t.Errorf("initialize is answered with %s", b.opened)
	}
	if refusal := `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`; string(b.ledger.Introduce([]byte(refusal))) == "" || strings.Contains(string(b.ledger.Introduce([]byte(refusal))), "ledger") {
		t.Error("a refusal names the ledger")
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	b := newBench(t, ledger.Options{})
	for _, bad := range []any{"", "x", 7, map[string]int{}} {
		if text := b.call(1, "work", bad); !strings.Contains(text, string(spec.ReasonKeyMalformed)) {
			t.Errorf("the key %v is answered with %s", bad, text)
		}
	}
	if len(b.works) != 0 {
		t.Error("it ran")
	}
}

// The end of a session never cancels work that the ledger answers for (R22).
func TestWorkOutlivesItsSession(t *testing.T) {
	b := newBench(t, ledger.Options{})
	k := b.key(1)
	go b.call(1, "work", k.String())
	work := <-b.works
	b.send(http.MethodDelete, "")
	time.Sleep(20 * time.Millisecond)
	if work.Err() != nil {
		t.Fatalf("the work was cancelled: %v", context.Cause(work))
	}
	close(b.goOn)
	if got := b.await(k, spec.KeyExecuted); string(got.Response) != `{"result":"done"}` {
		t.Errorf("%s", got.Response)
	}
}

// Its client may cancel it, and the call counts as executed: it ran.
func TestWorkIsCancelledByItsClient(t *testing.T) {
	b := newBench(t, ledger.Options{})
	k := b.key(1)
	go b.call(1, "work", k.String())
	work := <-b.works
	b.send(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	select {
	case <-work.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
	if context.Cause(work) != streamhttp.ErrCancelled {
		t.Error(context.Cause(work))
	}
	if got := b.await(k, spec.KeyExecuted); !strings.Contains(string(got.Response), "cancelled") {
		t.Errorf("%s", got.Response)
	}
}

// Work that nobody asks for ends, and says why.
func TestWorkThatNobodyAsksForEnds(t *testing.T) {
	b := newBench(t, ledger.Options{Orphan: 10 * time.Millisecond})
	k := b.key(1)
	go b.call(1, "work", k.String())
	work := <-b.works
	b.send(http.MethodDelete, "")
	select {
	case <-work.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
	if context.Cause(work) != ledger.ErrOrphan {
		t.Error(context.Cause(work))
	}
	b.await(k, spec.KeyExecuted)
}

// A panic of the application is an outcome: it ran, and gave no answer.
func TestAPanicIsAnOutcome(t *testing.T) {
	b := newBench(t, ledger.Options{})
	k := b.key(1)
	for id := 1; id < 3; id++ {
		if text := b.call(id, "panic", k.String()); !strings.Contains(text, "gave no answer") {
			t.Errorf("answered with %s", text)
		}
	}
	b.await(k, spec.KeyExecuted)
}
