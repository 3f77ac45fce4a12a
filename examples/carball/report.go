package main

import (
	"fmt"
	"io"
	"math"

	"github.com/arche-netcode/netcode"
)

// row is the outcome of one match. Counters are of one player.
type row struct {
	RTT        float64 `json:"rtt_ms"` // Of the link, without its jitter.
	Loss       float64 `json:"loss"`   // Each way.
	InputDelay int     `json:"input_delay"`
	Relayed    bool    `json:"relayed"` // Clients have the inputs of others.

	DelayTicks     float64   `json:"delay_ticks"` // From the tick of an input until it is heard.
	Mispredictions float64   `json:"mispredictions_per_minute"`
	Guessed        float64   `json:"wrong_guesses_per_minute"` // Returns because an input of another player was not as guessed.
	Corrected      float64   `json:"corrected_inputs_per_minute"`
	Replayed       float64   `json:"replayed_ticks_per_second"`
	Own            distances `json:"own_car"` // As shown, against the server's of that tick.
	Others         distances `json:"others"`  // Other cars and the ball.
	Doubled        int       `json:"doubled"` // Boosts of own cars that were heard, not cancelled, and are none of the server, of all players.
	Lost           int       `json:"lost"`    // Boosts of the server that their players did not hear.
	Received       float64   `json:"bytes_received_per_second"`
	Converged      bool      `json:"converged"`

	heard int
}

// distances are distances between what was shown and what was true, in millimetres.
type distances struct {
	Mean float64 `json:"mean_mm"`
	Max  float64 `json:"max_mm"`

	samples int
}

func (e *distances) add(distance float64) {
	e.samples++
	e.Mean += (distance - e.Mean) / float64(e.samples)
	e.Max = max(e.Max, distance)
}

// measure compares what was shown with what was true.
func (m *match) measure(seconds int) row {
	r := row{RTT: 2 * m.setting.link.Delay.Seconds() * 1000, Loss: m.setting.link.Loss, InputDelay: m.setting.delay, Relayed: m.setting.relayed}
	each := 1 / float64(len(m.players)*seconds)
	for _, p := range m.players {
		s := p.sim.Stats()
		r.Mispredictions += 60 * each * float64(s.Mispredictions)
		r.Guessed += 60 * each * float64(s.Guessed)
		r.Corrected += 60 * each * float64(s.Corrected)
		r.Replayed += each * float64(s.Replayed)
		r.Received += each * float64(p.client.Stats().Packets.BytesReceived)
		r.heard += p.heard
		r.DelayTicks += float64(p.delay)
		m.addErrors(&r, p)
	}
	r.DelayTicks /= math.Max(1, float64(r.heard))
	return r
}

// addErrors compares the bodies on a player's screen with the server's.
func (m *match) addErrors(r *row, p *player) {
	for _, shown := range p.samples {
		from, known := m.truth[shown.id][shown.before]
		to, ends := m.truth[shown.id][shown.before+1]
		if !known || !ends {
			continue // The match was over.
		}
		between := func(a, b, c float32) float64 { return float64(a) + float64(b-a)*shown.part - float64(c) }
		e := 1000 * math.Hypot(between(from.X, to.X, shown.at.X), between(from.Y, to.Y, shown.at.Y))
		if shown.own {
			r.Own.add(e)
		} else {
			r.Others.add(e)
		}
	}
}

// boosts counts boosts.
type boosts map[boost]int

// boost is the tick of a boost, and its player.
type boost struct {
	player netcode.ClientID
	tick   netcode.Tick
}

// addBoosts compares the boosts that a player heard with the server's.
func (m *match) addBoosts(r *row, p *player) {
	for of, n := range p.boosts {
		r.Doubled += max(n-m.boosts[of], 0)
	}
	for of, n := range m.boosts {
		if of.player == p.client.ID() {
			r.Lost += max(n-p.boosts[of], 0)
		}
	}
}

// fine tells if all went as it should.
func fine(rows []row) bool {
	for _, r := range rows {
		if !r.Converged || r.heard == 0 || r.DelayTicks != float64(r.InputDelay) || r.Doubled+r.Lost > 0 {
			return false
		}
	}
	return true
}

// table is for people.
func table(w io.Writer, rows []row) error {
	fmt.Fprintln(w, "            input  inputs of  delay mispredicted wrong guesses corrected replayed   own car, mm  others, ball, mm     boosts     received")
	fmt.Fprintln(w, "   rtt loss delay  others     ticks         /min          /min      /min  ticks/s   mean    max     mean    max  doubled lost  bytes/s  worlds")
	for _, r := range rows {
		relayed, worlds := "unknown", "differ"
		if r.Relayed {
			relayed = "relayed"
		}
		if r.Converged {
			worlds = "equal"
		}
		_, err := fmt.Fprintf(w, "%4.0fms %3.0f%% %5d  %-9s %6.2f %12.0f %13.0f %9.0f %8.0f %6.0f %6.0f   %6.0f %6.0f %8d %4d %8.0f  %s\n", r.RTT, 100*r.Loss, r.InputDelay, relayed,
			r.DelayTicks, r.Mispredictions, r.Guessed, r.Corrected, r.Replayed, r.Own.Mean, r.Own.Max, r.Others.Mean, r.Others.Max, r.Doubled, r.Lost, r.Received, worlds)
		if err != nil {
			return err
		}
	}
	return nil
}
