package rules

import (
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/wire"
)

// TickRate is the number of steps in a second.
const TickRate = 60

// Body is the place of anything, in metres. Y points down.
type Body struct {
	X, Y float32 `net:"min=-8,max=56,step=0.001"`
}

// Pace is a speed, in m/s.
type Pace struct {
	X, Y float32 `net:"min=-64,max=64,step=0.002"`
}

// Facing has the direction in which an avatar looks, of length 1.
type Facing struct {
	X, Y float32 `net:"min=-1,max=1,step=0.02"`
}

// Avatar is a player's card. The server writes it.
type Avatar struct {
	Name          wire.Text16
	Team, Seat    uint8      // The seat chooses the place where a player begins.
	Kills, Deaths uint16     `net:"short"`
	Killer        ecs.Entity `net:"entity"` // Whose shot it died of last.
	Ready         bool
	Bot           bool
}

// Health is decided by the server alone.
type Health struct {
	Points uint8 `net:"min=0,max=100"`
	Quad   uint8 // Tenths of seconds for which shots hurt four times as much.
}

// Dead is an avatar that was shot, until it returns. The server adds it; from then on its player predicts.
type Dead struct {
	X, Y  float32 `net:"min=-8,max=56,step=0.001"`
	Ticks uint8
}

// Kit is local: it never travels, and is rolled back with the rest.
type Kit struct {
	Bolt, Rail, Dash int32 // Ticks until each is ready.
	Dashing          int32 // Ticks of the present dash,
	DashX, DashY     float32
	AimX, AimY       float32 // The last direction, of length 1.
}

// Fuse makes an entity a bolt: the ticks that are left.
type Fuse struct{ Ticks uint8 }

// Rail is the last shot of an avatar's rail: others draw it when the count changes in the time that they are shown.
type Rail struct {
	Count uint8
	X, Y  float32 `net:"min=-8,max=56,step=0.02"` // The end of the beam.
}

// Ball makes an entity the ball.
type Ball struct{ Team uint8 } // The team that touched it last.

// Pickup lies in the arena.
type Pickup struct {
	Kind uint8
	Gone bool
	back uint16 `net:"-"` // Ticks until it is there again.
}

// The kinds of pick-ups.
const (
	Medikit = iota
	Quad
)

// Clock is the phase of the match, which all clients predict: it changes in the same tick everywhere.
type Clock struct {
	Phase, Level uint8
	Ticks        uint16 // Until the next phase; 0: the server decides.
	Length       uint16 // Of the phase Play, in ticks.
}

// The phases of a match.
const (
	Lobby     = iota // Players warm up. It ends when all are ready.
	Loading          // All load the level. It ends when they have.
	Countdown        // Nobody moves.
	Play
	End
)

// Score is that of both teams.
type Score struct{ Red, Blue uint8 }

// The teams.
const (
	Red = iota
	Blue
)

// Control is the input of a player for a tick.
type Control struct {
	X, Y       float32 `net:"axis"`
	AimX, AimY float32 `net:"min=-1,max=1,step=0.002"`
	Fire       bool
	Rail, Dash bool `net:"event"`
}

// The effects of the simulation, each played once.
const (
	Muzzle = iota + 1
	Beam   // Its value is the end, see Unpack.
	Whoosh
	Kick
)

// Say is a line of chat to the server, and Ready says that a player may begin or may not.
type (
	Say   struct{ Text wire.Text128 }
	Ready struct{ Is bool }
)

// Trouble asks the server to stand still, which it does only in a game that allows it.
type Trouble struct {
	Milliseconds uint16 `net:"min=0,max=3000"`
}

// News is an event that the server tells all players.
type News struct {
	Kind      uint8
	Team      uint8
	Who, Whom wire.Text16
	Text      wire.Text128
}

// The kinds of news.
const (
	Chat = iota
	Joined
	Left
	Killed
	Goal
)

// Mark tells a shooter that a shot was a hit.
type Mark struct{ Points uint8 }

// Protocol returns a new protocol of the game. Each end makes its own.
func Protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Body](p)
	netcode.Replicate[Pace](p)
	netcode.Replicate[Facing](p)
	netcode.Replicate[Avatar](p)
	netcode.Replicate[Health](p)
	netcode.Replicate[Dead](p)
	netcode.Replicate[Fuse](p)
	netcode.Replicate[Rail](p)
	netcode.Replicate[Ball](p)
	netcode.Replicate[Pickup](p)
	netcode.Replicate[Clock](p)
	netcode.Replicate[Score](p)
	netcode.Replicate[components.Owner](p)
	netcode.Replicate[components.Predicted](p)
	netcode.Replicate[components.Teleport](p)
	interpolate.Register[Body](p)
	interpolate.Register[Facing](p)
	interpolate.Register[Rail](p, interpolate.Stepped())
	predict.Register[Body](p, predict.Snap(6))
	predict.Register[Pace](p)
	predict.Register[Dead](p)
	predict.Register[Fuse](p)
	predict.Register[Clock](p)
	predict.Register[components.Teleport](p)
	predict.Local[Kit](p)
	predict.Spawns(p)
	input.Register[Control](p)
	loading.Register(p)
	netcode.Handle[Say](p, nil, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[Ready](p, nil, netcode.FromClient(), netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[Trouble](p, nil, netcode.FromClient(), netcode.Over(netcode.Reliable))
	netcode.Handle[News](p, nil, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[Mark](p, nil, netcode.FromServer(), netcode.Over(netcode.Reliable))
	return p
}

// ServerConfig and ClientConfig are those of both ends. A tab that nobody looks at may stand still for a while.
func ServerConfig() netcode.Config {
	return netcode.Config{TickRate: TickRate, Keep: time.Minute, Clients: 32, SilenceTimeout: 20 * time.Second, Window: 2 * TickRate}
}

// ClientConfig is described at ServerConfig.
func ClientConfig() netcode.Config {
	return netcode.Config{SilenceTimeout: 20 * time.Second, HandshakeTimeout: 20 * time.Second}
}
