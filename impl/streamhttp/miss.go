package streamhttp

import (
	"encoding/json"
	"net/http"
	"strconv"

	"example.com/reattach/impl/sse"
	"example.com/reattach/spec"
)

// missed makes of a cursor miss what the options want of one; it returns nil if
// that is an answer. Whatever else was refused stays as it is, the session's end
// too; and who comes too late touches nothing (R10).
func (h *Handler) missed(w http.ResponseWriter, s *Session, r *Refusal, cursor spec.EventID) *Refusal {
	if r.Status != http.StatusConflict || r.Reason == spec.ReasonAttemptSuperseded {
		return r
	}
	switch {
	case h.opts.MissEndsSession && s.core.Terminate() == nil:
		r.Status = http.StatusNotFound
	case h.opts.MissAnswersCall:
		if r.ID = s.callOf(cursor); r.ID != nil {
			r.answer(w, s.id)
			return nil
		}
	}
	return r
}

// callOf returns the id of the request whose stream the cursor names, nil if
// that answers none, or none of this session, or is forgotten. It is kept with
// the stream, so a call that was answered has one too.
func (s *Session) callOf(cursor spec.EventID) json.RawMessage {
	if cursor.Tag != s.core.Tag() {
		return nil
	}
	if stream, ok := s.core.Stream(cursor.Stream).Meta().(*Stream); ok {
		return stream.id
	}
	return nil
}

// answer answers with the refusal's error object as if it were the response to
// the call: one event on a stream of status 200. It is no event of the stream
// that was asked for: no position is announced (R8), and it has no id, so that a
// client of ours, which goes by these, gives the session up as it does at a 409
// (R21, R22).
func (r *Refusal) answer(w http.ResponseWriter, session string) {
	body := must(sse.AppendEvent(nil, "", "", r.body()))
	h := w.Header()
	h.Set("Content-Type", mediaEventStream)
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set(HeaderSessionID, session)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // a client that is gone has nothing to be told
}
