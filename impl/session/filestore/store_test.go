package filestore_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/reattach/impl/session"
	"example.com/reattach/impl/session/filestore"
	"example.com/reattach/spec"
)

// What every store promises is checked by impl/session/storetest. Here is what
// only a file can do wrong.

func open(t *testing.T, path string) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// key is the key of the only session of a test.
var key = session.KeyOf(session.SessionID{1})

// writes begins a session and gives it so many events.
func writes(t *testing.T, s *filestore.Store, events uint64) session.Hold {
	t.Helper()
	h, err := s.Begin(key, "alice", time.Now().UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if err := s.Append(key, h, event(i)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// event is the event that follows a seq, on the standalone stream.
func event(seq uint64) session.Entry {
	return session.Entry{Kind: session.AppendsEvent, Seq: seq, Evicted: seq - min(seq, 16), Ordinal: seq + 1, At: time.Now().UnixMilli(), Data: fmt.Append(nil, "event ", seq+1)}
}

// Wherever the last line is torn, what was acknowledged before it is there, and
// goes on. A file that is damaged before its last line is refused.
func TestATornLineWasNeverAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	s := open(t, path)
	h := writes(t, s, 2)
	s.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last; cut <= len(whole); cut++ {
		if cut%7 != 0 && cut < len(whole)-3 { // a file is written and synced for each
			continue
		}
		torn := filepath.Join(t.TempDir(), "sessions")
		if err := os.WriteFile(torn, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, torn)
		hold, m, err := s.Take(key, "alice")
		want := uint64(1)
		if cut == len(whole) {
			want = 2
		}
		if err != nil || m.Seq != want || hold.Generation != h.Generation {
			t.Fatalf("cut at %d of %d: seq %d of %+v, %v, want seq %d of %+v", cut, len(whole), m.Seq, hold, err, want, h)
		}
		if err := s.Append(key, hold, event(want)); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	for at := range last - 1 {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := filestore.Open(path)
		corrupt := new(filestore.CorruptError)
		if !errors.As(err, &corrupt) {
			if err == nil {
				s.Close()
			}
			t.Fatalf("damaged at byte %d: %v, want a CorruptError", at, err)
		}
	}
}

// One process has the file, and a closed store says so to everybody.
func TestAFileHasOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	s := open(t, path)
	h := writes(t, s, 1)
	if _, err := filestore.Open(path); !errors.Is(err, filestore.ErrInUse) {
		t.Fatalf("a second process: %v", err)
	}
	s.Close()
	if err := s.Append(key, h, event(1)); err == nil {
		t.Error("a closed store takes an event")
	}
	if err := s.Confirm(key, h); err == nil || errors.Is(err, session.ErrHoldLost) {
		t.Errorf("a closed store knows about holds: %v", err)
	}
	if _, _, err := s.Take(key, "alice"); err == nil || errors.Is(err, session.ErrNoSession) {
		t.Errorf("a closed store knows about sessions: %v", err)
	}
}

// The file stays in proportion to what is retained, and what nobody wrote to is
// forgotten when a process opens it.
func TestTheFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	s := open(t, path)
	h := writes(t, s, 0)
	for i := range uint64(40) {
		e := event(i)
		e.Data = bytes.Repeat([]byte{'x'}, 300<<10)
		if err := s.Append(key, h, e); err != nil {
			t.Fatal(err)
		}
	}
	// 17 retained events of 400 KiB in base64, twice, and the slack.
	if info, err := os.Stat(path); err != nil || info.Size() > 2*17*(401<<10)+(5<<20) {
		t.Errorf("the file has %v bytes, %v", info.Size(), err)
	}
	old := session.KeyOf(session.SessionID{2})
	if _, err := s.Begin(old, "alice", time.Now().Add(-filestore.Keep-time.Hour).UnixMilli()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = open(t, path)
	if _, _, err := s.Take(old, "alice"); !errors.Is(err, session.ErrNoSession) {
		t.Errorf("a session that is long over: %v", err)
	}
	if _, m, err := s.Take(key, "alice"); err != nil || m.Seq != 40 {
		t.Errorf("the other one: seq %d, %v", m.Seq, err)
	}
}

// Given a process that appends without end and says what was acknowledged, when
// it is killed at any moment, then the next one finds all of that, and at most
// one event more, which was under way.
func TestKilledProcessesLoseNothing(t *testing.T) {
	if path := os.Getenv("REATTACH_KILLED_STORE"); path != "" {
		appendForEver(path)
	}
	path := filepath.Join(t.TempDir(), "sessions")
	acknowledged, lives := uint64(0), 0
	for began := time.Now(); lives < 8 && time.Since(began) < 20*time.Second; lives++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcessesLoseNothing$")
		cmd.Env = append(os.Environ(), "REATTACH_KILLED_STORE="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if n == 5+7*lives {
				cmd.Process.Kill() // what it has written by then is still read
			}
			seq, err := strconv.ParseUint(strings.TrimSpace(lines.Text()), 10, 64)
			if err != nil {
				continue // the last line may be cut too
			}
			acknowledged = max(acknowledged, seq)
		}
		cmd.Wait()
		s := open(t, path)
		_, m, err := s.Take(key, "alice")
		if err != nil || m.Seq < acknowledged || m.Seq > acknowledged+1 {
			t.Fatalf("after life %d: seq %d (%v), and %d was acknowledged", lives, m.Seq, err, acknowledged)
		}
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		for i, ev := range m.Events {
			if want := fmt.Sprint("event ", m.Evicted+uint64(i)+1); string(ev.Payload) != want {
				t.Fatalf("%q, want %q", ev.Payload, want)
			}
		}
		s.Close()
	}
	if lives < 3 || acknowledged < 15 {
		t.Fatalf("%d lives with %d events: that shows nothing", lives, acknowledged)
	}
}

// appendForEver is the process that is killed.
func appendForEver(path string) {
	s, err := filestore.Open(path)
	if err != nil {
		panic(err)
	}
	h, m, err := s.Take(key, "alice")
	if errors.Is(err, session.ErrNoSession) {
		m = session.Image{State: spec.Live}
		h, err = s.Begin(key, "alice", time.Now().UnixMilli())
	}
	for seq := m.Seq; ; seq++ {
		if err == nil {
			err = s.Append(key, h, event(seq))
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(seq + 1)
	}
}
