package properties

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	namedTest    = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z]\\w*)(…?)`")
)

// Every test that a page names is there: a name with … stands for the tests
// that begin so. What a page says is shown is shown by nothing if the test was
// renamed.
func TestPagesNameTestsThatExist(t *testing.T) {
	tests := map[string]bool{}
	var pages []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for _, m := range declaredTest.FindAllSubmatch(text, -1) {
				tests[string(m[1])] = true
			}
			return err
		case strings.HasSuffix(path, ".md"):
			pages = append(pages, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range namedTest.FindAllSubmatch(text, -1) {
			name, prefix := string(m[1]), len(m[2]) > 0
			known := tests[name]
			for test := range tests {
				known = known || prefix && strings.HasPrefix(test, name)
			}
			if named++; !known {
				t.Errorf("%s names %s, and there is no such test", page, name)
			}
		}
	}
	if len(tests) < 300 || named < 100 {
		t.Errorf("%d tests, %d names in %d pages: the search is broken", len(tests), named, len(pages))
	}
}
