package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A plot shows how a cost grows: both axes are logarithmic, so that a cost that
// does not grow is a level line and one that grows in proportion rises by 45°
// where both axes have as many decades.
type plot struct {
	name, title  string // of the file, above the picture
	xUnit, yUnit string
	lines        []line
}

// A line is one way to do the work, measured at some places.
type line struct {
	name   string
	points [][2]float64 // x ascending, both above 0
}

const (
	plotWidth, plotHeight   = 720, 400
	left, right, top, below = 64, 150, 40, 48
)

// The colours are told apart by those who see few, too.
var lineColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"}

// svg draws the plot.
func (p plot) svg() string {
	x := newAxis(p, 0, left, plotWidth-right)
	y := newAxis(p, 1, plotHeight-below, top)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	text := func(at, down float64, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s">`, at, down, anchor)
		_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
		b.WriteString("</text>\n")
	}
	rule := func(x1, y1, x2, y2 float64) {
		fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#ddd"/>`+"\n", x1, y1, x2, y2)
	}
	text(left, 22, "start", p.title)
	for _, tick := range x.ticks() {
		rule(x.at(tick), top, x.at(tick), plotHeight-below)
		text(x.at(tick), plotHeight-below+18, "middle", short(tick))
	}
	for _, tick := range y.ticks() {
		rule(left, y.at(tick), plotWidth-right, y.at(tick))
		text(left-8, y.at(tick)+4, "end", short(tick))
	}
	text((left+plotWidth-right)/2, plotHeight-10, "middle", p.xUnit)
	text(left-8, top-10, "end", p.yUnit)
	free := math.Inf(1) // names at the ends of lines stand one below the other
	for _, i := range p.fromTheLowest() {
		l, colour := p.lines[i], lineColours[i%len(lineColours)]
		var path strings.Builder
		for j, point := range l.points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], x.at(point[0]), y.at(point[1]))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x.at(point[0]), y.at(point[1]), colour)
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colour)
		end := l.points[len(l.points)-1]
		free = min(y.at(end[1])+4, free-14)
		fmt.Fprintf(&b, `<g fill="%s">`, colour)
		text(x.at(end[0])+8, free, "start", l.name)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// fromTheLowest returns the lines in the order of where they end.
func (p plot) fromTheLowest() []int {
	order := make([]int, len(p.lines))
	for i := range order {
		order[i] = i
	}
	end := func(i int) float64 { return p.lines[i].points[len(p.lines[i].points)-1][1] }
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, end(a)-end(b))) })
	return order
}

// An axis maps what lies between two powers of ten to places in the picture.
type axis struct{ least, most, from, to float64 }

// newAxis is the axis of the points' coordinate number i.
func newAxis(p plot, i int, from, to float64) axis {
	least, most := math.Inf(1), 0.0
	for _, l := range p.lines {
		for _, point := range l.points {
			least, most = min(least, point[i]), max(most, point[i])
		}
	}
	a := axis{math.Floor(math.Log10(least)), math.Ceil(math.Log10(most)), from, to}
	if a.most == a.least {
		a.most++
	}
	return a
}

func (a axis) at(v float64) float64 {
	return a.from + (math.Log10(v)-a.least)/(a.most-a.least)*(a.to-a.from)
}

func (a axis) ticks() (ticks []float64) {
	for e := a.least; e <= a.most; e++ {
		ticks = append(ticks, math.Pow(10, e))
	}
	return ticks
}

func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%g M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%g k", v/1e3)
	default:
		return fmt.Sprintf("%g", v)
	}
}
