package properties

import (
	"fmt"
	"testing"

	"example.com/reattach/impl/client"
	"example.com/reattach/spec"

	"pgregory.net/rapid"
)

// Given a client against a server that may say anything, with writes that
// succeed, fail and come late, and crashes at any step, then core and model
// answer the same and look the same, and nothing is applied twice, behind the
// fence or in another epoch; no call is lost silently. From fixed seeds, so
// that what happened can be counted.
func TestClientLockstep(t *testing.T) {
	h := hits{}
	for seed := range uint64(lockstepRuns(200)) {
		d := seeded(seed)
		p := newClientPair(d(4) == 0, d(2) == 0, h)
		steps := make([]clientStep, 600)
		for i := range steps {
			steps[i] = drawClientStep(d)
		}
		if err := p.run(steps); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	h.log(t)
	const others = "the ids of other servers, which cannot be ordered, are not the model's"
	h.needRows(t, map[string]string{"CS53": others, "CS60": others, "CS83": others}, spec.EpochTable(), spec.ClientStreamTable())
	for _, m := range clientMoves {
		h.need(t, "move "+m.what)
	}
	for _, k := range eventKinds {
		h.need(t, "event "+k.what)
	}
	for _, k := range positionKinds {
		h.need(t, "position "+k.what)
	}
	for _, f := range refusals {
		h.need(t, fmt.Sprintf("refusal %d %s", f.what.Status, f.what.Reason))
	}
	for _, r := range []spec.Reason{
		spec.ReasonEpochNotOpen, spec.ReasonEpochOpen, spec.ReasonEpochFencing, spec.ReasonEpochAbandoned, spec.ReasonEpochClosed, spec.ReasonQuarantined,
		spec.ReasonCommitInHand, spec.ReasonNoConnection, spec.ReasonStreamCompleted, spec.ReasonStreamLost, spec.ReasonOutOfTurn,
	} {
		h.need(t, "refused "+string(r))
	}
	for _, k := range []client.ChangeKind{client.BeginEpoch, client.AddCall, client.AdvanceToken, client.DoubtCall, client.RemoveCall, client.FenceEpoch, client.ResolveUnknown} {
		h.need(t, k.String()+" failed", k.String()+" written")
	}
	h.need(t, "asked, query true, in Quarantined", "asked, query false, in Quarantined", "refused ledger_foreign", "another process took the lease", "told answered", "told not_run", "told unknown", "AdvanceToken found the record stale", "AddCall found the record stale",
		"DoubtCall found the record stale", "FenceEpoch found the record stale", "an old connection spoke", "answer on another connection refused",
		"crashed with an event in hand", "crashed before the fence was durable", "forgot a stream", "unknowns carried into the next epoch",
		"another process took the record over")
}

// The same with steps that differ each time, and shrink.
func TestClientLockstepRandom(t *testing.T) {
	runs, taken := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		strict, noResending := rapid.Bool().Draw(t, "strict"), rapid.Bool().Draw(t, "no re-sending")
		step := rapid.Custom(func(t *rapid.T) clientStep { return drawClientStep(drawn(t)) })
		steps := rapid.SliceOfN(step, rapid.SampledFrom([]int{1, 60, 250}).Draw(t, "at least"), 300).Draw(t, "steps")
		if err := newClientPair(strict, noResending, hits{}).run(steps); err != nil {
			t.Fatal(err)
		}
		runs, taken = runs+1, taken+len(steps)
	})
	if runs < 50 || taken < 10*runs {
		t.Errorf("only %d runs with %d steps", runs, taken)
	}
}
