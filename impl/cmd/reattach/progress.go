package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// A progress shows on stderr what is going on: on a terminal as one line that
// is rewritten, else as a line for each step. Details are shown on a terminal
// in that same line, and with verbose as lines of their own.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	verbose  bool
	terminal bool
	step     string
}

func newProgress(w io.Writer, verbose bool) *progress {
	p := &progress{w: w, verbose: verbose}
	if f, ok := w.(*os.File); ok {
		info, err := f.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// begin announces a step.
func (p *progress) begin(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step = fmt.Sprintf(format, args...)
	p.show(p.step, true)
}

// detail says something about the step.
func (p *progress) detail(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show("      "+fmt.Sprintf(format, args...), p.verbose)
}

// line says something that stays.
func (p *progress) line(format string, args ...any) {
	p.clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// clear makes room for output on the same terminal.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && !p.verbose {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// show writes text; on a terminal it replaces what was there. p.mu is held.
func (p *progress) show(text string, stays bool) {
	const width = 98
	switch {
	case p.terminal && !p.verbose:
		if len(text) > width {
			text = text[:width]
		}
		fmt.Fprint(p.w, "\r\x1b[K", text)
	case stays:
		fmt.Fprintln(p.w, text)
	}
}
