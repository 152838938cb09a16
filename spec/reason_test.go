package spec

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The statuses of the contract's table of reasons, row by row.
var contractStatuses = map[int][]Reason{
	http.StatusBadRequest:         {"session_required", "cursor_malformed", "cursor_with_message", "already_initialized", "attempt_malformed"},
	http.StatusNotFound:           {"session_unknown", "session_expired", "session_terminated"},
	http.StatusConflict:           {"cursor_foreign", "cursor_unissued", "cursor_evicted", "cursor_ahead", "attempt_superseded", "replay_not_permitted"},
	http.StatusServiceUnavailable: {"too_many_sessions", "draining", "store_unavailable"},
	http.StatusTooManyRequests:    {"too_many_streams", "too_many_views", "too_many_requests"},
}

func TestReasonsHaveTheContractsStatuses(t *testing.T) {
	var all []Reason
	for status, reasons := range contractStatuses {
		all = append(all, reasons...)
		for _, r := range reasons {
			if r.Status() != status {
				t.Errorf("%s is %d, want %d", string(r), r.Status(), status)
			}
			later := status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests
			if r.RetryLater() != later {
				t.Errorf("%s with status %d: RetryLater is %v", string(r), status, r.RetryLater())
			}
		}
	}
	slices.Sort(all)
	if got := WireReasons(); !slices.Equal(got, all) {
		t.Errorf("reasons on the wire:\n got %v\nwant %v", got, all)
	}
	if ReasonQuarantined.Status() != 0 || ReasonQuarantined.RetryLater() {
		t.Error("a reason of the client has a status")
	}
}

// declaredReasons reads the constants of reason.go: name -> text.
func declaredReasons(t *testing.T) map[string]Reason {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]Reason{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && strings.HasPrefix(v.Names[0].Name, "Reason") {
			text, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			declared[v.Names[0].Name] = Reason(text)
		}
		return true
	})
	if len(declared) < 40 {
		t.Fatalf("found only %d reasons in reason.go", len(declared))
	}
	return declared
}

// Reasons are words that metrics and the wire carry: lower case, one meaning
// each, and every one that a forbid row gives is declared.
func TestReasonsAreDeclaredOnce(t *testing.T) {
	named := map[Reason]string{}
	for name, r := range declaredReasons(t) {
		if other, taken := named[r]; taken {
			t.Errorf("%s and %s are both %q", name, other, string(r))
		}
		named[r] = name
		if !regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`).MatchString(string(r)) {
			t.Errorf("%s is %q, which is not lower case with underscores", name, string(r))
		}
		want := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "Reason")), "_", "")
		if strings.ReplaceAll(string(r), "_", "") != want {
			t.Errorf("%s is %q: name and text differ", name, string(r))
		}
	}
	for _, table := range Tables() {
		for _, row := range table.Rows {
			if _, ok := named[row.Forbid]; row.Forbid != "" && !ok {
				t.Errorf("row %s forbids for %q, which reason.go does not declare", row.ID, string(row.Forbid))
			}
		}
	}
	for _, r := range WireReasons() {
		if _, ok := named[r]; !ok {
			t.Errorf("%q has a status and is not declared", string(r))
		}
	}
}

// What a client asks of a session is answered: each refusal has a status.
func TestEveryRefusalOfAClientHasAStatus(t *testing.T) {
	refusals := 0
	for _, row := range SessionTable().Rows {
		if row.Forbid != "" && strings.HasPrefix(row.Trigger.String(), "Client") {
			refusals++
			if row.Forbid.Status() == 0 {
				t.Errorf("row %s refuses a client for %s, which has no status", row.ID, string(row.Forbid))
			}
		}
	}
	if refusals == 0 {
		t.Error("the session table refuses nothing")
	}
}

// A reason is an error that errors.Is finds in whatever wraps it.
func TestAReasonIsAnError(t *testing.T) {
	err := fmt.Errorf("resuming stream 3: %w", ReasonCursorEvicted)
	if !errors.Is(err, ReasonCursorEvicted) || errors.Is(err, ReasonCursorAhead) {
		t.Errorf("errors.Is cannot tell the reason of %v", err)
	}
	var r Reason
	if !errors.As(err, &r) || r != "cursor_evicted" || r.Error() != "cursor_evicted" {
		t.Errorf("errors.As finds %q", string(r))
	}
}
