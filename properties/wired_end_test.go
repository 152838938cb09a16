package properties

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// How a server ends what is open: views by their time, everything by a drain.
// Our client and raw requests, over an in-memory network, in virtual time.

func plainLine(near, far net.Conn) (net.Conn, net.Conn) { return near, far }

// worker serves calls of "work", and opens sessions.
func worker(work func(ctx context.Context, m *streamhttp.Message)) streamhttp.App {
	return func(ctx context.Context, m *streamhttp.Message) {
		switch m.Method {
		case "initialize":
			m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
		case "work":
			work(ctx, m)
		}
	}
}

// Given a call of 25 minutes without output, when our client waits for it, then
// its view is ended cleanly every ten minutes and it comes back, in each
// revision; a stranger's view of a revision whose clients may take an end for
// the answer is left alone (R9b).
func TestWiredViewsHaveTheirTime(t *testing.T) {
	for _, version := range []string{streamhttp.Version20251125, streamhttp.Version20250618} {
		synctest.Test(t, func(t *testing.T) {
			var resumed atomic.Int64
			b := newBubble(t, worker(quietly), streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
			b.asked = func(r *http.Request) {
				if r.Method == http.MethodGet {
					resumed.Add(1)
				}
			}
			c, log := b.dial(streamhttp.DialOptions{ProtocolVersion: version, Driver: client.Options{NoStandalone: true}})
			if text, err := workWithin(c, time.Hour); err != nil || text != "done" || resumed.Load() != 2 {
				t.Errorf("%s: %q, %v, after %d resumptions", version, text, err, resumed.Load())
			}
			same(t, version, log.all(), []string{"done"})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, worker(quietly), streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
		id := b.raw(t, "", strings.Replace(initializeText, streamhttp.Version20251125, streamhttp.Version20250618, 1)).Header.Get("Mcp-Session-Id")
		body, err := io.ReadAll(b.raw(t, id, `{"jsonrpc":"2.0","id":1,"method":"work"}`).Body)
		if err != nil || !strings.Contains(string(body), `"done"`) {
			t.Errorf("a stranger's view ended with %v, without the answer: %.200q", err, body)
		}
	})
}

// quietly answers after 25 minutes without output.
func quietly(ctx context.Context, m *streamhttp.Message) {
	select {
	case <-time.After(25 * time.Minute):
	case <-ctx.Done():
	}
	m.Stream.Answer(map[string]string{"text": "done"})
}

// raw posts a message as a client of revision 2025-06-18 that nobody knows.
func (b *bubble) raw(t *testing.T, session, body string) *http.Response {
	t.Helper()
	return b.request(t, http.MethodPost, session, body, "Mcp-Protocol-Version", streamhttp.Version20250618)
}

// Given a call that ends within the grace period, when the server shuts down,
// then its answer is delivered to the view that waits; one that does not end
// holds nobody: its view ends cleanly with retry before the period does, and the
// server's own question in it has an unknown outcome (R12, R16).
func TestWiredShutdown(t *testing.T) {
	for _, c := range []struct {
		name string
		asks bool
	}{{"a call that ends", false}, {"a call that asks its client and waits for ever", true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				running, asked := make(chan struct{}), make(chan error, 1)
				b := newBubble(t, worker(func(ctx context.Context, m *streamhttp.Message) {
					m.Stream.Emit("notifications/said", map[string]string{"text": "begun"})
					close(running)
					if c.asks {
						_, err := m.Stream.Request(ctx, "roots/list", nil)
						asked <- err
						return
					}
					time.Sleep(5 * time.Second)
					m.Stream.Answer(map[string]string{"text": "done"})
				}), streamhttp.Options{GracePeriod: 20 * time.Second, Session: session.Options{Now: time.Now}}, plainLine)
				id := b.raw(t, "", strings.Replace(initializeText, streamhttp.Version20251125, streamhttp.Version20250618, 1)).Header.Get("Mcp-Session-Id")
				view := b.raw(t, id, `{"jsonrpc":"2.0","id":1,"method":"work"}`)
				<-running
				began := time.Now()
				over := make(chan error, 1)
				go func() { over <- b.handler.Shutdown(context.Background()) }()
				lines, ended := bufio.NewScanner(view.Body), false
				retry, answered := false, false
				for lines.Scan() {
					retry = retry || strings.HasPrefix(lines.Text(), "retry:")
					answered = answered || strings.Contains(lines.Text(), `"done"`)
				}
				ended = lines.Err() == nil
				took := time.Since(began)
				err := <-over
				if !ended || answered == c.asks || retry != c.asks {
					t.Errorf("the view ended after %v: cleanly %v, answered %v, retry %v", took, ended, answered, retry)
				}
				if !c.asks && (err != nil || took > 6*time.Second) {
					t.Errorf("%v, after %v", err, took)
				}
				if c.asks {
					if !errors.Is(err, streamhttp.ErrStillRunning) || took >= 20*time.Second || time.Since(began) > 20*time.Second {
						t.Errorf("the view ended after %v, all after %v: %v", took, time.Since(began), err)
					}
					if err := <-asked; !errors.Is(err, streamhttp.ErrOutcomeUnknown) {
						t.Errorf("the server's own question: %v", err)
					}
				}
			})
		})
	}
}

