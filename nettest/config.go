package nettest

import (
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// Config tells what to run. Only Protocol is needed.
type Config struct {
	Protocol *netcode.Protocol // of all ends
	Clients  int               // how many join at the start; more may join later
	Seed     uint64            // of the links and of every secret; 0 is a seed like any other
	Link     transport.Link    // what crosses it in each direction meets
	Rate     int               // frames a second of every end; default 60

	// Server is its configuration. Random is seeded by the harness. Errors of OnError are in the log of the test; all else is logged only
	// with a Logger.
	Server netcode.Config
	Client netcode.Config // likewise

	// Game is the server's game logic, called each frame in stage Update.
	Game func(w *ecs.World, frame int)
	// Setup, when not nil, is called for the server's systems before the first
	// frame, to add the game's own.
	Setup func(s *systems.ServerSystems, w *ecs.World)
	// ClientClock, when not nil, says what the clock of client i shows at a moment of virtual time: one that drifts, jumps
	// or stands. The time on links is always n.Now.
	ClientClock func(i int, now time.Duration) time.Duration
	// Payload, when not nil, is the payload with which client i connects, for OnApprove of the server.
	Payload func(i int) []byte
	// SetupClient likewise for each client, i counting from 0.
	SetupClient func(i int, c *systems.ClientSystems, w *ecs.World)
}

func (c Config) withDefaults() Config {
	if c.Rate <= 0 {
		c.Rate = 60
	}
	return c
}
