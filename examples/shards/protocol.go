package main

import (
	"fmt"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/fleet/nats/resume"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The world is four areas, two by two, each a match of a process of its own. An area is side wide and high.
const (
	areas    = 4
	side     = 64
	tickRate = 20
)

// area returns the name of an area.
func area(n int) string { return fmt.Sprint("area-", n) }

// beyond returns the area behind a gate, and where one comes out. ok is false inside of an area.
func beyond(at int, b Body) (to int, out Body, ok bool) {
	x, y := at%2, at/2
	switch {
	case b.X < 0:
		x, b.X = 1-x, b.X+side
	case b.X >= side:
		x, b.X = 1-x, b.X-side
	case b.Y < 0:
		y, b.Y = 1-y, b.Y+side
	case b.Y >= side:
		y, b.Y = 1-y, b.Y-side
	default:
		return at, b, false
	}
	return y*2 + x, b, true
}

// Body is a player's figure. It walks by itself; Gates counts the gates that it went through.
type Body struct {
	X, Y   float32
	DX, DY float32
	Gates  uint32
}

// Say is chat: from a client to its server, and to the clients of all areas.
type Say struct{ From, Text string }

// Serialize implements wire.Serializable.
func (m *Say) Serialize(s *wire.Serializer) {
	s.String(&m.From, nats.MaxName)
	s.String(&m.Text, 80)
}

// Turn is a client's wish to walk in another direction.
type Turn struct{ DX, DY float32 }

// newProtocol is the game between servers and clients.
func newProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Body](p)
	netcode.Replicate[components.Owner](p)
	netcode.Handle[Turn](p, nil, netcode.FromClient())
	netcode.Handle[Say](p, nil, netcode.Over(netcode.ReliableOrdered), netcode.AtStage(tick.Update))
	handover.Register(p)
	resume.Register(p)
	return p
}

// The messages between servers.

// Chat carries the words of a player to all areas.
type Chat struct{ Say }

// Point tells all areas that somebody went through a gate. Each counts them.
type Point struct{ Area uint32 }

// Census tells the board the counters and the players of one area.
type Census struct {
	Area, Points, Frames uint32
	Held, Moved, Failed  uint32
	Users                []string
}

// Serialize implements wire.Serializable.
func (m *Census) Serialize(s *wire.Serializer) {
	for _, n := range []*uint32{&m.Area, &m.Points, &m.Frames, &m.Held, &m.Moved, &m.Failed} {
		s.Uint32(n)
	}
	s.Strings(&m.Users, wire.MaxClients, nats.MaxName)
}

// Ask asks another area whether a player has arrived there (handover.Config.Ask), and Arrived answers.
type Ask struct {
	From uint32
	ID   uint64
}

// Arrived answers an Ask.
type Arrived struct {
	ID      uint64
	Arrived bool
}
