package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"example.com/reattach/impl/streamhttp"
	"example.com/reattach/spec"
)

// ErrOrphan is the cause of the context's end of work whose client did not come
// back for Options.Orphan.
var ErrOrphan = errors.New("reattach: nobody asked for the outcome of this call any more")

// methodInitialize is the request whose answer names the ledger.
const methodInitialize = "initialize"

// Wrap puts the ledger in front of an application:
//
//   - the answer to initialize names it
//   - a call with a key in its _meta runs once, whoever sends it how often: its
//     start is durable before app sees it, its outcome before it is answered
//   - its context outlives stream and session, because the ledger answers for
//     it: it ends when the client cancels the call, or when nobody asked for it
//     for Options.Orphan
//   - reattach/outcome is answered here
//   - everything else goes to app as it is
//
// What app answers is the outcome, an error response too.
func (l *Ledger) Wrap(app streamhttp.App) streamhttp.App {
	return func(ctx context.Context, m *streamhttp.Message) {
		if m.Kind != streamhttp.Request {
			app(ctx, m)
			return
		}
		switch m.Method {
		case methodInitialize:
			m.Stream.Intercept(l.Introduce)
		case spec.MethodOutcome:
			l.answerQuery(m)
			return
		default:
			if text, keyed := KeyOf(m.Params); keyed {
				l.serve(ctx, m, text, app)
				return
			}
		}
		app(ctx, m)
	}
}

// KeyOf returns the key in a call's params, as it is written; it reports false
// if there is none. What is there and is no text is an empty key, which no
// ledger takes.
func KeyOf(params json.RawMessage) (text string, keyed bool) {
	var fields, meta map[string]json.RawMessage // by their exact names
	if json.Unmarshal(params, &fields) != nil || json.Unmarshal(fields["_meta"], &meta) != nil {
		return "", false
	}
	value, keyed := meta[spec.MetaKey]
	if json.Unmarshal(value, &text) != nil {
		return "", keyed
	}
	return text, keyed
}

// Introduce adds the ledger's name to the answer to initialize. An error
// response stays as it is.
func (l *Ledger) Introduce(answer []byte) []byte {
	named, err := change(answer, func(result json.RawMessage) (json.RawMessage, error) {
		return change(result, func(capabilities json.RawMessage) (json.RawMessage, error) {
			return change(capabilities, func(experimental json.RawMessage) (json.RawMessage, error) {
				return change(experimental, func(json.RawMessage) (json.RawMessage, error) {
					return json.Marshal(spec.LedgerCapability{Ledger: l.name})
				}, spec.CapabilityName, true)
			}, "experimental", true)
		}, "capabilities", true)
	}, "result", false)
	if err != nil {
		return answer
	}
	return named
}

// change changes one member of an object, which may be made for it.
func change(object json.RawMessage, to func(json.RawMessage) (json.RawMessage, error), member string, make bool) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if len(object) > 0 {
		if err := json.Unmarshal(object, &fields); err != nil {
			return nil, err
		}
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	was, there := fields[member]
	if !there && !make {
		return object, nil
	}
	is, err := to(was)
	if err != nil {
		return nil, err
	}
	fields[member] = is
	return json.Marshal(fields)
}

func (l *Ledger) answerQuery(m *streamhttp.Message) {
	var p spec.OutcomeParams
	_ = json.Unmarshal(m.Params, &p) // what cannot be read is no key
	k, err := spec.ParseKey(p.Key)
	if err != nil {
		refuse(m, &RefusedError{Reason: spec.ReasonKeyMalformed})
		return
	}
	result, err := l.Query(m.Session.Subject(), k)
	if err != nil {
		refuse(m, err)
		return
	}
	if _, err := m.Stream.Answer(result); errors.Is(err, spec.ReasonEventTooLarge) {
		_, _ = m.Stream.Answer(spec.OutcomeResult{State: result.State, ResponseLost: true})
	}
}

// refuse answers with what the ledger said. That nobody may be there to read it
// is the stream's business, here and below.
func refuse(m *streamhttp.Message, err error) {
	var r *RefusedError
	if !errors.As(err, &r) {
		panic("reattach: BUG: a ledger refuses untyped: " + err.Error())
	}
	_, _ = m.Stream.Fail(spec.CodeLedger, "the ledger refuses: "+string(r.Reason), spec.LedgerRefusal{Reason: r.Reason, Key: r.Key})
}

