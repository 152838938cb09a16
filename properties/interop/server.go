package interop

import (
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/reattach/impl/gosdk"
)

// NewHandler serves one server of the SDK under the resumption contract.
func NewHandler(server *mcp.Server, o gosdk.Options) (*gosdk.Handler, error) {
	return gosdk.NewHandler(func(*http.Request) *mcp.Server { return server }, o)
}

// A Miss is one of the forms in which a server of ours answers a cursor that it
// refuses.
type Miss string

const (
	MissConflict Miss = "409"   // the default: a refusal, and the session lives
	MissGone     Miss = "404"   // the session ends
	MissError    Miss = "error" // a stream of status 200 that ends the call with a JSON-RPC error
)

// Misses lists the forms that [Miss.Apply] knows.
func Misses() []Miss { return []Miss{MissConflict, MissGone, MissError} }

// Apply sets the option.
func (m Miss) Apply(o *gosdk.Options) error {
	switch m {
	case MissConflict:
	case MissGone:
		o.HTTP.MissEndsSession = true
	case MissError:
		o.HTTP.MissAnswersCall = true
	default:
		return fmt.Errorf("a cursor that is gone is answered by %v, not by %q", Misses(), m)
	}
	return nil
}