// Given a call whose handler waits for an answer of its client, when the client
// ends the session, then the handler is told that the outcome is unknown (R16).
func TestWiredQuestionOfASessionThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, running := make(chan error, 1), make(chan struct{})
		b := newBubble(t, worker(func(ctx context.Context, m *streamhttp.Message) {
			close(running)
			_, err := m.Stream.Request(ctx, "roots/list", nil)
			asked <- err
		}), streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
		silent := func(ctx context.Context, in streamhttp.Incoming) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
		c, _ := b.dial(streamhttp.DialOptions{OnRequest: silent, Driver: client.Options{NoStandalone: true}})
		told := make(chan error, 1)
		go func() { _, err := workWithin(c, time.Hour); told <- err }()
		<-running
		if err := c.Terminate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-asked; !errors.Is(err, streamhttp.ErrOutcomeUnknown) {
			t.Errorf("the handler was told %v", err)
		}
		var unknown *client.UnknownError
		if err := <-told; !errors.As(err, &unknown) || !errors.Is(err, spec.ReasonSessionTerminated) && unknown.Reason == "" {
			t.Errorf("the caller was told %v", err)
		}
	})
}

// Given a question that the server asks on the standalone stream, when its
// session expires because nobody comes, then the outcome is unknown (R16); an
// answer that comes in time, and only the first one, is the answer.
func TestWiredQuestionOfASessionThatExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *streamhttp.Session
		b := newBubble(t, func(ctx context.Context, m *streamhttp.Message) {
			if m.Method == "initialize" {
				s = m.Session
				m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
			}
		}, streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
		r := b.request(t, http.MethodPost, "", initializeText)
		io.Copy(io.Discard, r.Body)
		id := r.Header.Get("Mcp-Session-Id")
		type told struct {
			result string
			err    error
		}
		ask := func() <-chan told {
			c := make(chan told, 1)
			go func() {
				result, err := s.Standalone().Request(context.Background(), "roots/list", nil)
				c <- told{string(result), err}
			}()
			return c
		}
		first := ask()
		view := b.request(t, http.MethodGet, id, "")
		question := lastLine(t, view.Body, "roots/list")
		var q struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(question, "data: ")), &q); err != nil {
			t.Fatal(err)
		}
		for n := range 3 { // the answer, and two that come too late
			r := b.request(t, http.MethodPost, id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"n":%d}}`, q.ID, n))
			if r.StatusCode != http.StatusAccepted {
				t.Errorf("answer %d: %s", n, r.Status)
			}
			synctest.Wait()
		}
		if got := <-first; got.err != nil || got.result != `{"n":0}` {
			t.Errorf("answered %q, %v", got.result, got.err)
		}
		view.Body.Close()
		second := ask()
		began := time.Now()
		if got := <-second; !errors.Is(got.err, streamhttp.ErrOutcomeUnknown) || time.Since(began) < 29*time.Minute || time.Since(began) > 31*time.Minute {
			t.Errorf("after %v: %q, %v", time.Since(began), got.result, got.err)
		}
	})
}

func lastLine(t *testing.T, body io.Reader, mark string) string {
	t.Helper()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), mark) {
			return lines.Text()
		}
	}
	t.Fatalf("no line with %q: %v", mark, lines.Err())
	return ""
}
