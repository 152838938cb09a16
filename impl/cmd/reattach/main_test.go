package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"example.com/reattach/spec"
)

func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		says string // on stderr for a mistake, on either for help
	}{
		{"", exitMisuse, "Usage: reattach <subcommand>"},
		{"help", exitOK, "demo"},
		{"-h", exitOK, "rules"},
		{"dmeo", exitMisuse, `no subcommand is called "dmeo"`},
		{"demo -h", exitOK, "-json"},
		{"demo --jsno", exitMisuse, "flag provided but not defined"},
		{"demo extra", exitMisuse, `takes no arguments, got ["extra"]`},
		{"demo --scenario nowhere", exitMisuse, `no scenario is called "nowhere"`},
		{"check -h", exitOK, "-scope"},
		{"check --scope nowhere", exitMisuse, `no scope is called "nowhere"`},
		{"rules -h", exitOK, "-id"},
		{"rules --id R999", exitMisuse, `no rule is called "R999"`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var out, diag bytes.Buffer
			if code := run(t.Context(), strings.Fields(tc.args), &out, &diag); code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			if all := out.String() + diag.String(); !strings.Contains(all, tc.says) {
				t.Errorf("says %q, want %q in it", all, tc.says)
			}
			if tc.code == exitMisuse && out.Len() > 0 {
				t.Errorf("a mistake prints on stdout: %q", &out)
			}
		})
	}
}

func TestRulesPrintsEveryRule(t *testing.T) {
	var out, diag bytes.Buffer
	if code := run(t.Context(), []string{"rules"}, &out, &diag); code != exitOK {
		t.Fatalf("exit %d: %s", code, &diag)
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, r := range spec.Rules() {
		for _, want := range []string{"\n" + r.ID + " " + r.Name + "\n"} {
			if !strings.Contains("\n"+out.String(), want) {
				t.Errorf("%s is not announced", r.ID)
			}
		}
		if text := strings.Join(strings.Fields(r.Text), " "); !strings.Contains(words, text) {
			t.Errorf("%s is not printed whole", r.ID)
		}
	}
}

func TestRulesPrintsOneRule(t *testing.T) {
	var out, diag bytes.Buffer
	if code := run(t.Context(), []string{"rules", "--id", "R4"}, &out, &diag); code != exitOK {
		t.Fatalf("exit %d: %s", code, &diag)
	}
	r, _ := spec.RuleOf("R4")
	if !strings.HasPrefix(out.String(), "R4 "+r.Name+"\n") || strings.Contains(out.String(), "\nR5 ") {
		t.Errorf("printed %q", &out)
	}
	for _, row := range r.Citing() {
		if !strings.Contains(out.String(), row.ID) {
			t.Errorf("row %s cites R4 and is not named", row.ID)
		}
	}
}

func TestWrapped(t *testing.T) {
	got := wrapped("  rows    ", strings.Repeat("word ", 40))
	for i, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
		indent := "          "
		if i == 0 {
			indent = "  rows    "
		}
		if !strings.HasPrefix(line, indent+"word") || len(line) > 100 {
			t.Errorf("line %d: %q", i+1, line)
		}
	}
	if n := strings.Count(got, "word"); n != 40 {
		t.Errorf("%d words, want 40", n)
	}
	if got := wrapped("x ", fmt.Sprint("one")); got != "x one\n" {
		t.Errorf("%q", got)
	}
}
