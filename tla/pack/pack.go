package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/reattach/properties/graph"
)

// A line is one edge as a Graph* module writes it.
type line struct {
	A    string
	P    json.RawMessage
	S, T json.RawMessage
}

// Pack interns the states and labels of edges, and checks them. Several states
// of TLC may be written as one, where a module leaves out what no decision
// depends on; then all of them must have had the same edges.
func Pack(in io.Reader, h graph.Header) (*graph.Graph, error) {
	p := packer{states: index{}, names: index{}, seen: map[[3]int]int{}}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if err := p.add(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("edge %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	edges := make([][]graph.Edge, len(p.texts))
	for _, e := range p.order {
		edges[e[0]] = append(edges[e[0]], graph.Edge{Label: e[1], To: e[2]})
		if first := p.seen[[3]int{e[0], edges[e[0]][0].Label, edges[e[0]][0].To}]; p.seen[e] != first {
			return nil, fmt.Errorf("states that are written alike differ: %s has the edge %v %d times and another %d times",
				p.texts[e[0]], p.labels[e[1]], p.seen[e], first)
		}
	}
	h.States, h.Labels, h.Edges = len(p.texts), len(p.labels), len(p.order)
	return graph.New(h, p.texts, p.labels, edges)
}

// A packer has the states, labels and edges found so far, in the order in which
// they were found.
type packer struct {
	states, names index
	texts         []string
	labels        []graph.Label
	order         [][3]int       // from, label, to
	seen          map[[3]int]int // how often
}

// An index is the number of each text.
type index map[string]int

func (p *packer) add(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	name := l.A + graph.Canonical(l.P)
	label, ok := p.names[name]
	if !ok {
		made, err := graph.NewLabel(l.A, l.P)
		if err != nil {
			return err
		}
		label = len(p.labels)
		p.labels = append(p.labels, made)
		p.names[name] = label
	}
	e := [3]int{p.state(l.S), label, p.state(l.T)}
	if p.seen[e]++; p.seen[e] == 1 {
		p.order = append(p.order, e)
	}
	return nil
}

// state numbers a state. TLC writes the fields of one record in more than one
// order, so a text that is new may be a state that is known.
func (p *packer) state(text []byte) int {
	n, ok := p.states[string(text)]
	if !ok {
		canonical := graph.Canonical(json.RawMessage(text))
		if n, ok = p.states[canonical]; !ok {
			n = len(p.texts)
			p.texts = append(p.texts, canonical)
			p.states[canonical] = n
		}
		p.states[string(text)] = n
	}
	return n
}

var (
	extends  = regexp.MustCompile(`(?m)^EXTENDS\s+(.+)$`)
	constant = regexp.MustCompile(`(?m)^ +(\w+) +(?:=|<-) (\w+)$`)
)

// header says what the graph is made from: the configuration, the module, and
// every module of dir that it extends, at any remove.
func (s Source) header(dir string) (graph.Header, error) {
	h := graph.Header{Graph: s.Name, Shows: s.Shows, Modules: map[string]string{}, Constants: map[string]string{}, Refresh: RefreshCommand + " -graph " + s.Name}
	files := []string{s.Config, s.Module + ".tla"}
	for i := 0; i < len(files); i++ {
		text, err := os.ReadFile(filepath.Join(dir, files[i]))
		if err != nil {
			return h, err
		}
		if h.Modules[files[i]], err = graph.HashFile(filepath.Join(dir, files[i])); err != nil {
			return h, err
		}
		if i == 0 {
			for _, found := range constant.FindAllSubmatch(text, -1) {
				h.Constants[string(found[1])] = string(found[2])
			}
		}
		if found := extends.FindSubmatch(text); found != nil {
			for _, name := range strings.Split(string(found[1]), ",") {
				file := strings.TrimSpace(name) + ".tla"
				if _, err := os.Stat(filepath.Join(dir, file)); err == nil && !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
	}
	return h, nil
}
