package properties

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/reattach/fsm"
	"example.com/reattach/impl/session"
	"example.com/reattach/spec"
)

// docs/adding-a-transition.md is a test: its edits are applied to copies, one
// after the other, and what the checks print is what stands on the page.

var addingAll = flag.Bool("adding.all", false, "TestAddingATransition also runs what is to pass, and builds this package too, instead of asking its checks directly")

const addingPage = "docs/adding-a-transition.md"

// A block is a fenced part of the page: an edit of a file, or what is said when
// something is done.
type block struct {
	line  int    // of the page
	file  string // to be edited; "" if nothing is
	lines []string
}

// blocksOf returns the blocks of the page, in order.
func blocksOf(page string) (blocks []block, err error) {
	var in *block
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		file, edits := strings.CutPrefix(info, "diff ")
		switch {
		case in == nil && fence && !edits && info != "console":
			return nil, fmt.Errorf("%s, line %d: a block of %q is neither an edit nor a console", addingPage, i+1, info)
		case in == nil && fence:
			in = &block{line: i + 1, file: file}
			if !edits {
				in.file = ""
			}
		case in != nil && fence:
			blocks, in = append(blocks, *in), nil
		case in != nil:
			in.lines = append(in.lines, line)
		}
	}
	return blocks, nil
}

// apply returns a file with the block's edit: lines that begin with - go, those
// with + come, the others show where.
func (b block) apply(text string) (string, error) {
	var was, is []string
	for _, line := range b.lines {
		mark, rest := line[:1], line[1:]
		if mark != "+" {
			was = append(was, rest)
		}
		if mark != "-" {
			is = append(is, rest)
		}
	}
	if n := strings.Count(text, strings.Join(was, "\n")); n != 1 {
		return "", fmt.Errorf("%s, line %d: the edit of %s fits %d times; write it anew:\n%s", addingPage, b.line, b.file, n, strings.Join(was, "\n"))
	}
	return strings.Replace(text, strings.Join(was, "\n"), strings.Join(is, "\n"), 1), nil
}

// The page was written when the stream table had 65 rows. It stays true when
// there are more: its numbers are moved on.
func renumber(page string) string {
	const then = 65
	moved := spec.StreamTable().Size - then
	page = regexp.MustCompile(`\b(ST)?6[5678]\b`).ReplaceAllStringFunc(page, func(s string) string {
		var n int
		prefix := strings.TrimRight(s, "0123456789")
		_, _ = fmt.Sscan(s[len(prefix):], &n) // the pattern has seen to it
		return fmt.Sprintf("%s%02d", prefix, n+moved)
	})
	return strings.ReplaceAll(page, "trigger ?22", fmt.Sprintf("trigger ?%d", spec.SessionEnds+1))
}

// A check is a block that shows what is said, with the files as they are then.
type check struct {
	block
	files map[string]string // edited ones, by path below the module
}

