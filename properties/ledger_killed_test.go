package properties_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// ledgerChild is set, to the directory of its files, in the process that
// TestWiredLedgerKilled starts and kills: a server, and nothing of the tests.
const ledgerChild = "REATTACH_TEST_LEDGER_CHILD"

func init() {
	if dir := os.Getenv(ledgerChild); dir != "" {
		fmt.Fprintln(os.Stderr, serveLedger(dir))
		os.Exit(1)
	}
}

// serveLedger serves a tool whose effect is a line in a file, and says where.
func serveLedger(dir string) error {
	l, err := ledger.New(ledger.OpenFile(filepath.Join(dir, "ledger")), ledger.Options{})
	if err != nil {
		return err
	}
	effects, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	h, err := streamhttp.NewHandler(l.Wrap(func(_ context.Context, m *streamhttp.Message) {
		switch {
		case m.Method == "initialize":
			_, _ = m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": map[string]any{"tools": struct{}{}}})
		case m.Kind == streamhttp.Request:
			text, _ := ledger.KeyOf(m.Params)
			time.Sleep(rand.N(4 * time.Millisecond))
			if _, err := effects.WriteString(text + "\n"); err != nil {
				panic(err)
			}
			time.Sleep(rand.N(4 * time.Millisecond))
			_, _ = m.Stream.Answer("counted")
		}
	}), streamhttp.Options{})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	return http.Serve(listener, h)
}

// A server process is killed by the operating system, at any instant, and
// started again on its file, while clients call, ask and send again. No key has
// two lines in the file of effects, and what the clients were told is true; they
// are told "unknown" only of calls that were under way at a kill (R28).
func TestWiredLedgerKilled(t *testing.T) {
	dir := t.TempDir()
	town := &township{t: t, server: &httptest.Server{}}
	var mu sync.Mutex // of the address, the kills and the outcomes
	kills := 0
	outcomes := map[spec.Key]spec.KeyState{}
	during := map[spec.Key]bool{} // a kill fell into it
	start := func() *exec.Cmd {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), ledgerChild+"="+dir)
		c.Stderr = os.Stderr
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		address, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("the server does not start: %v", err)
		}
		mu.Lock()
		town.server.URL = strings.TrimSpace(address)
		mu.Unlock()
		return c
	}
	stop := func(c *exec.Cmd) {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
		mu.Lock()
		kills++
		mu.Unlock()
	}
	child := start()
	over, killer := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(killer)
		for {
			select {
			case <-over:
				return
			case <-time.After(20*time.Millisecond + rand.N(60*time.Millisecond)):
				stop(child)
				child = start()
			}
		}
	}()
	at := func() int {
		mu.Lock()
		defer mu.Unlock()
		return kills
	}
	// now is the client at the present address: its sessions die with the server.
	now := func(c *caller) *caller {
		mu.Lock()
		defer mu.Unlock()
		c.town = &township{t: t, server: &httptest.Server{URL: town.server.URL}}
		return c
	}
	bounded := func(do func(ctx context.Context)) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		do(ctx)
	}
	var clients sync.WaitGroup
	for range 4 {
		c := town.caller()
		clients.Go(func() {
			for range 30 {
				var err error
				for try := 0; try < 1000 && (c.session == "" || try > 0 && err != nil); try++ {
					bounded(func(ctx context.Context) { err = now(c).open(ctx) })
				}
				before, k := at(), c.mint(time.Now())
				var state spec.KeyState
				for try := 0; try < 1000 && state == ""; try++ {
					bounded(func(ctx context.Context) {
						var a keyedAnswer
						if try%2 == 0 {
							if a = now(c).call(ctx, k); a.result != nil {
								state = spec.KeyExecuted
							}
						} else {
							var got spec.OutcomeResult
							if got, a = now(c).query(ctx, k); got.State != spec.KeyRunning {
								state = got.State
							}
						}
						switch {
						case a.reason.KnownNotExecuted():
							state = spec.KeyNotExecuted
						case a.reason == spec.ReasonKeyUnknown:
							state = spec.KeyUnknown
						case a.err != nil:
							_ = now(c).open(ctx) // the next try will tell
						}
					})
				}
				mu.Lock()
				outcomes[k], during[k] = state, kills > before
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	close(over)
	<-killer
	stop(child)

	text, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for line := range bytes.Lines(text) {
		ran[strings.TrimSpace(string(line))]++
	}
	count := map[spec.KeyState]int{}
	for k, state := range outcomes {
		count[state]++
		n := ran[k.String()]
		if ok := state == spec.KeyExecuted && n == 1 || state == spec.KeyNotExecuted && n == 0 || state == spec.KeyUnknown && n <= 1 && during[k]; !ok {
			t.Errorf("%s was said to be %q and ran %d times; a kill fell into it: %v", k, state, n, during[k])
		}
	}
	t.Logf("%d kills, %v", kills, count)
	if kills < 3 || count[spec.KeyExecuted] == 0 {
		t.Errorf("%d kills, %v: want several, and calls that were executed", kills, count)
	}
}
