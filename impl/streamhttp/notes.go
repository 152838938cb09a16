package streamhttp

import (
	"encoding/json"
	"fmt"
	"slices"

	"example.com/reattach/impl/session"
)

// notes carry through a store what this package needs of a session and of a
// call: the negotiated revision, and the id that the answer needs.
type notes struct{ restored func(*Session) error }

// note is what is kept of a session.
type note struct {
	Version string `json:"version"`
}

func noteOf(version string) []byte {
	text, err := json.Marshal(note{version})
	if err != nil {
		panic("reattach: BUG: a note that is not JSON: " + err.Error())
	}
	return text
}

func (notes) Call(meta any) []byte {
	stream, ok := meta.(*Stream)
	if !ok {
		panic(fmt.Sprintf("reattach: BUG: a call of %T, not of a handler", meta))
	}
	return stream.id
}

// Restore makes the application's side of a session anew. One whose initialize
// was not answered when its process ended has no client: nobody knows its id.
func (notes) Restore(core *session.Session, text []byte) (any, error) {
	var kept note
	if err := json.Unmarshal(text, &kept); err != nil || !slices.Contains(Versions(), kept.Version) {
		return nil, fmt.Errorf("reattach: a session in the store has the note %.64q", text)
	}
	return &Session{core: core, id: core.ID(), version: kept.Version}, nil
}

func (n notes) Restored(s any) error {
	if n.restored == nil {
		return nil
	}
	return n.restored(s.(*Session))
}

func (notes) RestoreCall(s any, id []byte) any {
	stream := &Stream{session: s.(*Session), id: id}
	stream.last.Store(true) // its answer is made without it
	return stream
}
