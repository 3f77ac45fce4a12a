package nettest

import "github.com/arche-netcode/netcode/transport"

// SetLinks changes what is sent from now on between the server and one client
// meets: down on the way to the client, up on the way to the server. It holds
// until the next [Net.SetLink], [Net.Heal] or SetLinks.
func (n *Net) SetLinks(c *Client, down, up transport.Link) {
	c.tap.SetLink(down)
	n.Server.tap.SetLinkFrom(c.tap.LocalAddr(), up)
}
