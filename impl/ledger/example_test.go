package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// One line puts a ledger in front of an application. A call that carries a key
// runs once, however often it is sent; and who asks for a key that never came
// may be sure that it never will.
func ExampleLedger_Wrap() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := ledger.New(ledger.OpenFile(filepath.Join(dir, "ledger")), ledger.Options{})
	if err != nil {
		panic(err)
	}
	defer l.Close()

	paid := 0
	app := func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "pay":
			paid++
			m.Stream.Answer("paid")
		}
	}
	handler, err := streamhttp.NewHandler(l.Wrap(app), streamhttp.Options{}) // the line
	if err != nil {
		panic(err)
	}
	defer handler.Close()
	server := httptest.NewServer(handler)
	defer server.Close()

	session := post(server.URL, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`).Get("Mcp-Session-Id")
	key := spec.Key{Ledger: l.Name(), Minted: uint64(time.Now().UnixMilli()), Nonce: "000102030405060708090a0b0c0d0e0f"}
	meta, _ := json.Marshal(map[string]string{spec.MetaKey: key.String()})
	for id := range 3 { // a network that sends everything three times
		post(server.URL, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"pay","params":{"_meta":%s}}`, id+1, meta))
	}
	fmt.Println("paid", paid)
	ran, _ := l.Query("", key) // as reattach/outcome does
	key.Nonce = "f" + key.Nonce[1:]
	never, _ := l.Query("", key)
	fmt.Println(ran.State, string(ran.Response), never.State)
	// Output:
	// paid 1
	// executed {"result":"paid"} not_executed
}

func post(url, session, body string) http.Header {
	r, _ := http.NewRequest(http.MethodPost, url, bytes.NewReader([]byte(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	var all bytes.Buffer
	all.ReadFrom(response.Body) // to its end: the call is answered
	return response.Header
}