// Given the page, when its edits are made one by one, then at each step the
// checks fail with the messages that the page shows, or pass where it says ok.
func TestAddingATransition(t *testing.T) {
	page, err := os.ReadFile("../" + addingPage)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := blocksOf(renumber(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	steps := 0
	for _, b := range blocks {
		if b.file == "" {
			c := check{b, map[string]string{}}
			for path, text := range files {
				c.files[path] = text
			}
			steps++
			t.Run(strings.TrimPrefix(b.lines[0], "$ go test "), func(t *testing.T) { t.Parallel(); c.do(t) })
			continue
		}
		if files[b.file] == "" {
			text, err := os.ReadFile("../" + b.file)
			if err != nil {
				t.Fatal(err)
			}
			files[b.file] = string(text)
		}
		if files[b.file], err = b.apply(files[b.file]); err != nil {
			t.Fatal(err)
		}
	}
	if steps < 15 || len(files) < 8 {
		t.Errorf("%d checks and %d edited files: that is no walk from one end to the other", steps, len(files))
	}
}

// do does what the block says and compares.
func (c check) do(t *testing.T) {
	said, ok := c.output(t)
	for _, want := range c.lines[1:] {
		switch {
		case want == "ok" && !ok:
			t.Errorf("%s, line %d: it should pass, and says\n%s", addingPage, c.line, said)
		case want != "ok" && ok:
			t.Errorf("%s, line %d: it passes, and should say\n%s", addingPage, c.line, want)
		case want != "ok" && !says(said, want):
			t.Errorf("%s, line %d: nobody says\n%s\nbut\n%s", addingPage, c.line, want, said)
		}
	}
}

// says reports whether a line is in what was said; … stands for anything.
func says(said, line string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
	return regexp.MustCompile(pattern).MatchString(said)
}

// output returns what is said when the block's first line is done, and whether
// all is well. Unless everything is wanted for real, what is to pass is taken
// to pass, and checks of this very package are asked directly: building it anew
// takes longer than all the rest.
func (c check) output(t *testing.T) (said string, ok bool) {
	command, isCommand := strings.CutPrefix(c.lines[0], "$ go test ")
	if !*addingAll && slices.Equal(c.lines[1:], []string{"ok"}) {
		return "", true
	}
	if ask := askedHere[c.lines[0]]; ask != nil && (!isCommand || !*addingAll) {
		return ask(), false
	}
	if !isCommand {
		t.Fatalf("%s, line %d: nobody said what happens at %q: add it to askedHere in properties/adding_test.go", addingPage, c.line, c.lines[0])
	}
	args := []string{"test", "-vet=off"}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(command, "./tla/") {
		root = c.copyModules(t, root) // its tests read files, which no overlay shows them
	} else {
		args = append(args, "-overlay", c.overlay(t, root))
	}
	for word := range strings.FieldsSeq(command) {
		args = append(args, strings.Trim(word, "'"))
	}
	run := exec.Command("go", args...)
	run.Dir = root
	out, err := run.CombinedOutput()
	return string(out), err == nil
}

// overlay writes the edited files where the go command finds them.
func (c check) overlay(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for path, text := range c.files {
		edited := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		write(t, edited, text)
		replace[filepath.Join(root, filepath.FromSlash(path))] = edited
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	write(t, file, string(data))
	return file
}

// copyModules returns a copy of the directory tla, edited.
func (c check) copyModules(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	for _, pattern := range []string{"go.mod", "go.sum", "tla/*.tla", "tla/*.cfg", "tla/manifest.json", "tla/check/*.go"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("nothing is called %s: %v", pattern, err)
		}
		for _, file := range files {
			below, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if edited := c.files[filepath.ToSlash(below)]; edited != "" {
				text = []byte(edited)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, below)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, below), string(text))
		}
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What the page calls what is new. A value behind the last one has no name yet
// and prints as a number, as it would on the way.
const (
	newTrigger = "OperatorCutsView"
	newEffect  = "TellOperator"
)

// askedHere are the checks of this package, and what the cores say, asked
// directly about values that nobody has heard of.
var askedHere = map[string]func() string{
	"$ go test ./properties -run EveryServerRow": func() string {
		table := withNewRows()
		var said listener
		for i := range table.Rows[spec.StreamTable().Size:] {
			row := &table.Rows[spec.StreamTable().Size+i]
			said.listen(func(t failer) {
				checkRow(t, newServerRig("stream", fsm.DefaultServer(), row), plan{table: table, target: row})
			})
		}
		return strings.ReplaceAll(string(said), spec.Trigger(spec.NumTriggers).String(), newTrigger)
	},
	"$ go test ./properties -run 'TestServerLockstep$'": func() string {
		var said listener
		said.listen(func(t failer) { hits{}.needRows(t, nil, withNewRows()) })
		return strings.ReplaceAll(string(said), spec.Trigger(spec.NumTriggers).String(), newTrigger)
	},
	"a row with an effect that the server's core has never heard of": func() (said string) {
		table := spec.StreamTable()
		table.Rows = slices.Clone(table.Rows)
		row, _ := table.Row("ST34")
		row.Effects = []spec.Effect{spec.Effect(unheardOf)}
		machines, err := fsm.NewServer(spec.SessionTable(), table)
		if err != nil {
			return err.Error()
		}
		cfg := session.DefaultConfig()
		cfg.Machines = machines
		core := session.NewCore(cfg)
		defer func() {
			said = strings.ReplaceAll(fmt.Sprint(recover()), spec.Effect(unheardOf).String(), newEffect)
		}()
		_ = core.Initialize(session.SessionID{1}, nil, false, false)
		_, _ = core.Call(nil)
		_, _ = core.Emit(1, []byte("event"), 0)
		_, err = core.Deliver(1, 0)
		return fmt.Sprint(err)
	},
	"an effect that the suite cannot see": func() string {
		row, _ := spec.StreamTable().Row("ST34")
		err := newServerRig("stream", fsm.DefaultServer(), row).shows(spec.Effect(unheardOf))
		return strings.ReplaceAll(fmt.Sprint(err), spec.Effect(unheardOf).String(), newEffect)
	},
}

const unheardOf = 200 // no effect has that number

// withNewRows returns the stream table with the rows of the page, of a trigger
// that has no name.
func withNewRows() spec.Table {
	table := spec.StreamTable()
	table.Rows = slices.Clone(table.Rows)
	id := func() string { return fmt.Sprintf("ST%02d", len(table.Rows)+1) }
	cut := func(from, to spec.State) {
		table.Rows = append(table.Rows, spec.Row{ID: id(), From: []spec.State{from}, Trigger: spec.Trigger(spec.NumTriggers), To: to, Effects: []spec.Effect{spec.CutView}, Cites: []string{"R9"}})
	}
	cut(spec.Attached, spec.Detached)
	cut(spec.FinishedAttached, spec.FinishedDetached)
	table.Rows = append(table.Rows, spec.Row{ID: id(), Trigger: spec.Trigger(spec.NumTriggers), Forbid: spec.ReasonNoView, Cites: []string{"R9"},
		From: []spec.State{spec.Unopened, spec.Detached, spec.FinishedDetached, spec.Forgotten}})
	return table
}

// A listener is a failer that only listens.
type listener string

// listen runs a check to its end, or to its first fatal fault.
func (l *listener) listen(check func(failer)) {
	defer func() {
		if stop := recover(); stop != nil && stop != l {
			panic(stop)
		}
	}()
	check(l)
}

func (l *listener) Helper() {}
func (l *listener) Errorf(format string, args ...any) {
	*l += listener(fmt.Sprintf(format, args...) + "\n")
}
func (l *listener) Fatalf(format string, args ...any) { l.Errorf(format, args...); panic(l) }

// Every message of a check on the page says where to go: it begins with a
// folder or file that there is, and ends with a file or a command.
func TestMessagesOnThePageSayWhereToGo(t *testing.T) {
	page, err := os.ReadFile("../" + addingPage)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := blocksOf(string(page))
	if err != nil {
		t.Fatal(err)
	}
	messages := 0
	for _, b := range blocks {
		if b.file != "" || !strings.HasPrefix(b.lines[0], "$ ") {
			continue
		}
		for _, line := range b.lines[1:] {
			place, _, message := strings.Cut(strings.Replace(line, " is stale", ": stale", 1), ": ")
			if message {
				messages++
				if _, err := os.Stat("../" + place); err != nil {
					t.Errorf("line %d: %q begins with no place to open: %v", b.line, line, err)
				}
			}
		}
	}
	if messages < 20 {
		t.Errorf("%d messages", messages)
	}
}

// The walker notices a page that has gone stale, in each way.
func TestAStalePageIsNoticed(t *testing.T) {
	b := block{file: "x.go", lines: []string{" here", "+there"}}
	for text, fits := range map[string]bool{"here\n": true, "nowhere": true, "here and here": false, "gone": false} {
		if _, err := b.apply(text); (err == nil) != fits {
			t.Errorf("an edit of %q: %v", text, err)
		}
	}
	if got, _ := b.apply("a\nhere\nb"); got != "a\nhere\nthere\nb" {
		t.Errorf("edited: %q", got)
	}
	if !says("x: said 3 times", "said … times") || says("said nothing", "said … times") {
		t.Error("what is said is not compared")
	}
	if _, err := blocksOf("```python\n```"); err == nil {
		t.Error("a block of another kind is taken")
	}
}
