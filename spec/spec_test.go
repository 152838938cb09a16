package spec

import "testing"

func TestTablesAreTotalAndUnambiguous(t *testing.T) {
	for _, table := range Tables() {
		for _, fault := range table.Check() {
			t.Error(fault)
		}
	}
}
