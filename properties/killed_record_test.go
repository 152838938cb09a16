package properties_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/reattach/impl/client"
	"example.com/reattach/properties/killed"
)

var (
	kills    = flag.Int("kills", 20, "how often each of TestKilled… kills a process")
	killSeed = flag.Uint64("kills.seed", 1, "of the instants and the network of TestKilled…")
)

func init() {
	killed.Main(func(dir, how string) (client.Store, error) {
		applied, err := os.OpenFile(filepath.Join(dir, "applied"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		return recordPolicies[how].store(client.OpenFile(filepath.Join(dir, "record")), applied), err
	})
}

// recordPolicies are the two ways to commit where the effects lie outside the
// record: here they are lines of a file.
var recordPolicies = map[string]struct {
	policy killed.Policy
	store  func(record *client.FileStore, applied *os.File) client.Store
}{
	"repeat on crash": {killed.Repeat, func(record *client.FileStore, applied *os.File) client.Store {
		return client.RepeatOnCrash(record, func(ev client.Event) error { return writeLine(applied, ev) })
	}},
	"lose on crash": {killed.Lose, func(record *client.FileStore, applied *os.File) client.Store {
		return client.LoseOnCrash(record, func(ev client.Event) {
			time.Sleep(time.Millisecond) // else it is a matter of microseconds that a kill comes between
			if err := writeLine(applied, ev); err != nil {
				panic(err)
			}
		})
	}},
}

// lineLen is the length of a line of effects, in bytes. It divides every page, so
// that no kill cuts a write of one.
const lineLen = 512

// writeLine writes an event with a payload as one line.
func writeLine(to *os.File, ev client.Event) error {
	if len(ev.Payload) == 0 {
		return nil
	}
	line := fmt.Appendf(nil, "%s\t%s", ev.ID, ev.Payload)
	if len(line) >= lineLen {
		return fmt.Errorf("a line of %d bytes", len(line))
	}
	line = append(line, bytes.Repeat([]byte(" "), lineLen-1-len(line))...)
	_, err := to.Write(append(line, '\n'))
	return err
}

func readLines(file string) (lines []killed.Line, err error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err == nil && len(text)%lineLen != 0 {
		err = fmt.Errorf("the last line has %d bytes", len(text)%lineLen)
	}
	for ; err == nil && len(text) > 0; text = text[lineLen:] {
		id, payload, _ := bytes.Cut(bytes.TrimRight(text[:lineLen], " \n"), []byte("\t"))
		lines = append(lines, killed.Line{ID: string(id), Payload: payload})
	}
	return lines, err
}

// killClients kills the clients of one record again and again.
func killClients(t *testing.T, how string, judgedAs killed.Policy, seed uint64, kills int) (killed.Count, error) {
	t.Helper()
	dir, began := t.TempDir(), time.Now()
	n, _, err := killed.Run(t.Context(), killed.Options{
		Seed: seed, Kills: kills, Policy: judgedAs, Dir: dir, How: how,
		Left: func() (left killed.Left, err error) {
			// It takes the lock, which a process that was killed holds no more.
			if left.Record, err = client.OpenFile(filepath.Join(dir, "record")).Load(t.Context()); err == nil {
				left.Applied, err = readLines(filepath.Join(dir, "applied"))
			}
			return left, err
		},
	})
	t.Logf("%s: %+v in %v", how, n, time.Since(began).Round(time.Millisecond))
	return n, err
}

// A client process with its record in a file is killed at random instants, over
// a network that cuts (R20, R24, R30). The record is never torn. Where effects
// are applied first, no token is ever ahead of them, nothing is lost, and a kill
// repeats one event at most, the one at hand; where they are recorded first,
// nothing is applied twice, and a kill loses one at most. How neither happens is
// package sqlcommit's.
func TestKilledClient(t *testing.T) {
	for how, p := range recordPolicies {
		t.Run(how, func(t *testing.T) {
			for seed := *killSeed; ; seed++ {
				n, err := killClients(t, how, p.policy, seed, *kills)
				if err != nil {
					t.Fatal(err)
				}
				if n.Answers > 0 && n.Open > 0 && n.Repeats+n.Behind+n.Missing+n.Ahead > 0 {
					break
				}
				if seed == *killSeed+10 {
					t.Fatal("want calls answered, kills in the middle of one, and kills between effect and record")
				}
			}
		})
	}
}

// The judge tells the policies apart: neither passes for the other one.
func TestKilledClientIsNoticed(t *testing.T) {
	for how, as := range map[string]killed.Policy{"repeat on crash": killed.Lose, "lose on crash": killed.Repeat} {
		var n killed.Count
		err := error(nil)
		for seed := uint64(1); seed <= 5 && err == nil; seed++ {
			n, err = killClients(t, how, as, seed, 20)
		}
		if err == nil {
			t.Errorf("%s passes for %v: %+v", how, as, n)
		}
	}
}
