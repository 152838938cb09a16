package client

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/reattach/spec"
)

// Options are the settings of a [Client]. Zero values are the defaults.
//
// No callback may call Close. OnEvent runs in the goroutine of the event's
// stream, which reads on when it returns: in order for one stream, and at the
// same time for different ones. The other callbacks run one at a time, in the
// order of what they tell.
type Options struct {
	Core CoreOptions

	ResumeTime    time.Duration // without progress, until a stream is suspended; spec.DefaultResumeTime (R26)
	BackoffBase   time.Duration // spec.DefaultBackoffBase
	BackoffMax    time.Duration // spec.DefaultBackoffMax
	MaxRetryHint  time.Duration // a longer retry or Retry-After is cut to this; spec.DefaultMaxRetryHint
	AnswerTimeout time.Duration // for the head of the answer to a GET, and for the proof of a view that announced nothing; 30 s
	DeleteTimeout time.Duration // 5 s
	KeepAlive     time.Duration // a proven view that lived so long and received bytes is progress; spec.DefaultKeepAlive

	// NoStandalone leaves the standalone stream alone, whose position the
	// server announced. By default it is re-attached as soon as the epoch is
	// open.
	NoStandalone bool
	// NoAsking leaves a call whose POST was cut unknown, until Reconcile. By
	// default the ledger that the session named is asked for it at once (R23).
	NoAsking bool
	// Apply applies an event: short for a store in RepeatOnCrash(store, Apply).
	Apply func(Event) error
	// Refresh gets new credentials after a 401 to a resumption.
	Refresh func(context.Context) error

	OnEvent   func(Event)        // an event that was applied, of any stream
	OnOutcome func(Outcome)      // a call ended: exactly once for each
	OnStream  func(StreamReport) // something else about a stream
	OnState   func(StateChange)  // the epoch's state changed

	// Observer is told of every move of epoch and streams, and of every refusal,
	// but not of the two moves that each event makes. It runs under the client's
	// lock: it must be quick, and must not call the client.
	Observer func(spec.Observed)
	// OnResolved: an unknown outcome was resolved, by whom ever.
	OnResolved func(StreamID, Decision)

	// Rand is the jitter's source, between 0 and 1.
	Rand func() float64
}

// A StateChange tells that the epoch's state changed.
type StateChange struct {
	Epoch    uint64
	From, To spec.State
	Reason   spec.Reason // why it was abandoned, else ""
}

// A StreamReport tells what became of a stream, other than its call's end.
type StreamReport struct {
	Stream StreamID
	Kind   StreamReportKind
	Reason spec.Reason
}

// A StreamReportKind says what a [StreamReport] is about.
type StreamReportKind uint8

const (
	StreamSuspended StreamReportKind = iota // the attempts are used up; its call is pending (R26)
	StreamGap                               // nobody knows what the standalone stream carried meanwhile (R24)
	StreamAbsent                            // there is no standalone stream, or it is complete
	StreamResumed                           // a view that continues the stream is proven (R21)
)

var streamReportNames = [...]string{"suspended", "gap", "absent", "resumed"}

func (k StreamReportKind) String() string {
	if int(k) < len(streamReportNames) {
		return streamReportNames[k]
	}
	return "?"
}

const (
	defaultAnswerTimeout = 30 * time.Second
	defaultDeleteTimeout = 5 * time.Second
)

// withDefaults fills in what is zero and refuses what makes no sense.
func (o Options) withDefaults() (Options, error) {
	for _, d := range []struct {
		name  string
		value *time.Duration
		usual time.Duration
	}{
		{"ResumeTime", &o.ResumeTime, spec.DefaultResumeTime},
		{"BackoffBase", &o.BackoffBase, spec.DefaultBackoffBase},
		{"BackoffMax", &o.BackoffMax, spec.DefaultBackoffMax},
		{"MaxRetryHint", &o.MaxRetryHint, spec.DefaultMaxRetryHint},
		{"AnswerTimeout", &o.AnswerTimeout, defaultAnswerTimeout},
		{"DeleteTimeout", &o.DeleteTimeout, defaultDeleteTimeout},
		{"KeepAlive", &o.KeepAlive, spec.DefaultKeepAlive},
	} {
		*d.value = cmp.Or(*d.value, d.usual)
		if *d.value < 0 {
			return o, fmt.Errorf("client: %s is %v: it must be positive", d.name, *d.value)
		}
	}
	if o.BackoffBase > o.BackoffMax {
		return o, fmt.Errorf("client: BackoffBase %v is above BackoffMax %v", o.BackoffBase, o.BackoffMax)
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return o, nil
}

// backoff returns how long to wait before the next of several attempts in a
// row: none before the first, then twice as long each time, with jitter over
// the upper half, and at least what the server asked for.
func (o *Options) backoff(attempts int, asked time.Duration) time.Duration {
	var wait time.Duration
	if attempts > 0 {
		wait = o.BackoffMax
		if n := attempts - 1; n < 32 && o.BackoffBase<<n < o.BackoffMax && o.BackoffBase<<n > 0 {
			wait = o.BackoffBase << n
		}
		wait = wait/2 + time.Duration(o.Rand()*float64(wait/2))
	}
	return max(wait, min(asked, o.MaxRetryHint))
}
