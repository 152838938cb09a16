package sqlcommit

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"path/filepath"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/impl/client/storetest"
	"example.com/reattach/spec"
)

const file = "bank.db"

// A desk is a ledger in a database, and the store of its record.
type desk struct {
	t      *testing.T
	db     *sql.DB
	ledger *Ledger
	*Store
}

func open(t *testing.T, path string) *desk {
	t.Helper()
	db, err := OpenDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	ledger, err := OpenLedger(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), db, "bank", ledger.Apply)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t, db, ledger, store}
}

func newDesk(t *testing.T) *desk { return open(t, filepath.Join(t.TempDir(), file)) }

// has is what is on account a, and how far the token of the standalone stream is.
func (d *desk) has(balance int64, position string) {
	d.t.Helper()
	balances, err := d.ledger.Balances(d.t.Context())
	if err != nil || balances["a"] != balance {
		d.t.Errorf("on account a there are %d, want %d; %v", balances["a"], balance, err)
	}
	r, err := d.read(d.t.Context(), d.db)
	if err != nil {
		d.t.Fatal(err)
	}
	if token, _ := r.Token(0); token.LastEventID != position {
		d.t.Errorf("the token is %q, want %q", token.LastEventID, position)
	}
}

func position(n uint64) string {
	return spec.EventID{Tag: spec.TagOf("session", ""), Seq: n, Ordinal: n}.String()
}

// begin opens the first epoch.
func (d *desk) begin() *desk {
	d.t.Helper()
	d.mustCommit(client.Change{Kind: client.BeginEpoch, Session: "session", Tag: spec.TagOf("session", ""), Standalone: position(0)})
	return d
}

func (d *desk) mustCommit(ch client.Change) {
	d.t.Helper()
	if _, err := d.Commit(d.t.Context(), ch, nil); err != nil {
		d.t.Fatalf("%v: %v", ch.Kind, err)
	}
}

// book applies the n-th event of the standalone stream, which books one cent.
func (d *desk) book(n uint64) error {
	_, err := d.Commit(d.t.Context(), client.Change{Kind: client.AdvanceToken, Epoch: 1, Before: position(n - 1), After: position(n)},
		[]client.Event{{ID: position(n), HasID: true, Payload: []byte(`{"params":{"booking":{"account":"a","amount":1}}}`)}})
	return err
}

// It is what every store of a record must be.
func TestStoreIsOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), file)
	storetest.Run(t, func(t *testing.T) client.Store { return open(t, path).Store })
}

