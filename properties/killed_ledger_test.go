package properties_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/ledger"
	"example.com/reattach/properties/killed"
	"example.com/reattach/spec"
)

// ledgerFileChild is set, to the directory of its file, in the process that
// TestKilledLedger starts and kills.
const ledgerFileChild = "REATTACH_TEST_LEDGER_FILE_CHILD"

func init() {
	if dir := os.Getenv(ledgerFileChild); dir != "" {
		fmt.Fprintln(os.Stderr, keepLedger(filepath.Join(dir, "ledger")))
		os.Exit(1)
	}
}

// busyLedger forgets all the time.
var busyLedger = ledger.Options{Entries: 64, Age: time.Hour, Keep: 5 * time.Millisecond}

// keepLedger makes entries until it is killed, and says of each what the ledger
// acknowledged: a line with the state and the key. It opens the file again and
// again, since that is when one is written anew as a whole.
func keepLedger(path string) error {
	fmt.Println(killed.Up)
	for {
		l, err := ledger.New(ledger.OpenFile(path), busyLedger)
		if err != nil {
			return err
		}
		fmt.Println("opened")
		failed := make(chan error, 3)
		for range cap(failed) {
			go func() { failed <- useLedger(l) }()
		}
		for range cap(failed) {
			if err := <-failed; err != nil {
				return err
			}
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
}

// useLedger makes some entries of every kind.
func useLedger(l *ledger.Ledger) error {
	say := func(state ledger.State, k spec.Key) { fmt.Printf("%s %s\n", state, k) }
	for n := range 4 {
		k := spec.Key{Ledger: l.Name(), Minted: uint64(time.Now().UnixMilli()), Nonce: fmt.Sprintf("%032x", rand.Uint64())}
		if n == 3 {
			got, err := l.Query("", k)
			if errors.Is(err, ledger.ErrNoRoom) {
				continue
			}
			if err != nil {
				return err
			}
			if got.State == spec.KeyNotExecuted {
				say(ledger.Sealed, k)
			}
			continue
		}
		a, err := l.Arrive("", k, "digest")
		if errors.Is(err, spec.ReasonKeyUnknown) || errors.Is(err, spec.ReasonLedgerFull) || errors.Is(err, ledger.ErrNoRoom) {
			continue // no room between those that are kept
		}
		if err != nil {
			return err
		}
		say(ledger.Started, k)
		if err := a.Execute.Finish(outcomeOf(k)); err != nil {
			return err
		}
		say(ledger.Done, k)
	}
	return nil
}

// outcomeOf is long, and tells whose it is.
func outcomeOf(k spec.Key) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"result":"%s%s"}`, k, strings.Repeat(".", 4000)))
}

// acknowledged is what a ledger said, over the lives of its processes.
type acknowledged struct {
	name    string
	horizon uint64
	states  map[spec.Key]ledger.State

	said, forgotten, unsaid, opened int
}

// hear takes what a process said before it was killed.
func (a *acknowledged) hear(lines []string) error {
	for _, line := range lines {
		state, text, _ := strings.Cut(line, " ")
		if text == "" {
			if state == "opened" {
				a.opened++
			}
			continue
		}
		k, err := spec.ParseKey(text)
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		a.said++
		a.states[k] = ledger.State(state)
	}
	return nil
}

// compare holds what is found against what was said.
func (a *acknowledged) compare(image ledger.Image) error {
	if a.name == "" {
		a.name = image.Name
	}
	if image.Name != a.name || image.Horizon < a.horizon {
		return fmt.Errorf("ledger %s with horizon %d, it was %s with %d", image.Name, image.Horizon, a.name, a.horizon)
	}
	a.horizon = image.Horizon
	found := map[spec.Key]ledger.State{}
	for _, e := range image.Entries {
		found[e.Key] = e.State
		if _, ok := a.states[e.Key]; !ok {
			a.unsaid++ // durable, and killed before it was said: true all the same from now on
			a.states[e.Key] = e.State
		}
		if e.State == ledger.Done && string(e.Response) != string(outcomeOf(e.Key)) {
			return fmt.Errorf("%s has the outcome %.80s", e.Key, e.Response)
		}
	}
	for k, said := range a.states {
		got := found[k]
		switch {
		case k.Minted < image.Horizon:
			a.forgotten++ // unknown from now on, and never executed
			delete(a.states, k)
		case got == said:
		case said == ledger.Started && got == ledger.Done:
			a.states[k] = got
		default:
			return fmt.Errorf("%s is %q, and %q was acknowledged", k, got, said)
		}
	}
	return nil
}

// A process that keeps a ledger in a file is killed at random instants, while it
// opens the file, appends to it and writes it anew. Whatever it had acknowledged
// is there, whole, or lies below a horizon that never falls (R28).
func TestKilledLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	killer, said, began := killed.NewKiller(*killSeed), &acknowledged{states: map[spec.Key]ledger.State{}}, time.Now()
	kill := 0
	for kill < *kills || kill < 20**kills && !said.enough() {
		kill++
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Env = append(os.Environ(), ledgerFileChild+"="+filepath.Dir(path))
		lines, err := killer.Kill(t.Context(), c)
		if err == nil {
			err = said.hear(lines)
		}
		if err == nil {
			var image ledger.Image
			store := ledger.OpenFile(path)
			if image, err = store.Open(); err == nil {
				err = errors.Join(said.compare(image), store.Close())
			}
		}
		if err != nil {
			t.Fatalf("seed %d, kill %d: %v", *killSeed, kill, err)
		}
	}
	t.Logf("%d kills: acknowledged %d, of which %d lie below the horizon; durable and not acknowledged %d; opened and written anew %d times; in %v",
		kill, said.said, said.forgotten, said.unsaid, said.opened, time.Since(began).Round(time.Millisecond))
	if !said.enough() {
		t.Error("want kills between the write and the word, a file that is written anew, and a horizon that rises")
	}
}

// enough reports whether everything happened that a kill may fall into.
func (a *acknowledged) enough() bool { return a.unsaid > 0 && a.opened > 0 && a.forgotten > 0 }

// The comparison notices a line that is lost, changed or of another ledger.
func TestKilledLedgerIsNoticed(t *testing.T) {
	k := spec.Key{Ledger: ledger.NewName(), Minted: 10, Nonce: strings.Repeat("0", spec.NonceLen)}
	entry := func(s ledger.State) []ledger.Entry {
		return []ledger.Entry{{Key: k, State: s, Response: outcomeOf(k)}}
	}
	for name, c := range map[string]struct {
		image ledger.Image
		wrong bool
	}{
		"as it was":      {ledger.Image{Name: k.Ledger, Horizon: 5, Entries: entry(ledger.Done)}, false},
		"forgotten":      {ledger.Image{Name: k.Ledger, Horizon: 11}, false},
		"lost":           {ledger.Image{Name: k.Ledger, Horizon: 5}, true},
		"back a step":    {ledger.Image{Name: k.Ledger, Horizon: 5, Entries: entry(ledger.Started)}, true},
		"another name":   {ledger.Image{Name: ledger.NewName(), Horizon: 5, Entries: entry(ledger.Done)}, true},
		"a lower bound":  {ledger.Image{Name: k.Ledger, Horizon: 4, Entries: entry(ledger.Done)}, true},
		"another's word": {ledger.Image{Name: k.Ledger, Horizon: 5, Entries: []ledger.Entry{{Key: k, State: ledger.Done, Response: json.RawMessage(`{}`)}}}, true},
	} {
		said := &acknowledged{name: k.Ledger, horizon: 5, states: map[spec.Key]ledger.State{}}
		if err := said.hear([]string{killed.Up, "started " + k.String(), "done " + k.String()}); err != nil {
			t.Fatal(err)
		}
		if err := said.compare(c.image); (err != nil) != c.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}
