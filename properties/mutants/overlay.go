package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// An EditError says that an edit does not fit the file any more.
type EditError struct {
	Mutant string
	Edit   Edit
	Found  int // how often the old text is there
}

func (e *EditError) Error() string {
	return fmt.Sprintf("properties/mutants: mutant %s: its old text is %d times in %s, and must be there exactly once; give it the text that does the same there now:\n\t%s",
		e.Mutant, e.Found, e.Edit.File, strings.ReplaceAll(e.Edit.Old, "\n", "\n\t"))
}

// Mutated returns the files that the mutant changes, with their new text.
func (m Mutant) Mutated(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		text, known := texts[e.File]
		if !known {
			content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.File)))
			if err != nil {
				return nil, fmt.Errorf("properties/mutants: mutant %s: %w", m.Name, err)
			}
			text = string(content)
		}
		if n := strings.Count(text, e.Old); n != 1 || e.Old == e.New {
			return nil, &EditError{Mutant: m.Name, Edit: e, Found: n}
		}
		texts[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return texts, nil
}

// writeOverlay writes the mutated files and what makes the go command take them
// for the real ones, and returns the name of that.
func (m Mutant) writeOverlay(root, dir string) (string, error) {
	texts, err := m.Mutated(root)
	if err != nil {
		return "", err
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range texts {
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(changed, []byte(text), 0o644); err != nil {
			return "", err
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(file))] = changed
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}
