package window

import "fmt"

// Shape says how the payloads lie in the arena and where the oldest one is.
func (w *Window) Shape() string {
	if w.Len() == 0 {
		return "empty"
	}
	head := w.b.at(w.oldest()).off
	if w.b.tail < head || w.b.tail == head && w.b.bytes > 0 {
		return fmt.Sprintf("wrapped at %d", head)
	}
	return fmt.Sprintf("flat at %d", head)
}

// ArenaBytes returns the size of the arena.
func (w *Window) ArenaBytes() int {
	if w.b == nil {
		return 0
	}
	return len(w.b.arena)
}

// AppendByAnyCase is Append without its shortcut.
func (w *Window) AppendByAnyCase(stream uint64, payload []byte, now int64) (Position, int, error) {
	return w.append(stream, payload, now)
}
