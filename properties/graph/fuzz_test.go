package graph_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"example.com/reattach/properties/graph"
)

// Whatever is in a file: it is refused, or it is a graph that is written and
// read as the same one, with what a Graph guarantees.
func FuzzGraphFile(f *testing.F) {
	var packed bytes.Buffer
	g, err := lampGraph(new(testing.T), nil)
	if err == nil {
		err = graph.Write(&packed, g)
	}
	if err != nil {
		f.Fatal(err)
	}
	zip, err := gzip.NewReader(&packed)
	if err != nil {
		f.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i := range lines {
		f.Add(bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil))                 // one line less
		f.Add(bytes.Join(append(append(append([][]byte{}, lines[:i]...), lines[i]), lines[i:]...), nil)) // one twice
	}
	f.Add([]byte("{}\n[]\n"))
	f.Add([]byte("{\"states\":1}\n[\"S\",{}]\n[\"R\",0]\n[\"E\",0]\n"))
	f.Add([]byte("{}\n[\"S\",1]\n[\"R\"]\n[\"E\",0,9,9]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := graph.Read(bytes.NewReader(zipped(t, text)))
		if err != nil {
			return
		}
		seen := map[int]bool{0: true}
		for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
			labels := map[int]bool{}
			for _, e := range g.Edges[queue[0]] {
				if labels[e.Label] {
					t.Errorf("state %d has two edges under label %d", queue[0], e.Label)
				}
				labels[e.Label] = true
				if !seen[e.To] {
					seen[e.To] = true
					queue = append(queue, e.To)
				}
			}
		}
		if len(seen) != len(g.States) {
			t.Errorf("%d of %d states are reached", len(seen), len(g.States))
		}
		var first, second bytes.Buffer
		if err := graph.Write(&first, g); err != nil {
			t.Fatal(err)
		}
		again, err := graph.Read(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if err := graph.Write(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("written and read it is another one: %v", err)
		}
	})
}

func zipped(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
