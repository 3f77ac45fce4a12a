package nettest

import "github.com/arche-netcode/netcode/transport"

// SetLinks changes what is sent from now on between the server and one client
// meets: down on the way to the client, up on the way to the server. It holds
// until the next [Net.SetLink], [Net.Heal] or SetLinks.
func (n *Net) SetLinks(c *Client, down, up transport.Link) {
	c.tap.SetLink(down)
	n.Server.tap.SetLinkFrom(c.tap.LocalAddr(), up)
}

// Rebind gives a client another address, as a NAT that forgot it does, or a phone that changes networks: what it sends from now on
// comes from there, and what is on its way to the old one is lost.
func (n *Net) Rebind(c *Client) {
	n.t.Helper()
	n.rebinds++
	old := c.tap.LocalAddr()
	next := n.listen(1<<48 + n.rebinds)
	_ = c.tap.Close()
	_ = n.Server.tap.Poll() // what it has sent is on its way
	n.Server.tap.Forget(old)
	c.tap.Conditioner = next.Conditioner
}
