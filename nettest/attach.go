package nettest

import "github.com/arche-netcode/netcode/transport"

// Listen opens one more end of the network, behind a link like all others, for whatever is neither the server nor a client of the Net: an
// end of package adversary, a bot. Datagrams that it sends are in the trace.
func (n *Net) Listen() transport.Conn {
	n.t.Helper()
	return n.ListenAt(transport.Addr{})
}

// ListenAt is Listen at an address, so that the limits of the server by address and network count: all else is at 127.0.0.1, which is exempt.
func (n *Net) ListenAt(address transport.Addr) transport.Conn {
	n.t.Helper()
	n.listened++
	return n.listenAt(address, 1<<40+n.listened)
}

// LinkStats returns what the network did to the datagrams of all ends that are not removed: a test can assert by it that faults were injected.
func (n *Net) LinkStats() (sum transport.LinkStats) {
	add := func(s transport.LinkStats) {
		sum.Received += s.Received
		sum.Delivered += s.Delivered
		sum.Lost += s.Lost
		sum.Duplicated += s.Duplicated
		sum.Reordered += s.Reordered
		sum.Corrupted += s.Corrupted
		sum.TooLarge += s.TooLarge
		sum.BlackedOut += s.BlackedOut
		sum.Overflowed += s.Overflowed
	}
	add(n.Server.tap.Stats())
	for _, c := range n.Clients {
		add(c.tap.Stats())
	}
	return sum
}

// Each calls a function in each frame from now on, after the server's and before the clients'. The functions are called in the order of
// these calls.
func (n *Net) Each(f func()) { n.each = append(n.each, f) }

// JoinAt adds a client that connects to another address than the server's, such as that of a server of package adversary. It takes frames
// like all others, after the functions of Each. It is not in Clients, and no invariant is checked of it: those compare with the server.
func (n *Net) JoinAt(server transport.Addr) *Client {
	n.t.Helper()
	c := n.newClient(server)
	n.Each(func() {
		if c.running && !c.asleep {
			c.loop.Step()
		}
	})
	return c
}
