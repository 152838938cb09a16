package properties_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePrefix = "example.com/reattach/"

// importLayers says which layers a layer may import: spec <- model, fsm <- impl <-
// properties <- impl/cmd. The order matters: the first that fits a path is its
// layer.
var importLayers = []struct {
	path, may, why string
}{
	{"impl/cmd", "spec model fsm impl properties impl/cmd", "the command stands on everything and nothing stands on it"},
	{"impl", "spec fsm impl", "the implementation is checked against the model, so it shares nothing with it"},
	{"properties", "spec model fsm impl properties", "the evidence looks at everything but the command"},
	{"fsm", "spec fsm", "the machines are made of the tables alone"},
	{"model", "spec model", "the model is worth something because it is independent of what it checks"},
	{"spec", "spec", "the vocabulary stands on nothing, so that everything can stand on it"},
}

// corePackages lists the packages that anybody's server or client may build on, and
// what none of them may depend on beside the standard library.
var corePackages = []string{"spec", "model", "fsm", "impl/window", "impl/session", "impl/client", "impl/sse"}

const stateless = "github.com/qmuntal/stateless"

// A listed package is what `go list` says of one.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

// Imports go one way, and the core stands on the standard library and
// stateless alone.
func TestImportsGoOneWay(t *testing.T) {
	packages := goList(t)
	for _, path := range corePackages {
		_, err := os.Stat("../" + path)
		if _, known := packages[modulePrefix+path]; !known && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: its directory is there and go list does not know it as a package", path)
		}
	}
	for _, fault := range importFaults(packages) {
		t.Error(fault)
	}
}

// The check notices each kind of import that it is there to forbid, and says
// why it is forbidden.
func TestForbiddenImportsAreNoticed(t *testing.T) {
	for name, test := range map[string]struct{ from, to, says string }{
		"model on impl":        {"model", modulePrefix + "impl/window", "independent"},
		"model on fsm":         {"model", modulePrefix + "fsm", "independent"},
		"impl on model":        {"impl/session", modulePrefix + "model", "shares nothing"},
		"impl on the evidence": {"impl/streamhttp", modulePrefix + "properties/naive", "shares nothing"},
		"impl on the command":  {"impl/streamhttp", modulePrefix + "impl/cmd/reattach", "shares nothing"},
		"fsm on impl":          {"fsm", modulePrefix + "impl/window", "tables alone"},
		"spec on fsm":          {"spec", modulePrefix + "fsm", "stands on nothing"},
		"render on model":      {"spec/render", modulePrefix + "model", "stands on nothing"},
		"evidence on command":  {"properties/naive", modulePrefix + "impl/cmd/reattach", "everything but the command"},
		"a stranger in core":   {"impl/client", "github.com/stranger/thing", "standard library and " + stateless},
		"stateless elsewhere":  {"impl/session", stateless, "only fsm"},
		"HTTP in the core":     {"impl/session", "net/http", "no HTTP"},
		"nothing wrong":        {"impl/session", modulePrefix + "fsm", ""},
		"no core, a stranger":  {"impl/streamhttp", "github.com/stranger/thing", ""},
		"no core, HTTP":        {"impl/streamhttp", "net/http", ""},
	} {
		t.Run(name, func(t *testing.T) {
			packages := map[string]listed{
				modulePrefix + test.from: {ImportPath: modulePrefix + test.from, Imports: []string{test.to}, Deps: []string{test.to}},
				test.to:                  {ImportPath: test.to, Standard: test.to == "net/http"},
			}
			got := strings.Join(importFaults(packages), "\n")
			if (test.says == "") != (got == "") || !strings.Contains(got, test.says) {
				t.Errorf("got %q, want it to say %q", got, test.says)
			}
		})
	}
}

// importFaults returns every import that may not be, with the reason.
func importFaults(packages map[string]listed) (found []string) {
	for _, path := range slices.Sorted(maps.Keys(packages)) {
		p, own := packages[path], strings.HasPrefix(path, modulePrefix)
		if !own {
			continue
		}
		from := strings.TrimPrefix(path, modulePrefix)
		for _, to := range p.Imports {
			found = append(found, crosses(from, to)...)
		}
		if slices.Contains(corePackages, from) {
			found = append(found, leaves(from, p.Deps, packages)...)
		}
	}
	return found
}

// crosses reports an import against the arrow.
func crosses(from, to string) (found []string) {
	if to == stateless && layerOf(from) != "fsm" {
		found = append(found, fmt.Sprintf("%s imports %s: only fsm does, so that the library can be replaced in one place", from, to))
	}
	to, own := strings.CutPrefix(to, modulePrefix)
	if !own {
		return found
	}
	for _, l := range importLayers {
		if l.path == layerOf(from) && !slices.Contains(strings.Fields(l.may), layerOf(to)) {
			found = append(found, fmt.Sprintf("%s imports %s: %s; it may import %s", from, to, l.why, l.may))
		}
	}
	return found
}

// leaves reports what a core package depends on and may not.
func leaves(from string, deps []string, packages map[string]listed) (found []string) {
	for _, dep := range deps {
		switch {
		case dep == "net/http":
			found = append(found, from+" depends on net/http: the core knows no HTTP, so that any resumable stream can use it")
		case !packages[dep].Standard && !strings.HasPrefix(dep, modulePrefix) && dep != stateless:
			found = append(found, fmt.Sprintf("%s depends on %s: the core depends on the standard library and %s only, so that it forces no versions on its users", from, dep, stateless))
		}
	}
	return found
}

func layerOf(path string) string {
	for _, l := range importLayers {
		if path == l.path || strings.HasPrefix(path, l.path+"/") {
			return l.path
		}
	}
	return path
}

// goList asks the go command for every package of the module and all that they
// depend on, tests left out.
func goList(t *testing.T) map[string]listed {
	t.Helper()
	command := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Standard,Imports,Deps", "./...")
	command.Dir = ".."
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]listed{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
	if len(packages) < len(corePackages) {
		t.Fatalf("go list knows only %d packages", len(packages))
	}
	return packages
}
