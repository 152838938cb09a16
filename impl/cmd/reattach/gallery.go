package main

import (
	"context"
	"fmt"
	"strings"

	"example.com/reattach/model"
	"example.com/reattach/spec/render"
)

// An exhibit is a mutant of the gallery: where it is looked at, if not in its
// own scope, and what is to be learnt from it.
type exhibit struct {
	mutant, scope string
	lesson        string
}

// exhibits are the most instructive mutants, server first.
var exhibits = []exhibit{
	{"inclusive-replay", "small",
		"Off by one, and every reconnect delivers one event twice. It hides well: most clients crash and reconnect seldom enough that a " +
			"repeated event looks like the application's own doing. Strictly after means after."},
	{"floor-unchecked", "small",
		"The window is bounded, so a cursor can be too old. A server that accepts it all the same starts where it still can, and nobody is " +
			"told of the hole. Refusing is the only honest answer: the client then knows that something is lost, and says so."},
	{"both-views-write", "stream",
		"A half-open connection looks alive for minutes. If the newer request does not take the older view down, events go to a connection " +
			"that nobody reads, or to two at once. If it is refused instead, a dead connection locks its own client out."},
	{"token-before-apply", "stream",
		"The commonest way to write a client: remember the id, then handle the event. A crash between the two loses the event without a " +
			"trace, because the next resumption asks for what follows it. Token and effect belong in one transaction."},
	{"proof-skipped", "hostile",
		"A status says that a server answered, not that it understood. One that ignores cursors answers 200 too. So what the answer " +
			"announces, session and position, is compared with what was sent before a single event is used."},
	{"clamp-trusted", "hostile",
		"A server that moves an old cursor to the oldest event which it still has, and announces that honestly, has lost events all the " +
			"same. The announcement is proof only if it is the very position that was sent."},
	{"hole-accepted", "hostile",
		"Ids that grow are not ids that follow. Comparing with greater-than recognises repeats, and lets every silent loss pass. Ids that say " +
			"which one comes next make a hole as visible as a repeat."},
	{"refusal-retried", "small",
		"The well-known incident: after a rolling deploy the client's session is gone, the client opens another one, and goes on as if " +
			"nothing had happened. Calls in flight are then neither done nor undone; no fence says where certainty ended."},
	{"commit-after-fence", "small",
		"The event was taken from the wire while all was well, and its transaction runs when the epoch is already given up. Whoever " +
			"compares only the token applies it, behind the back of a caller who was told that nothing more would come."},
	{"unknown-resent", "calls",
		"A POST whose connection broke may have run. Sending it again turns perhaps into twice. The client keeps the doubt in its record " +
			"until somebody who knows decides: by status, by key, or by hand."},
}

// gallery renders docs/gallery.md.
func gallery(ctx context.Context) (string, error) {
	var b strings.Builder
	b.WriteString(render.Generated(docsCommand) + "# Gallery\n\n")
	render.Paragraph(&b, "Ten ways to get resumption wrong, each with the shortest way in which it comes out. One rule of the reference model "+
		"is replaced by a mistake, and the model is explored breadth first until something that must always hold does not: no shorter story exists in "+
		"that scope. `go run ./impl/cmd/reattach check --mutants` lists all mutants of the model; [rules.md](rules.md) has the rules.")
	for i, x := range exhibits {
		mutant, ok := model.MutantNamed(x.mutant)
		if !ok {
			return "", fmt.Errorf("no mutant is called %q", x.mutant)
		}
		fmt.Fprintf(&b, "%d. [%s](#%d-%s): %s\n", i+1, mutant.Name, i+1, mutant.Name, mutant.Story)
	}
	for i, x := range exhibits {
		text, err := x.render(ctx, i+1)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + text)
	}
	return b.String(), nil
}

// render explores the exhibit's mutant and tells what came out.
func (x exhibit) render(ctx context.Context, number int) (string, error) {
	mutant, _ := model.MutantNamed(x.mutant)
	scope, ok := model.ScopeNamed(x.scope)
	if !ok {
		return "", fmt.Errorf("mutant %s: no scope is called %q", x.mutant, x.scope)
	}
	f, err := explore(ctx, mutant, scope, nil)
	if err != nil {
		return "", err
	}
	found := f.report.Counterexample
	if found == nil {
		return "", fmt.Errorf("mutant %s survives scope %s: choose another one for the gallery", x.mutant, x.scope)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %d %s\n\n", number, mutant.Name)
	render.Paragraph(&b, fmt.Sprintf("It gets %s wrong, and believes: *%s*.", ruleName(mutant.Rule), mutant.Story))
	render.Paragraph(&b, x.lesson)
	for i, t := range tellAll(found) {
		fmt.Fprintf(&b, "%d. %s\n", i+1, t.sentence)
	}
	fmt.Fprintf(&b, "\nViolated: **%s %s**, %s.\n\n", found.Rule, found.Name, found.Says)
	fmt.Fprintf(&b, "```mermaid\n%s```\n\n", mermaid(found))
	fmt.Fprintf(&b, "    go run ./impl/cmd/reattach check --mutant %s --scope %s\n", mutant.Name, scope.Name)
	return b.String(), nil
}
