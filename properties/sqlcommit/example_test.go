package sqlcommit

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"example.com/reattach/impl/streamhttp"
)

// The whole of a client whose effects and whose place in the session commit
// together: the database, the application, the store over both, and the call.
func ExampleStore() {
	bank, err := streamhttp.NewHandler(tellOfBookings, streamhttp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer bank.Close()
	server := httptest.NewServer(bank)
	defer server.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	db, err := OpenDatabase(filepath.Join(dir, "bank.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	ledger, err := OpenLedger(ctx, db)
	if err != nil {
		log.Fatal(err)
	}
	store, err := Open(ctx, db, "bank", ledger.Apply)
	if err != nil {
		log.Fatal(err)
	}
	client, err := streamhttp.Dial(ctx, server.URL, streamhttp.DialOptions{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Call(ctx, "bookings", nil, nil); err != nil {
		log.Fatal(err) // a new process with the same store goes on: client.Driver().Recovered()
	}
	balances, err := ledger.Balances(ctx)
	fmt.Println(balances, err)
	// Output: map[rent:-70000 salary:210000] <nil>
}

// tellOfBookings is a bank with two bookings and the answer to tell.
func tellOfBookings(_ context.Context, m *streamhttp.Message) {
	switch m.Method {
	case "initialize":
		m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
	case "bookings":
		m.Stream.Emit("notifications/booking", map[string]any{"booking": Booking{"salary", 210_000}})
		m.Stream.Emit("notifications/booking", map[string]any{"booking": Booking{"rent", -70_000}})
		m.Stream.Answer(struct{}{})
	}
}
