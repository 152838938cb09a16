package killed

import (
	"context"
	"fmt"
)

// Options of [Run].
type Options struct {
	Seed   uint64 // of the network and the instants
	Kills  int
	Policy Policy
	// Dir holds the process's files, and How says how it commits: for [Main].
	Dir, How string
	// Left reads what the process that was just killed left behind.
	Left func() (Left, error)
}

// Run kills a client process Kills times, each time at another random instant of
// its start or its life, and judges what it left. After that a last process may
// finish, and everything that the bank told must have been applied; books are the
// bank's accounts, without what was lost with a session and not silently. The
// error says what did not fit, and in which kill.
func Run(ctx context.Context, o Options) (total Count, books map[string]int64, err error) {
	bank, err := NewBank(o.Seed)
	if err != nil {
		return total, nil, err
	}
	defer bank.Close()
	killer := NewKiller(o.Seed)
	for kill := 1; kill <= o.Kills; kill++ {
		if _, err := killer.Kill(ctx, o.child(ctx, bank.proxy.URL(), false)); err != nil {
			return total, nil, fmt.Errorf("seed %d, process %d: %w", o.Seed, kill, err)
		}
		if _, err := bank.look(o, kill, &total); err != nil {
			return total, nil, err
		}
	}
	bank.mu.Lock()
	bank.calm = true
	bank.mu.Unlock()
	bank.proxy.ResetAll()
	if err := finish(ctx, o.child(ctx, bank.proxy.URL(), true)); err != nil {
		return total, nil, fmt.Errorf("seed %d, the last process: %w", o.Seed, err)
	}
	left, err := bank.look(o, o.Kills, &total)
	if err == nil {
		books, err = bank.complete(o.Policy, total, left)
	}
	return total, books, err
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
