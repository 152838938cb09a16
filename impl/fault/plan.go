package fault

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// A Plan says what befalls one connection. The zero Plan leaves it alone.
type Plan struct {
	Up   Direction     // bytes on their way to the server
	Down Direction     // bytes on their way to the client
	Wait time.Duration // before the connection reaches the server
}

// A Direction says what befalls the bytes that go one way. The zero Direction
// lets them pass as they come.
type Direction struct {
	// What happens behind byte After; Pass: nothing.
	What  Kind
	After int64         // so many bytes pass first; 0: none does
	For   time.Duration // of a Stall; 0: for ever

	Piece int // bytes are passed on in pieces of at most so many, each a write of its own; 0: as they come
	Rate  int // bytes a second at most; 0: no limit
}

// A Kind is something that befalls a direction.
type Kind uint8

const (
	Pass  Kind = iota // nothing
	End               // both ways end as if on purpose: FIN, or the clean end of a body
	Reset             // both ways break: RST, or an error while a body is read
	Stall             // nothing passes for a while, and then everything
	Drop              // nothing passes any more and nobody is told: the half-open connection
	Flip              // one bit of the byte behind After is changed; everything passes
)

var kindNames = [...]string{"pass", "end", "reset", "stall", "drop", "flip"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("?%d", uint8(k))
}

func (d Direction) String() string {
	text := d.What.String()
	if d.What != Pass {
		text += fmt.Sprintf(" after %d bytes", d.After)
	}
	if d.What == Stall && d.For > 0 {
		text += fmt.Sprintf(" for %v", d.For)
	}
	if d.Piece > 0 {
		text += fmt.Sprintf(", in pieces of %d", d.Piece)
	}
	if d.Rate > 0 {
		text += fmt.Sprintf(", %d bytes a second", d.Rate)
	}
	return text
}

func (p Plan) String() string {
	text := fmt.Sprintf("up: %v; down: %v", p.Up, p.Down)
	if p.Wait > 0 {
		text += fmt.Sprintf("; %v late", p.Wait)
	}
	return text
}

// Seeded returns plans that are drawn from a seed, each from the seed and the
// number of its connection alone. About a third of the connections is left
// alone; those that break do so after about mean bytes. Waits are below longest.
func Seeded(seed uint64, mean int64, longest time.Duration) func(connection int) Plan {
	if mean < 1 || longest < 0 {
		panic(fmt.Sprintf("fault: mean is %d bytes and longest %v: want at least 1 and 0", mean, longest))
	}
	return func(connection int) Plan {
		r := rand.New(rand.NewPCG(seed, uint64(connection)))
		wait := func() time.Duration { return time.Duration(r.Float64() * float64(longest)) }
		after := func() int64 { return int64(r.ExpFloat64() * float64(mean)) }
		var p Plan
		at := &p.Down
		if r.IntN(4) == 0 {
			at = &p.Up
		}
		switch r.IntN(9) {
		case 0, 1:
			*at = Direction{What: End, After: after()}
		case 2, 3:
			*at = Direction{What: Reset, After: after()}
		case 4:
			*at = Direction{What: Stall, After: after(), For: 1 + wait()}
		case 5:
			p.Wait = wait()
		}
		if r.IntN(3) == 0 {
			p.Down.Piece = 1 + r.IntN(64)
		}
		return p
	}
}
