package gosdk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	driver "example.com/reattach/impl/client"
	"example.com/reattach/impl/gosdk"
)

// A wire is what lies between a client and its server: it keeps every request
// that left, and breaks what it is told to.
type wire struct {
	mu       sync.Mutex
	requests []sent
	marks    []string // bodies break right behind these, each once
	answers  func(*http.Request) *http.Response
	lose     func(*http.Request) bool // the server gets the request, the client no answer
	cuts     int
}

type sent struct{ method, body, cursor, attempt string }

func (w *wire) client() *http.Client { return &http.Client{Transport: w} }

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r = r.Clone(r.Context())
		r.Body, r.GetBody = io.NopCloser(bytes.NewReader(body)), nil
	}
	w.mu.Lock()
	w.requests = append(w.requests, sent{r.Method, string(body), r.Header.Get("Last-Event-ID"), r.Header.Get("Reattach-Attempt")})
	answers, lose := w.answers, w.lose
	w.mu.Unlock()
	if answers != nil {
		if response := answers(r); response != nil {
			response.Request, response.ProtoMajor, response.ProtoMinor = r, 1, 1
			return response, nil
		}
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if lose != nil && lose(r) {
		response.Body.Close()
		return nil, errCut
	}
	response.Body = &cutBody{ReadCloser: response.Body, wire: w}
	return response, nil
}

// cutBehind breaks the next body that holds the mark, right behind it.
func (w *wire) cutBehind(mark string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, mark)
}

func (w *wire) set(change func(*wire)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

// sent returns the requests of a method whose body holds the text.
func (w *wire) sent(method, text string) (found []sent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.requests {
		if s.method == method && strings.Contains(s.body, text) {
			found = append(found, s)
		}
	}
	return found
}

func (w *wire) cut() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cuts
}

var errCut = errors.New("the connection was cut by the test")

// A cutBody is a body that may break.
type cutBody struct {
	io.ReadCloser
	wire *wire
	text []byte // read so far
	rest []byte // read and not handed on
	err  error
}

func (b *cutBody) Read(p []byte) (int, error) {
	if len(b.rest) == 0 && b.err == nil {
		buffer := make([]byte, 4096)
		n, err := b.ReadCloser.Read(buffer)
		b.err = err
		b.take(buffer[:n])
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	if n > 0 {
		return n, nil
	}
	return 0, b.err
}

func (b *cutBody) take(read []byte) {
	before := len(b.text)
	b.text = append(b.text, read...)
	b.wire.mu.Lock()
	defer b.wire.mu.Unlock()
	for i, mark := range b.wire.marks {
		at := bytes.Index(b.text, []byte(mark))
		if end := at + len(mark); at >= 0 && end > before {
			b.wire.marks = append(b.wire.marks[:i:i], b.wire.marks[i+1:]...)
			b.wire.cuts++
			b.rest, b.err = read[:end-before], errCut
			b.ReadCloser.Close()
			return
		}
	}
	b.rest = read
}

// refuse answers with a status and no more.
func refuse(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// A workshop is a server of the SDK whose tool reports two steps and waits in
// between, and everything that a test wants to know of it.
type workshop struct {
	server *mcp.Server
	runs   *tally
	gate   chan struct{} // what a run waits for between its steps
}

func newWorkshop() *workshop {
	w := &workshop{runs: newTally(), gate: make(chan struct{}, 64)}
	w.server = newServer(nil, map[string]toolFunc{
		"echo": func(_ context.Context, _ *mcp.CallToolRequest, text string) (string, error) {
			w.runs.add(text)
			return "echo " + text, nil
		},
		"steps": func(ctx context.Context, r *mcp.CallToolRequest, text string) (string, error) {
			w.runs.add(text)
			for step := 1; step <= 2; step++ {
				r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(step), Message: fmt.Sprintf("%s step %d", text, step)})
				if step == 1 {
					select {
					case <-w.gate:
					case <-ctx.Done():
						return "", ctx.Err()
					}
				}
			}
			return "done " + text, nil
		},
	})
	return w
}

// A process is one run of an application: a transport and its session.
type process struct {
	t         *testing.T
	transport *gosdk.ClientTransport
	session   *mcp.ClientSession
	progress  *tally
}

// quick makes resumptions fast, for tests.
func quick(o driver.Options) driver.Options {
	o.BackoffBase, o.BackoffMax, o.MaxRetryHint = time.Millisecond, 10*time.Millisecond, 10*time.Millisecond
	return o
}

// begin begins a process, which must connect.
func begin(t *testing.T, ctx context.Context, tr *gosdk.ClientTransport) *process {
	t.Helper()
	p := &process{t: t, transport: tr, progress: newTally()}
	tr.Options = quick(tr.Options)
	p.session = connect(t, ctx, tr, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { p.progress.add(r.Params.Message) },
	})
	return p
}

// A result is what a call in the background comes to.
type result struct {
	text string
	err  error
}

// goCall calls a tool in the background.
func (p *process) goCall(ctx context.Context, tool, text string) <-chan result {
	done := make(chan result, 1)
	go func() {
		text, err := callTool(ctx, p.session, tool, text)
		done <- result{text, err}
	}()
	return done
}

// eventually waits for a condition.
func eventually(t *testing.T, ctx context.Context, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		if ctx.Err() != nil {
			t.Fatalf("%s: did not happen", what)
		}
		time.Sleep(time.Millisecond)
	}
}
