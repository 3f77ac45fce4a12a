package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/rewind"
)

// result is the outcome of a match.
type result struct {
	Host      score   `json:"host"`
	Links     []score `json:"links"`
	Clamped   uint64  `json:"clamped"` // Views that were farther back than a client is believed.
	Converged bool    `json:"converged"`

	Explained []string `json:"explained,omitempty"` // With -provoke: the mispredictions, each with the system to blame.
	provoked  bool
	wall      bool // It was played in real time.
	wrong     int  // Explanations that name another system.
}

// score is that of the bots behind one link. Sums are of all these bots; rates are of one.
type score struct {
	RTT  float64 `json:"rtt_ms"` // Of the link, without its jitter.
	Loss float64 `json:"loss"`   // Each way.
	Bots int     `json:"bots"`

	DelayTicks float64 `json:"delay_ticks"` // From the tick of an input until it is seen.
	DelayMS    float64 `json:"delay_ms"`    // From the frame of a press until it is seen.

	Mispredictions float64 `json:"mispredictions_per_minute"`
	Corrected      float64 `json:"corrected_inputs_per_minute"`
	Replayed       float64 `json:"replayed_ticks_per_second"`
	ErrorMean      float64 `json:"error_mean_mm"` // Of the own body as it is shown, against the server's of that time.
	ErrorMax       float64 `json:"error_max_mm"`

	Shots     int `json:"shots"`     // At the server.
	Doubled   int `json:"doubled"`   // Flashes that were heard, not cancelled, and of no shot of the server.
	Lost      int `json:"lost"`      // Shots of the server without a flash.
	Cancelled int `json:"cancelled"` // Flashes and jumps that were taken back.
	Hits      int `json:"hits"`      // Of the shots, those that met somebody on the shooter's screen.
	Agreed    int `json:"agreed"`    // Of the hits, those that the server found to hit the same body.
	Muzzle    int `json:"muzzle"`    // The same, had the muzzle been rewound, too.
	Present   int `json:"present"`   // The same, had nothing been rewound.

	jumps, samples int
}

// result compares every shot with what the server found, and what was shown with what was true.
func (m *match) result() result {
	r := result{Converged: true, Clamped: rewind.StatsOf(m.server).Clamped}
	r.Host = m.scoreOf(m.players[:1])
	r.provoked, r.wall = m.options.provoke, m.wall != nil
	for _, p := range m.players {
		for _, e := range p.explained {
			r.Explained = append(r.Explained, e.String())
			if !strings.HasSuffix(e.System, "*main.gust") {
				r.wrong++
			}
		}
	}
	var of []*player
	for i := range m.options.links() {
		of = of[:0]
		for n := 1 + i; n < len(m.players); n += len(m.options.links()) {
			of = append(of, m.players[n])
			r.Converged = r.Converged && m.converged(m.players[n])
		}
		r.Links = append(r.Links, m.scoreOf(of))
	}
	return r
}

// scoreOf adds players up.
func (m *match) scoreOf(players []*player) score {
	s := score{RTT: 2 * players[0].link.Delay.Seconds() * 1000, Loss: players[0].link.Loss, Bots: len(players)}
	presses := 0
	for _, p := range players {
		stats := p.sim.Stats()
		s.Mispredictions += float64(stats.Mispredictions)
		s.Corrected += float64(stats.Corrected)
		s.Replayed += float64(stats.Replayed)
		s.Cancelled += int(stats.Cancelled)
		presses += p.delays.presses
		s.DelayTicks += float64(p.delays.ticks)
		s.jumps += p.delays.jumps
		s.DelayMS += p.delays.time.Seconds() * 1000
		m.addErrors(&s, p)
		m.addShots(&s, p)
	}
	seconds := float64(len(players) * m.options.seconds)
	s.Mispredictions, s.Corrected, s.Replayed = 60*s.Mispredictions/seconds, 60*s.Corrected/seconds, s.Replayed/seconds
	s.DelayTicks, s.DelayMS = s.DelayTicks/float64(max(presses, 1)), s.DelayMS/float64(max(s.jumps, 1))
	s.ErrorMean /= float64(max(s.samples, 1))
	return s
}

