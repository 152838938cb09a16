package killed

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"example.com/reattach/impl/fault"
	"example.com/reattach/impl/ledger"
	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// A Bank is a server that outlives its clients, behind a network that cuts. Now
// and then it ends a session, with calls in flight.
type Bank struct {
	http    *http.Server
	handler *streamhttp.Handler
	proxy   *fault.Proxy

	mu    sync.Mutex
	calm  bool                // no connection is cut any more, and no session ended
	ended int                 // sessions
	ran   map[string]int      // how often each key ran
	told  map[spec.Tag]uint64 // events on the standalone stream of each session
	books map[string]int64
}

// A note is what an event tells: of which call, the how manieth event of its
// stream it is, and what was booked.
type note struct {
	Key     string   `json:"key,omitempty"` // "" on the standalone stream
	Step    uint64   `json:"step"`          // equals the event's ordinal
	Booking *booking `json:"booking,omitempty"`
	Told    uint64   `json:"told,omitempty"` // by the answer to methodClose: events on the standalone stream

	State spec.KeyState `json:"state,omitempty"` // of the answer to a status query, which tells none of the others
}

type booking struct {
	Account string `json:"account"`
	Amount  int64  `json:"amount"`
}

const (
	methodTransfer = "bank/transfer"
	methodClose    = "bank/close"
	interest       = "interest" // the account of what the standalone stream tells
)

const (
	cut         = 6 << 10 // bytes of a connection after which the network cuts it, about
	sessionEnds = 40      // one in so many transfers ends its session
)

// NewBank starts a bank. The network in front of it is drawn from the seed.
func NewBank(seed uint64) (*Bank, error) {
	b := &Bank{ran: map[string]int{}, told: map[spec.Tag]uint64{}, books: map[string]int64{}}
	l, err := ledger.New(ledger.NewMemoryStore(), ledger.Options{})
	if err != nil {
		return nil, err
	}
	if b.handler, err = streamhttp.NewHandler(l.Wrap(b.serve), streamhttp.Options{RetryHint: time.Millisecond}); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b.http = &http.Server{Handler: b.handler}
	go b.http.Serve(listener)
	drawn := fault.Seeded(seed, cut, 10*time.Millisecond)
	b.proxy, err = fault.NewProxy(listener.Addr().String(), func(n int) fault.Plan {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.calm {
			return fault.Plan{}
		}
		return drawn(n)
	})
	return b, err
}

// Close ends the bank and its network.
func (b *Bank) Close() {
	b.proxy.Close()
	b.handler.Close()
	b.http.Close()
}

func (b *Bank) serve(_ context.Context, m *streamhttp.Message) {
	switch {
	case m.Method == "initialize":
		_, _ = m.Stream.Answer(map[string]any{"protocolVersion": streamhttp.Negotiate(m.Params), "capabilities": struct{}{}})
	case m.Method == methodTransfer:
		b.transfer(m)
	case m.Method == methodClose:
		b.mu.Lock()
		told := b.told[m.Session.Tag()]
		b.mu.Unlock()
		_, _ = m.Stream.Answer(note{Step: 1, Told: told})
	case m.Kind == streamhttp.Request:
		_, _ = m.Stream.Fail(streamhttp.CodeMethodNotFound, "method not found", nil)
	}
}

// transfer books, and tells of it in some events and the answer. That nobody may
// be there to read them is the client's affair.
func (b *Bank) transfer(m *streamhttp.Message) {
	key, _ := ledger.KeyOf(m.Params)
	sum := fnv.New32a()
	sum.Write([]byte(key))
	moved := booking{Account: string('a' + rune(sum.Sum32()%4)), Amount: int64(sum.Sum32()%1000) - 500}
	b.mu.Lock()
	b.ran[key]++
	b.books[moved.Account] += moved.Amount
	b.mu.Unlock()
	step := uint64(1)
	for range rand.N(4) {
		_, _ = m.Stream.Emit("notifications/bank/step", note{Key: key, Step: step})
		step++
		time.Sleep(rand.N(time.Millisecond))
	}
	b.pay(m.Session)
	if rand.N(sessionEnds) == 0 {
		b.end(m.Session)
	}
	_, _ = m.Stream.Answer(note{Key: key, Step: step, Booking: &moved})
}

// end ends a session. What its client does not have yet is lost, and it will know:
// only the ledger can tell it how its calls ended.
func (b *Bank) end(s *streamhttp.Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.calm && s.End() == nil {
		b.ended++
	}
}

// pay pays interest, of which the standalone stream tells.
func (b *Bank) pay(s *streamhttp.Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.told[s.Tag()] + 1
	if _, err := s.Standalone().Emit("notifications/bank/interest", note{Step: n, Booking: &booking{interest, int64(n)}}); err == nil {
		b.told[s.Tag()] = n
		b.books[interest] += int64(n)
	}
}
