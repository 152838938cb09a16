package interop

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The trials that need no program of others, as part of every test run: our
// client, and the SDK's over connections that hold.
func TestTrialsInProcess(t *testing.T) {
	want := map[string]map[string]string{
		"Go SDK":   {"plain": exactlyOnce, "polling": exactlyOnce, "restart": "the next call fails: JSON-RPC error session_unknown"},
		"reattach": {"plain": exactlyOnce, "cuts": exactlyOnce, "polling": exactlyOnce},
	}
	for _, k := range (Scripts{}).Kinds() {
		for _, trial := range Trials() {
			words, tried := want[k.Name][trial.ID]
			if !tried {
				continue
			}
			t.Run(k.Name+" "+trial.ID, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if got, err := trial.Run(ctx, k); err != nil || got != words {
					t.Errorf("%q, %v; want %q", got, err, words)
				}
			})
		}
	}
}

// Our client and the Go SDK's server: without the profile nothing is believed,
// with it a cut is survived.
func TestEncountersInProcess(t *testing.T) {
	server := (Scripts{}).Foreigners("")[0]
	for _, e := range Encounters() {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			want := e.Sound
			if want == "" {
				want = "not sent again, and told: outcome unknown, session_missing"
			}
			if got, err := e.Run(t.Context(), server); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
}

// A client that comes back without its cursor, and one that sends its call
// again, do not pass the trial of cuts: it can fail.
func TestTrialOfCutsCanFail(t *testing.T) {
	for name, spoil := range map[string]func(*http.Request){
		"it forgets its cursor": func(r *http.Request) { r.Header.Del("Last-Event-ID") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind := Kind{Name: name, Slow: true, Connect: func(ctx context.Context, url string) (Client, error) {
				carry := roundTrip(func(r *http.Request) (*http.Response, error) {
					r = r.Clone(r.Context())
					spoil(r)
					return http.DefaultTransport.RoundTrip(r)
				})
				c, err := connectSDK(ctx, url, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: carry}})
				return impatient{c}, err
			}}
			if got, err := underCuts(t.Context(), kind, 1); err != nil || got == exactlyOnce {
				t.Errorf("%q, %v: nobody noticed", got, err)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An impatient client waits two seconds at most.
type impatient struct{ Client }

func (i impatient) Call(tool string, arguments map[string]any, _ time.Duration) Learned {
	return i.Client.Call(tool, arguments, brief)
}

// A wire breaks where it is told: behind an event, or inside it, and never
// before the first event has passed whole.
func TestWire(t *testing.T) {
	const stream = "id: 1\ndata: \n\n" + "id: 2\ndata: hello\n\n" + "id: 3\ndata: world\n\n"
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, stream)
	}))
	defer origin.Close()
	read := func(t *testing.T, w *Wire) (string, error) {
		front := httptest.NewServer(w)
		defer front.Close()
		r, err := http.NewRequest(http.MethodGet, front.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Mcp-Session-Id", "s")
		r.Header.Set("Last-Event-ID", "0")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	}
	for name, tc := range map[string]struct {
		prepare func(*Wire)
		want    string
		cuts    int
	}{
		"it holds":      {func(*Wire) {}, stream, 0},
		"behind a mark": {func(w *Wire) { w.CutBehind("hello") }, stream[:strings.Index(stream, "id: 3")], 1},
		"inside one":    {func(w *Wire) { w.CutInside("hello") }, stream[:strings.Index(stream, "hello")+4], 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := NewWire(origin.URL, 0)
			if err != nil {
				t.Fatal(err)
			}
			tc.prepare(w)
			got, err := read(t, w)
			if got != tc.want || (err != nil) != (tc.cuts > 0) || w.Cuts() != tc.cuts {
				t.Errorf("%q, %v, %d cuts; want %q", got, err, w.Cuts(), tc.want)
			}
			if n := w.Resumptions(http.StatusOK); n != 1 {
				t.Errorf("%d resumptions seen, want 1", n)
			}
		})
	}
	t.Run("by chance", func(t *testing.T) {
		cuts := 0
		for seed := range uint64(400) {
			w, err := NewWire(origin.URL, seed+1)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := read(t, w)
			if !strings.HasPrefix(got, "id: 1\ndata: \n\n") {
				t.Fatalf("seed %d broke the first event: %q", seed+1, got)
			}
			cuts += w.Cuts()
		}
		if cuts == 0 {
			t.Error("400 seeds broke nothing")
		}
	})
}
