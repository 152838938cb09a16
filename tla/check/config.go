package main

import (
	"os"
	"path/filepath"
	"regexp"
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

// constantsBlock is a CONSTANTS paragraph of ours: one name a line, until an
// empty line. What a name means stands behind it.
var constantsBlock = regexp.MustCompile(`(?m)^CONSTANTS?\n((?:  .*\n)+)`)

// declared are the constants of a module and of all that it extends or instantiates.
func declared(dir, module string) ([]string, error) {
	files, err := extended(dir, module)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, err
		}
		for _, block := range constantsBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				code, _, _ := strings.Cut(line, `\*`)
				if name := strings.Trim(code, " ,\n"); name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names, nil
}

// ReadConfig reads the configuration of a module. What it sets is a constant
// of the module, or else an operator that it replaces.
func ReadConfig(dir, module, file string) (Config, error) {
	constants, err := declared(dir, module)
	if err != nil {
		return Config{}, err
	}
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
			c.set(words[0], words[2], slices.Contains(constants, words[0]))
		case section == "INVARIANTS" || section == "PROPERTIES":
			c.Checked = append(c.Checked, words...)
		}
	}
	return c, nil
}

func (c *Config) set(name, value string, isConstant bool) {
	if !isConstant {
		c.Replaced[name] = value
		return
	}
	if n, err := strconv.Atoi(value); err == nil {
		c.Constants[name] = n
		return
	}
	c.Constants[name] = value
}
