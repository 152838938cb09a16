package properties

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/session"
	"example.com/reattach/impl/streamhttp"
)

// Given a question in a call whose view ends again and again, before the
// question, while the client thinks, and behind its answer, when our client
// resumes each time, then it is asked once and answers once, and the handler
// has that answer (R16).
func TestWiredQuestionAcrossViews(t *testing.T) {
	for _, ends := range []string{"before", "meanwhile", "behind"} {
		t.Run(ends, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var thinking, resumed, answers atomic.Int64
				end := func(m *streamhttp.Message, when string) {
					if when == ends {
						synctest.Wait()
						if err := m.Stream.EndView(0); err != nil {
							t.Error(err)
						}
					}
				}
				b := newBubble(t, worker(func(ctx context.Context, m *streamhttp.Message) {
					end(m, "before")
					go func() {
						time.Sleep(time.Second)
						end(m, "meanwhile")
					}()
					result, err := m.Stream.Request(ctx, "roots/list", nil)
					end(m, "behind")
					m.Stream.Answer(map[string]string{"text": fmt.Sprint(string(result), err)})
				}), streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
				b.asked = func(r *http.Request) {
					switch {
					case r.Header.Get("Last-Event-ID") != "":
						resumed.Add(1)
					case r.Method == http.MethodPost:
						body, _ := io.ReadAll(r.Body)
						if strings.Contains(string(body), `"thought"`) {
							answers.Add(1)
						}
						r.Body = io.NopCloser(strings.NewReader(string(body)))
					}
				}
				c, _ := b.dial(streamhttp.DialOptions{
					OnRequest: func(context.Context, streamhttp.Incoming) (any, error) {
						thinking.Add(1)
						time.Sleep(10 * time.Second)
						return "thought", nil
					},
					Driver: client.Options{NoStandalone: true},
				})
				if text, err := workWithin(c, time.Minute); err != nil || text != `"thought"<nil>` {
					t.Errorf("%q, %v", text, err)
				}
				if thinking.Load() != 1 || answers.Load() != 1 || resumed.Load() == 0 {
					t.Errorf("asked %d times, answered %d times, resumed %d times", thinking.Load(), answers.Load(), resumed.Load())
				}
			})
		})
	}
}

// Given two sessions that are asked under the same id, when one of them
// answers, then only its own question is answered; the other waits for its own (R16).
func TestWiredQuestionsOfTwoSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 2)
		b := newBubble(t, worker(func(ctx context.Context, m *streamhttp.Message) {
			result, err := m.Stream.Request(ctx, "roots/list", nil)
			told <- fmt.Sprint(m.Session.ID(), " ", string(result), err)
		}), streamhttp.Options{Session: session.Options{Now: time.Now}}, plainLine)
		var ids, questions [2]string
		for i := range ids {
			r := b.request(t, http.MethodPost, "", initializeText)
			io.Copy(io.Discard, r.Body)
			ids[i] = r.Header.Get("Mcp-Session-Id")
			call := b.request(t, http.MethodPost, ids[i], `{"jsonrpc":"2.0","id":1,"method":"work"}`)
			var q struct{ ID json.RawMessage }
			if err := json.Unmarshal([]byte(strings.TrimPrefix(lastLine(t, call.Body, "roots/list"), "data: ")), &q); err != nil {
				t.Fatal(err)
			}
			questions[i] = string(q.ID)
		}
		if questions[0] != questions[1] {
			t.Fatalf("asked under %s and %s: the case needs one id", questions[0], questions[1])
		}
		for i := range ids {
			i = 1 - i
			b.request(t, http.MethodPost, ids[i], fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%d}`, questions[i], i))
			synctest.Wait()
			if got, want := <-told, fmt.Sprint(ids[i], " ", i, "<nil>"); got != want || len(told) != 0 {
				t.Errorf("told %s, want %s; %d more", got, want, len(told))
			}
		}
	})
}
