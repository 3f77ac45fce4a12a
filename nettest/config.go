package nettest

import (
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// Config configures a Net. Only Protocol is required.
type Config struct {
	Protocol *netcode.Protocol // shared by all ends
	Clients  int               // number that join at the start; more may join later
	Seed     uint64            // of the links and of all secrets; 0 is a valid seed
	Link     transport.Link    // for each direction of each client
	Rate     int               // frames per second of all ends; default 60
	// ServerRate is the number of frames per second of the server; 0 means Rate.
	ServerRate int
	// ClientRate, if not nil, returns the number of frames per second of client i; 0 means Rate.
	ClientRate func(i int) int

	// Server is the server's configuration. The harness sets Random from the seed. Errors reported to OnError are in the test's
	// log; other log lines only with a Logger.
	Server netcode.Config
	Client netcode.Config // likewise for all clients, and the player of a host

	// Game is the server's game logic, called every frame in stage Update.
	Game func(w *netecs.World, frame int)
	// Setup, if not nil, adds systems to the server before the first frame.
	Setup func(s *systems.ServerSystems, w *netecs.World)
	// ClientClock, if not nil, returns the reading of client i's clock at a virtual time, for clocks that drift, jump or stop.
	// Links always use n.Now.
	ClientClock func(i int, now time.Duration) time.Duration
	// Payload, if not nil, returns the connect payload of client i, for OnApprove of the server.
	Payload func(i int) []byte
	// Host makes the server a host: Server.Host has its player, who joins in the first frame. Setup and Game are for its server.
	Host bool
	// HostPayload is the connect payload of the host's player, for OnApprove.
	HostPayload []byte
	// SetupHost, if not nil, adds systems for the player of a host, and sets hooks of its View. It is called after Setup.
	SetupHost func(h *systems.HostSystems, w *netecs.World)
	// SetupClient, if not nil, adds systems to client i, counting from 0.
	SetupClient func(i int, c *systems.ClientSystems, w *netecs.World)
}

func (c Config) withDefaults() Config {
	if c.Rate <= 0 {
		c.Rate = 60
	}
	if c.ServerRate <= 0 {
		c.ServerRate = c.Rate
	}
	return c
}

// clientRate returns the frame rate of client i.
func (c Config) clientRate(i int) int {
	if c.ClientRate != nil {
		if rate := c.ClientRate(i); rate > 0 {
			return rate
		}
	}
	return c.Rate
}
