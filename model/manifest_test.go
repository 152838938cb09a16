package model

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// manifestEntry is what tla/manifest.json says about one model.
type manifestEntry struct {
	Name      string
	Module    string
	Expect    string
	Shared    bool
	Constants map[string]any
	Distinct  int
	Edges     int
	Depth     int
	Actions   map[string]int
}

// Every scope at which TLC found all rules to hold has as many states, edges
// and levels here as TLC found there, and as many edges of each action where
// the manifest tells them: two descriptions of one protocol, by two hands.
func TestSharedScopesEqualTLC(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "tla", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	shared := 0
	for _, entry := range manifestEntries(t, text) {
		if !entry.Shared && (entry.Module != "MCResumption.tla" || entry.Expect != "ok") {
			continue
		}
		shared++
		scope := scopeOf(t, entry)
		r := explored(t, scope)
		if r.States != entry.Distinct || r.Edges != entry.Edges || r.Depth != entry.Depth {
			t.Errorf("%s: states %d edges %d depth %d, TLC found %d, %d and %d", entry.Name,
				r.States, r.Edges, r.Depth, entry.Distinct, entry.Edges, entry.Depth)
		}
		if entry.Shared && len(entry.Actions) == 0 {
			t.Errorf("%s: the manifest does not tell the edges of each action", entry.Name)
		}
		for _, name := range Names() {
			if len(entry.Actions) > 0 && r.Actions[name] != entry.Actions[name.String()] {
				t.Errorf("%s: %v has %d edges, TLC found %d", entry.Name, name, r.Actions[name], entry.Actions[name.String()])
			}
		}
		if named, ok := ScopeNamed(entry.Name); !ok || named != scope {
			t.Errorf("the scope %q of this package is %+v, the manifest's is %+v", entry.Name, named, scope)
		}
	}
	if shared < 4 {
		t.Errorf("%d scopes of the manifest were compared, expected at least small, stream, calls and main", shared)
	}
}

// scopeOf returns the scope that a manifest entry's constants describe.
func scopeOf(t *testing.T, entry manifestEntry) Config {
	t.Helper()
	number := func(name string) int {
		n, ok := entry.Constants[name].(float64)
		if !ok {
			t.Fatalf("%s: the manifest has no constant %s", entry.Name, name)
		}
		return int(n)
	}
	strangers := map[any]Strangers{"Nobody": Nobody, "Newcomer": Newcomer, "Anybody": Anybody}
	who, ok := strangers[entry.Constants["Strangers"]]
	if !ok {
		t.Fatalf("%s: strangers %v", entry.Name, entry.Constants["Strangers"])
	}
	return Config{Name: entry.Name, Sessions: number("MaxEpoch"), Streams: 1, Events: number("MaxEvents"),
		Window: number("Window"), Wire: number("WireCap"), Calls: number("MaxCalls"), Strangers: who}
}

// manifestEntries reads the list of models out of the manifest.
func manifestEntries(t *testing.T, text []byte) (entries []manifestEntry) {
	t.Helper()
	var manifest struct{ Models []manifestEntry }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	return manifest.Models
}
