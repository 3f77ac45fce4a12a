package main

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
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
		c, ok := netcode.InputOf[Control](m.server, client)
		if !ok {
			continue
		}
		_, _, at, _ := m.bodies.Get(m.avatars[client])
		step := float32(m.server.Interval().Seconds()) * speed
		at.X, at.Y = clamp(at.X+c.MoveX*step), clamp(at.Y+c.MoveY*step)
	}
	for client := range m.server.Clients {
		c, ok := netcode.InputOf[Control](m.server, client)
		if ok && c.Fire && m.server.HasInput(client) { // What only stands in pulls no trigger.
			m.judge(client, Position{c.AimX, c.AimY})
		}
	}
}

// Finalize implements systems.System.
func (m *match) Finalize(*ecs.World) {}

func clamp(v float32) float32 { return min(max(v, -halfWidth), halfWidth) }

// judge finds whom a shot hits, in what its shooter saw.
func (m *match) judge(client netcode.ClientID, aim Position) {
	own, _ := m.host.ID(m.avatars[client])
	var v verdict
	m.server.Rewind(client, func(view *netcode.Past) {
		nearest := float32(radius * radius)
		for id := range view.All {
			at, ok := netcode.PastOf[Position](view, id)
			if d := distance(at, aim); ok && id != own && d <= nearest {
				v.rewound, nearest = id, d
			}
		}
	})
	nearest := float32(radius * radius)
	for other := range m.server.Clients {
		e := m.avatars[other]
		_, _, at, _ := m.bodies.Get(e)
		if d := distance(*at, aim); other != client && d <= nearest {
			v.present, _ = m.host.ID(e)
			nearest = d
		}
	}
	m.judged[verdictKey{client, m.server.Tick()}] = v
	if hit, ok := m.host.Entity(v.rewound); ok {
		_, _, _, mine := m.bodies.Get(m.avatars[client])
		mine.Hits++
		_, _, _, theirs := m.bodies.Get(hit)
		theirs.Taken++
	}
}

// distance is the square of the distance.
func distance(a, b Position) float32 { return (a.X-b.X)*(a.X-b.X) + (a.Y-b.Y)*(a.Y-b.Y) }
