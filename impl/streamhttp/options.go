package streamhttp

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// Options of a [Handler]. The zero value is useful and safe: the defaults of
// package spec, no log, one subject for all, and on a loopback address
// protection against pages of a browser.
type Options struct {
	// Session holds the limits, budgets and tables of the sessions, and their
	// store. Its Unknown and Notes are set by the handler, its Logger defaults to
	// Logger.
	Session session.Options

	// Subject names who is asking, by something stable that authentication
	// has established: not by a token that is refreshed. An error is answered
	// with 401. Nil: everybody is the same subject, so that a session belongs
	// to whoever knows its id, and the cap on one subject's sessions is the
	// cap on all (R13, R3).
	Subject func(*http.Request) (string, error)

	// Hosts are the only values of Host, with or without port, under which
	// the server answers; "*" is any. Nil: any, but on a loopback address
	// loopback names only.
	Hosts []string
	// Origins are the origins beside the server's own whose pages may ask;
	// "*" is any.
	Origins []string

	// MissEndsSession answers a cursor that is refused with 404 instead of 409,
	// and ends the session: for clients of others that know no way out of a
	// 409, and begin anew after a 404. The reason in the body stays (R5).
	MissEndsSession bool
	// MissAnswersCall answers it with status 200 instead, and a stream with one
	// event: the body of the 409 as the error response to the request whose stream
	// the cursor names. It is for clients of others that give up the session at
	// any other status, and ends their call only. The error says what was missed
	// and not what the call did: it may have run. What answers no call, and a
	// stream that is forgotten, still gets the 409. Not with MissEndsSession.
	MissAnswersCall bool

	MessageBytes int64         // largest body of a POST; 0 = spec.DefaultMessageBytes
	ReadBudget   time.Duration // time in which a body must arrive; 0 = spec.DefaultReadBudget

	// A view on which data was pending for StallBudget without a break, and of
	// which less than MinRate bytes a second were accepted in it, is cut (R9).
	StallBudget time.Duration // 0 = spec.DefaultStallBudget
	MinRate     int           // 0 = spec.DefaultMinRate

	// Views are ended cleanly, with `retry`, after a bounded time, so that a
	// proxy which holds a dead client's connection keeps nothing alive (R9b).
	ViewLife       time.Duration // of clients that resume: those of 2025-11-25, and whoever has; 0 = spec.DefaultViewLife
	ViewLifeOthers time.Duration // of the others; 0 = spec.DefaultViewLifeOthers

	KeepAlive   time.Duration // silence after which a view carries a comment (R15); 0 = spec.DefaultKeepAlive
	RetryHint   time.Duration // `retry` of a view that is ended on purpose; 0 = spec.DefaultRetryHint
	GracePeriod time.Duration // within which Drain is over (R12); 0 = spec.DefaultGracePeriod
	RetryAfter  time.Duration // Retry-After of a refusal that may pass; 0 = spec.DefaultRetryAfter

	// Restored is told of a session that Session.Store gave back, before anybody
	// else has it: what SetValue kept did not outlive its process. An error
	// keeps it from coming back for now (503).
	Restored func(*Session) error

	// Logger is told what goes wrong, never a session id. Nil is silent.
	Logger *slog.Logger
}

// minEventBytes is the least that the payload of an event may be bounded to:
// the typed error answer to a call with the longest id must fit (R9b).
const minEventBytes = 1024

// withDefaults fills in what was left out, and refuses what makes no sense.
func (o Options) withDefaults() (Options, error) {
	for _, d := range [...]struct {
		name  string
		value *time.Duration
		is    time.Duration
	}{
		{"ReadBudget", &o.ReadBudget, spec.DefaultReadBudget},
		{"StallBudget", &o.StallBudget, spec.DefaultStallBudget},
		{"ViewLife", &o.ViewLife, spec.DefaultViewLife},
		{"ViewLifeOthers", &o.ViewLifeOthers, spec.DefaultViewLifeOthers},
		{"KeepAlive", &o.KeepAlive, spec.DefaultKeepAlive},
		{"GracePeriod", &o.GracePeriod, spec.DefaultGracePeriod},
		{"RetryHint", &o.RetryHint, spec.DefaultRetryHint},
		{"RetryAfter", &o.RetryAfter, spec.DefaultRetryAfter},
	} {
		if *d.value < 0 {
			return o, fmt.Errorf("reattach: Options.%s is %v, want 0 or more", d.name, *d.value)
		}
		if *d.value == 0 {
			*d.value = d.is
		}
	}
	if o.MissEndsSession && o.MissAnswersCall {
		return o, fmt.Errorf("reattach: Options.MissEndsSession and MissAnswersCall exclude each other: choose one answer to a cursor that is refused")
	}
	if o.MinRate < 0 {
		return o, fmt.Errorf("reattach: Options.MinRate is %d, want 0 or more", o.MinRate)
	}
	o.MinRate = cmp.Or(o.MinRate, spec.DefaultMinRate)
	if o.MessageBytes < 0 {
		return o, fmt.Errorf("reattach: Options.MessageBytes is %d, want 0 or more", o.MessageBytes)
	}
	if o.MessageBytes == 0 {
		o.MessageBytes = spec.DefaultMessageBytes
	}
	event := min(cmp.Or(o.Session.EventBytes, spec.DefaultEventBytes), cmp.Or(o.Session.WindowBytes, spec.DefaultWindowBytes)-1)
	if event > 0 && event < minEventBytes {
		return o, fmt.Errorf("reattach: an event may have %d bytes by Options.Session, want at least %d: an error answer must fit", event, minEventBytes)
	}
	if o.Session.Unknown != nil {
		return o, fmt.Errorf("reattach: Options.Session.Unknown is the handler's to set")
	}
	if o.Session.Notes != nil {
		return o, fmt.Errorf("reattach: Options.Session.Notes are the handler's to set")
	}
	if o.Session.Logger == nil {
		o.Session.Logger = o.Logger
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Subject == nil {
		o.Subject = func(*http.Request) (string, error) { return "", nil }
		if o.Session.SubjectSessions == 0 {
			if o.Session.SubjectSessions = o.Session.Sessions; o.Session.Sessions == 0 {
				o.Session.SubjectSessions = spec.DefaultSessions
			}
		}
	}
	return o, nil
}