// addErrors compares the own body as it was shown with the server's.
func (m *match) addErrors(s *score, p *player) {
	truth := m.truth[p.client.ID()]
	for _, shown := range p.samples {
		from, known := truth[shown.before]
		to, ends := truth[shown.before+1]
		if !known || !ends {
			continue
		}
		between := func(a, b, c float32) float64 { return float64(a) + float64(b-a)*shown.part - float64(c) }
		x, y, z := between(from.X, to.X, shown.at.X), between(from.Y, to.Y, shown.at.Y), between(from.Z, to.Z, shown.at.Z)
		e := 1000 * math.Sqrt(x*x+y*y+z*z)
		s.samples, s.ErrorMean, s.ErrorMax = s.samples+1, s.ErrorMean+e, max(s.ErrorMax, e)
	}
}

// addShots compares the shots on a player's screen with those of the server.
func (m *match) addShots(s *score, p *player) {
	truth := map[netcode.Tick]int{}
	for _, v := range m.judged[p.client.ID()] {
		truth[v.tick]++
		s.Shots++
		if shot := p.shots[v.tick]; shot != nil && shot.screen && !shot.hit.IsZero() {
			s.Hits++
			s.Agreed += count(v.rewound == shot.hit)
			s.Muzzle += count(v.muzzle == shot.hit)
			s.Present += count(v.present == shot.hit)
		}
	}
	for t, shot := range p.shots {
		s.Doubled += max(shot.plays-truth[t], 0)
		truth[t] -= min(shot.plays, truth[t])
	}
	for _, missing := range truth {
		s.Lost += missing
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// failures tells all that is not as it should be. In real time nothing but the worlds counts: the machine may be slow.
func (r *result) failures() (all []string) {
	fail := func(failed bool, format string, args ...any) {
		if failed {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	fail(!r.Converged, "the world of a client is not the server's")
	if r.wall {
		return all
	}
	if r.provoked {
		fail(len(r.Explained) == 0, "no misprediction was explained")
		fail(r.wrong > 0, "%d of %d explanations name another system than the one that blows", r.wrong, len(r.Explained))
		return all
	}
	for i, s := range append([]score{r.Host}, r.Links...) {
		name := "host"
		if i > 0 {
			name = fmt.Sprintf("%.0fms %.0f%%", s.RTT, 100*s.Loss)
		}
		fail(s.DelayTicks != 0, "%s: inputs are seen %.2g ticks late", name, s.DelayTicks)
		fail(s.Mispredictions != 0, "%s: %.4g mispredictions a minute", name, s.Mispredictions)
		fail(s.Doubled != 0, "%s: %d flashes without a shot", name, s.Doubled)
		fail(s.Lost != 0, "%s: %d shots without a flash", name, s.Lost)
		fail(s.Hits == 0, "%s: no shot hit anybody on the screen", name)
		fail(10*s.Agreed < 9*s.Hits, "%s: the server agrees with %d %% of the hits, below 90 %%", name, 100*s.Agreed/max(s.Hits, 1))
	}
	return all
}

// print is for people.
func (r *result) print(w io.Writer) error {
	fmt.Fprintln(w, "             delay      mispredicted corrected replayed    error, mm          effects            hits  server  muzzle nothing")
	fmt.Fprintln(w, "   rtt loss  ticks   ms         /min      /min  ticks/s   mean  max  doubled lost cancelled  on screen  agrees rewound rewound")
	for i, s := range append([]score{r.Host}, r.Links...) {
		name := fmt.Sprintf("%4.0fms %3.0f%%", s.RTT, 100*s.Loss)
		if i == 0 {
			name = "      host"
		}
		share := func(n int) string { return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(max(s.Hits, 1))) }
		fmt.Fprintf(w, "%s %6.2f %4.0f %12.1f %9.1f %8.1f %6.1f %4.0f %8d %4d %9d %10d %7s %7s %7s\n", name, s.DelayTicks, s.DelayMS, s.Mispredictions,
			s.Corrected, s.Replayed, s.ErrorMean, s.ErrorMax, s.Doubled, s.Lost, s.Cancelled, s.Hits, share(s.Agreed), share(s.Muzzle), share(s.Present))
	}
	for _, e := range r.Explained[:min(len(r.Explained), 10)] {
		fmt.Fprintln(w, e)
	}
	if r.provoked {
		fmt.Fprintf(w, "explained: %d mispredictions, of which %d name another system than the one that blows on the server alone\n", len(r.Explained), r.wrong)
	}
	_, err := fmt.Fprintf(w, "worlds converged: %v\n", r.Converged)
	return err
}
