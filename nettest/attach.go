package nettest

import "github.com/arche-netcode/netcode/transport"

// Listen adds an end to the network that is neither the server nor a client of the Net. Use it for an end of package adversary or
// a bot. It has a link like all others. Its datagrams are in the trace.
func (n *Net) Listen() transport.Conn {
	n.t.Helper()
	return n.ListenAt(transport.Addr{})
}

// ListenAt is Listen at a given address. Use it to test the server's limits by address and network: all other ends are at
// 127.0.0.1, which is exempt.
func (n *Net) ListenAt(address transport.Addr) transport.Conn {
	n.t.Helper()
	n.listened++
	return n.listenAt(address, 1<<40+n.listened)
}

// LinkStats returns the sum of the links' counters, of all ends that are not removed. A test can assert with it that faults were
// injected.
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

// Each adds a function that is called in each step, after the server's and before the clients'. The functions are called in the
// order in which they were added.
func (n *Net) Each(f func()) { n.each = append(n.each, f) }

// JoinAt adds a client that connects to another server, such as one of package adversary. It runs frames like other clients,
// after the functions of Each. It is not in Clients, and no invariant is checked: invariants compare with the Net's server.
func (n *Net) JoinAt(server transport.Addr) *Client {
	n.t.Helper()
	c := n.newClient(server)
	n.guests = append(n.guests, c)
	n.Each(func() { n.step(c) })
	return c
}
