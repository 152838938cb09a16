package interop

import (
	"fmt"
	"strings"
)

// Page writes docs/interop.md.
func (r Results) Page() []byte {
	var b strings.Builder
	b.WriteString(`# Clients, servers and tests of others

<!-- Generated from properties/interop/testdata/results.json by go generate ./properties/interop; the results are
measured by .ci/conformance, which fails when they change: .ci/conformance -update writes both. -->

What other people's programs do with ours, and ours with theirs, as it was measured: with real processes, over loopback
TCP, through a proxy that cuts connections. Protocol revision 2025-11-25 throughout.

`)
	r.suite(&b)
	r.clients(&b)
	r.servers(&b)
	b.WriteString(conclusions)
	return []byte(b.String())
}

func (r Results) suite(b *strings.Builder) {
	b.WriteString("## The public conformance suite\n\n`@modelcontextprotocol/conformance` 0.2.0-alpha.12, `--spec-version 2025-11-25`: every server scenario, the core suite of client\nscenarios and the one about JSON Schema. A check counts if it was made and was a success each time; one that is missing,\nor only a warning, does not.\n\n| side | checks passed | checks wanted |\n|---|---|---|\n")
	for _, s := range r.Suite {
		fmt.Fprintf(b, "| %s | %d | %d |\n", s.Side, s.Passed, s.Wanted)
	}
	fmt.Fprintf(b, "| for comparison, the Go SDK's own server handler with its event store and the same tools | %d | %d |\n", r.Baseline.Passed, r.Baseline.Wanted)
	b.WriteString("\nAmong them, by name:")
	for _, side := range []string{"server", "client"} {
		for _, check := range resumption[side] {
			_, id, _ := strings.Cut(check, " ")
			fmt.Fprintf(b, "\n`%s`,", id)
		}
	}
	text := strings.TrimSuffix(b.String(), ",")
	b.Reset()
	b.WriteString(text)
	b.WriteString(`.
The suite loses, repeats and cuts nothing: it is the floor. Its servers give event ids that are only numbered, so its
` + "`sse-retry`" + ` is passed with the profile for such ids, and most of them open no session: there ` + "`gosdk.ConnectAny`" + ` goes
over to the SDK's own transport without resumption.

`)
}

func (r Results) clients(b *strings.Builder) {
	kinds := (Scripts{}).Kinds()
	b.WriteString("## Clients, against a server of ours\n\nEvery client calls the tools of `reattach serve`. *" + exactlyOnce + "* means that each call was answered, ran once at the\nserver, and that each step of its progress came once and in order (the inspector's command line shows no steps, and opens\na session for each call).\n\n| what happens |")
	for _, k := range kinds {
		fmt.Fprintf(b, " %s, %s |", k.Name, k.Version)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(kinds)) + "\n")
	for _, t := range Trials() {
		fmt.Fprintf(b, "| %s |", t.Title)
		for _, k := range kinds {
			fmt.Fprintf(b, " %s |", cell(said(r.Clients, k.Name, t.ID)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

func (r Results) servers(b *strings.Builder) {
	servers := (Scripts{}).Foreigners("")
	b.WriteString("## Servers of others, with our client\n\nThe Go SDK over `gosdk.ClientTransport`. Ids of others are opaque to it: they cannot be ordered, so an interruption is an\nexplicit abandonment (R22). A profile (`client.Options.Core.Profile`) says how one kind of server orders its ids. In no\ncase is a call sent twice.\n\n| what happens |")
	for _, f := range servers {
		fmt.Fprintf(b, " %s, %s |", f.Name, f.Version)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(servers)) + "\n")
	for _, e := range Encounters() {
		fmt.Fprintf(b, "| %s |", e.Title)
		for _, f := range servers {
			fmt.Fprintf(b, " %s |", cell(said(r.Servers, f.Name, e.ID)))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nWhat each profile waives:\n")
	for _, f := range servers {
		fmt.Fprintf(b, "\n- `%s`", f.Profile.Name)
		for _, w := range f.Profile.Waives {
			fmt.Fprintf(b, "\n  - %s: %s", w.Rule, w.Means)
		}
	}
	b.WriteString("\n\n")
}

func cell(text string) string {
	if text == "" {
		return "not measured"
	}
	return strings.ReplaceAll(text, "|", `\|`)
}

const conclusions = `## What to make of it

- **A cursor that is gone.** With 409, the default, the Go SDK ends the whole session, and a call of the TypeScript SDKs
  hangs until its timeout while their session lives. With 404 the session is over for all of them, and none of them opens
  another by itself (` + "`Options.MissEndsSession`" + `). The error answer on a stream (` + "`Options.MissAnswersCall`" + `) ends that one
  call with an error that its caller sees, and the session goes on: the best of the three where the clients are not ours.
  The error does not say that the call did not run. To ours it is an event that has no place in the stream, so the epoch
  ends, and the call is an unknown outcome, as with the others.
- **204.** No client asks for a stream whose answer it has. One that is told that nothing will come while it waits for an
  answer hangs (TypeScript) or fails the call (Go). A server of ours gives 204 only to a cursor at the end of a finished
  stream, so an SDK's client that has the answer never meets it.
- **A shutdown.** The Go SDK ends its session when its standalone stream is answered with 503, with the call that was
  running; the others wait for the answer of theirs.
- **The position event.** Each resumed view of an unfinished stream begins with its position, so that the clients which
  forget their cursor on a view without events keep it; the row of views that end before anything came shows it.
- **Servers without a session id on each answer** (Go SDK, mcp-go) cannot prove to our client whose answer it is. Without
  the profile every call there is an unknown outcome, loudly.
`
