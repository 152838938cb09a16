package streamhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// methodInitialize opens a session; methodCancelled ends a call of one.
const (
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
)

// post answers a POST: a message, or a request for a view in disguise.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, subject string) *Refusal {
	body, refused := h.readBody(w, r)
	if refused != nil {
		return refused
	}
	resuming := len(r.Header.Values(HeaderLastEventID)) > 0
	if len(body) == 0 && resuming {
		return h.resume(w, r, subject)
	}
	if !isMedia(r.Header, mediaJSON) {
		return plain(http.StatusUnsupportedMediaType, CodeInvalidRequest, "the body of a POST is "+mediaJSON)
	}
	e, err := parseEnvelope(body)
	if err != nil {
		return h.unreadable(r.Header, subject, err)
	}
	_, named := r.Header[http.CanonicalHeaderKey(HeaderSessionID)]
	if e.kind == Request && e.method == methodInitialize {
		if named || resuming {
			return h.initializeAgain(r.Header, subject, resuming)
		}
		return h.initialize(w, r, subject, e)
	}
	if refused := checkVersion(r.Header); refused != nil {
		refused.ID = e.id
		return refused
	}
	wants := spec.ClientNotifies
	if e.kind == Request {
		wants = spec.ClientCalls
	}
	s, refused := h.lookup(r.Header, subject, wants)
	if refused == nil {
		s.core.Enter()
		defer s.core.Leave()
		switch {
		case resuming:
			refused = refusal(spec.ReasonCursorWithMessage, "a message or a cursor, not both: resume with GET")
		case e.kind == Request:
			refused = h.call(w, r, s, e)
		default:
			refused = h.notify(w, r, s, e)
		}
	}
	if refused != nil && e.kind == Request {
		refused.ID = e.id
	}
	return refused
}

// readBody reads the body within its budget and its bound. A connection whose
// body did not come as it should keeps its deadline and is closed: the server
// would otherwise wait for the rest of the body without one.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *Refusal) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.opts.ReadBudget)) // where it is not supported, the server's own timeouts hold
	var body []byte
	err := error(&http.MaxBytesError{Limit: h.opts.MessageBytes})
	if r.ContentLength <= h.opts.MessageBytes {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, h.opts.MessageBytes))
	}
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
		return body, nil
	}
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return nil, plain(http.StatusRequestEntityTooLarge, CodeInvalidRequest, "the message is too large")
	}
	return nil, plain(http.StatusRequestTimeout, CodeInvalidRequest, "the body did not arrive")
}

// unreadable refuses a body that is no message. The session comes first in the
// order of the checks, so one that is gone is still told so.
func (h *Handler) unreadable(header http.Header, subject string, err error) *Refusal {
	if refused := checkVersion(header); refused != nil {
		return refused
	}
	if _, named := one(header, HeaderSessionID); named {
		if _, refused := h.lookup(header, subject, spec.ClientNotifies); refused != nil {
			return refused
		}
	}
	return plain(http.StatusBadRequest, CodeParse, err.Error())
}

// initializeAgain refuses an initialize that names a session, or brings a
// cursor: a resumption request never creates a session (R6).
func (h *Handler) initializeAgain(header http.Header, subject string, resuming bool) *Refusal {
	if _, named := header[http.CanonicalHeaderKey(HeaderSessionID)]; named {
		s, refused := h.lookup(header, subject, spec.ClientInitializes)
		if refused != nil {
			return refused
		}
		if err := s.core.Initialize(); err != nil {
			return h.refused(err)
		}
		panic("reattach: BUG: a session was initialized twice")
	}
	return refusal(spec.ReasonCursorWithMessage, "initialize begins a session: it has no cursor yet")
}

// initialize opens a session if the application answers with a result. The
// answer is one JSON object and not a stream: whether there is a session
// must be known before its id goes out, and a client that loses the answer
// knows no session in which to resume it.
func (h *Handler) initialize(w http.ResponseWriter, r *http.Request, subject string, e envelope) *Refusal {
	if !accepts(r.Header, mediaJSON) {
		return notAcceptable()
	}
	core, err := h.registry.Open(subject, nil)
	if err != nil {
		refused := h.refused(err)
		refused.ID = e.id
		return refused
	}
	s := &Session{core: core, id: core.ID()}
	core.SetMeta(s)
	core.Enter()
	defer core.Leave()

	stream := s.Standalone()
	stream.id, stream.opening = e.id, &opening{}
	h.runNow(r, s, stream, e)
	if !stream.last.Load() {
		_, _ = stream.Fail(CodeInternal, "the application gave no answer", nil) // the answer is kept here, nothing can refuse it
	}
	answer := stream.opening.answer
	version, opened := readOpening(answer)
	if opened && !slices.Contains(Versions(), version) {
		h.log.Error("the application negotiated a protocol version that is not served", "version", version)
		answer, err = failure(e.id, CodeInternal, "no protocol version was negotiated", nil)
		if err != nil {
			panic("reattach: BUG: a failure that is not JSON: " + err.Error())
		}
		opened = false
	}
	if !opened || r.Context().Err() != nil { // refused, or nobody will ever know the id
		_ = core.Terminate() // it may have ended by itself
		writeJSON(w, http.StatusOK, answer)
		return nil
	}
	if err := core.Describe(noteOf(version)); err != nil { // who comes back must find it
		_ = core.Terminate()
		refused := h.refused(err)
		refused.ID = e.id
		return refused
	}
	s.mu.Lock()
	s.version = version
	s.mu.Unlock()
	w.Header().Set(HeaderSessionID, s.id)
	w.Header().Set(HeaderStandalone, core.StandalonePosition().String())
	writeJSON(w, http.StatusOK, answer)
	return nil
}

// readOpening reads the negotiated version from an answer to initialize; it
// reports false for an error response.
func readOpening(answer []byte) (version string, ok bool) {
	var a struct {
		Result *struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &a) != nil || a.Result == nil {
		return "", false
	}
	return a.Result.Version, true
}

// notify hands over what wants no answer.
func (h *Handler) notify(w http.ResponseWriter, r *http.Request, s *Session, e envelope) *Refusal {
	if err := s.core.Notify(); err != nil {
		return h.refused(err)
	}
	switch {
	case e.kind == Notification && e.method == methodCancelled:
		s.cancel(e.params)
		h.runNow(r, s, s.Standalone(), e)
	case e.kind == Response && s.answered(e):
	default:
		h.runNow(r, s, s.Standalone(), e)
	}
	w.Header().Set(HeaderSessionID, s.id)
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// call opens a stream for the request and serves its view.
func (h *Handler) call(w http.ResponseWriter, r *http.Request, s *Session, e envelope) *Refusal {
	if !accepts(r.Header, mediaEventStream) {
		return notAcceptable()
	}
	c := &call{id: bytes.Clone(e.id)} // kept while the stream is: not the whole body with it
	if !s.begin(c) {
		return plain(http.StatusBadRequest, CodeInvalidRequest, "a request with this id is running")
	}
	stream := &Stream{session: s, id: c.id, call: c}
	var err error
	v, older := s.attach(func() (*view, uint64) {
		if s.crowded(h.writers, newStream) {
			err = spec.ReasonTooManyRequests
			return nil, 0
		}
		var core *session.View
		if stream.core, core, err = s.core.Call(stream); err != nil {
			return nil, 0
		}
		return h.newView(w, r, s, core), stream.Number()
	})
	if err != nil {
		s.end(c)
		return h.refused(err)
	}
	h.start(r, c, stream, e)
	v.serve(r, older)
	return nil
}
