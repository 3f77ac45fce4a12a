package nettest

import "github.com/arche-netcode/netcode/transport"

// SetLinks changes the links between the server and one client: down to the client, up to the server. They apply to datagrams
// sent from now on, until the next [Net.SetLink], [Net.Heal] or SetLinks.
func (n *Net) SetLinks(c *Client, down, up transport.Link) {
	c.tap.SetLink(down)
	n.Server.tap.SetLinkFrom(c.tap.LocalAddr(), up)
}

// Rebind gives a client another address, as when a NAT drops its mapping or a phone changes networks. Later datagrams come from
// the new address; datagrams in flight to the old one are lost.
func (n *Net) Rebind(c *Client) {
	n.t.Helper()
	n.rebinds++
	old := c.tap.LocalAddr()
	next := n.listen(1<<48 + n.rebinds)
	_ = c.tap.Close()
	_ = n.Server.tap.Poll() // its sent datagrams are in flight
	n.Server.tap.Forget(old)
	c.tap.Conditioner = next.Conditioner
}
