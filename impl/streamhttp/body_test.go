package streamhttp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Given a client that announces a body and sends half of it, then after the
// body's budget it is told so and its connection is closed; one whose body has
// too many bytes is refused before they are read, and may send on, unread, for
// what is left of the budget. A body that comes in two
// halves, but in time, is a message like any other.
func TestSlowAndLongBodiesAreCut(t *testing.T) {
	body := request(1, "count", `{}`)
	for name, test := range map[string]struct {
		budget  time.Duration
		length  int // that is announced
		rest    bool
		status  int
		closes  bool
		message string
	}{
		"half of it":  {50 * time.Millisecond, len(body), false, http.StatusRequestTimeout, true, "did not arrive"},
		"in time":     {time.Minute, len(body), true, http.StatusOK, false, ""},
		"a long body": {time.Second, 5 << 10, false, http.StatusRequestEntityTooLarge, true, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, bench{}.app, Options{ReadBudget: test.budget, MessageBytes: 4 << 10})
			r.open()
			u, err := url.Parse(r.url)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := net.Dial("tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%s: %s\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s",
				u.RequestURI(), u.Host, HeaderSessionID, r.session, "Mcp-Protocol-Version", Version20251125, test.length, body[:len(body)/2])
			if test.rest {
				time.Sleep(20 * time.Millisecond)
				io.WriteString(conn, body[len(body)/2:])
			}
			from := bufio.NewReader(conn)
			resp, err := http.ReadResponse(from, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != test.status || !strings.Contains(string(text), test.message) || resp.Close != test.closes {
				t.Errorf("got %s, close %v: %s", resp.Status, resp.Close, text)
			}
			if test.closes {
				if _, err := from.ReadByte(); err != io.EOF {
					t.Errorf("the connection goes on: %v", err)
				}
			}
		})
	}
}
