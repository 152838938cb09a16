package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Config is what a TLC configuration file of ours says. Ours have one entry a
// line below a keyword of its own.
type Config struct {
	// Constants are the values ("=") of a model's bounds, and the sets chosen
	// ("<-") for constants.
	Constants map[string]any
	// Replaced are the operators that a mutant puts another one in for ("<-").
	Replaced map[string]string
	// Checked are the invariants and properties.
	Checked []string
}

// declared are the constants of Resumption; any other left side is an operator.
var declared = []string{"MaxEpoch", "MaxEvents", "Window", "WireCap", "MaxCalls", "Strangers"}

// ReadConfig reads a configuration file.
func ReadConfig(dir, file string) (Config, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return Config{}, err
	}
	c := Config{Constants: map[string]any{}, Replaced: map[string]string{}}
	section := ""
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, `\*`)
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case !strings.HasPrefix(line, " "):
			section = words[0]
		case section == "CONSTANTS" && len(words) == 3:
			c.constant(words[0], words[2])
		case section == "INVARIANTS" || section == "PROPERTIES":
			c.Checked = append(c.Checked, words...)
		}
	}
	return c, nil
}

func (c *Config) constant(name, value string) {
	if !slices.Contains(declared, name) {
		c.Replaced[name] = value
		return
	}
	if n, err := strconv.Atoi(value); err == nil {
		c.Constants[name] = n
		return
	}
	c.Constants[name] = value
}
