// Package game is a small game that plays over any transport: 300 bodies that the server moves, and an avatar for each player, which
// its client predicts. The same code runs natively and in a browser.
//
//	rules.go    components, protocol, and the rule that both sides run
//	match.go    Match: the server
//	player.go   Player: a client
package game

import (
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/predict"
)

const (
	// Bodies is the number of bodies that the server moves.
	Bodies = 300
	// HalfWidth and HalfHeight are those of the field, in metres.
	HalfWidth, HalfHeight = 40, 30

	frameRate = 60
	speed     = 12. // of an avatar, in m/s
)

// Position is the place of a body, in metres.
type Position struct {
	X, Y float32 `net:"min=-40,max=40,step=0.01"`
}

// Look is the colour of a body: an angle of hue, in units of 1.4 degrees.
type Look struct {
	Hue uint8
}

// Stick is a player's input of a tick.
type Stick struct {
	X, Y float32 `net:"axis"`
}

// NewProtocol registers all that travels. Both sides call it.
func NewProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Look](p)
	netcode.Replicate[components.Owner](p)
	interpolate.Register[Position](p)
	input.Register[Stick](p)
	predict.Register[Position](p)
	return p
}

// move is the rule that server and clients run. The conversions keep a compiler from fusing a product and a sum, which rounds
// differently on some processors: a browser is one.
func move(s *predict.Step) {
	seconds := float32(s.Seconds())
	query := generic.NewFilter3[components.Simulate, components.Owner, Position]().Query(s.World)
	for query.Next() {
		_, owner, at := query.Get()
		stick, _ := predict.Input[Stick](s, owner.Client)
		at.X = min(max(at.X+float32(stick.X*float32(speed*seconds)), -HalfWidth), HalfWidth)
		at.Y = min(max(at.Y+float32(stick.Y*float32(speed*seconds)), -HalfHeight), HalfHeight)
	}
}
