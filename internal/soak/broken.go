package main

import (
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/nettest"
)

// The flag -break makes one invariant fail, to show that the run detects it. I4, I7 and I9 break the game itself: the limits of
// messages that wait for a client, a handler that panics, and the policy that hides secrets. The others falsify the input of the
// check, as nettest.Net.Break does. In addition, internal/switchoff removes the defences of all but I4 from the source, and one
// phase of this run must fail.

// breaksAt is the tick of a -break fault that happens once.
const breaksAt = 200

// server returns the configuration of the server.
func (o *options) server() netcode.Config {
	c := netcode.Config{Clients: 256, SentPackets: 256, Keep: 5 * time.Second, SilenceTimeout: o.phase.silence, KeepAlive: min(time.Second, o.phase.silence/4)}
	if o.breaks == "I4" {
		c.ReliableBytes, c.ReliableStall, c.SilenceTimeout = 1<<28, 1<<40, 1<<40
	}
	return c
}

// sabotage injects the fault of -break, before each frame.
func (s *soak) sabotage() {
	switch s.o.breaks {
	case "I2":
		s.net.Break(nettest.NoGhostRef)
	case "I3":
		s.net.Break(nettest.Order)
	case "I4":
		if s.tick == breaksAt {
			s.befall(s.net.Clients[0], event{Tick: s.tick, Kind: darkOne, Span: s.o.Ticks})
		}
		for id := range s.net.Server.Clients {
			for range 200 {
				s.checks.say(id, func(m *word) error { return netcode.Send(s.net.Server.Server, netcode.To(id), m) })
			}
		}
	case "I5":
		if s.tick == breaksAt {
			s.net.SuspendServer() // without telling the checks
		}
	}
}

// loseAnEntity removes an entity from the world of the first client, for I1.
func (s *soak) loseAnEntity() {
	w := s.net.Clients[0].World
	for e := range netecs.Entities(w) {
		w.RemoveEntity(e)
		return
	}
}
