package load

import (
	"fmt"
	"io"
	"strings"
)

// Dimensions of a plot in pixels.
const (
	plotWidth  = 720
	plotHeight = 110
	plotLeft   = 60
	plotGap    = 46
)

// curve is one line of a panel.
type curve struct {
	name, colour string
	of           func(s *Sample) float64
}

// panel is one plot with several curves over time.
type panel struct {
	title  string
	curves []curve
}

// panels returns the plots of a report, from top to bottom.
func panels() []panel {
	each := func(bytes func(s *Sample) uint64) func(*Sample) float64 {
		return func(s *Sample) float64 { return float64(bytes(s)) / 1000 / float64(max(s.Connected, 1)) }
	}
	return []panel{
		{"bots", []curve{{"connected", "#1f77b4", func(s *Sample) float64 { return float64(s.Connected) }}, {"failed", "#d62728", func(s *Sample) float64 { return float64(s.Failed) }}}},
		{"server tick, ms", []curve{{"p50", "#1f77b4", func(s *Sample) float64 { return millis(s.Ticks.P50) }}, {"p99", "#d62728", func(s *Sample) float64 { return millis(s.Ticks.P99) }}}},
		{"round trip, ms", []curve{{"p50", "#1f77b4", func(s *Sample) float64 { return millis(s.RTT.At(.5)) }}, {"p99", "#d62728", func(s *Sample) float64 { return millis(s.RTT.At(.99)) }}}},
		{"input to state, ms", []curve{{"p50", "#1f77b4", func(s *Sample) float64 { return millis(s.State.At(.5)) }}, {"p99", "#d62728", func(s *Sample) float64 { return millis(s.State.At(.99)) }}}},
		{"kB/s a bot", []curve{{"down", "#1f77b4", each(func(s *Sample) uint64 { return s.Down })}, {"up", "#2ca02c", each(func(s *Sample) uint64 { return s.Up })}}},
		{"bots late, ms", []curve{{"p99", "#7f7f7f", func(s *Sample) float64 { return millis(s.Late.At(.99)) }}}},
	}
}

// WriteSVG draws the report over time.
func (r *Report) WriteSVG(w io.Writer) error {
	var b strings.Builder
	all := panels()
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		plotLeft+plotWidth+20, len(all)*(plotHeight+plotGap)+20)
	for i := range all {
		r.draw(&b, &all[i], float64(i*(plotHeight+plotGap)+28))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// draw draws one panel with its upper edge at top.
func (r *Report) draw(b *strings.Builder, p *panel, top float64) {
	last, most := 1.0, 0.0
	for i := range r.Samples {
		last = max(last, r.Samples[i].At.Seconds())
		for _, c := range p.curves {
			most = max(most, c.of(&r.Samples[i]))
		}
	}
	if most == 0 {
		most = 1
	}
	bottom := top + plotHeight
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%.0f\" font-weight=\"bold\">%s</text>\n", plotLeft, top-8, p.title)
	for i, c := range p.curves {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%.0f\" fill=\"%s\">%s</text>\n", plotLeft+160+80*i, top-8, c.colour, c.name)
	}
	fmt.Fprintf(b, "<path d=\"M%d %.0fV%.0fH%d\" fill=\"none\" stroke=\"#999\"/>\n", plotLeft, top, bottom, plotLeft+plotWidth)
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.4g</text><text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">0</text><text x=\"%d\" y=\"%.0f\" text-anchor=\"end\">%.0f s</text>\n",
		plotLeft-6, top+8, most, plotLeft-6, bottom, plotLeft+plotWidth, bottom+14, last)
	for _, c := range p.curves {
		points := make([]string, 0, len(r.Samples))
		for i := range r.Samples {
			s := &r.Samples[i]
			points = append(points, fmt.Sprintf("%.1f,%.1f", plotLeft+s.At.Seconds()/last*plotWidth, bottom-c.of(s)/most*plotHeight))
		}
		fmt.Fprintf(b, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", strings.Join(points, " "), c.colour)
	}
}
