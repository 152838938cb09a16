package graph

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// A packed graph is gzip of JSON, one value a line:
//
//	{…}                          the header
//	["L","Emit",{…},reply]       a label; the n-th such line has the number n
//	["S",{…}]                    a state, likewise
//	["R",l,l,…]                  a set of labels under which some states stay as they are
//	["E",r,l,j,l,j,…]            the edges of the n-th state: under set r it stays, under l it becomes j

// Write packs a graph. The same graph always gives the same bytes.
func Write(w io.Writer, g *Graph) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	line := func(values ...any) {
		if err := enc.Encode(values); err != nil {
			panic("reattach: BUG: graph: " + err.Error())
		}
	}
	if err := enc.Encode(g.Header); err != nil {
		return err
	}
	for _, l := range g.Labels {
		line("L", l.Action, json.RawMessage(l.Params), json.RawMessage(l.Reply))
	}
	for _, s := range g.States {
		line("S", json.RawMessage(s))
	}
	sets := map[string]int{}
	edges := make([][]any, len(g.States))
	for i := range g.States {
		stays, moves := []any{"R"}, []any{}
		sorted := slices.SortedFunc(slices.Values(g.Edges[i]), func(a, b Edge) int { return a.Label - b.Label })
		for _, e := range sorted {
			if e.To == i {
				stays = append(stays, e.Label)
			} else {
				moves = append(moves, e.Label, e.To)
			}
		}
		key := fmt.Sprint(stays)
		r, known := sets[key]
		if !known {
			r = len(sets)
			sets[key] = r
			line(stays...)
		}
		edges[i] = append([]any{"E", r}, moves...)
	}
	for _, e := range edges {
		line(e...)
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zip.Write(text.Bytes()); err != nil {
		return err
	}
	return zip.Close()
}

// ErrFormat is what every error of a file that is no packed graph wraps.
var ErrFormat = errors.New("not a packed graph")

// Load reads a packed graph from a file.
func Load(path string) (*Graph, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	g, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// Read reads a packed graph.
func Read(r io.Reader) (*Graph, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	p := parser{}
	lines := bufio.NewScanner(zip)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		if err := p.line(n, lines.Bytes()); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrFormat, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	g, err := New(p.header, p.states, p.labels, p.edges)
	if err != nil {
		return nil, err
	}
	if h := g.Header; h.States != len(g.States) || h.Labels != len(g.Labels) || h.Edges != g.EdgeCount() {
		return nil, fmt.Errorf("%w: the header counts %d states, %d labels, %d edges; there are %d, %d, %d", ErrFormat,
			h.States, h.Labels, h.Edges, len(g.States), len(g.Labels), g.EdgeCount())
	}
	return g, nil
}

// A parser takes a packed graph line by line.
type parser struct {
	header Header
	labels []Label
	states []string
	sets   [][]int
	edges  [][]Edge
}

func (p *parser) line(n int, text []byte) error {
	if n == 1 {
		return json.Unmarshal(text, &p.header)
	}
	var values []json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("not an array: %w", err)
	}
	if len(values) == 0 {
		return errors.New("an empty array")
	}
	kind, rest := string(values[0]), values[1:]
	switch {
	case kind == `"L"` && len(rest) == 3:
		l := Label{Params: string(rest[1]), Reply: string(rest[2])}
		p.labels = append(p.labels, l)
		return json.Unmarshal(rest[0], &p.labels[len(p.labels)-1].Action)
	case kind == `"S"` && len(rest) == 1:
		p.states = append(p.states, string(rest[0]))
		return nil
	}
	numbers := make([]int, len(rest))
	for i, v := range rest {
		if err := json.Unmarshal(v, &numbers[i]); err != nil {
			return err
		}
	}
	switch {
	case kind == `"R"`:
		p.sets = append(p.sets, numbers)
	case kind == `"E"` && len(numbers)%2 == 1 && numbers[0] >= 0 && numbers[0] < len(p.sets):
		here := len(p.edges)
		edges := make([]Edge, 0, len(p.sets[numbers[0]])+len(numbers)/2)
		for _, l := range p.sets[numbers[0]] {
			edges = append(edges, Edge{l, here})
		}
		for i := 1; i < len(numbers); i += 2 {
			edges = append(edges, Edge{numbers[i], numbers[i+1]})
		}
		p.edges = append(p.edges, edges)
	default:
		return fmt.Errorf("a line of kind %s with %d values", kind, len(rest))
	}
	return nil
}

// Stale names the files in dir that are not those that the graph was made from.
func (h Header) Stale(dir string) (files []string, err error) {
	for file, sum := range h.Modules {
		now, err := HashFile(filepath.Join(dir, file))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if now != sum {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files, nil
}

// HashFile returns the SHA-256 of a file, in hex.
func HashFile(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
