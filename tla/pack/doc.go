// Command pack lets TLC write down every labelled edge of a Graph* module and
// packs them into a file of tla/graphs, which the tests in properties walk.
//
//	TLA_CLASSPATH=/path/to/tla2tools.jar:/path/to/CommunityModules-deps.jar go run ./tla/pack           # all committed graphs
//	TLA_CLASSPATH=… go run ./tla/pack -graph window                                                      # one of them
//	TLA_CLASSPATH=… go run ./tla/pack -graph window-large -out ../window-large.gz                      # one that is too large to commit
//
// The same modules always give the same bytes. Beside the standard library it
// imports properties/graph, which knows the format. Read [Source] first.
package main