func (l *Ledger) serve(ctx context.Context, m *streamhttp.Message, text string, app streamhttp.App) {
	k, err := spec.ParseKey(text)
	if err != nil {
		refuse(m, &RefusedError{Reason: spec.ReasonKeyMalformed})
		return
	}
	a, err := l.Arrive(m.Session.Subject(), k, spec.DigestCall(m.Method, m.Params))
	switch {
	case err != nil:
		refuse(m, err)
	case a.Executed != nil:
		repeat(m, k, *a.Executed)
	case a.Join != nil:
		l.join(ctx, m, k, a.Join)
	default:
		l.execute(ctx, m, a.Execute, app)
	}
}

// execute runs the call. However app ends, the run gets an outcome.
func (l *Ledger) execute(ctx context.Context, m *streamhttp.Message, run *Run, app streamhttp.App) {
	work, end := run.Detach(ctx)
	answered := false
	m.Stream.Intercept(func(answer []byte) []byte {
		answered = true
		_ = run.Finish(responseIn(answer)) // a store that failed is told to the log and to Stats: what happened, happened
		return answer
	})
	defer func() {
		if !answered {
			code, message := streamhttp.CodeInternal, "the application gave no answer"
			if context.Cause(work) == streamhttp.ErrCancelled {
				code, message = streamhttp.CodeCancelled, "cancelled"
			}
			_, _ = m.Stream.Fail(code, message, nil)
		}
		end()
	}()
	app(work, m)
}

// Detach returns a context for the work, with the values of ctx: it outlives
// ctx, because the ledger answers for the work. It ends when ctx is cancelled
// with streamhttp.ErrCancelled, or was over for Options.Orphan while nobody had
// joined, and with end, which is to be called when the work is done.
func (r *Run) Detach(ctx context.Context) (work context.Context, end func()) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.works(cancel)
	stop := context.AfterFunc(ctx, func() { r.ledger.orphan(ctx, work, r) })
	return work, func() {
		stop()
		r.works(nil)
		cancel(nil)
	}
}

// orphan ends the work of a call that its client cancelled; of one that lost its
// stream or session, when nobody asks for it any more.
func (l *Ledger) orphan(ctx, work context.Context, run *Run) {
	if context.Cause(ctx) == streamhttp.ErrCancelled {
		run.Cancel(streamhttp.ErrCancelled)
		return
	}
	for {
		select {
		case <-work.Done():
			return
		case <-time.After(l.opts.Orphan):
			if !run.attended() {
				run.Cancel(ErrOrphan)
				return
			}
		}
	}
}

// join waits for the outcome of a call that runs already.
func (l *Ledger) join(ctx context.Context, m *streamhttp.Message, k spec.Key, run *Run) {
	outcome, err := run.Wait(ctx)
	switch {
	case err == nil:
		repeat(m, k, outcome)
	case err == streamhttp.ErrCancelled:
		run.Cancel(err)
	}
}

// repeat answers with the outcome of a call that ran.
func repeat(m *streamhttp.Message, k spec.Key, o Outcome) {
	err := error(spec.ReasonEventTooLarge)
	if !o.Lost {
		var response map[string]json.RawMessage
		if err := json.Unmarshal(o.Response, &response); err != nil {
			panic("reattach: BUG: a response that was recorded cannot be read: " + err.Error())
		}
		response["jsonrpc"], response["id"] = json.RawMessage(`"2.0"`), m.ID
		text, _ := json.Marshal(response) // of what was read
		_, err = m.Stream.SendAnswer(text)
	}
	if errors.Is(err, spec.ReasonEventTooLarge) {
		refuse(m, &RefusedError{Reason: spec.ReasonResponseLost, Key: k.String()})
	}
}

// responseIn returns what is kept of an answer: an object with the one member
// "result" or "error".
func responseIn(answer []byte) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil {
		return nil
	}
	delete(fields, "jsonrpc")
	delete(fields, "id")
	text, _ := json.Marshal(fields) // of what was read
	return text
}
