package main

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/rewind"
)

// The rules of the game, on the server: match is the system that plays them, once a tick.

// Initialize implements systems.System.
func (m *match) Initialize(*ecs.World) {}

// Update implements systems.System: everyone walks, then everyone who fires is judged.
func (m *match) Update(*ecs.World) {
	if !m.server.TickDue() {
		return
	}
	for client := range m.server.Clients {
		c, ok := input.Of[Control](m.server, client)
		if !ok {
			continue
		}
		_, _, at, _ := m.bodies.Get(m.avatars[client])
		step := float32(m.server.Interval().Seconds()) * speed
		at.X, at.Y = clamp(at.X+c.MoveX*step), clamp(at.Y+c.MoveY*step)
	}
	for client := range m.server.Clients {
		if c, ok := input.Of[Control](m.server, client); ok && c.Fire {
			m.judge(client, c.Aim)
		}
	}
}

// Finalize implements systems.System.
func (m *match) Finalize(*ecs.World) {}

func clamp(v float32) float32 { return min(max(v, -halfWidth), halfWidth) }

// judge finds whom a shot hits, in what its shooter saw. The muzzle is rewound with the targets: a player that does not
// predict its own body sees it where it was, too, and takes its aim from there.
func (m *match) judge(client netcode.ClientID, aim float32) {
	mine := m.avatars[client]
	own, _ := m.host.ID(mine)
	_, _, here, _ := m.bodies.Get(mine)
	var v verdict
	rewind.At(m.server, client, func(view *rewind.View) {
		m.seen = m.seen[:0]
		muzzle := *here
		for id := range view.All {
			if at, ok := rewind.Of[Position](view, id); ok {
				m.seen = append(m.seen, body{id: id, at: at})
				if id == own {
					muzzle = at
				}
			}
		}
		v.rewound = shoot(muzzle, aim, own, m.seen)
		v.muzzle = shoot(*here, aim, own, m.seen)
	})
	m.seen = m.seen[:0]
	for other := range m.server.Clients {
		id, _ := m.host.ID(m.avatars[other])
		_, _, at, _ := m.bodies.Get(m.avatars[other])
		m.seen = append(m.seen, body{id: id, at: *at})
	}
	v.present = shoot(*here, aim, own, m.seen)
	m.judged[client] = append(m.judged[client], v)
	if hit, ok := m.host.Entity(v.rewound); ok {
		_, _, _, score := m.bodies.Get(mine)
		score.Hits++
		_, _, _, theirs := m.bodies.Get(hit)
		theirs.Taken++
	}
}
