package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"

	"example.com/reattach/properties/graph"
)

// A Source is a graph to be made: a module and a configuration of the directory
// tla.
type Source struct {
	Name, Shows    string
	Module, Config string
	Committed      bool // it is small enough to be in the repository
}

// Sources are the graphs that there are.
var Sources = []Source{
	{"window", "one session with two streams: every cursor that its numbers can make, in every state", "GraphWindow", "GraphWindow.cfg", true},
	{"window-streams", "three streams and room for the records of two: what yields, and what stays of it", "GraphWindow", "GraphWindowStreams.cfg", true},
	{"resumption", "two epochs of a client, its sessions and the network: events, superseding, loss, crashes", "GraphResumption", "GraphResumption.cfg", true},
	{"resumption-calls", "one epoch with a call: answered, unknown, or asked for in vain", "GraphResumption", "GraphResumptionCalls.cfg", true},
	{"resumption-large", "two epochs with a call and a newcomer: quarantine as well", "GraphResumption", "GraphResumptionLarge.cfg", false},
	{"hostile-server", "the client alone against any answer and any event, over two epochs", "GraphHostileServer", "GraphHostileServer.cfg", true},
	{"hostile-server-events", "the same without calls and with three events: holes as well as repeats", "GraphHostileServer", "GraphHostileServerEvents.cfg", true},
	{"hostile-server-strict", "one event, a call, and the strict policy: a truncation ends the epoch", "GraphHostileServer", "GraphHostileServerStrict.cfg", true},
	{"hostile-client", "the server alone, with two sessions, against any cursor that their numbers can make", "GraphHostileClient", "GraphHostileClient.cfg", true},
	{"hostile-client-attempts", "the same against numbered attempts", "GraphHostileClient", "GraphHostileClientAttempts.cfg", true},
	{"window-large", "three streams, three events, every cursor", "GraphWindow", "GraphWindowLarge.cfg", false},
	{"window-yield", "four streams and room for the records of three: one of two has to yield", "GraphWindow", "GraphWindowYield.cfg", false},
}

const explainClassPath = `TLA_CLASSPATH is not set. Set it to the paths of an ordinary tla2tools.jar and of CommunityModules-deps.jar, with a colon between
them (Java 11 or later must be installed): they are part of the releases at https://github.com/tlaplus/tlaplus/releases and
https://github.com/tlaplus/CommunityModules/releases. This program downloads nothing.`

// RefreshCommand makes a committed graph anew.
const RefreshCommand = "TLA_CLASSPATH=/path/to/tla2tools.jar:/path/to/CommunityModules-deps.jar go run ./tla/pack"

func main() {
	dir := flag.String("dir", "tla", "the directory of the modules")
	name := flag.String("graph", "", "make only this graph, committed or not")
	out := flag.String("out", "", "write the one graph to this file, not into the directory graphs")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *name, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, name, out string) error {
	classPath := os.Getenv("TLA_CLASSPATH")
	if classPath == "" {
		return errors.New(explainClassPath)
	}
	made := 0
	for _, source := range Sources {
		if source.Name != name && (name != "" || !source.Committed) {
			continue
		}
		to := out
		if to == "" {
			to = filepath.Join(dir, "graphs", source.Name+".gz")
		}
		if err := source.make(ctx, classPath, dir, to); err != nil {
			return fmt.Errorf("graph %s: %w", source.Name, err)
		}
		made++
	}
	if made == 0 {
		return fmt.Errorf("no graph is called %q", name)
	}
	return nil
}

// make lets TLC export the graph and writes it to a file.
func (s Source) make(ctx context.Context, classPath, dir, to string) error {
	scratch, err := os.MkdirTemp("", "graph")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	edges := filepath.Join(scratch, "edges.ndjson")
	distinct, err := s.export(ctx, classPath, dir, scratch, edges)
	if err != nil {
		return err
	}
	in, err := os.Open(edges)
	if err != nil {
		return err
	}
	defer in.Close()
	h, err := s.header(dir)
	if err != nil {
		return err
	}
	h.Distinct = distinct
	g, err := Pack(in, h)
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := graph.Write(f, g); err != nil {
		f.Close()
		return err
	}
	fmt.Printf("%s: states %d edges %d labels %d, of %d states that TLC told apart\n", to, g.Header.States, g.Header.Edges, g.Header.Labels, distinct)
	return f.Close()
}

var distinctStates = regexp.MustCompile(`(?m)^\d+ states generated, (\d+) distinct states found, 0 states left on queue`)

// export runs TLC with one worker, so that the edges come in the same order
// every time, and returns how many states it told apart.
func (s Source) export(ctx context.Context, classPath, dir, scratch, to string) (int, error) {
	cmd := exec.CommandContext(ctx, "java", "-XX:+UseSerialGC", "-Dtlc2.tool.impl.Tool.TLCStateMutExt=true", "-cp", classPath, "tlc2.TLC",
		"-workers", "1", "-deadlock", "-noGenerateSpecTE", "-checkpoint", "0", "-lncheck", "final", "-metadir", scratch,
		"-config", s.Config, s.Module)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GRAPH="+to)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("TLC: %w\n%s", err, out)
	}
	found := distinctStates.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("TLC did not say that it found every state\n%s", out)
	}
	return strconv.Atoi(string(found[1]))
}
