package streamhttp

import (
	"fmt"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"
)

// R23: of all that a ledger may say of a key, a seal proves that the call did
// not run, a lost response that it did, and nothing else proves anything.
func TestWhatARefusalOfALedgerMeans(t *testing.T) {
	means := map[spec.Reason]client.Meaning{
		spec.ReasonKeySealed: client.MeansNotRun, spec.ReasonKeyFuture: client.MeansNotRun, spec.ReasonLedgerFull: client.MeansNotRun,
		spec.ReasonResponseLost: client.MeansLost,
		spec.ReasonKeyReused:    client.MeansUnknown, spec.ReasonKeyUnknown: client.MeansUnknown, spec.ReasonKeyMalformed: client.MeansUnknown,
		spec.ReasonLedgerUnavailable: client.MeansUnknown, "a reason of tomorrow": client.MeansUnknown,
	}
	for reason, want := range means {
		fault := fmt.Appendf(nil, `{"code":%d,"message":"no","data":{"reason":%q}}`, spec.CodeLedger, reason)
		if got, why := meaningOf(envelope{fault: fault}); got != want || why != reason {
			t.Errorf("%s means %v, %s; want %v", reason, got, why, want)
		}
		// Another server's error is an answer, whatever it calls its reasons.
		fault = fmt.Appendf(nil, `{"code":-32001,"message":"no","data":{"reason":%q}}`, reason)
		if got, why := meaningOf(envelope{fault: fault}); got != client.MeansRan || why != "" {
			t.Errorf("%s in an error of the application's means %v, %s", reason, got, why)
		}
	}
}
