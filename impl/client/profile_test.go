package client

import (
	"testing"

	"example.com/reattach/spec"
)

// Each profile says of an id whether it may come right after another one.
func TestProfilesOrderIDs(t *testing.T) {
	goSDK, mcpGo, ts := GoSDKProfile(), MCPGoProfile(), TypeScriptSampleProfile()
	const doubt = spec.ReasonEventUnorderable
	for _, c := range []struct {
		profile *Profile
		at, id  string
		call    bool
		want    spec.Reason // "" is in order
	}{
		{goSDK, "", "ab_0", true, ""},
		{goSDK, "", "ab_1", true, spec.ReasonPositionUnexpected}, // it had an event before
		{goSDK, "", "_7", false, ""},
		{goSDK, "", "ab_0", false, doubt}, // of a call, on the standalone stream
		{goSDK, "", "_0", true, doubt},
		{goSDK, "ab_0", "ab_1", true, ""},
		{goSDK, "ab_1", "ab_1", true, spec.ReasonEventRepeated},
		{goSDK, "ab_1", "ab_0", true, spec.ReasonEventRepeated},
		{goSDK, "ab_1", "ab_3", true, spec.ReasonEventSkipped},
		{goSDK, "ab_1", "cd_2", true, doubt},
		{goSDK, "ab_1", "ab_02", true, doubt},
		{goSDK, "ab_1", "ab_+2", true, doubt},
		{goSDK, "ab_1", "2", true, doubt},
		{goSDK, "ab_9223372036854775807", "ab_9223372036854775808", true, doubt},

		{mcpGo, "", "17", true, ""},
		{mcpGo, "17", "18", true, ""},
		{mcpGo, "17", "99", false, ""}, // others in between: it cannot tell
		{mcpGo, "17", "17", true, spec.ReasonEventRepeated},
		{mcpGo, "17", "9", true, spec.ReasonEventOutOfOrder},
		{mcpGo, "17", "018", true, doubt},
		{mcpGo, "17", "-18", true, doubt},
		{mcpGo, "17", "ab_18", true, doubt},

		{ts, "", "_GET_stream_1700000000000_k3", false, ""},
		{ts, "s_1700000000000_b", "s_1700000000000_a", true, ""}, // no order within a millisecond
		{ts, "s_1700000000000_b", "s_1700000000001_a", true, ""},
		{ts, "s_1700000000000_b", "s_1700000000000_b", true, spec.ReasonEventRepeated},
		{ts, "s_1700000000001_b", "s_1700000000000_c", true, spec.ReasonEventOutOfOrder},
		{ts, "s_1700000000000_b", "r_1700000000001_a", true, doubt},
		{ts, "s_1700000000000_b", "s_1700000000001_", true, doubt},
		{ts, "s_1700000000000_b", "1700000000001", true, doubt},
	} {
		if got := c.profile.judge(c.at, c.id, c.call); got != c.want {
			t.Errorf("%s: %q after %q (call %v): %q, want %q", c.profile.Name, c.id, c.at, c.call, got, c.want)
		}
	}
}

// A profile lists the rules that it waives, by an id that exists, and says
// what that means; and it is found by its name.
func TestProfilesListWhatTheyWaive(t *testing.T) {
	for _, p := range Profiles() {
		if len(p.Waives) == 0 || ProfileNamed(p.Name) == nil {
			t.Errorf("%s waives %d rules, and is found: %v", p.Name, len(p.Waives), ProfileNamed(p.Name) != nil)
		}
		for _, w := range p.Waives {
			if _, ok := spec.RuleOf(w.Rule); !ok || w.Means == "" {
				t.Errorf("%s waives %q, which is no rule or means nothing: %q", p.Name, w.Rule, w.Means)
			}
		}
	}
	if p := ProfileNamed("none of these"); p != nil {
		t.Errorf("a profile that nobody wrote: %v", p.Name)
	}
}

