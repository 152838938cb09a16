package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/reattach/properties/evidence"
	"example.com/reattach/spec"
	"example.com/reattach/spec/render"
)

//go:generate go run . docs

// docsCommand brings every page of this command up to date, from the top of the
// repository.
const docsCommand = "go generate ./impl/cmd/reattach"

const docsUsage = `Usage: reattach docs [flags]

Writes the generated pages: the transition tables and diagrams, the rules with
what stands behind each, and the gallery of mistakes. It is run inside the
repository, and reads its sources. docs/mutants.md is not among them: it takes
a run of every mutant, and says itself by which command.

Exit status: 0; 1 if a page cannot be written, or with --check if one is stale;
2 for a mistake in the arguments.
`

func runDocs(ctx context.Context, args []string, out, diag io.Writer) int {
	flags := newFlags("docs", docsUsage, diag)
	check := flags.Bool("check", false, "write nothing, and name the pages that are stale")
	if code, done := parse(flags, args); done {
		return code
	}
	root, err := moduleRoot(".")
	if err != nil {
		return misused(flags, "%v", err)
	}
	stale, err := refresh(ctx, root, !*check)
	if err != nil {
		fmt.Fprintf(diag, "reattach docs: %v\n", err)
		return exitFailed
	}
	for _, path := range stale {
		if *check {
			fmt.Fprintf(out, "%s is stale; run: %s\n", path, docsCommand)
		} else {
			fmt.Fprintf(out, "wrote %s\n", path)
		}
	}
	if *check && len(stale) > 0 {
		return exitFailed
	}
	return exitOK
}

// moduleRoot returns the directory of this module, at or above dir.
func moduleRoot(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	for err == nil {
		text, unread := os.ReadFile(filepath.Join(at, "go.mod"))
		if unread == nil && strings.HasPrefix(string(text), "module example.com/reattach\n") {
			return at, nil
		}
		if filepath.Dir(at) == at {
			err = errors.New("this is to be run inside the repository of example.com/reattach")
		}
		at = filepath.Dir(at)
	}
	return "", err
}

// refresh returns the paths of the pages that were stale, and writes them
// anew, if it is to.
func refresh(ctx context.Context, root string, write bool) (stale []string, err error) {
	pages, err := pagesOf(ctx, root)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		file := filepath.Join(root, filepath.FromSlash(page.Path))
		now, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return stale, err
		}
		fresh, err := page.Render(string(now))
		if err != nil {
			return stale, fmt.Errorf("%s: %w", page.Path, err)
		}
		if fresh == string(now) {
			continue
		}
		stale = append(stale, page.Path)
		if write {
			if err := os.WriteFile(file, []byte(fresh), 0o644); err != nil {
				return stale, err
			}
		}
	}
	return stale, nil
}

// pagesOf returns every generated page: those of package render, and those that
// need the model, the modules and the tests.
func pagesOf(ctx context.Context, root string) ([]render.Page, error) {
	all, err := evidence.Collect(root)
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return nil, err
	}
	rules := render.Rules(docsCommand, spec.Rules(), func(r spec.Rule) render.Evidence { return shown(evidence.Of(all, r.ID)) })
	return append(render.Pages(),
		render.Page{Path: "docs/rules.md", Render: func(string) (string, error) { return rules, nil }},
		render.Page{Path: "docs/gallery.md", Render: func(string) (string, error) { return gallery(ctx) }},
		render.Page{Path: "impl/cmd/reattach/evidence.json", Render: func(string) (string, error) { return string(data) + "\n", nil }},
	), nil
}
