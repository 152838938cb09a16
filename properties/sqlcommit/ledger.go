package sqlcommit

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"

	"example.com/reattach/impl/client"

	_ "modernc.org/sqlite" // the driver "sqlite", without C
)

// A Ledger is an application: the accounts of a bank's customer, who is told of
// every booking by an event. Nothing in it knows of sessions, tokens or repeats,
// and no table has a column to recognise a repeat by: that each booking counts
// once is what [Store] is for.
type Ledger struct{ db *sql.DB }

// A Booking is what an event tells: so much was added to an account.
type Booking struct {
	Account string `json:"account"`
	Amount  int64  `json:"amount"` // in cents
}

const createLedger = `
CREATE TABLE IF NOT EXISTS account (name TEXT PRIMARY KEY, balance BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS journal (line INTEGER PRIMARY KEY, event TEXT NOT NULL, message BLOB NOT NULL)`

const (
	addToAccount = `INSERT INTO account (name, balance) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET balance = balance + excluded.balance`
	addToJournal = `INSERT INTO journal (event, message) VALUES ($1, $2)`
)

// OpenDatabase opens the SQLite database in a file.
//
// A transaction takes the write lock at its begin, and waits for another process
// that has it: one that reads first and writes then is refused without a wait
// where somebody else wrote in between. What is committed is on the disk.
func OpenDatabase(file string) (*sql.DB, error) {
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"}}
	return sql.Open("sqlite", "file:"+file+"?"+options.Encode())
}

// OpenLedger returns the ledger in a database, and makes its tables where there
// are none.
func OpenLedger(ctx context.Context, db *sql.DB) (*Ledger, error) {
	_, err := db.ExecContext(ctx, createLedger)
	return &Ledger{db}, err
}

// Apply is the [Apply] of the ledger: the journal gets a line for each event
// that came, and a booking changes its account.
func (l *Ledger) Apply(ctx context.Context, tx *sql.Tx, ev client.Event) error {
	if len(ev.Payload) == 0 {
		return nil // a position, not a delivery
	}
	if _, err := tx.ExecContext(ctx, addToJournal, ev.ID, ev.Payload); err != nil {
		return err
	}
	var message struct {
		Params struct{ Booking *Booking } // of a notification
		Result struct{ Booking *Booking } // of an answer
	}
	if err := json.Unmarshal(ev.Payload, &message); err != nil {
		return fmt.Errorf("not a message of the bank: %w", err)
	}
	for _, b := range []*Booking{message.Params.Booking, message.Result.Booking} {
		if b == nil {
			continue
		}
		if _, err := tx.ExecContext(ctx, addToAccount, b.Account, b.Amount); err != nil {
			return err
		}
	}
	return nil
}

// Balances returns what is on each account.
func (l *Ledger) Balances(ctx context.Context) (map[string]int64, error) {
	balances := map[string]int64{}
	rows, err := l.db.QueryContext(ctx, `SELECT name, balance FROM account`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var balance int64
		if err := rows.Scan(&name, &balance); err != nil {
			return nil, err
		}
		balances[name] = balance
	}
	return balances, rows.Err()
}
