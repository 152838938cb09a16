package mutants

import (
	"path"
	"slices"
)

// A Level is one of the independent kinds of evidence that may notice a mutant.
type Level string

const (
	Unit     Level = "unit"     // the tests of the package itself
	Rows     Level = "rows"     // every row of the tables, fired and deleted on the real thing
	Graph    Level = "graph"    // L2: every edge and refusal of the exported state graphs, on the real cores
	Lockstep Level = "lockstep" // L3: implementation and model side by side
	Wired    Level = "wired"    // L4: server and client over connections that break
	Explorer Level = "explorer" // the model's exploration
	TLC      Level = "tlc"      // what TLC said, pinned in tla/manifest.json
)

// levels of the code, in the order in which they are run and told.
var levels = []Level{Unit, Rows, Graph, Lockstep, Wired}

// A suite is a part of the tests of one package.
type suite struct {
	dir     string // of the package, below the module's
	pattern string // of the tests' names
}

const (
	properties = "properties"
	streamhttp = "impl/streamhttp"
)

// The suites that stand for the levels, but for Unit. Those of one side see
// the packages of that side only.
var (
	serverRows     = suite{properties, `^Test(EveryServerRow|ServerRowsAmidTraffic)`}
	clientRows     = suite{properties, `^TestEveryClientRow`}
	serverGraphs   = suite{properties, `^TestGraph(Window|HostileClient)`}
	clientGraphs   = suite{properties, `^TestGraph(Resumption|HostileServer|Client)`}
	serverLockstep = suite{properties, `^TestServerLockstep`}
	clientLockstep = suite{properties, `^TestClientLockstep`}
	ledgerLockstep = suite{properties, `^TestLedgerLockstep`}
	wiredLedger    = suite{properties, `^Test(WiredLedger|KilledLedger|Case(31|45|46|52|53))`}
	wiredClient    = suite{properties, `^TestKilledClient`}
	wiredPair      = suite{properties, `^Test(Case[0-9]+|ServerSketch|ClientSketch|Official|Story|Wired|Chaos|Corner|Stuck|Storm)`}
	wiredHTTP      = suite{streamhttp, `.`}
	wiredBound     = suite{"impl/gosdk", `.`} // the official SDK at both ends
	wiredSDK       = suite{properties, `^Test(Case(02|07|09|27)|WiredSDK)`}
)

// skipped are tests of the tests and of the model, which say nothing of the
// code, and those that only do more of what others do.
const skipped = `(Notice|Notices|Noticed|CanBeRefused|PlantedFaults|ModelMutants|WindowModel|WindowLarge|LockstepLong)$`

// seenBy says which suites can notice that a package is wrong, beside its own
// tests: running the others would only take time.
var seenBy = map[string]map[Level][]suite{
	"spec": {
		Rows: {serverRows, clientRows}, Graph: {serverGraphs, clientGraphs}, Lockstep: {serverLockstep, clientLockstep}, Wired: {wiredPair, wiredHTTP},
	},
	"impl/window":     {Graph: {serverGraphs}, Lockstep: {serverLockstep}, Wired: {wiredPair}},
	"impl/session":    {Rows: {serverRows}, Graph: {serverGraphs}, Lockstep: {serverLockstep}, Wired: {wiredPair, wiredHTTP}},
	"impl/client":     {Rows: {clientRows}, Graph: {clientGraphs}, Lockstep: {clientLockstep}, Wired: {wiredPair, wiredClient, wiredHTTP}},
	"impl/sse":        {Wired: {wiredPair, wiredHTTP}},
	"impl/ledger":     {Lockstep: {ledgerLockstep}, Wired: {wiredLedger}},
	"impl/gosdk":      {Wired: {wiredSDK}},
	"impl/streamhttp": {Rows: {serverRows, clientRows}, Wired: {wiredPair, wiredBound}},
}

// beside holds a package's own tests that are in another directory.
var beside = map[string]suite{"impl/client": {"impl/client/storetest", `.`}}

// dirs returns the directories of the packages that the mutant changes.
func (m Mutant) dirs() (dirs []string) {
	for _, e := range m.Edits {
		if dir := path.Dir(e.File); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// suites returns what is to be run at a level; none if the level cannot see
// the mutant.
func (m Mutant) suites(l Level) (suites []suite) {
	dirs := m.dirs()
	if l == Unit {
		for _, dir := range dirs {
			suites = append(suites, suite{dir, `.`})
			if s, ok := beside[dir]; ok {
				suites = append(suites, s)
			}
		}
		return suites
	}
	for _, dir := range dirs {
		for _, s := range seenBy[dir][l] {
			// What runs as the package's own tests is no second level.
			if !slices.Contains(dirs, s.dir) && !slices.Contains(suites, s) {
				suites = append(suites, s)
			}
		}
	}
	return suites
}

// Levels returns the levels that can see a mutant.
func (m Mutant) Levels() (seeing []Level) {
	switch m.Kind {
	case Model:
		return []Level{Explorer}
	case Spec:
		return []Level{TLC}
	}
	for _, l := range levels {
		if len(m.suites(l)) > 0 {
			seeing = append(seeing, l)
		}
	}
	return seeing
}
