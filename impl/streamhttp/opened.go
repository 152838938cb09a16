package streamhttp

import (
	"encoding/json"

	"example.com/reattach/impl/client"
)

// ResultOf returns what the server answered to the initialize request that
// opened the session, as the record keeps it: for bindings that answer their
// caller's initialize from the record after a restart. It is nil without a
// session, and if the answer was larger than 64 KiB.
func ResultOf(s client.Session) json.RawMessage {
	var m meta
	_ = json.Unmarshal(s.Meta, &m) // no session, no meta
	return m.Result
}
