package graph_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/reattach/properties/graph"
)

// A lamp is switched on and off.
type lamp struct{ on, broken bool }

func label(t *testing.T, action, params string) graph.Label {
	t.Helper()
	l, err := graph.NewLabel(action, []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// lampGraph is dark -On-> lit -Off-> dark, and refusals of both.
func lampGraph(t *testing.T, change func(edges [][]graph.Edge) [][]graph.Edge) (*graph.Graph, error) {
	t.Helper()
	labels := []graph.Label{
		label(t, "On", `{"why":"ok"}`), label(t, "On", `{"why":"is_on"}`),
		label(t, "Off", `{"why":"ok"}`), label(t, "Off", `{"why":"is_off"}`),
	}
	edges := [][]graph.Edge{{{Label: 0, To: 1}, {Label: 3, To: 0}}, {{Label: 1, To: 1}, {Label: 2, To: 0}}}
	if change != nil {
		edges = change(edges)
	}
	h := graph.Header{Graph: "lamp", States: 2, Edges: 4, Labels: 4, Modules: map[string]string{"Lamp.tla": "no such hash"}, Refresh: "make light"}
	return graph.New(h, []string{`{"on":false}`, `{"on":true}`}, labels, edges)
}

func mustLamp(t *testing.T) *graph.Graph {
	t.Helper()
	g, err := lampGraph(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// lamps is the lamp as a system, with a fault or without.
func lamps(fault string) graph.System[*lamp] {
	return graph.System[*lamp]{
		Start:    func() *lamp { return &lamp{on: fault == "begins lit"} },
		Clone:    func(l *lamp) *lamp { c := *l; return &c },
		Abstract: func(l *lamp) any { return map[string]any{"on": l.on} },
		Key: func(l *lamp) string {
			if l.broken {
				return "broken"
			}
			return map[bool]string{false: "dark", true: "lit"}[l.on]
		},
		Ask: func(l *lamp, r graph.Request) (any, error) {
			switch {
			case r.Action == "On" && l.on:
				l.broken = fault == "a refusal breaks it"
				return "is_on", nil
			case r.Action == "On":
				l.on = fault != "stays dark"
				return "ok", nil
			case l.on:
				l.on = false
				if fault == "lies" {
					return "is_off", nil
				}
				return "ok", nil
			}
			return "is_off", nil
		},
	}
}

func TestWalkOffersEveryLabelEverywhere(t *testing.T) {
	w, err := graph.Walk(mustLamp(t), lamps(""))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.String(), "graph lamp: states 2 edges 4 accepted 4 refused 4"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if w.Replies["On is_on"] != 1 || len(w.Beyond) != 0 {
		t.Errorf("replies %v, beyond %v", w.Replies, w.Beyond)
	}
}

func TestWalkFindsEachKindOfFault(t *testing.T) {
	for fault, want := range map[string]struct {
		says string
		path int
	}{
		"begins lit":          {"it begins in", 0},
		"stays dark":          {"it is then in", 0},
		"lies":                {"it replies is_off, the specification ok", 1},
		"a refusal breaks it": {"nothing may change", 1},
	} {
		_, err := graph.Walk(mustLamp(t), lamps(fault))
		var found *graph.Fault
		if !errors.As(err, &found) || !strings.Contains(found.Says, want.says) || len(found.Path) != want.path {
			t.Errorf("%s: got %v, want %q after %d labels", fault, err, want.says, want.path)
		}
	}
}

// A graph that does not say what happens is no graph.
func TestGraphsThatAreNone(t *testing.T) {
	for name, change := range map[string]func([][]graph.Edge) [][]graph.Edge{
		"answers with":              func(e [][]graph.Edge) [][]graph.Edge { e[0] = append(e[0], graph.Edge{Label: 1, To: 0}); return e },
		"1 of 2 states are reached": func(e [][]graph.Edge) [][]graph.Edge { e[0] = e[0][1:]; return e },
		"has an edge":               func(e [][]graph.Edge) [][]graph.Edge { e[0][0].To = 2; return e },
		"edges of 1":                func(e [][]graph.Edge) [][]graph.Edge { return e[:1] },
	} {
		if _, err := lampGraph(t, change); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that says %q", err, name)
		}
	}
}

// What is written is what is read, and always the same bytes.
func TestFilesKeepTheGraph(t *testing.T) {
	g := mustLamp(t)
	var one, two bytes.Buffer
	if err := errors.Join(graph.Write(&one, g), graph.Write(&two, g)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("two files of one graph differ")
	}
	path := filepath.Join(t.TempDir(), "lamp.gz")
	if err := os.WriteFile(path, one.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := graph.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.States, g.States) || again.EdgeCount() != 4 || again.Labels[1].String() != "On() = is_on" || again.Header.Refresh != "make light" {
		t.Errorf("read %+v", again)
	}
	for i := range one.Len() {
		if _, err := graph.Read(bytes.NewReader(one.Bytes()[:i])); err == nil {
			t.Errorf("the first %d of %d bytes are read as a graph", i, one.Len())
		}
	}
	g.Header.Edges++
	one.Reset()
	if err := graph.Write(&one, g); err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Read(&one); !errors.Is(err, graph.ErrFormat) {
		t.Errorf("a header that counts wrongly: %v", err)
	}
}

// A graph knows when a module that it was made from has changed, or is gone.
func TestStale(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "Lamp.tla")
	if err := os.WriteFile(path, []byte("a module"), 0o644); err != nil {
		t.Fatal(err)
	}
	sum, err := graph.HashFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h := graph.Header{Modules: map[string]string{"Lamp.tla": sum}}
	if stale, err := h.Stale(dir); err != nil || len(stale) > 0 {
		t.Errorf("unchanged: %v, %v", stale, err)
	}
	if err := os.WriteFile(path, []byte("a modulf"), 0o644); err != nil {
		t.Fatal(err)
	}
	if stale, err := h.Stale(dir); err != nil || !slices.Equal(stale, []string{"Lamp.tla"}) {
		t.Errorf("changed: %v, %v", stale, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if stale, err := h.Stale(dir); err != nil || !slices.Equal(stale, []string{"Lamp.tla"}) {
		t.Errorf("gone: %v, %v", stale, err)
	}
}
