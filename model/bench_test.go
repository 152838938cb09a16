package model

import (
	"context"
	"testing"
)

// BenchmarkExplore tells how fast the explorer is: states and edges a second,
// every invariant asked.
func BenchmarkExplore(b *testing.B) {
	for _, name := range []string{"main", "server"} {
		b.Run(name, func(b *testing.B) {
			scope, _ := ScopeNamed(name)
			for b.Loop() {
				r, err := Explore(context.Background(), scope, nil)
				if err != nil || r.Counterexample != nil {
					b.Fatal(err, r.Counterexample)
				}
				b.ReportMetric(float64(r.States)/r.Duration.Seconds(), "states/s")
				b.ReportMetric(float64(r.Edges)/r.Duration.Seconds(), "edges/s")
			}
		})
	}
}
