package client

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"slices"

	"example.com/reattach/impl/internal/osfile"
)

// A disk is a file system of which one knows what a crash may leave behind:
// what was not synced may be there, or not, or in part, and what was done to a
// directory may be there in any selection.
type disk struct {
	names   map[string]*inode // what programs see
	durable map[string]*inode // what a crash leaves for certain
	pending []dirChange       // done to the directory, not yet synced

	step  func() error // called before and after each operation; an error is the operation's
	locks map[string]bool

	lies       bool // Sync does nothing
	liesInDirs bool // SyncDir does nothing
}

type inode struct{ data, synced []byte }

type dirChange struct {
	remove, add string
	file        *inode
}

func newDisk() *disk {
	return &disk{names: map[string]*inode{}, durable: map[string]*inode{}, locks: map[string]bool{}, step: func() error { return nil }}
}

func (d *disk) ReadFile(name string) ([]byte, error) {
	if f := d.names[name]; f != nil {
		return bytes.Clone(f.data), nil
	}
	return nil, fs.ErrNotExist
}

func (d *disk) Create(name string) (file, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	f := &inode{}
	d.names[name] = f
	d.pending = append(d.pending, dirChange{add: name, file: f})
	return &handle{d, f}, d.step()
}

func (d *disk) Rename(from, to string) error {
	if err := d.step(); err != nil {
		return err
	}
	f := d.names[from]
	d.names[to] = f
	delete(d.names, from)
	d.pending = append(d.pending, dirChange{remove: from, add: to, file: f})
	return d.step()
}

func (d *disk) SyncDir(string) error {
	if err := d.step(); err != nil {
		return err
	}
	if !d.liesInDirs {
		d.durable, d.pending = maps.Clone(d.names), nil
	}
	return d.step()
}

func (d *disk) Lock(name string) (io.Closer, error) {
	if d.locks[name] {
		return nil, osfile.ErrLocked
	}
	d.locks[name] = true
	return closer(func() error { delete(d.locks, name); return nil }), nil
}

type closer func() error

func (c closer) Close() error { return c() }

type handle struct {
	d *disk
	f *inode
}

func (h *handle) Write(p []byte) (int, error) {
	if err := h.d.step(); err != nil {
		h.f.data = append(h.f.data, p[:len(p)/2]...)
		return len(p) / 2, err
	}
	h.f.data = append(h.f.data, p...)
	return len(p), h.d.step()
}

func (h *handle) Sync() error {
	if err := h.d.step(); err != nil {
		return err
	}
	if !h.d.lies {
		h.f.synced = bytes.Clone(h.f.data)
	}
	return h.d.step()
}

func (h *handle) Close() error { return nil }

// crashes yields every disk that a crash may leave at this instant.
func (d *disk) crashes(yield func(*disk) bool) {
	for kept := range 1 << len(d.pending) {
		names := maps.Clone(d.durable)
		for i, change := range d.pending {
			if kept&(1<<i) == 0 {
				continue
			}
			delete(names, change.remove)
			names[change.add] = change.file
		}
		var spoiled []string // whose content is not certain
		for name, f := range names {
			if !bytes.Equal(f.data, f.synced) {
				spoiled = append(spoiled, name)
			}
		}
		slices.Sort(spoiled)
		if !d.contents(names, spoiled, yield) {
			return
		}
	}
}

// contents yields the disks that differ in what became of what was not synced.
func (d *disk) contents(names map[string]*inode, spoiled []string, yield func(*disk) bool) bool {
	if len(spoiled) == 0 {
		left := newDisk()
		for name, f := range names {
			left.names[name] = &inode{bytes.Clone(f.data), bytes.Clone(f.data)}
		}
		left.durable = maps.Clone(left.names)
		return yield(left)
	}
	f := names[spoiled[0]]
	for _, content := range f.torn() {
		next := maps.Clone(names)
		next[spoiled[0]] = &inode{content, content}
		if !d.contents(next, spoiled[1:], yield) {
			return false
		}
	}
	return true
}

// torn returns what may be found of a file that was not synced: what was, any
// beginning of what was written, also followed by zeros, zeros alone, and all of
// it but for a hole of zeros: a later part may be there before an earlier one.
func (f *inode) torn() (contents [][]byte) {
	contents = append(contents, f.synced, f.data, make([]byte, len(f.data)))
	for n := 0; n < len(f.data); n += 1 + len(f.data)/40 {
		cut := bytes.Clone(f.data[:n])
		contents = append(contents, cut, append(bytes.Clone(cut), make([]byte, len(f.data)-n)...))
		hole := bytes.Clone(f.data)
		clear(hole[n:min(len(hole), n+1+len(hole)/10)])
		contents = append(contents, hole)
	}
	return contents
}
