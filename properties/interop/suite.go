package interop

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Suite is what the public conformance suite says of one side.
type Suite struct {
	Side   string   `json:"side"` // server or client
	Passed int      `json:"passed"`
	Wanted int      `json:"wanted"`
	Faults []string `json:"faults,omitempty"`
}

// resumption lists the checks that are about resumption: they are asked for by
// name, whatever the list of wanted checks says.
var resumption = map[string][]string{
	"server": {
		"server-sse-polling server-sse-priming-event",
		"server-sse-polling server-sse-retry-field",
		"server-sse-multiple-streams server-accepts-multiple-post-streams",
		"server-sse-multiple-streams server-sse-streams-functional",
		"server-session-lifecycle server-session-delete-accepted",
		"server-session-lifecycle server-session-terminated-returns-404",
	},
	"client": {
		"sse-retry client-sse-graceful-reconnect",
		"sse-retry client-sse-retry-timing",
		"sse-retry client-sse-last-event-id",
	},
}

// wanted lists the checks of each side, one "scenario check" a line.
//
//go:embed testdata/wanted-server.txt testdata/wanted-client.txt
var wanted embed.FS

// Wanted returns the checks that a side has to pass.
func Wanted(side string) []string {
	text, err := wanted.ReadFile("testdata/wanted-" + side + ".txt")
	if err != nil {
		panic("reattach: BUG: " + err.Error())
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// stamp is what the suite appends to the name of a scenario's directory.
var stamp = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}T.*$`)

// ReadSuite reads the checks.json files below dir and judges them: every check
// of the list is there, and with success each time that it is. The suite itself
// passes a check that it did not make, and one that it only warned of.
func ReadSuite(side, dir string, wanted []string) (Suite, error) {
	statuses, err := readChecks(side, dir)
	if err != nil {
		return Suite{}, err
	}
	return judge(side, statuses, wanted), nil
}

// Checks lists the checks that a run made, for the list of those wanted.
func Checks(side, dir string) ([]string, error) {
	statuses, err := readChecks(side, dir)
	return slices.Sorted(maps.Keys(statuses)), err
}

// judge sets what was said against what is wanted.
func judge(side string, statuses map[string][]string, wanted []string) Suite {
	s := Suite{Side: side, Wanted: len(wanted)}
	for _, check := range wanted {
		switch got := statuses[check]; {
		case len(got) == 0:
			s.Faults = append(s.Faults, fmt.Sprintf("suite, %s: %s was not made", side, check))
		case slices.ContainsFunc(got, func(status string) bool { return status != "SUCCESS" }):
			s.Faults = append(s.Faults, fmt.Sprintf("suite, %s: %s is %s", side, check, strings.Join(got, ", ")))
		default:
			s.Passed++
		}
	}
	for _, check := range slices.Sorted(maps.Keys(statuses)) {
		if !slices.Contains(wanted, check) {
			s.Faults = append(s.Faults, fmt.Sprintf("suite, %s: %s is new, and not in the list of wanted checks", side, check))
		}
	}
	for _, check := range resumption[side] {
		if !slices.Contains(wanted, check) {
			s.Faults = append(s.Faults, fmt.Sprintf("suite, %s: %s is about resumption and must be wanted", side, check))
		}
	}
	return s
}

// readChecks returns the statuses of each "scenario check", but for those that
// only tell something.
func readChecks(side, dir string) (map[string][]string, error) {
	statuses := map[string][]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "checks.json" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		var checks []struct{ ID, Status string }
		if err := json.Unmarshal(text, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		scenario := stamp.ReplaceAllString(filepath.ToSlash(filepath.Dir(path)), "")
		if side == "server" {
			scenario = strings.TrimPrefix(scenario, "server-") // which the suite puts before each
		}
		for _, c := range checks {
			if c.Status != "INFO" {
				statuses[scenario+" "+c.ID] = append(statuses[scenario+" "+c.ID], c.Status)
			}
		}
		return nil
	})
	if err == nil && len(statuses) == 0 {
		err = fmt.Errorf("no checks.json below %s says anything", dir)
	}
	return statuses, err
}
