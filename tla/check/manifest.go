package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Model is one configuration that TLC checks, and what it must say about it.
type Model struct {
	// Name is unique in the manifest.
	Name string `json:"name"`
	// Shows says in one line what the model is evidence for.
	Shows string `json:"shows"`
	// Module and Config are files of the directory tla.
	Module string `json:"module"`
	Config string `json:"config"`
	// Expect is "ok", or the name of the formula that must be violated.
	Expect string `json:"expect"`
	// Shared says that package model explores the same scope and must find the
	// same numbers.
	Shared bool `json:"shared,omitempty"`
	// Constants are those of Config, for readers without a parser.
	Constants map[string]any `json:"constants"`

	// Distinct is the number of reachable states, Edges of labelled edges (see
	// the manifest's "edges"), Depth of states on the longest of the shortest
	// paths. All three are 0 unless Expect is "ok".
	Distinct int `json:"distinct,omitempty"`
	Edges    int `json:"edges,omitempty"`
	Depth    int `json:"depth,omitempty"`
	// Actions are the edges of each action; they add up to Edges. Only shared
	// models have them.
	Actions map[string]int `json:"actions,omitempty"`
	// Trace is the number of states of TLC's counterexample, where one is expected.
	Trace int `json:"trace,omitempty"`
	// Inputs are the SHA-256 of the module, of all modules that it extends, and
	// of the configuration, as they were when TLC ran.
	Inputs map[string]string `json:"inputs"`
}

// A Manifest is tla/manifest.json.
type Manifest struct {
	Note   string  `json:"note"`
	Edges  string  `json:"edges"`
	Models []Model `json:"models"`

	dir string
}

const manifestFile = "manifest.json"

// RefreshCommand is what a person runs when the manifest is stale.
const RefreshCommand = "TLA_CLASSPATH=/path/to/tla2tools.jar go run ./tla/check -update"

// Load reads the manifest in dir.
func Load(dir string) (*Manifest, error) {
	text, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return nil, err
	}
	m := &Manifest{dir: dir}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", manifestFile, err)
	}
	return m, nil
}

// Save writes the manifest to the place that it was read from.
func (m *Manifest) Save() error {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.dir, manifestFile), out.Bytes(), 0o644)
}

// inputsOf hashes everything that TLC reads for a model, as it is now.
func (m *Manifest) inputsOf(model Model) (map[string]string, error) {
	modules, err := extended(m.dir, model.Module)
	if err != nil {
		return nil, err
	}
	inputs := map[string]string{}
	for _, file := range append(modules, model.Config) {
		text, err := os.ReadFile(filepath.Join(m.dir, file))
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		inputs[file] = hex.EncodeToString(sum[:])
	}
	return inputs, nil
}

// stale names the inputs of a model that are not those that TLC ran on.
func (m *Manifest) stale(model Model) ([]string, error) {
	now, err := m.inputsOf(model)
	if err != nil {
		return nil, err
	}
	var files []string
	for file, sum := range now {
		if model.Inputs[file] != sum {
			files = append(files, file)
		}
	}
	for file := range model.Inputs {
		if _, used := now[file]; !used {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	return files, nil
}

var (
	extendsLine  = regexp.MustCompile(`(?m)^EXTENDS\s+(.+)$`)
	instanceLine = regexp.MustCompile(`(?m)^\w+ == INSTANCE (\w+)`)
)

// extended is the module and every module of dir that it extends or
// instantiates, at any remove. Modules that are not in dir are TLA+'s own.
func extended(dir, module string) ([]string, error) {
	files := []string{module}
	for i := 0; i < len(files); i++ {
		text, err := os.ReadFile(filepath.Join(dir, files[i]))
		if err != nil {
			return nil, err
		}
		var names []string
		if found := extendsLine.FindSubmatch(text); found != nil {
			names = strings.Split(string(found[1]), ",")
		}
		for _, found := range instanceLine.FindAllSubmatch(text, -1) {
			names = append(names, string(found[1]))
		}
		for _, name := range names {
			file := strings.TrimSpace(name) + ".tla"
			if _, err := os.Stat(filepath.Join(dir, file)); err == nil && !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}
