package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// scripted is a server that answers everything with what do writes, and a
// transport to it.
func scripted(t *testing.T, do http.HandlerFunc) *Transport {
	t.Helper()
	server := httptest.NewServer(do)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	transport, err := NewTransport(server.URL, TransportOptions{MaxEvent: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

var aSession = client.Session{ID: "S1", Meta: []byte(`{"version":"2025-11-25"}`)}

// respond writes a status, headers in pairs and a body.
func respond(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	ctype  = "Content-Type"
	answer = `{"jsonrpc":"2.0","id":5,"result":{}}`
)

// How the answers of servers, ours and others, are sorted.
func TestTransportSortsAnswers(t *testing.T) {
	refused := string(refusal(spec.ReasonCursorEvicted, "").body())
	for _, c := range []struct {
		name string
		do   http.HandlerFunc
		post client.Response // to a call; Kind and what else matters
		get  client.Response // to a resumption
		note client.Response // to a notification
	}{
		{"202", respond(202, ""), client.Response{Kind: client.ResponseTaken}, client.Response{Kind: client.ResponseTaken}, client.Response{Kind: client.ResponseTaken}},
		{"204", respond(204, ""), client.Response{Kind: client.ResponseComplete}, client.Response{Kind: client.ResponseComplete}, client.Response{Kind: client.ResponseTaken}},
		{"200 empty", respond(200, ""), broke, broke, client.Response{Kind: client.ResponseTaken}},
		{"200 a page", respond(200, "<html>", ctype, "text/html"), broke, broke, client.Response{Kind: client.ResponseTaken}},
		{"200 JSON", respond(200, answer, ctype, "application/json"), client.Response{Kind: client.ResponseOnce}, client.Response{Kind: client.ResponseOnce}, client.Response{Kind: client.ResponseTaken}},
		{"200 JSON of another call", respond(200, `{"jsonrpc":"2.0","id":6,"result":{}}`, ctype, "application/json"), broke, broke, client.Response{Kind: client.ResponseTaken}},
		{"200 a batch", respond(200, "["+answer+"]", ctype, "application/json"), broke, broke, client.Response{Kind: client.ResponseTaken}},
		{"200 JSON cut", respond(200, answer[:10], ctype, "application/json"), broke, broke, client.Response{Kind: client.ResponseTaken}},
		{"200 JSON too large", respond(200, answer+strings.Repeat(" ", 10_000), ctype, "application/json"), broke, broke, client.Response{Kind: client.ResponseTaken}},
		{"200 a stream", respond(200, "", ctype, "text/event-stream; charset=utf-8"), client.Response{Kind: client.ResponseStream}, client.Response{Kind: client.ResponseStream}, client.Response{Kind: client.ResponseStream}},
		{"redirect", respond(307, "", "Location", "http://192.0.2.1/"), is(307, ""), is(307, ""), is(307, "")},
		{"409 of ours", respond(409, refused, ctype, "application/json"), is(409, spec.ReasonCursorEvicted), is(409, spec.ReasonCursorEvicted), is(409, spec.ReasonCursorEvicted)},
		{"that reason with another status", respond(404, refused, ctype, "application/json"), is(404, ""), is(404, ""), is(404, "")},
		{"a page that looks like ours", respond(409, refused, ctype, "text/plain"), is(409, ""), is(409, ""), is(409, "")},
		{"an endless refusal", respond(409, string(refusal(spec.ReasonCursorEvicted, strings.Repeat("x", 1<<20)).body()), ctype, "application/json"), is(409, ""), is(409, ""), is(409, "")},
		{"404 plain", respond(404, "not here"), is(404, ""), is(404, ""), is(404, "")},
		{"405", respond(405, ""), is(405, ""), is(405, ""), is(405, "")},
		{"500", respond(500, ""), is(500, ""), is(500, ""), is(500, "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			transport := scripted(t, c.do)
			post, err := transport.Post(t.Context(), client.PostRequest{Session: aSession, Request: 5, Payload: []byte(`{}`)})
			same(t, "a call", post, err, c.post)
			get, err := transport.Get(t.Context(), client.GetRequest{Session: aSession, Request: 5, Cursor: "x"})
			same(t, "a resumption", get, err, c.get)
			note, err := transport.Post(t.Context(), client.PostRequest{Session: aSession, Payload: []byte(`{}`)})
			same(t, "a notification", note, err, c.note)
		})
	}
}

// broke stands for an answer that is none.
var broke = client.Response{Kind: 99}

func is(status int, reason spec.Reason) client.Response {
	return client.Response{Kind: client.ResponseRefused, Status: status, Reason: reason}
}

func same(t *testing.T, what string, got client.Response, err error, want client.Response) {
	t.Helper()
	if got.Events != nil {
		defer got.Events.Close()
	}
	if want.Kind == broke.Kind {
		if err == nil || errors.Is(err, client.ErrNotSent) {
			t.Errorf("%s: got kind %d, %v; want an error that says nothing about execution", what, got.Kind, err)
		}
		return
	}
	if err != nil || got.Kind != want.Kind || got.Reason != want.Reason || want.Status != 0 && got.Status != want.Status {
		t.Errorf("%s: got kind %d, status %d, reason %q, %v; want %d, %d, %q", what, got.Kind, got.Status, got.Reason, err, want.Kind, want.Status, want.Reason)
	}
}

// What the head of an answer says comes over as it stands: a session id or a
// position that is there twice is not there.
func TestTransportReadsHeads(t *testing.T) {
	for _, c := range []struct {
		headers           []string
		session, position string
		retryAfter        time.Duration
	}{
		{[]string{HeaderSessionID, "S1", HeaderPosition, "p", "Retry-After", "7"}, "S1", "p", 7 * time.Second},
		{[]string{HeaderSessionID, "S1", HeaderSessionID, "S1"}, "", "", 0},
		{[]string{HeaderSessionID, "with space"}, "", "", 0},
		{[]string{HeaderSessionID, strings.Repeat("x", 2000)}, "", "", 0},
		{[]string{HeaderPosition, "p", HeaderPosition, "q", "Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"}, "", "", 0},
		{[]string{"Retry-After", "-1"}, "", "", 0},
	} {
		got, err := scripted(t, respond(503, "", c.headers...)).Get(t.Context(), client.GetRequest{Session: aSession})
		if err != nil || got.SessionID != c.session || got.Position != c.position || got.RetryAfter != c.retryAfter {
			t.Errorf("%q: got %+v, %v", c.headers, got, err)
		}
	}
}

// TestCase49Redirect: session id and cursor stay home (R25), whatever status
// asks for it and wherever it leads.
func TestCase49Redirect(t *testing.T) {
	elsewhere := make(chan string, 10)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere <- r.Header.Get(HeaderSessionID) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		transport := scripted(t, respond(status, "", "Location", other.URL))
		for _, ask := range []func() (client.Response, error){
			func() (client.Response, error) {
				return transport.Get(t.Context(), client.GetRequest{Session: aSession, Cursor: "x"})
			},
			func() (client.Response, error) {
				return transport.Post(t.Context(), client.PostRequest{Session: aSession, Request: 5, Payload: []byte(`{}`)})
			},
		} {
			if got, err := ask(); err != nil || got.Kind != client.ResponseRefused || got.Status != status {
				t.Errorf("%d: got %+v, %v", status, got, err)
			}
		}
		if err := transport.Delete(t.Context(), aSession); err == nil {
			t.Errorf("%d to a DELETE: no error", status)
		}
	}
	if len(elsewhere) > 0 {
		t.Errorf("%d requests reached another origin, with session %q", len(elsewhere), <-elsewhere)
	}
}

// What a request carries: the protocol's headers, whatever the caller's say,
// and the caller's own beside them.
func TestTransportSendsHeaders(t *testing.T) {
	seen := make(chan *http.Request, 1)
	transport := scripted(t, func(w http.ResponseWriter, r *http.Request) { seen <- r; w.WriteHeader(202) })
	transport.opts.Headers = func(context.Context) (http.Header, error) {
		return http.Header{"Authorization": {"Bearer x"}, "mcp-session-id": {"forged"}, "Last-Event-Id": {"forged"},
			"Idempotency-Key": {"k"}, "x-idempotency-key": {"k"}}, nil
	}
	transport.opts.Notify = true
	check := func(what string, want map[string]string) {
		t.Helper()
		r := within(t, seen, "the request")
		for name, value := range want {
			if got := strings.Join(r.Header.Values(name), "|"); got != value {
				t.Errorf("%s: %s is %q, want %q", what, name, got, value)
			}
		}
	}
	_, _ = transport.Post(t.Context(), client.PostRequest{Session: aSession, Request: 5, Payload: []byte(`{}`), Key: "k"})
	check("a call", map[string]string{
		HeaderSessionID: "S1", HeaderProtocolVersion: "2025-11-25", HeaderLastEventID: "", "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Authorization": "Bearer x", HeaderNotify: "1", "Idempotency-Key": "", "X-Idempotency-Key": "", // R28
	})
	_, _ = transport.Get(t.Context(), client.GetRequest{Session: aSession, Cursor: "c"})
	check("a resumption", map[string]string{HeaderSessionID: "S1", HeaderLastEventID: "c", "Accept": "text/event-stream", "Content-Type": ""})
	_ = transport.Delete(t.Context(), aSession)
	check("a DELETE", map[string]string{HeaderSessionID: "S1", HeaderLastEventID: ""})
}

// Only what never left this process is said not to have been sent (R23).
func TestNotSent(t *testing.T) {
	call := client.PostRequest{Session: aSession, Request: 5, Payload: []byte(`{}`)}
	closed := httptest.NewServer(nil)
	closed.Close()
	transport, err := NewTransport(closed.URL, TransportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.Post(t.Context(), call); !errors.Is(err, client.ErrNotSent) {
		t.Errorf("nobody listens: %v", err)
	}
	transport.opts.Headers = func(context.Context) (http.Header, error) { return nil, errors.New("no credentials") }
	if _, err := transport.Post(t.Context(), call); !errors.Is(err, client.ErrNotSent) {
		t.Errorf("no credentials: %v", err)
	}
	if _, err := scripted(t, nil).Post(t.Context(), client.PostRequest{Session: client.Session{ID: "S1"}, Payload: []byte(`{}`)}); !errors.Is(err, client.ErrNotSent) {
		t.Errorf("no version in the record: %v", err)
	}
	dead := scripted(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if _, err := dead.Post(t.Context(), call); err == nil || errors.Is(err, client.ErrNotSent) {
		t.Errorf("cut before the head: %v", err)
	}
}

// The reader of a stream gives deliveries, positions and signs of life, and
// takes no control message for a delivery (R8, case 26).
func TestCase26PositionEvents(t *testing.T) {
	const position = "id: p\ndata: \n\n"
	transport := scripted(t, respond(200, ": comment\n"+position+"retry: 5\n\n"+
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/reattach/resumed\"}\n\n"+
		"id: q\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/reattach/resumed\"}\n\n"+
		"event: ping\ndata: x\n\n"+
		"id: a\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\n data: 1,\ndata: \"method\":\"m\"}\n\n"+
		"id: b\ndata: "+answer+"\n\nid: c\ndata: {\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{}}\n\n", ctype, mediaEventStream))
	for name, ask := range map[string]func() (client.Response, error){
		"a call": func() (client.Response, error) {
			return transport.Post(t.Context(), client.PostRequest{Session: aSession, Request: 5, Payload: []byte(`{}`)})
		},
		"its resumption": func() (client.Response, error) {
			return transport.Get(t.Context(), client.GetRequest{Session: aSession, Request: 5, Cursor: "x"})
		},
	} {
		resp, err := ask()
		if err != nil {
			t.Fatal(err)
		}
		checkPositionEvents(t, name, resp.Events)
	}
}

func checkPositionEvents(t *testing.T, name string, events client.EventReader) {
	t.Helper()
	defer events.Close()
	var got []string
	for {
		ev, err := events.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			got = append(got, err.Error())
			break
		}
		got = append(got, fmt.Sprintf("%s/%v/%s/%v/%v", ev.ID, ev.HasID, ev.Payload, ev.Answer, ev.Retry))
	}
	want := []string{
		"/false//false/0s", "p/true//false/0s", "/false//false/5ms", "/false//false/0s", "q/true//false/0s", "/false//false/0s",
		"a/true/{\"jsonrpc\":\"2.0\",\n\"method\":\"m\"}/false/0s",
		"b/true/" + answer + "/true/0s", "c/true/{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":{}}/false/0s",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\ngot  %q\nwant %q", name, got, want)
	}
}

// An end is clean or it is not (R24), and nothing is taken on credit: neither
// half an event, nor one that is no message, nor one above the bound.
func TestEndsOfStreams(t *testing.T) {
	whole := "id: a\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n\n"
	abort := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(ctype, mediaEventStream)
			_, _ = io.WriteString(w, body)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}
	for _, c := range []struct {
		name   string
		do     http.HandlerFunc
		events int
		want   error
	}{
		{"clean", respond(200, whole, ctype, mediaEventStream), 1, io.EOF},
		{"clean, behind a comment", respond(200, whole+": x\n", ctype, mediaEventStream), 2, io.EOF},
		{"inside an event", respond(200, whole+"id: b\ndata: {}", ctype, mediaEventStream), 1, sse.ErrTruncated},
		{"before the blank line", respond(200, whole+"id: b\ndata: {}\n", ctype, mediaEventStream), 1, sse.ErrTruncated},
		{"broken between events", abort(whole), 1, sse.ErrTruncated},
		{"broken inside an event", abort(whole + "id: b\n"), 1, sse.ErrTruncated},
		{"no message", respond(200, whole+"id: b\ndata: {}\n\n", ctype, mediaEventStream), 1, ErrMessage},
		{"too large", respond(200, whole+"id: b\ndata: \""+strings.Repeat("x", 10_000)+"\"\n\n", ctype, mediaEventStream), 1, sse.ErrEventTooLarge},
	} {
		resp, err := scripted(t, c.do).Get(t.Context(), client.GetRequest{Session: aSession, Cursor: "x"})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		n := 0
		for ; err == nil; n++ {
			_, err = resp.Events.Next()
		}
		if n-1 != c.events || !errors.Is(err, c.want) {
			t.Errorf("%s: %d events, then %v; want %d, %v", c.name, n-1, err, c.events, c.want)
		}
		resp.Events.Close()
	}
}

