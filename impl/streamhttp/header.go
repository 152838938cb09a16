package streamhttp

import (
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Header names of the wire. The first three are MCP's and HTTP's, the others
// are ours; a peer that does not know ours loses nothing by ignoring them.
const (
	HeaderSessionID       = "Mcp-Session-Id"
	HeaderLastEventID     = "Last-Event-ID"
	HeaderProtocolVersion = "Mcp-Protocol-Version"

	HeaderPosition   = "Reattach-Position"   // the event id at which a view begins (R8)
	HeaderMode       = "Reattach-Mode"       // attach, reattach or replay (R8)
	HeaderStandalone = "Reattach-Standalone" // position 0 of the standalone stream (R7)
	HeaderAttempt    = "Reattach-Attempt"    // request: which attempt of its client this is (R10)
	HeaderNotify     = "Reattach-Notify"     // request: 1 asks for control notifications (R8); 0, that the client resumes and wants none (R9b)
	HeaderKeepAlive  = "Reattach-Keepalive"  // seconds between the comments of a quiet view (R15)
)

// Control notifications (R8, R9). They carry no event id and use up no seq;
// a client never takes one for a delivery.
const (
	ControlPrefix            = "notifications/reattach/"
	MethodResumed            = ControlPrefix + "resumed"
	MethodResumptionRequired = ControlPrefix + "resumption_required"
)

// Comments of an event stream.
const (
	commentPosition  = "reattach position=" // R8
	commentRequired  = "reattach resumption-required"
	commentKeepAlive = "reattach keep-alive"
)

// Protocol revisions that have sessions and resumption.
const (
	Version20250326 = "2025-03-26"
	Version20250618 = "2025-06-18"
	Version20251125 = "2025-11-25"
)

// Versions lists the protocol revisions that this package serves, oldest
// first.
func Versions() []string { return []string{Version20250326, Version20250618, Version20251125} }

const (
	mediaJSON        = "application/json"
	mediaEventStream = "text/event-stream"
)

// primes reports whether clients of a revision expect a position event: an id
// with empty data. Clients of older ones try to parse the empty data (R8).
func primes(version string) bool { return version >= Version20251125 }

// one returns the only value of a header; it reports false for none, for
// several, and for an empty one.
func one(h http.Header, name string) (string, bool) {
	values := h.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", false
	}
	return values[0], true
}

// accepts reports whether the request takes a media type. A request that says
// nothing takes everything. It reads only as much of RFC 9110 as clients use:
// ranges, and q=0 for "not this".
func accepts(h http.Header, media string) bool {
	values := h.Values("Accept")
	if len(values) == 0 {
		return true
	}
	family, _, _ := strings.Cut(media, "/")
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, params, _ := strings.Cut(item, ";")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case media, family + "/*", "*/*":
				if !isZeroQuality(params) {
					return true
				}
			}
		}
	}
	return false
}

func isZeroQuality(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			return strings.Trim(strings.TrimSpace(value), "0.") == ""
		}
	}
	return false
}

// isMedia reports whether a header says that the body is of a media type.
func isMedia(h http.Header, media string) bool {
	got, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && got == media
}

// cursors returns every cursor that the request presents; an empty one counts,
// because "present and empty" is a fault and not the absence of a cursor (R5).
func cursors(h http.Header) []string { return slices.Clone(h.Values(HeaderLastEventID)) }

// attempts returns every attempt that the request is numbered with (R10).
func attempts(h http.Header) []string { return slices.Clone(h.Values(HeaderAttempt)) }

// version returns the revision that a request names. Without the header it is
// the one that knew no such header; ok is false for one that is not served.
func version(h http.Header) (v string, ok bool) {
	values := h.Values(HeaderProtocolVersion)
	if len(values) == 0 {
		return Version20250326, true
	}
	return values[0], len(values) == 1 && slices.Contains(Versions(), values[0])
}

// isSessionID reports whether a text can be a session id at all: visible
// ASCII, not absurdly long.
func isSessionID(id string) bool {
	if id == "" || len(id) > maxSessionID {
		return false
	}
	for i := 0; i < len(id); i++ {
		if id[i] < 0x21 || id[i] > 0x7e {
			return false
		}
	}
	return true
}

// maxSessionID bounds the session ids that either end looks at, in bytes.
const maxSessionID = 1024
