package interop

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Results are what a run of all trials said: the source of docs/interop.md.
// They hold nothing that differs from run to run.
type Results struct {
	Suite    []Suite `json:"suite"`
	Baseline Suite   `json:"baseline"` // the Go SDK's own server with the same tools
	Clients  []Said  `json:"clients"`  // of others and ours, against our server
	Servers  []Said  `json:"servers"`  // of others, against our client
}

// Said is what one trial said of one peer.
type Said struct {
	Peer  string `json:"peer"`
	Trial string `json:"trial"`
	Said  string `json:"said"`
}

// measured are the results that docs/interop.md is written from.
//
//go:embed testdata/results.json
var measured []byte

// Measured returns the results that are committed.
func Measured() (Results, error) {
	var r Results
	if err := json.Unmarshal(measured, &r); err != nil {
		return r, fmt.Errorf("testdata/results.json: %w", err)
	}
	return r, nil
}

// Encode returns the text of the results, as it is committed.
func (r Results) Encode() []byte {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic("reattach: BUG: " + err.Error())
	}
	return append(text, '\n')
}

// said returns what a trial said of a peer.
func said(all []Said, peer, trial string) string {
	for _, s := range all {
		if s.Peer == peer && s.Trial == trial {
			return s.Said
		}
	}
	return ""
}

// Faults are the results with which the contract does not hold, whoever is at
// fault.
func (r Results) Faults() (faults []string) {
	for _, s := range r.Suite {
		faults = append(faults, s.Faults...)
	}
	for _, k := range (Scripts{}).Kinds() {
		for _, t := range Trials() {
			if got := said(r.Clients, k.Name, t.ID); len(t.Sound) > 0 && !slices.Contains(t.Sound, got) || got == "" {
				faults = append(faults, fmt.Sprintf("%s, %s: %q, want %s", k.Name, t.ID, got, strings.Join(t.Sound, " or ")))
			}
		}
	}
	for _, f := range (Scripts{}).Foreigners("") {
		for _, e := range Encounters() {
			if got := said(r.Servers, f.Name, e.ID); e.Sound != "" && got != e.Sound || got == "" {
				faults = append(faults, fmt.Sprintf("server %s, %s: %q, want %s", f.Name, e.ID, got, e.Sound))
			}
		}
	}
	return faults
}

// Changed lists what differs from the results that are committed.
func (r Results) Changed(from Results) (changed []string) {
	compare := func(what string, now, before []Said) {
		for _, s := range now {
			if old := said(before, s.Peer, s.Trial); old != s.Said {
				changed = append(changed, fmt.Sprintf("%s %s, %s: %q, committed is %q", what, s.Peer, s.Trial, s.Said, old))
			}
		}
	}
	compare("client", r.Clients, from.Clients)
	compare("server", r.Servers, from.Servers)
	for i, s := range r.Suite {
		if i >= len(from.Suite) || from.Suite[i].Passed != s.Passed || from.Suite[i].Wanted != s.Wanted {
			changed = append(changed, fmt.Sprintf("the suite's %s checks: %d of %d", s.Side, s.Passed, s.Wanted))
		}
	}
	if len(changed) == 0 && string(r.Encode()) != string(from.Encode()) {
		changed = append(changed, "the committed results hold something that was not measured")
	}
	return changed
}

// Measure runs every trial with every client, and every encounter with every
// server: peers at the same time, what is tried with one of them in turn.
// Report is told each result.
func (s Scripts) Measure(ctx context.Context, mcpgo string, report func(string)) (Results, error) {
	var r Results
	kinds, foreigners := s.Kinds(), s.Foreigners(mcpgo)
	clients, servers := make([][]Said, len(kinds)), make([][]Said, len(foreigners))
	faults := make([]error, len(kinds)+len(foreigners))
	var running sync.WaitGroup
	for i, k := range kinds {
		running.Go(func() {
			for _, t := range Trials() {
				text, err := t.Run(ctx, k)
				if err != nil {
					faults[i] = fmt.Errorf("%s, %s: %w", k.Name, t.ID, err)
					return
				}
				clients[i] = append(clients[i], Said{k.Name, t.ID, text})
				report(fmt.Sprintf("%-14s %-14s %s", k.Name, t.ID, text))
			}
		})
	}
	for i, f := range foreigners {
		running.Go(func() {
			for _, e := range Encounters() {
				text, err := e.Run(ctx, f)
				if err != nil {
					faults[len(kinds)+i] = fmt.Errorf("server %s, %s: %w", f.Name, e.ID, err)
					return
				}
				servers[i] = append(servers[i], Said{f.Name, e.ID, text})
				report(fmt.Sprintf("server %-14s %-14s %s", f.Name, e.ID, text))
			}
		})
	}
	running.Wait()
	r.Clients, r.Servers = slices.Concat(clients...), slices.Concat(servers...)
	for _, err := range faults {
		if err != nil {
			return r, err
		}
	}
	return r, nil
}
