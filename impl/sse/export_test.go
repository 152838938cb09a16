package sse

// BufferBytes returns the size of the reader's buffer.
func (r *Reader) BufferBytes() int { return len(r.buf) }
