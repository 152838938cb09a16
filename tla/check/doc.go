// Command check runs TLC over every model that tla/manifest.json lists, and
// compares what TLC says with what is pinned there.
//
//	TLA_CLASSPATH=/path/to/tla2tools.jar go run ./tla/check            # compare
//	TLA_CLASSPATH=/path/to/tla2tools.jar go run ./tla/check -update    # pin anew
//	TLA_CLASSPATH=/path/to/tla2tools.jar go run ./tla/check -run small # some only
//
// What a model must show ("expect") is never taken from a run: -update writes
// hashes and counts, and only of a model whose result is the expected one.
// The tests of this package need no Java: they hold the manifest against the
// files beside it.
//
// It imports the standard library only. Read [Model] first, then [Run]; the
// modules themselves are described in tla/README.md.
package main
