package killed

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// workers is how many transfers a client has under way at a time.
const workers = 3

// What the environment of a client process says.
const (
	envDir  = "REATTACH_KILLED_DIR"
	envHow  = "REATTACH_KILLED_HOW"
	envURL  = "REATTACH_KILLED_URL"
	envLast = "REATTACH_KILLED_LAST" // "1" for the one that may finish
)

// child returns the client process: this program, which calls [Main].
func (o Options) child(ctx context.Context, url string, last bool) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), envDir+"="+o.Dir, envHow+"="+o.How, envURL+"="+url)
	if last {
		c.Env = append(c.Env, envLast+"=1")
	}
	return c
}

// Main is for the init of a test: in a client process it opens the store and
// works until it is killed, and nothing of the tests runs. Elsewhere it does
// nothing.
func Main(open func(dir, how string) (client.Store, error)) {
	dir := os.Getenv(envDir)
	if dir == "" {
		return
	}
	store, err := open(dir, os.Getenv(envHow))
	if err == nil {
		err = work(context.Background(), os.Getenv(envURL), store, os.Getenv(envLast) == "1")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work goes on where the record stands, settles what the last process left open,
// and makes transfers. The last one settles, waits until nothing more can come,
// and returns nil. It says on the standard output that it is up.
func work(ctx context.Context, url string, store client.Store, last bool) error {
	c, err := dial(ctx, url, store)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintln(os.Stdout, Up)
	found := c.Driver().Recovered()
	for _, id := range append(found.Pending, found.Lost...) { // the second are no unknown outcomes before that is durable
		_, _ = c.Await(ctx, id) // an unknown outcome is settled next
	}
	if last {
		return complete(ctx, c)
	}
	var mending sync.Mutex
	failed := make(chan error, workers)
	for range workers {
		go func() {
			for {
				if _, err := c.Call(ctx, methodTransfer, struct{}{}, nil); err == nil {
					continue
				}
				mending.Lock()
				err := settle(ctx, c)
				mending.Unlock()
				if err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// dial makes the client. Where it has to open a session, that may be cut, and is
// tried again; the record says how far it came.
func dial(ctx context.Context, url string, store client.Store) (c *streamhttp.Client, err error) {
	for range 100 {
		c, err = streamhttp.Dial(ctx, url, streamhttp.DialOptions{Store: store, Driver: client.Options{
			BackoffBase: time.Millisecond, BackoffMax: 20 * time.Millisecond, MaxRetryHint: 20 * time.Millisecond,
			Core: client.CoreOptions{ResumeAttempts: 1000},
		}})
		if err == nil || ctx.Err() != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return c, err
}

// settle brings the client to where it can call: where the epoch was abandoned a
// new one is begun, and the bank's ledger is asked for every call whose outcome is
// unknown. Whatever failed on the way, it tries again.
func settle(ctx context.Context, c *streamhttp.Client) error {
	for {
		switch c.Driver().State() {
		case spec.Open, spec.Quarantined:
			all, err := c.Reconcile(ctx)
			for _, r := range all {
				if r.State == spec.KeyUnknown {
					return fmt.Errorf("the ledger of a bank that never died knows nothing of %v", r.Unknown)
				}
			}
			if err == nil && len(c.Driver().Unknowns()) == 0 {
				return nil
			}
		case spec.Abandoned:
			_ = c.Open(ctx) // it may be cut too
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// complete settles, and waits until everything that the bank ever told in this
// session has arrived.
func complete(ctx context.Context, c *streamhttp.Client) error {
	for {
		if err := settle(ctx, c); err != nil {
			return err
		}
		text, err := c.Call(ctx, methodClose, nil, nil)
		if err == nil {
			var closing note
			if err := json.Unmarshal(text, &closing); err != nil {
				return err
			}
			return reach(ctx, c, closing.Told)
		}
		if ctx.Err() != nil {
			return err
		}
	}
}

// reach waits until so many events of the standalone stream are recorded.
func reach(ctx context.Context, c *streamhttp.Client, told uint64) error {
	for {
		token, _ := c.Driver().Snapshot().Record.Token(0)
		at := ordinalOf(token.LastEventID)
		if at == told {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the standalone stream stands at %d of %d: %w", at, told, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
