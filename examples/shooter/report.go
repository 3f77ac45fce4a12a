package main

import (
	"fmt"
	"io"

	"github.com/arche-netcode/netcode"
)

// result is what a match came to.
type result struct {
	Players   []score `json:"players"` // The host first.
	Shots     int     `json:"shots"`
	Judged    int     `json:"judged"`    // Shots whose input arrived in time.
	Confirmed int     `json:"confirmed"` // Of these, those that hit whom the bot aimed at.
	Present   int     `json:"present"`   // What would have hit without a rewind.
	Clamped   uint64  `json:"clamped"`   // Views that were farther back than a client is believed.
	Converged bool    `json:"converged"`
}

// score is that for one player.
type score struct {
	Client    netcode.ClientID `json:"client"`
	Host      bool             `json:"host"`
	RTT       float64          `json:"rtt_ms"`
	Shots     int              `json:"shots"`
	Judged    int              `json:"judged"`
	Confirmed int              `json:"confirmed"`
	Present   int              `json:"present"`
}

// result compares every shot with what the server found.
func (m *match) result() result {
	r := result{Converged: m.converged(), Clamped: m.server.Stats().RewindsClamped}
	for i, p := range m.players {
		rtt, _ := p.client.RTT()
		s := score{Client: p.client.ID(), Host: i == 0, RTT: float64(rtt.Microseconds()) / 1000, Shots: len(p.shots)}
		for _, shot := range p.shots {
			v, ok := m.judged[verdictKey{s.Client, shot.tick}]
			if !ok {
				continue
			}
			s.Judged++
			if v.rewound == shot.target {
				s.Confirmed++
			}
			if v.present == shot.target {
				s.Present++
			}
		}
		r.Players = append(r.Players, s)
		r.Shots, r.Judged, r.Confirmed, r.Present = r.Shots+s.Shots, r.Judged+s.Judged, r.Confirmed+s.Confirmed, r.Present+s.Present
	}
	return r
}

// fine tells if all went as it should.
func (r *result) fine() bool {
	return r.Converged && r.Judged > 0 && float64(r.Confirmed) >= .95*float64(r.Judged)
}

// print is for people.
func (r *result) print(w io.Writer) error {
	fmt.Fprintln(w, "client        RTT   shots  in time  confirmed  without rewind")
	for _, s := range r.Players {
		name := fmt.Sprintf("%d", s.Client)
		if s.Host {
			name += " host"
		}
		fmt.Fprintf(w, "%-8s %5.0f ms %7d %8d %10d %15d\n", name, s.RTT, s.Shots, s.Judged, s.Confirmed, s.Present)
	}
	_, err := fmt.Fprintf(w, "%d shots, %d in time, %d confirmed against what the shooter saw, %d without rewind; worlds converged: %v\n",
		r.Shots, r.Judged, r.Confirmed, r.Present, r.Converged)
	return err
}
