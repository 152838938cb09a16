package killed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Options of [Run].
type Options struct {
	Seed   uint64 // of the network and the instants
	Kills  int
	Policy Policy
	// Child returns the process that is to call [Work].
	Child func(url string, last bool) *exec.Cmd
	// Left reads what the process that was just killed left behind.
	Left func() (Left, error)
}

// up is what a client process says when it is: a line.
const up = "up"

const (
	startTime = 60 * time.Second      // for a process to say that it is up, and for the last one to end
	lifeTime  = 60 * time.Millisecond // of a process that is up, at most
)

// Run kills a client process Kills times, each time at another random instant of
// its start or its life, and judges what it left. After that a last process may
// finish, and everything that the bank told must have been applied. The error
// says what did not fit, and in which kill.
func Run(ctx context.Context, o Options) (total Count, books map[string]int64, err error) {
	bank, err := NewBank(o.Seed)
	if err != nil {
		return total, nil, err
	}
	defer bank.Close()
	r := rand.New(rand.NewPCG(o.Seed, 1))
	usual := 100 * time.Millisecond // until a process is up; learned
	for kill := 1; kill <= o.Kills; kill++ {
		early := time.Duration(-1)
		if r.IntN(4) == 0 {
			early = time.Duration(r.Float64() * float64(usual))
		}
		took, err := killOne(ctx, o.Child(bank.proxy.URL(), false), early, time.Duration(r.Float64()*float64(lifeTime)))
		if err != nil {
			return total, nil, fmt.Errorf("seed %d, process %d: %w", o.Seed, kill, err)
		}
		if early < 0 {
			usual = took
		}
		if _, err := bank.look(o, kill, &total); err != nil {
			return total, nil, err
		}
	}
	bank.mu.Lock()
	bank.calm = true
	bank.mu.Unlock()
	bank.proxy.ResetAll()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := finishOne(ctx, o.Child(bank.proxy.URL(), true)); err != nil {
		return total, nil, fmt.Errorf("seed %d, the last process: %w", o.Seed, err)
	}
	left, err := bank.look(o, o.Kills, &total)
	if err == nil {
		err = bank.complete(o.Policy, total, left)
	}
	return total, bank.Books(), err
}

// look judges what is there now. What is true at one instant only is added up.
func (b *Bank) look(o Options, kills int, total *Count) (Left, error) {
	left, err := o.Left()
	if err != nil {
		return left, fmt.Errorf("seed %d, after %d kills: %w", o.Seed, kills, err)
	}
	n, err := b.judge(o.Policy, kills, left)
	n.Open, n.Behind, n.Ahead = n.Open+total.Open, n.Behind+total.Behind, n.Ahead+total.Ahead
	*total = n
	if err != nil {
		return left, fmt.Errorf("seed %d, after %d kills: %w", o.Seed, kills, err)
	}
	return left, nil
}

// killOne starts a process and kills it: so long after its start if early is not
// negative, else so long after it said that it is up. It returns how long that
// took. A process that ends by itself is an error.
func killOne(ctx context.Context, c *exec.Cmd, early, life time.Duration) (took time.Duration, err error) {
	p, err := start(c)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if early < 0 {
		select {
		case <-p.up:
			took = time.Since(began)
		case <-p.ended:
		case <-time.After(startTime):
			err = errors.New("it does not come up")
		case <-ctx.Done():
			err = ctx.Err()
		}
		early = life
	}
	select {
	case <-p.ended:
		return took, fmt.Errorf("it ended by itself: %v: %s", c.ProcessState, p.said.String())
	case <-time.After(early):
	}
	_ = c.Process.Kill() // SIGKILL
	<-p.ended
	if c.ProcessState.Exited() && err == nil {
		err = fmt.Errorf("it ended by itself: %v: %s", c.ProcessState, p.said.String())
	}
	return took, err
}

// finishOne starts a process and waits for its end.
func finishOne(ctx context.Context, c *exec.Cmd) error {
	p, err := start(c)
	if err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-ctx.Done():
		_ = c.Process.Kill()
		<-p.ended
	}
	if !c.ProcessState.Success() {
		return fmt.Errorf("%v: %s", c.ProcessState, p.said.String())
	}
	return nil
}

// A process is a child that was started.
type process struct {
	up, ended chan struct{}
	said      bytes.Buffer // on the standard error; to be read when it ended
}

func start(c *exec.Cmd) (*process, error) {
	p := &process{up: make(chan struct{}), ended: make(chan struct{})}
	c.Stderr = &p.said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		once := sync.OnceFunc(func() { close(p.up) })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.TrimSpace(lines.Text()) == up {
				once()
			}
		}
		_ = c.Wait() // its state says it
	}()
	return p, nil
}
