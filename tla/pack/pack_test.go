package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/reattach/properties/graph"
)

const dir = ".."

// Edges as a Graph* module writes them: a counter that goes to 1 and refuses to
// go on. Two states of TLC, which differ in what is not written, end in 1.
const counter = `{"a":"Up","p":{"why":"ok"},"s":{"n":0},"t":{"n":1}}
{"a":"Look","p":[],"s":{"n":0},"t":{"n":0}}
{"a":"Up","p":{"why":"full"},"s":{"n":1},"t":{"n":1}}
{"a":"Look","p":[],"s":{"n":1},"t":{"n":1}}
{"a":"Up","p":{"why":"full"},"s":{"n":1},"t":{"n":1}}
{"a":"Look","p":[],"s":{"n":1},"t":{"n":1}}
`

func TestPackInternsStatesAndLabels(t *testing.T) {
	g, err := Pack(strings.NewReader(counter), graph.Header{Graph: "counter"})
	if err != nil {
		t.Fatal(err)
	}
	if h := g.Header; h.States != 2 || h.Edges != 4 || h.Labels != 3 || len(g.Requests) != 2 {
		t.Errorf("%+v with %d requests", h, len(g.Requests))
	}
	if !slices.Equal(g.States, []string{`{"n":0}`, `{"n":1}`}) || g.Labels[1].String() != "Look()" {
		t.Errorf("states %v, labels %v", g.States, g.Labels)
	}
}

// States that are written alike must behave alike, and a request must have one
// reply; else the export leaves out something that matters.
func TestPackNoticesWhatIsNoGraph(t *testing.T) {
	lines := strings.SplitAfter(counter, "\n")
	for says, text := range map[string]string{
		"written alike differ": strings.Join(lines[:5], ""),
		"answers with":         counter + `{"a":"Up","p":{"why":"ok"},"s":{"n":1},"t":{"n":0}}` + "\n" + `{"a":"Up","p":{"why":"ok"},"s":{"n":1},"t":{"n":0}}` + "\n",
		"two replies":          `{"a":"Up","p":{"why":"ok","reply":1},"s":{"n":0},"t":{"n":1}}`,
		"edge 2":               lines[0] + "{",
	} {
		if _, err := Pack(strings.NewReader(text), graph.Header{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error that says %q", err, says)
		}
	}
}

// The graphs in the repository are those of Sources, small, and of the modules
// and constants that are here.
func TestCommittedGraphs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dir, "graphs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var committed []string
	used := map[string]bool{}
	for _, source := range Sources {
		want, err := source.header(dir)
		if err != nil {
			t.Fatal(err)
		}
		for file := range want.Modules {
			used[file] = true
		}
		if !source.Committed {
			continue
		}
		path := filepath.Join(dir, "graphs", source.Name+".gz")
		committed = append(committed, path)
		checkCommitted(t, path, want)
	}
	slices.Sort(committed)
	if !slices.Equal(files, committed) {
		t.Errorf("tla/graphs holds %v, want %v", files, committed)
	}
	ours, err := filepath.Glob(filepath.Join(dir, "Graph*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range ours {
		if !used[filepath.Base(file)] {
			t.Errorf("tla/%s makes no graph of Sources", filepath.Base(file))
		}
	}
}

const largest = 300_000 // bytes of a committed graph

func checkCommitted(t *testing.T, path string, want graph.Header) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > largest {
		t.Errorf("%s has %d bytes, at most %d are committed", path, info.Size(), largest)
	}
	g, err := graph.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got := g.Header
	if graph.Canonical(got.Constants) != graph.Canonical(want.Constants) || got.Graph != want.Graph || got.Shows != want.Shows || got.Refresh != want.Refresh {
		t.Errorf("%s is of %+v, run\n\t%s", path, got, want.Refresh)
	}
	if graph.Canonical(got.Modules) != graph.Canonical(want.Modules) {
		t.Errorf("%s was made from other modules; run\n\t%s", path, want.Refresh)
	}
}

// Without TLC's class path the command explains itself and fails.
func TestPackNeedsTheClassPath(t *testing.T) {
	t.Setenv("TLA_CLASSPATH", "")
	if err := run(t.Context(), dir, "", ""); err == nil || err.Error() != explainClassPath {
		t.Errorf("got %v", err)
	}
	t.Setenv("TLA_CLASSPATH", "/nowhere.jar")
	if err := run(t.Context(), dir, "no such graph", ""); err == nil {
		t.Error("made nothing and was content")
	}
}
