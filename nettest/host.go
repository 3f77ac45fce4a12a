package nettest

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
)

// hostStream is the stream of random numbers of a host's player.
const hostStream = 1 << 33

// newHost makes the systems of a server with a player.
func (n *Net) newHost(server *netcode.Server) *systems.HostSystems {
	n.t.Helper()
	c := quiet(n.config.Client)
	c.Random = n.random(n.starts<<34 + hostStream)
	end, err := netcode.NewClient(n.config.Protocol, c)
	if err != nil {
		n.t.Fatalf("nettest: %v", err)
	}
	end.OnError(n.logged("host's player"))
	h, err := systems.NewHost(server, end, n.socket, n.Now)
	if err != nil {
		n.t.Fatalf("nettest: %v", err)
	}
	h.Payload = n.config.HostPayload
	return h
}
