package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"
)

// events serves three marked events and then answers, on one connection after
// another.
func events(name string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Server-Name", name)
		for n := 1; n <= 3; n++ {
			fmt.Fprintf(w, "id: %d\ndata: {\"mark\":\"S1#%d\",\"pad\":\"xxxxxxxxxx\"}\n\n", n, n)
			http.NewResponseController(w).Flush()
		}
	}))
}

// network between a test and servers, the first one in use.
func testNetwork(t *testing.T, names ...string) (*network, []*httptest.Server) {
	t.Helper()
	n, err := newNetwork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	var servers []*httptest.Server
	for _, name := range names {
		s := events(name)
		t.Cleanup(s.Close)
		servers = append(servers, s)
	}
	n.switchTo(servers[0].Listener.Addr().String())
	return n, servers
}

func get(t *testing.T, c *http.Client, url string) (server, body string, err error) {
	t.Helper()
	res, err := c.Get(url)
	if err != nil {
		return "", "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.Header.Get("Server-Name"), string(b), err
}

func TestNetworkCutsWhereTheStorySays(t *testing.T) {
	for _, tc := range []struct {
		name  string
		cut   cut
		ends  string // how the received bytes end
		fails error  // how the client sees the break
	}{
		{"behind an event", cut{at: first(2)}, "xxx\"}\n\n", io.ErrUnexpectedEOF},
		{"behind an event, by reset", cut{at: first(2), reset: true}, "xxx\"}\n\n", syscall.ECONNRESET},
		{"inside an event", cut{at: first(2), inside: true}, `{"mark":"S1#2"`, io.ErrUnexpectedEOF},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, _ := testNetwork(t, "only")
			done := n.cutAt(tc.cut)
			_, body, err := get(t, &http.Client{Transport: &http.Transport{}}, n.url())
			if !errors.Is(err, tc.fails) {
				t.Errorf("the client sees %v, want %v", err, tc.fails)
			}
			if !strings.HasSuffix(body, tc.ends) || strings.Count(body, "id:") != 2 {
				t.Errorf("received %q, want its end to be %q", body, tc.ends)
			}
			<-done
			if _, body, err := get(t, http.DefaultClient, n.url()); err != nil || strings.Count(body, "id:") != 3 {
				t.Errorf("the cut happened again: %q, %v", body, err)
			}
		})
	}
}

func TestNetworkHoldsClientsUntilRelease(t *testing.T) {
	n, _ := testNetwork(t, "only")
	n.cutAt(cut{at: first(1), hold: true})
	c := &http.Client{Transport: &http.Transport{}}
	get(t, c, n.url())
	answered := make(chan error, 1)
	go func() {
		_, _, err := get(t, c, n.url())
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a held client was answered: %v", err)
	case <-time.After(30 * time.Millisecond):
	}
	n.release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestNetworkExchangesTheBackendBehindItsAddress(t *testing.T) {
	n, servers := testNetwork(t, "before", "after")
	c := &http.Client{Transport: &http.Transport{}}
	if name, _, err := get(t, c, n.url()); name != "before" {
		t.Fatalf("answered by %q, %v", name, err)
	}
	n.switchTo(servers[1].Listener.Addr().String())
	if name, _, err := get(t, c, n.url()); name != "after" {
		t.Errorf("answered by %q, %v; the client kept its connection to the old backend", name, err)
	}
}

func TestNetworkLetsAResponseEndWhenTheBackendIsExchanged(t *testing.T) {
	finish := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "begun\n")
		http.NewResponseController(w).Flush()
		<-finish
		io.WriteString(w, "finished\n")
	}))
	defer slow.Close()
	n, servers := testNetwork(t, "after")
	n.switchTo(slow.Listener.Addr().String())
	res, err := http.Get(n.url())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	lines.ReadString('\n')
	n.switchTo(servers[0].Listener.Addr().String())
	close(finish)
	if rest, err := io.ReadAll(lines); err != nil || string(rest) != "finished\n" {
		t.Errorf("rest of the response %q, %v", rest, err)
	}
}

func TestNetworkDown(t *testing.T) {
	n, _ := testNetwork(t, "only")
	c := &http.Client{Transport: &http.Transport{}}
	n.goDown()
	if _, _, err := get(t, c, n.url()); err == nil {
		t.Error("a network that is down answers")
	}
	n.goUp()
	if _, _, err := get(t, c, n.url()); err != nil {
		t.Error(err)
	}
}
