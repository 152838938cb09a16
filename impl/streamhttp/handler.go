package streamhttp

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// A Handler serves MCP Streamable HTTP for one application. It is an
// [http.Handler] for one path; end it with Close.
//
// Every request becomes one trigger of the session's table, and what the
// session says becomes the answer:
//
//	POST initialize             ClientInitializes  200 with the result, Mcp-Session-Id, Reattach-Standalone
//	POST a request              ClientCalls        200 and an event stream, resumable
//	POST anything else          ClientNotifies     202
//	GET                         ClientResumes      200 and an event stream, or 204: nothing was missed
//	POST, no body, with cursor  ClientResumes      the same
//	DELETE                      ClientTerminates   204
//
// A refusal is a JSON-RPC error object; see [Refusal].
type Handler struct {
	app      App
	opts     Options
	guard    guard
	registry *session.Registry
	writers  int   // responses being written in one session, at most (R3)
	calls    tally // whose work runs
	views    tally // responses that are event streams
	log      *slog.Logger
}

// NewHandler returns a handler that serves app. An error says which of the
// options makes no sense.
func NewHandler(app App, o Options) (*Handler, error) {
	if app == nil {
		return nil, errors.New("reattach: NewHandler without an application")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	o.Session.Unknown, o.Session.Notes = unknownOutcome, notes{restored: o.Restored}
	registry, err := session.NewRegistry(o.Session)
	if err != nil {
		return nil, err
	}
	return &Handler{app: app, opts: o, guard: guard{o.Hosts, o.Origins}, registry: registry, writers: registry.Responses(), log: o.Logger}, nil
}

// Close ends every session, and with it every view and every call's context.
func (h *Handler) Close() { h.registry.Close() }

// Stats tells how full the handler is.
func (h *Handler) Stats() session.Stats { return h.registry.Stats() }

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if refused := h.serve(w, r); refused != nil {
		refused.write(w)
	}
}

// serve answers the request, or returns the refusal to answer it with.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) *Refusal {
	if err := h.guard.check(r); err != nil {
		return plain(http.StatusForbidden, CodeInvalidRequest, err.Error())
	}
	subject, err := h.opts.Subject(r)
	if err != nil {
		return plain(http.StatusUnauthorized, CodeInvalidRequest, "not authenticated")
	}
	switch r.Method {
	case http.MethodPost:
		return h.post(w, r, subject)
	case http.MethodGet:
		return h.resume(w, r, subject)
	case http.MethodDelete:
		return h.terminate(w, r, subject)
	}
	w.Header().Set("Allow", strings.Join([]string{http.MethodGet, http.MethodPost, http.MethodDelete}, ", "))
	return plain(http.StatusMethodNotAllowed, CodeInvalidRequest, "the methods are GET, POST and DELETE")
}

// resume answers a request for a view, with or without a cursor.
func (h *Handler) resume(w http.ResponseWriter, r *http.Request, subject string) *Refusal {
	if !accepts(r.Header, mediaEventStream) {
		return notAcceptable()
	}
	if refused := checkVersion(r.Header); refused != nil {
		return refused
	}
	s, refused := h.lookup(r.Header, subject, spec.ClientResumes)
	if refused != nil {
		return refused
	}
	var decision session.Decision
	var err error
	v, older := s.attach(func() (*view, uint64) {
		var core *session.View
		core, decision, err = s.core.Resume(session.Request{Cursors: cursors(r.Header), Attempts: attempts(r.Header)})
		stream := decision.Position.Stream
		switch {
		case core == nil:
			return nil, stream
		case s.crowded(h.writers, stream): // room is asked for last
			_ = core.Break() // the stream waits for its reader, as before
			err = spec.ReasonTooManyViews
			return nil, stream
		}
		return h.newView(w, r, s, core), stream
	})
	switch {
	case err != nil:
		return h.missed(w, s, h.refused(err), decision.Cursor)
	case v == nil: // complete: nothing was missed, nothing will come
		if older != nil {
			older.supersede()
		}
		w.Header().Set(HeaderSessionID, s.id)
		w.Header().Set(HeaderPosition, decision.Position.String())
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	v.serve(r, older)
	return nil
}

// terminate answers a DELETE.
func (h *Handler) terminate(w http.ResponseWriter, r *http.Request, subject string) *Refusal {
	if refused := checkVersion(r.Header); refused != nil {
		return refused
	}
	s, refused := h.lookup(r.Header, subject, spec.ClientTerminates)
	if refused != nil {
		return refused
	}
	if err := s.core.Terminate(); err != nil {
		return h.refused(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// lookup returns the session that the request names; what it wants of it
// decides which row of the table refuses it where there is none.
func (h *Handler) lookup(header http.Header, subject string, wants spec.Trigger) (*Session, *Refusal) {
	id, ok := one(header, HeaderSessionID)
	if !ok {
		return nil, refusal(spec.ReasonSessionRequired, "exactly one "+HeaderSessionID+" header is needed")
	}
	core, err := h.registry.Lookup(subject, id, wants)
	if err != nil {
		return nil, h.refused(err)
	}
	s, ok := core.Meta().(*Session)
	if !ok {
		panic(fmt.Sprintf("reattach: BUG: session %s belongs to %T, not to a handler", core.Tag(), core.Meta()))
	}
	return s, nil
}

// refused makes an answer of what a session said.
func (h *Handler) refused(err error) *Refusal {
	var cursor *session.RefusalError
	if errors.As(err, &cursor) {
		d := cursor.Decision
		r := h.answerTo(d.Reason, d.Reason.Error())
		r.Cursor, r.Floor, r.Head = text(d.Cursor), text(d.Floor), text(d.Head)
		return r
	}
	var reason spec.Reason
	if errors.As(err, &reason) {
		return h.answerTo(reason, reason.Error())
	}
	h.log.Error("a session failed", "error", err)
	return plain(http.StatusInternalServerError, CodeInternal, "internal error")
}

// answerTo gives a reason its status. A reason that has none, such as that the
// table at work lacks a row, is the server's own trouble.
func (h *Handler) answerTo(reason spec.Reason, message string) *Refusal {
	r := refusal(reason, message)
	if r.Status == 0 {
		r.Status, r.Code = http.StatusInternalServerError, CodeInternal
	}
	if reason.RetryLater() {
		r.RetryAfter = h.opts.RetryAfter
	}
	return r
}

// text is the text of an event id, or "" if there is none.
func text(id spec.EventID) string {
	if !id.Valid() {
		return ""
	}
	return id.String()
}

func notAcceptable() *Refusal {
	return plain(http.StatusNotAcceptable, CodeInvalidRequest, "the answer is "+mediaJSON+" or "+mediaEventStream+": accept both")
}

func checkVersion(header http.Header) *Refusal {
	if _, ok := version(header); ok {
		return nil
	}
	r := plain(http.StatusBadRequest, CodeInvalidRequest, "unsupported protocol version")
	r.Supported = Versions()
	return r
}
