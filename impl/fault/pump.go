package fault

import (
	"context"
	"io"
	"time"
)

// A verdict says how a direction came to its end.
type verdict uint8

const (
	sourceEnded  verdict = iota // the sender ended: pass it on
	sourceBroke                 // the sender's connection broke, or the receiver's
	cutClean                    // by plan
	cutBroken                   // by plan
	contextEnded                // whoever runs it is done
)

// pump carries one direction until it ends. It reads on behind a Drop, so that
// the sender does not learn of it.
func (d Direction) pump(ctx context.Context, to io.Writer, from io.Reader) verdict {
	buf := make([]byte, 32<<10)
	var passed int64
	dropping := false
	for {
		n, err := from.Read(buf)
		for data := buf[:n]; len(data) > 0 && !dropping; {
			piece := data
			if d.Piece > 0 {
				piece = piece[:min(len(piece), d.Piece)]
			}
			if left := d.After - passed; d.What != Pass && left >= 0 {
				if left == 0 {
					switch d.What {
					case End:
						return cutClean
					case Reset:
						return cutBroken
					case Drop:
						dropping = true
						continue
					case Stall:
						if !d.stall(ctx) {
							return contextEnded
						}
					case Flip:
						piece[0] ^= 1
					}
					d.What = Pass
					continue
				}
				piece = piece[:min(int64(len(piece)), left)]
			}
			if !d.pace(ctx, len(piece)) {
				return contextEnded
			}
			if _, err := to.Write(piece); err != nil {
				return sourceBroke
			}
			passed += int64(len(piece))
			data = data[len(piece):]
		}
		// A cut behind the last byte that came happens now, not with the next.
		if passed == d.After && err == nil && !dropping {
			switch d.What {
			case End:
				return cutClean
			case Reset:
				return cutBroken
			}
		}
		switch {
		case ctx.Err() != nil:
			return contextEnded
		case err != nil && dropping: // nobody is told
			<-ctx.Done()
			return contextEnded
		case err == io.EOF:
			return sourceEnded
		case err != nil:
			return sourceBroke
		}
	}
}

func (d Direction) stall(ctx context.Context) bool {
	if d.For == 0 {
		<-ctx.Done()
		return false
	}
	return sleep(ctx, d.For)
}

// pace waits for as long as n bytes take.
func (d Direction) pace(ctx context.Context, n int) bool {
	if d.Rate == 0 {
		return true
	}
	return sleep(ctx, time.Duration(n)*time.Second/time.Duration(d.Rate))
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
