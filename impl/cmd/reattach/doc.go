// Command reattach shows, checks and explains the resumption contract.
//
//	reattach demo     play the incidents over real sockets, naive against reattach
//	reattach check    explore the reference model and check every rule in it
//	reattach rules    print the rules of the contract, and what stands behind each
//	reattach trace    say whether the model allows what a server's sessions did
//	reattach serve    serve MCP with telling tools, to try any client by hand
//	reattach docs     write the generated pages of the repository
//
// Each subcommand has -h. The exit status is 0 if what the subcommand claims
// holds, 1 if it does not, and 2 for a mistake in the arguments.
//
// The demo is in scenario.go and crowd.go (the stories), stage.go (where one is
// played), ledger.go (what really happened, from which every count comes),
// network.go and tap.go (one address whose connections break where the story
// says), and pair.go with one file for each pair. check_story.go turns a
// counterexample into sentences and arrows, for the gallery too; docs.go lists
// the pages that are generated.
//
// It may import everything in this module; nothing imports it. Read [scenario]
// first, then [ledger]; the packages to read next are properties/naive and
// impl/streamhttp.
package main