// With its profile on, a foreign stream goes on after a cut and after a
// restart, the first event proves the view, and doubt is doubt as ever (R21,
// R22). TestForeignIDs shows what the same arrivals mean without one.
func TestAProfileResumesForeignStreams(t *testing.T) {
	start := func(t *testing.T, p *Profile) (*rig, StreamID, uint64) {
		g := newRig(t, Record{}, CoreOptions{Profile: p})
		g.openAs(session, "")
		id, conn := g.call()
		g.do(g.core.Accepts(id, conn, Accepted{"", ""})) // go-sdk names the session once only
		for _, ev := range []Event{position("ab_0"), message("ab_1")} {
			g.do(g.core.EventArrives(id, conn, ev))
			g.commit()
		}
		return g, id, conn
	}
	// resumed reconnects, and has the server accept without a position.
	resumed := func(t *testing.T, g *rig, id StreamID) uint64 {
		g.do(g.core.Reconnect(id, false))
		s := g.stream(id)
		if s.State != spec.Resuming || s.Cursor != "ab_1" {
			t.Fatalf("the stream is %v at %q, want Resuming at ab_1", s.State, s.Cursor)
		}
		g.do(g.core.Accepts(id, s.Conn, Accepted{"", ""}))
		if got := g.stream(id).State; got != spec.Unproven {
			t.Fatalf("accepted without a position the stream is %v, want Unproven", got)
		}
		return s.Conn
	}
	t.Run("after a cut", func(t *testing.T) {
		g, id, conn := start(t, GoSDKProfile())
		g.do(g.core.ConnectionBreaks(id, conn))
		conn = resumed(t, g, id)
		g.do(g.core.EventArrives(id, conn, message("ab_2")))
		g.commit()
		g.do(g.core.EventArrives(id, conn, answer("ab_3")))
		g.commitAll()
		if g.outcomes[id].Kind != OutcomeAnswered || len(g.applied) != 3 {
			t.Errorf("outcome %v, applied %v", g.outcomes[id], ids(g.applied))
		}
	})
	t.Run("after a restart", func(t *testing.T) {
		g, id, _ := start(t, GoSDKProfile())
		g.start()
		conn := resumed(t, g, id)
		g.do(g.core.EventArrives(id, conn, answer("ab_2")))
		g.commitAll()
		if g.outcomes[id].Kind != OutcomeAnswered {
			t.Errorf("outcome %v", g.outcomes[id])
		}
	})
	for ev, why := range map[string]spec.Reason{"ab_0": spec.ReasonEventRepeated, "ab_1": spec.ReasonEventRepeated,
		"ab_3": spec.ReasonEventSkipped, "cd_2": spec.ReasonEventUnorderable} {
		t.Run("and "+ev+" is doubt", func(t *testing.T) {
			g, id, conn := start(t, GoSDKProfile())
			g.do(g.core.StreamEnds(id, conn))
			conn = resumed(t, g, id)
			g.do(g.core.EventArrives(id, conn, message(ev)))
			g.abandoned(why)
			if len(g.applied) != 1 {
				t.Errorf("applied %v, want only what came before the cut", ids(g.applied))
			}
		})
	}
	t.Run("another session's id is doubt", func(t *testing.T) {
		g, id, conn := start(t, GoSDKProfile())
		g.do(g.core.StreamEnds(id, conn))
		g.do(g.core.Reconnect(id, false))
		g.do(g.core.Accepts(id, g.stream(id).Conn, Accepted{"another", ""}))
		g.abandoned(spec.ReasonSessionChanged)
	})
	t.Run("a server that names its session must go on to", func(t *testing.T) {
		g := newRig(t, Record{}, CoreOptions{Profile: TypeScriptSampleProfile()})
		g.openAs(session, "")
		id, conn := g.call()
		g.do(g.core.Accepts(id, conn, Accepted{"", ""}))
		g.abandoned(spec.ReasonSessionMissing)
	})
}
