package killed

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"time"
)

// A Killer kills processes at random instants: one in four while it starts.
type Killer struct {
	rand  *rand.Rand
	usual time.Duration // until a process is up; learned
}

// NewKiller returns a killer whose instants are drawn from a seed.
func NewKiller(seed uint64) *Killer {
	return &Killer{rand: rand.New(rand.NewPCG(seed, 1)), usual: 100 * time.Millisecond}
}

// Up is the line that a process says on its standard output when it is up.
const Up = "up"

const (
	patience = 60 * time.Second      // for a process to be up, and for the last one to end
	lifeTime = 60 * time.Millisecond // of a process that is up, at most
)

// Kill starts a process, kills it at the next instant, and returns the lines that
// it said meanwhile. One that ends by itself is an error.
func (k *Killer) Kill(ctx context.Context, c *exec.Cmd) (said []string, err error) {
	early, life := k.rand.IntN(4) == 0, k.within(lifeTime)
	if early {
		life = k.within(k.usual)
	}
	p, err := start(c)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if !early {
		select {
		case <-p.up:
			k.usual = time.Since(began)
		case <-p.ended:
		case <-time.After(patience):
			err = errors.New("it does not come up")
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	select {
	case <-p.ended:
	case <-time.After(life):
	}
	_ = c.Process.Kill() // SIGKILL; one that has ended cannot be
	<-p.ended
	if c.ProcessState.Exited() {
		err = p.fault()
	}
	return p.lines, err
}

func (k *Killer) within(d time.Duration) time.Duration {
	return time.Duration(k.rand.Float64() * float64(d))
}

// finish starts a process and waits for its end.
func finish(ctx context.Context, c *exec.Cmd) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
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
		return p.fault()
	}
	return nil
}

// A process is a child that was started.
type process struct {
	*exec.Cmd
	up, ended chan struct{}
	lines     []string     // on the standard output; as errors, to be read when it ended
	errors    bytes.Buffer // on the standard error
}

func start(c *exec.Cmd) (*process, error) {
	p := &process{Cmd: c, up: make(chan struct{}), ended: make(chan struct{})}
	c.Stderr = &p.errors
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if p.lines = append(p.lines, lines.Text()); lines.Text() == Up {
				close(p.up)
			}
		}
		_ = c.Wait() // its state says it
	}()
	return p, nil
}

func (p *process) fault() error {
	return fmt.Errorf("it ended by itself: %v: %s", p.ProcessState, p.errors.String())
}