// A server that announced keep-alives and falls silent is noticed after three
// intervals of waiting; one that announced none is waited for, and so is one
// whose client does not read (R15).
func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newPipeNet()
		keepAlive := make(chan string, 1)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(ctype, mediaEventStream)
			if announced := <-keepAlive; announced != "" {
				w.Header().Set(HeaderKeepAlive, announced)
			}
			_, _ = io.WriteString(w, ": one\n: two\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})}
		go server.Serve(network)
		roundTripper := &http.Transport{DialContext: network.Dial}
		defer func() { roundTripper.CloseIdleConnections(); server.Close() }()
		transport, err := NewTransport("http://pipe/", TransportOptions{HTTP: roundTripper})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			announced string
			want      time.Duration // 0 = never, which is an hour
		}{{"15", 45 * time.Second}, {"1", 3 * time.Second}, {"", 0}, {"0", 0}, {"-1", 0}, {"soon", 0}, {"65535", 30 * time.Minute}} {
			keepAlive <- c.announced
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			resp, err := transport.Get(ctx, client.GetRequest{Session: aSession})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := resp.Events.Next(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute) // its own time, not the server's
			if _, err := resp.Events.Next(); err != nil {
				t.Fatalf("keep-alive %q: %v while nobody waited", c.announced, err)
			}
			start := time.Now()
			_, err = resp.Events.Next()
			took := time.Since(start)
			if c.want != 0 && (took != c.want || !errors.Is(err, ErrSilent)) {
				t.Errorf("keep-alive %q: %v after %v, want %v", c.announced, err, took, c.want)
			}
			if c.want == 0 && (took < 49*time.Minute || errors.Is(err, ErrSilent)) {
				t.Errorf("keep-alive %q: %v after %v", c.announced, err, took)
			}
			resp.Events.Close()
			cancel()
		}
	})
}
