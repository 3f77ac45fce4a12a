package main

import (
	"fmt"
	"io"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/rewind"
)

// result is the outcome of a match.
type result struct {
	Players   []score `json:"players"` // The host first.
	Shots     int     `json:"shots"`
	Hits      int     `json:"hits"`      // Of these, those that met somebody on the shooter's screen.
	Judged    int     `json:"judged"`    // Shots that arrived.
	Confirmed int     `json:"confirmed"` // Of the hits, those that the server found to hit the same body.
	Muzzle    int     `json:"muzzle"`    // The same, had only the targets been rewound.
	Present   int     `json:"present"`   // The same, had nothing been rewound.
	Clamped   uint64  `json:"clamped"`   // Views that were farther back than a client is believed.
	Converged bool    `json:"converged"`
}

// score is that for one player.
type score struct {
	Client    netcode.ClientID `json:"client"`
	Host      bool             `json:"host"`
	RTT       float64          `json:"rtt_ms"`
	Shots     int              `json:"shots"`
	Hits      int              `json:"hits"`
	Judged    int              `json:"judged"`
	Confirmed int              `json:"confirmed"`
	Muzzle    int              `json:"muzzle"`
	Present   int              `json:"present"`
}

// result compares every shot with what the server found. Shots arrive once and in their order.
func (m *match) result() result {
	r := result{Converged: m.converged(), Clamped: rewind.StatsOf(m.server).Clamped}
	for i, p := range m.players {
		rtt, _ := p.client.RTT()
		judged := m.judged[p.client.ID()]
		s := score{Client: p.client.ID(), Host: i == 0, RTT: float64(rtt.Microseconds()) / 1000, Shots: len(p.shots), Judged: len(judged)}
		for n, seen := range p.shots[:min(len(p.shots), len(judged))] {
			if !seen.IsZero() {
				s.Hits++
				s.Confirmed += count(judged[n].rewound == seen)
				s.Muzzle += count(judged[n].muzzle == seen)
				s.Present += count(judged[n].present == seen)
			}
		}
		r.Players = append(r.Players, s)
		r.Shots, r.Hits, r.Judged = r.Shots+s.Shots, r.Hits+s.Hits, r.Judged+s.Judged
		r.Confirmed, r.Muzzle, r.Present = r.Confirmed+s.Confirmed, r.Muzzle+s.Muzzle, r.Present+s.Present
	}
	return r
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// fine tells if all went as it should.
func (r *result) fine() bool {
	return r.Converged && r.Hits > 0 && r.Judged == r.Shots && float64(r.Confirmed) >= .9*float64(r.Hits)
}

// print is for people.
func (r *result) print(w io.Writer) error {
	fmt.Fprintln(w, "client        RTT   shots  arrived    hits  confirmed  muzzle not rewound  nothing rewound")
	for _, s := range r.Players {
		name := fmt.Sprintf("%d", s.Client)
		if s.Host {
			name += " host"
		}
		fmt.Fprintf(w, "%-8s %5.0f ms %7d %8d %7d %10d %19d %16d\n", name, s.RTT, s.Shots, s.Judged, s.Hits, s.Confirmed, s.Muzzle, s.Present)
	}
	_, err := fmt.Fprintf(w, "%d shots, %d arrived; of %d that hit on the shooter's screen the server confirms %d, %d without rewinding the muzzle, %d without any; worlds converged: %v\n",
		r.Shots, r.Judged, r.Hits, r.Confirmed, r.Muzzle, r.Present, r.Converged)
	return err
}