func TestRecordsOfSeveralNamesInOneDatabase(t *testing.T) {
	d := newDesk(t).begin()
	other, err := Open(t.Context(), d.db, "another bank", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := other.Load(t.Context()); err != nil || r.Epoch != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := d.book(1); err != nil {
		t.Fatal(err)
	}
	d.has(1, position(1))
}

// R20: an effect that fails takes the token back with it.
func TestWhatCannotBeAppliedIsNotRecorded(t *testing.T) {
	d, fault := newDesk(t).begin(), errors.New("no such account")
	d.apply = func(ctx context.Context, tx *sql.Tx, ev client.Event) error {
		return errors.Join(d.ledger.Apply(ctx, tx, ev), fault)
	}
	if err := d.book(1); !errors.Is(err, fault) || errors.Is(err, client.ErrUncertain) || errors.Is(err, spec.ReasonRecordStale) {
		t.Errorf("%v, want a fault that may pass", err)
	}
	d.has(0, position(0))
	d.apply = d.ledger.Apply
	if err := d.book(1); err != nil {
		t.Fatalf("once more: %v", err)
	}
	d.has(1, position(1))
}

func TestAnApplicationThatPanicsLeavesNothing(t *testing.T) {
	d := newDesk(t).begin()
	d.apply = func(ctx context.Context, tx *sql.Tx, ev client.Event) error {
		_ = d.ledger.Apply(ctx, tx, ev)
		panic("a bug of the application")
	}
	func() {
		defer func() { _ = recover() }()
		_ = d.book(1)
	}()
	d.has(0, position(0))
}

// R30: of two processes with one record only the one that wrote last applies; the
// other one is refused before its effect is begun, whatever it knew.
func TestWhoWasOvertakenAppliesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), file)
	first := open(t, path).begin()
	second := open(t, path)
	if _, err := second.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.book(1); err != nil {
		t.Fatal(err)
	}
	begun := false
	second.apply = func(context.Context, *sql.Tx, client.Event) error { begun = true; return nil }
	if err := second.book(1); !errors.Is(err, spec.ReasonRecordStale) || begun {
		t.Errorf("the second: %v; its effect was begun: %v", err, begun)
	}
	first.has(1, position(1))
	// Its change would fit again, but what it knows is an older record.
	if _, err := first.Commit(t.Context(), client.Change{Kind: client.AddCall, Epoch: 1, Call: client.Call{Request: 1}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Commit(t.Context(), client.Change{Kind: client.FenceEpoch, Epoch: 1}, nil); !errors.Is(err, spec.ReasonRecordStale) {
		t.Errorf("a fence of the second: %v", err)
	}
	// And who took the lease says so.
	third := open(t, path)
	third.mustCommit(client.Change{Kind: client.TakeLease})
	if err := first.book(2); !errors.Is(err, spec.ReasonLeaseLost) {
		t.Errorf("the first, whose lease is gone: %v", err)
	}
	third.has(1, position(1))
}

// A commit fails, and the database did it all the same, or did not, or nobody can
// tell: what is said is what is there.
func TestACommitThatFailsIsFoundOut(t *testing.T) {
	broken := errors.New("the connection broke")
	undone := func(tx *sql.Tx) error { return errors.Join(tx.Rollback(), broken) }
	done := func(tx *sql.Tx) error { return errors.Join(tx.Commit(), broken) }
	t.Run("nothing was written", func(t *testing.T) {
		d := newDesk(t).begin()
		d.commit = undone
		if err := d.book(1); !errors.Is(err, broken) || errors.Is(err, client.ErrUncertain) {
			t.Errorf("%v", err)
		}
		d.has(0, position(0))
		d.commit = (*sql.Tx).Commit
		if err := d.book(1); err != nil {
			t.Error(err)
		}
		d.has(1, position(1))
	})
	t.Run("it was written", func(t *testing.T) {
		d := newDesk(t).begin()
		d.commit = done
		if err := d.book(1); err != nil {
			t.Errorf("%v", err)
		}
		d.has(1, position(1))
		d.commit = (*sql.Tx).Commit
		if err := d.book(2); err != nil {
			t.Error(err)
		}
		d.has(2, position(2))
	})
	t.Run("somebody else wrote since", func(t *testing.T) {
		d := newDesk(t).begin()
		d.commit = func(tx *sql.Tx) error {
			err := done(tx)
			other, _ := Open(t.Context(), d.db, "bank", nil)
			_, taken := other.Commit(t.Context(), client.Change{Kind: client.TakeLease}, nil)
			return errors.Join(err, taken)
		}
		if err := d.book(1); !errors.Is(err, client.ErrUncertain) || !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		d.commit = (*sql.Tx).Commit
		if err := d.book(2); !errors.Is(err, spec.ReasonLeaseLost) {
			t.Errorf("the next change: %v", err)
		}
		d.has(1, position(1))
	})
	// Two take the lease at once, and what they write is the same: neither may
	// take the other's for its own.
	t.Run("of the lease", func(t *testing.T) {
		d := newDesk(t).begin()
		d.commit = done
		if _, err := d.Commit(t.Context(), client.Change{Kind: client.TakeLease}, nil); !errors.Is(err, client.ErrUncertain) {
			t.Errorf("%v", err)
		}
	})
	t.Run("the database is gone", func(t *testing.T) {
		d := newDesk(t).begin()
		d.commit = func(tx *sql.Tx) error { return errors.Join(undone(tx), d.db.Close()) }
		if err := d.book(1); !errors.Is(err, client.ErrUncertain) {
			t.Errorf("%v", err)
		}
	})
}

// What is not a record is never guessed at.
func TestARowThatIsNoRecordIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": ``, "no JSON": `{`, "another field": `{"version":1,"epoch":0,"state":0,"next_request":0,"more":1}`,
		"it contradicts itself": `{"version":1,"epoch":1,"state":0,"next_request":0}`,
	} {
		d := newDesk(t)
		if _, err := d.db.Exec(`UPDATE reattach_record SET body = $1`, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if r, err := d.Load(t.Context()); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// What is no message of the bank stops the stream instead of being skipped.
func TestTheLedgerTakesOnlyTheBanksMessages(t *testing.T) {
	d := newDesk(t).begin()
	tx, err := d.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := d.ledger.Apply(t.Context(), tx, client.Event{}); err != nil {
		t.Errorf("a position: %v", err)
	}
	if err := d.ledger.Apply(t.Context(), tx, client.Event{Payload: []byte("{")}); err == nil {
		t.Error("what is no message was applied")
	}
	if err := d.ledger.Apply(t.Context(), tx, client.Event{Payload: []byte(`{"result":{"booking":{"account":"b","amount":-3}}}`)}); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, err := d.ledger.Balances(t.Context()); err != nil || !maps.Equal(got, map[string]int64{"b": -3}) {
		t.Errorf("%v, %v", got, err)
	}
}
