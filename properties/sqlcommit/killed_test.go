package sqlcommit

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/properties/killed"
)

var (
	kills = flag.Int("kills", 100, "how often TestExactlyOnce kills the process")
	seed  = flag.Uint64("seed", 1, "of TestExactlyOnce")
)

func init() { killed.Main(openStore) }

// stores names the right store, and the wrong ones that one is tempted to write.
var stores = map[string]func(*Store, *Ledger, *sql.DB) client.Store{
	"one transaction": func(s *Store, _ *Ledger, _ *sql.DB) client.Store { return s },
	"token first":     func(s *Store, l *Ledger, db *sql.DB) client.Store { return apart{s, l, db, false} },
	"effect first":    func(s *Store, l *Ledger, db *sql.DB) client.Store { return apart{s, l, db, true} },
}

// openStore is the client process's side of the database.
func openStore(dir, how string) (client.Store, error) {
	ctx := context.Background()
	db, err := OpenDatabase(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	ledger, err := OpenLedger(ctx, db)
	if err != nil {
		return nil, err
	}
	apply := ledger.Apply
	if how != "one transaction" {
		apply = nil
	}
	store, err := Open(ctx, db, "bank", apply)
	if err != nil {
		return nil, err
	}
	return stores[how](store, ledger, db), nil
}

// apart is wrong: effect and token have a transaction each.
type apart struct {
	*Store
	ledger *Ledger
	db     *sql.DB
	effect bool // is first
}

func (a apart) Commit(ctx context.Context, ch client.Change, events []client.Event) (client.Record, error) {
	if a.effect {
		if err := a.effects(ctx, events); err != nil {
			return client.Record{}, err
		}
	}
	r, err := a.Store.Commit(ctx, ch, nil)
	if err == nil && !a.effect {
		err = a.effects(ctx, events)
	}
	return r, err
}

func (a apart) effects(ctx context.Context, events []client.Event) error {
	for _, ev := range events {
		tx, err := a.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := a.ledger.Apply(ctx, tx, ev); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// run kills the client of a store again and again, and returns what was found
// and how far its balances are off in the end.
func run(t *testing.T, how string, seed uint64, kills int) (killed.Count, error) {
	t.Helper()
	dir := t.TempDir()
	d := open(t, filepath.Join(dir, file))
	began := time.Now()
	n, books, err := killed.Run(t.Context(), killed.Options{
		Seed: seed, Kills: kills, Policy: killed.Atomic, Dir: dir, How: how,
		Left: func() (left killed.Left, err error) {
			if left.Record, err = d.Load(t.Context()); err == nil {
				left.Applied, err = journal(t.Context(), d.db)
			}
			return left, err
		},
	})
	t.Logf("%s: %+v in %v", how, n, time.Since(began).Round(time.Millisecond))
	if err != nil {
		return n, err
	}
	if balances, err := d.ledger.Balances(t.Context()); err != nil || !maps.Equal(balances, books) {
		return n, fmt.Errorf("the balances are %v, the bank's are %v; %v", balances, books, err)
	}
	return n, nil
}

// journal returns what was applied, in order.
func journal(ctx context.Context, db *sql.DB) (lines []killed.Line, err error) {
	rows, err := db.QueryContext(ctx, `SELECT event, message FROM journal ORDER BY line`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var line killed.Line
		if err := rows.Scan(&line.ID, &line.Payload); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}

// R20: a process is killed at random instants, over a network that cuts. After
// each kill every stream's token stands exactly at the event that was applied
// last; in the end everything that the bank told was applied once, and the
// balances are the bank's.
func TestExactlyOnce(t *testing.T) {
	n, err := run(t, "one transaction", *seed, *kills)
	if err != nil {
		t.Fatal(err)
	}
	if n.Events < *kills || n.Answers == 0 || n.Open == 0 {
		t.Errorf("%+v: want events and answers, and kills in the middle of calls", n)
	}
}

// The same run notices whoever gives effect and token a transaction each: the
// token first loses events, the effect first repeats them.
func TestTwoTransactionsAreNoticed(t *testing.T) {
	for how, caught := range map[string]func(killed.Count) bool{
		"token first":  func(n killed.Count) bool { return n.Ahead+n.Missing > 0 && n.Behind+n.Repeats == 0 },
		"effect first": func(n killed.Count) bool { return n.Behind+n.Repeats > 0 && n.Ahead+n.Missing == 0 },
	} {
		var n killed.Count
		err := error(nil)
		for seed := uint64(1); seed <= 5 && err == nil; seed++ {
			n, err = run(t, how, seed, 40)
		}
		if err == nil || !caught(n) {
			t.Errorf("%s: %+v, %v", how, n, err)
		}
	}
}
