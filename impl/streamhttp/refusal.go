package streamhttp

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"example.com/reattach/spec"
)

// JSON-RPC error codes: of the answers that this package gives itself, and the
// two that every application needs.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeRefused        = -32000 // the reason is in the data
	CodeSessionGone    = -32001 // the same, for the reasons with status 404
	CodeCancelled      = -32800 // the client cancelled the call
	CodeOutcomeUnknown = -32002 // the work was cancelled: neither done nor not done (R9b)
)

// A Refusal is an answer other than success: a status with a JSON-RPC error
// object that carries the reason and, for a cursor, what the server knows.
type Refusal struct {
	Status     int             // HTTP status
	Reason     spec.Reason     // "" where the contract names none
	Cursor     string          // the cursor presented; "" unless it has the form of one
	Floor      string          // event id of the stream's floor, or ""
	Head       string          // event id of the stream's head, or ""
	RetryAfter time.Duration   // 0 = not at all
	Code       int             // JSON-RPC error code
	Message    string          // for people
	ID         json.RawMessage // of the request refused; nil = null
	Supported  []string        // the revisions served, where that is what was wrong

	sealed string // the key that it says is sealed (R28); read by clients
}

// Error tells the status and the reason.
func (r *Refusal) Error() string {
	text := "reattach: HTTP " + strconv.Itoa(r.Status)
	if r.Reason != "" {
		text += " " + string(r.Reason)
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}

// Unwrap returns the reason, for errors.Is(err, spec.ReasonCursorEvicted).
func (r *Refusal) Unwrap() error {
	if r.Reason == "" {
		return nil
	}
	return r.Reason
}

// refusal returns the refusal that carries a reason of the contract.
func refusal(reason spec.Reason, message string) *Refusal {
	r := &Refusal{Status: reason.Status(), Reason: reason, Code: CodeRefused, Message: message}
	if r.Status == http.StatusNotFound {
		r.Code = CodeSessionGone
	}
	return r
}

// plain returns a refusal that needs no reason of the contract.
func plain(status, code int, message string) *Refusal {
	return &Refusal{Status: status, Code: code, Message: message}
}

// The JSON form of a refusal, which is also what a client parses.
type (
	errorBody struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   errorObject     `json:"error"`
	}
	errorObject struct {
		Code    int        `json:"code"`
		Message string     `json:"message"`
		Data    *errorData `json:"data,omitempty"`
	}
	errorData struct {
		Reason    string   `json:"reason,omitempty"`
		Cursor    string   `json:"cursor,omitempty"`
		Floor     string   `json:"floor,omitempty"`
		Head      string   `json:"head,omitempty"`
		Supported []string `json:"supported,omitempty"`
		Key       string   `json:"key,omitempty"` // of a ledger's refusal
	}
)

// body returns the JSON text of the refusal.
func (r *Refusal) body() []byte {
	b := errorBody{JSONRPC: "2.0", ID: r.ID, Error: errorObject{Code: r.Code, Message: r.Message}}
	if r.ID == nil {
		b.ID = json.RawMessage("null")
	}
	if b.Error.Message == "" {
		b.Error.Message = string(r.Reason)
	}
	if r.Reason != "" || r.Supported != nil {
		b.Error.Data = &errorData{Reason: string(r.Reason), Cursor: r.Cursor, Floor: r.Floor, Head: r.Head, Supported: r.Supported}
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic("reattach: BUG: a refusal that is not JSON: " + err.Error())
	}
	return text
}

// write answers a request with the refusal.
func (r *Refusal) write(w http.ResponseWriter) {
	h := w.Header()
	if r.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(r.RetryAfter.Seconds())), 10))
	}
	writeJSON(w, r.Status, r.body())
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaJSON)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone has nothing to be told
}

// parseRefusal reads what a server says beside a status other than success.
// What is not such an object leaves the status and no reason: a gateway's page
// proves nothing.
func parseRefusal(status int, h http.Header, body io.Reader) *Refusal {
	r := &Refusal{Status: status, RetryAfter: retryAfter(h)}
	text, err := io.ReadAll(io.LimitReader(body, maxErrorBody))
	var b errorBody
	if err != nil || !isMedia(h, mediaJSON) || json.Unmarshal(text, &b) != nil || b.JSONRPC != "2.0" {
		return r
	}
	r.Code, r.Message = b.Error.Code, b.Error.Message
	if d := b.Error.Data; d != nil {
		r.Cursor, r.Floor, r.Head, r.Supported = d.Cursor, d.Floor, d.Head, d.Supported
		// A reason that does not belong to the status was not written by a
		// server of ours, or not for this answer.
		if reason := spec.Reason(d.Reason); reason.Status() == status {
			r.Reason = reason
		} else if reason.KnownNotExecuted() && r.Code == spec.CodeLedger {
			r.Reason, r.sealed = reason, d.Key
		}
	}
	return r
}

// maxErrorBody bounds what a client reads of a refusal, in bytes.
const maxErrorBody = 16 << 10

// retryAfter reads a Retry-After in seconds; its form with a date, which needs
// the server's clock, counts as absent.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
