// Command measure runs every trial of package interop and judges what came of
// them; .ci/conformance starts it. With -page it only writes docs/interop.md
// from the results that are committed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.com/reattach/properties/interop"
)

func main() {
	var m measuring
	flag.StringVar(&m.scripts.Node, "node", "", "the `program` node, 22 or later")
	flag.StringVar(&m.scripts.Dir, "scripts", "", "the `directory` with client.mjs, server.mjs and node_modules")
	flag.StringVar(&m.mcpgo, "mcpgo", "", "the server of mcp-go, as a `program`")
	flag.StringVar(&m.baseline, "baseline-checks", "", "the `directory` in which the suite wrote what it says of the SDK's server")
	flag.StringVar(&m.server, "server-checks", "", "the `directory` in which the suite wrote what it says of our server")
	flag.StringVar(&m.client, "client-checks", "", "the `directory` in which the suite wrote what it says of our client")
	flag.StringVar(&m.root, "root", ".", "the `directory` of the repository")
	flag.BoolVar(&m.update, "update", false, "write the results, the lists of wanted checks and the page, where they changed")
	page := flag.Bool("page", false, "write docs/interop.md from the committed results, and measure nothing")
	flag.Parse()
	run := m.run
	if *page {
		run = m.page
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

type measuring struct {
	scripts                         interop.Scripts
	mcpgo, baseline, server, client string
	root                            string
	update                          bool
}

func (m *measuring) page() error {
	r, err := interop.Measured()
	if err != nil {
		return err
	}
	return os.WriteFile(m.pagePath(), r.Page(), 0o644)
}

func (m *measuring) run() error {
	var mu sync.Mutex
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	r, err := m.scripts.Measure(ctx, m.mcpgo, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Println(line)
	})
	if err != nil {
		return err
	}
	for _, side := range []struct{ name, dir string }{{"server", m.server}, {"client", m.client}} {
		wanted := interop.Wanted(side.name)
		if m.update {
			if wanted, err = interop.Checks(side.name, side.dir); err != nil {
				return err
			}
			text := strings.Join(wanted, "\n") + "\n"
			if err := os.WriteFile(m.testdata("wanted-"+side.name+".txt"), []byte(text), 0o644); err != nil {
				return err
			}
		}
		s, err := interop.ReadSuite(side.name, side.dir, wanted)
		if err != nil {
			return err
		}
		r.Suite = append(r.Suite, s)
	}
	if r.Baseline, err = interop.ReadSuite("server", m.baseline, interop.Wanted("server")); err != nil {
		return err
	}
	faults := r.Faults()
	committed, err := interop.Measured()
	if err != nil {
		return err
	}
	if m.update && len(faults) == 0 {
		if err := os.WriteFile(m.testdata("results.json"), r.Encode(), 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(m.pagePath(), r.Page(), 0o644); err != nil {
			return err
		}
	} else if !m.update {
		faults = append(faults, r.Changed(committed)...)
		if page, err := os.ReadFile(m.pagePath()); err != nil || string(page) != string(r.Page()) {
			faults = append(faults, "docs/interop.md is stale")
		}
	}
	for _, f := range faults {
		fmt.Fprintln(os.Stderr, "measure:", f)
	}
	fmt.Print("conformance:")
	for _, s := range r.Suite {
		fmt.Printf(" %s %d/%d", s.Side, s.Passed, s.Wanted)
	}
	fmt.Println()
	if len(faults) > 0 {
		return fmt.Errorf("%d results are not as they should be; if a change is right, .ci/conformance -update writes it", len(faults))
	}
	return nil
}

func (m *measuring) testdata(name string) string {
	return filepath.Join(m.root, "properties", "interop", "testdata", name)
}

func (m *measuring) pagePath() string { return filepath.Join(m.root, "docs", "interop.md") }
