package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A picture is XML, and what lies farther right or higher is drawn there.
func TestPlotIsDrawnToScale(t *testing.T) {
	p := plot{title: "a < b", xUnit: "x", yUnit: "y", lines: []line{
		{"low & level", [][2]float64{{1, 10}, {100, 10}}}, {"rising", [][2]float64{{1, 10}, {100, 1000}}},
	}}
	text := p.svg()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	for _, part := range []string{"a &lt; b", "low &amp; level", `M64.0 352.0L570.0 352.0"`, `M64.0 352.0L570.0 40.0"`} {
		if !strings.Contains(text, part) {
			t.Errorf("the picture lacks %s:\n%s", part, text)
		}
	}
}

// A report takes the place of the last one and of nothing else; a page without
// a place for it is refused.
func TestReportTakesItsPlace(t *testing.T) {
	rows := []measured{{row{name: "r", unit: "ns", targets: []target{{of: "ours", to: "bound", atMost: 2}, {of: "peer", to: "ours", atLeast: 5}}},
		[]result{{name: "ours", samples: []float64{10}}, {name: "bound", samples: []float64{6}}, {name: "peer", samples: []float64{40}}}}}
	path := filepath.Join(t.TempDir(), "page.md")
	for _, old := range []string{"", "\nold\n"} {
		if err := os.WriteFile(path, []byte("before\n"+beginMark+old+endMark+"\nafter\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := writeReport(path, rows, "how"); err != nil {
			t.Fatal(err)
		}
		page, _ := os.ReadFile(path)
		for _, part := range []string{"before\n" + beginMark + "\n", "\n" + endMark + "\nafter\n", "| r | 10.0 ns | bound 0.60, peer 4.00 |", "1.67, at most 2.00: met", "4.0, at least 5.0: missed", "Targets met: 1 of 2."} {
			if !strings.Contains(string(page), part) {
				t.Errorf("the page lacks %q:\n%s", part, page)
			}
		}
		if strings.Contains(string(page), "old") {
			t.Errorf("the old report is still there:\n%s", page)
		}
	}
	if err := os.WriteFile(path, []byte("no place"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeReport(path, rows, "how"); err == nil {
		t.Error("a page without a place was written")
	}
}

// What a profile is to show: go test -bench Call -cpuprofile cpu.out
func BenchmarkCall(b *testing.B) {
	for _, c := range []struct {
		name  string
		s     server
		paced bool
	}{
		{"burst/ours", server{"ours", true, serveOurs}, false}, {"burst/bare-ring", server{"bare ring", false, serveBareRing}, false},
		{"flush/ours", server{"ours", true, serveOurs}, true}, {"flush/bare", server{"bare", false, serveBare}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, done, err := serve(c.s, c.paced)
			if err != nil {
				b.Fatal(err)
			}
			defer done()
			b.ReportAllocs()
			for b.Loop() {
				r.callToTheEnd(c.s.name)
			}
		})
	}
}
