package streamhttp

import "net/http"

// End ends the session, as a DELETE of its client does: its views end, its
// calls' contexts too, and its id is never found again (R6). An error says that
// it had ended already.
func (s *Session) End() error { return s.core.Terminate() }

// Admits reports whether the protection against pages of a browser lets the
// request in (Options.Hosts and Options.Origins), and answers it with 403 if
// not. It is for what is served beside the handler under the same URL; the
// handler itself asks for every request.
func (h *Handler) Admits(w http.ResponseWriter, r *http.Request) bool {
	if err := h.guard.check(r); err != nil {
		plain(http.StatusForbidden, CodeInvalidRequest, err.Error()).write(w)
		return false
	}
	return true
}
