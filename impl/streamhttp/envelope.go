package streamhttp

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A Kind says what a JSON-RPC message is.
type Kind uint8

const (
	_            Kind = iota
	Request           // wants an answer
	Notification      // does not
	Response          // is one: of the client, to a request of the server
)

var kindNames = [...]string{"?", "request", "notification", "response"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// MaxIDLen bounds the text of a JSON-RPC id, in bytes: it is repeated in the
// answer, and kept while the call runs.
const MaxIDLen = 512

// ErrMessage is what every refusal of a JSON-RPC message wraps.
var ErrMessage = errors.New("not a JSON-RPC 2.0 message")

// An envelope is one JSON-RPC message, taken apart no further than needed. Its
// parts point into the text that was parsed.
type envelope struct {
	kind   Kind
	id     json.RawMessage // a string or a number; nil where there is none
	method string
	params json.RawMessage
	result json.RawMessage
	fault  json.RawMessage
}

// parseEnvelope reads one message. Keys count exactly as they are written, and
// none may be there twice: what another program on the way understood, by a
// laxer reading, would otherwise differ from what is done here.
func parseEnvelope(text []byte) (e envelope, err error) {
	begin := skipSpace(text, 0)
	if !hasAt(text, begin, '{') {
		return e, notAnObject(text, begin)
	}
	var m messageMembers
	end := checkObject(text, begin, 1, m.member)
	switch {
	case end < 0 || skipSpace(text, end) < len(text):
		return e, errNotJSON
	case m.twice:
		return e, fmt.Errorf("%w: a member is there twice", ErrMessage)
	case string(m.protocol) != `"2.0"`:
		return e, fmt.Errorf("%w: jsonrpc is not \"2.0\"", ErrMessage)
	}
	err = m.classify(m.name)
	return m.envelope, err
}

var errNotJSON = fmt.Errorf("%w: not JSON", ErrMessage)

// notAnObject says why a text that does not begin an object is no message.
func notAnObject(text []byte, begin int) error {
	switch {
	case !valid(text):
		return errNotJSON
	case text[begin] == '[':
		// Revision 2025-03-26 knew batches; no SDK sends them, later revisions
		// have none, and several calls on one stream would share one fate: the
		// last answer finishes a stream.
		return fmt.Errorf("%w: a batch; send each message in a POST of its own", ErrMessage)
	default:
		return fmt.Errorf("%w: not an object", ErrMessage)
	}
}

// messageMembers puts the members of a message where they belong.
type messageMembers struct {
	envelope
	protocol json.RawMessage
	name     json.RawMessage // of the method
	seen     int
	twice    bool
}

func (m *messageMembers) member(quoted, value []byte) {
	var to *json.RawMessage
	var bit int
	switch string(unquote(quoted)) {
	case "jsonrpc":
		to, bit = &m.protocol, 1
	case "id":
		to, bit = &m.id, 2
	case "method":
		to, bit = &m.name, 4
	case "params":
		to, bit = &m.params, 8
	case "result":
		to, bit = &m.result, 16
	case "error":
		to, bit = &m.fault, 32
	default:
		return
	}
	m.twice = m.twice || m.seen&bit != 0
	m.seen |= bit
	*to = value
}

func (e *envelope) classify(method json.RawMessage) error {
	if method == nil {
		return e.classifyResponse()
	}
	if e.result != nil || e.fault != nil {
		return fmt.Errorf("%w: both a method and an outcome", ErrMessage)
	}
	if e.method = methodText(method); method[0] != '"' || e.method == "" {
		return fmt.Errorf("%w: method is not a text", ErrMessage)
	}
	if e.id == nil {
		e.kind = Notification
		return nil
	}
	e.kind = Request
	return checkID(e.id)
}

func (e *envelope) classifyResponse() error {
	if (e.result == nil) == (e.fault == nil) {
		return fmt.Errorf("%w: neither a method nor exactly one outcome", ErrMessage)
	}
	if e.fault != nil && e.fault[0] != '{' {
		return fmt.Errorf("%w: error is not an object", ErrMessage)
	}
	e.kind = Response
	if e.fault != nil && (e.id == nil || string(e.id) == "null") {
		e.id = nil // an error about a message whose id could not be read
		return nil
	}
	return checkID(e.id)
}

func checkID(id json.RawMessage) error {
	switch {
	case len(id) == 0:
		return fmt.Errorf("%w: no id", ErrMessage)
	case len(id) > MaxIDLen:
		return fmt.Errorf("%w: an id of %d bytes, at most %d", ErrMessage, len(id), MaxIDLen)
	case id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9'):
		return fmt.Errorf("%w: id is neither a text nor a number", ErrMessage)
	}
	return nil
}

// isControl reports whether a message is one of the control notifications that
// are never delivered (R8).
func (e *envelope) isControl() bool {
	return e.kind == Notification && len(e.method) > len(ControlPrefix) && e.method[:len(ControlPrefix)] == ControlPrefix
}
