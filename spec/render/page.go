package render

import (
	"fmt"
	"strings"

	"example.com/reattach/spec"
)

// A Page is one file of docs that is generated, wholly or between markers.
type Page struct {
	Path string // from the top of the repository
	// Render returns the page. It is given what the file holds now, of which a
	// page with markers keeps everything outside them.
	Render func(now string) (string, error)
}

// Pages lists the generated pages.
func Pages() []Page {
	return []Page{
		{"docs/transitions.md", func(string) (string, error) { return Transitions(spec.Tables()), nil }},
		{"docs/rules.md", func(string) (string, error) { return Rules(spec.Rules()), nil }},
		{"docs/architecture.md", func(now string) (string, error) { return Fill(now, spec.Tables()) }},
	}
}

// Command is what brings every page up to date, from the top of the repository.
const Command = "go generate ./spec/render"

// generated opens every page that is generated wholly.
const generated = "<!-- Generated from package spec by: " + Command + " -->\n\n"

// Fill returns the text with a fresh diagram between each pair of markers
//
//	<!-- diagram: session -->
//	<!-- end -->
//
// It fails if a marker is unpaired or names no table, or if a table has none.
func Fill(text string, tables []spec.Table) (string, error) {
	const open, shut, end = "<!-- diagram: ", " -->\n", "<!-- end -->"
	missing := map[string]spec.Table{}
	for _, t := range tables {
		missing[t.Machine] = t
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, open)
		out.WriteString(before)
		if !found {
			break
		}
		machine, rest, found := strings.Cut(rest, shut)
		old, after, ended := strings.Cut(rest, end)
		table, known := missing[machine]
		if !found || !ended || !known || strings.Contains(old, open) {
			return "", fmt.Errorf("marker %q: it names no table, or one twice, or lacks its %q", open+machine, end)
		}
		delete(missing, machine)
		out.WriteString(open + machine + shut + Diagram(table) + end)
		text = after
	}
	for machine := range missing {
		return "", fmt.Errorf("no marker %q for this table", open+machine+strings.TrimSpace(shut))
	}
	return out.String(), nil
}

// paragraph writes a wrapped paragraph and an empty line.
func paragraph(out *strings.Builder, text string) {
	out.WriteString(wrap(text, 100) + "\n\n")
}

// item writes a wrapped item of a list.
func item(out *strings.Builder, text string) {
	out.WriteString(strings.ReplaceAll(wrap("- "+text, 98), "\n", "\n  ") + "\n")
}

// wrap breaks a paragraph into lines of at most width bytes where it has spaces.
func wrap(text string, width int) string {
	var out strings.Builder
	length := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case length+1+len(word) > width:
			out.WriteByte('\n')
			length = 0
		default:
			out.WriteByte(' ')
			length++
		}
		out.WriteString(word)
		length += len(word)
	}
	return out.String()
}

// anchor returns the fragment that markdown viewers give a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', '0' <= r && r <= '9', 'a' <= r && r <= 'z':
			return r
		default:
			return -1
		}
	}, strings.ToLower(heading))
}
