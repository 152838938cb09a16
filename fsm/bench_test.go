package fsm_test

import (
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/spec"
)

func BenchmarkResolve(b *testing.B) {
	machine, facts := fsm.DefaultServer().Stream, spec.FactsOf(spec.EventFits)
	b.ReportAllocs()
	for b.Loop() {
		machine.Resolve(spec.Attached, spec.HandlerEmits, facts)
	}
}

func BenchmarkFire(b *testing.B) {
	machine, facts := fsm.DefaultServer().Stream, spec.FactsOf(spec.EventFits)
	b.ReportAllocs()
	for b.Loop() {
		machine.Fire(spec.Attached, spec.HandlerEmits, facts)
	}
}

func BenchmarkNew(b *testing.B) {
	table := spec.ClientStreamTable()
	b.ReportAllocs()
	for b.Loop() {
		fsm.Must(table)
	}
}
