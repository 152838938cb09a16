package killed

import (
	"context"
	"errors"
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
	c, err := streamhttp.Dial(ctx, url, streamhttp.DialOptions{Store: store, Driver: client.Options{
		BackoffBase: time.Millisecond, BackoffMax: 20 * time.Millisecond, MaxRetryHint: 20 * time.Millisecond,
		Core: client.CoreOptions{ResumeAttempts: 1000},
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintln(os.Stdout, Up)
	found := c.Driver().Recovered()
	for _, id := range append(found.Pending, found.Lost...) { // the second are no unknown outcomes before that is durable
		if _, err := c.Await(ctx, id); err != nil && !settles(err) {
			return err
		}
	}
	if err := settle(ctx, c); err != nil {
		return err
	}
	if last {
		return complete(ctx, c)
	}
	failed := make(chan error, workers)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				_, err := c.Call(ctx, methodTransfer, struct{}{}, nil)
				if err == nil {
					continue
				}
				if !settles(err) {
					failed <- err
					return
				}
				if err := settle(ctx, c); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	return <-failed
}

// settles reports whether a call's error is one of those that the next settle
// makes good.
func settles(err error) bool {
	var unknown *client.UnknownError
	var notRun *client.NotRunError
	return errors.As(err, &unknown) || errors.As(err, &notRun)
}

// settle asks the bank's ledger for every call whose outcome is unknown.
func settle(ctx context.Context, c *streamhttp.Client) error {
	all, err := c.Reconcile(ctx)
	for _, r := range all {
		if !r.Resolved() {
			err = errors.Join(err, fmt.Errorf("the ledger of a bank that never died says %q of %v: %w", r.State, r.Unknown.Stream, r.Err))
		}
	}
	return err
}

// complete waits until everything that the bank ever told has arrived.
func complete(ctx context.Context, c *streamhttp.Client) error {
	text, err := c.Call(ctx, methodClose, nil, nil)
	if err != nil {
		return err
	}
	closing, err := noteIn(text)
	if err != nil {
		return err
	}
	for {
		token, _ := c.Driver().Snapshot().Record.Token(0)
		at, err := spec.ParseEventID(token.LastEventID)
		if err != nil {
			return fmt.Errorf("the standalone stream stands at %q: %w", token.LastEventID, err)
		}
		if at.Ordinal == closing.Told {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the standalone stream stands at %d of %d: %w", at.Ordinal, closing.Told, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
