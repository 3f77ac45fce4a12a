package nettest

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// Invariant is a promise that every run is held to.
type Invariant int

const (
	// Converge: once nothing changes and nothing is lost, within 2 s + 4 RTT
	// every client's world equals what the server shows it, bit for bit.
	Converge Invariant = iota
	// NoGhostRef: no client ever holds an entity that the server never had, of
	// another generation, or twice.
	NoGhostRef
	// Order: within a life, the tick as of which an entity is known never goes
	// back.
	Order

	numInvariants = iota
)

// String is the invariant's name.
func (i Invariant) String() string {
	if i >= 0 && i < numInvariants {
		return [numInvariants]string{"Converge", "NoGhostRef", "Order"}[i]
	}
	return fmt.Sprintf("Invariant(%d)", int(i))
}

// Broken is the error of an invariant that does not hold.
type Broken struct {
	Invariant Invariant // which
	Client    int       // its place in Net.Clients
	Frame     int       // when that was found, from 1
	Detail    string    // what is wrong, for people
}

// Error implements error.
func (b *Broken) Error() string {
	return fmt.Sprintf("%v does not hold at client %d in frame %d: %s", b.Invariant, b.Client, b.Frame, b.Detail)
}

// check holds a client to what must be so after every frame.
func (n *Net) check(i int, c *Client) {
	n.t.Helper()
	for _, err := range []error{n.ghosts.check(n, i, c), c.order.check(n, i, c)} {
		n.fail(err)
	}
}

// fail reports an error once: what follows a broken invariant says little.
func (n *Net) fail(err error) {
	n.t.Helper()
	if err != nil && !n.failed {
		n.failed = true
		n.t.Errorf("nettest: %v", err)
	}
}

// settleTime is the 2 s + 4 RTT of Converge.
func (n *Net) settleTime() time.Duration {
	return 2*time.Second + 8*n.config.Link.Delay + 4*n.config.Link.Jitter
}

// AssertConverge heals the network, lets 2 s + 4 RTT go by, and fails the test
// unless Converge holds for every running client. The game must have come to
// rest by itself: what still moves cannot be equal on two machines.
func (n *Net) AssertConverge() {
	n.t.Helper()
	n.Heal()
	n.Run(n.settleTime())
	if n.broken[Converge] && len(n.Clients) > 0 {
		n.loseAnEntity(n.Clients[0])
	}
	err := n.CheckConverge()
	if err != nil && n.Server.Store().Changed() > 0 {
		err = fmt.Errorf("%w; the server's world still changes: the game must come to rest before AssertConverge", err)
	}
	n.fail(err)
}

// CheckConverge compares every running client's world with what the server
// shows it, now, and returns the first difference as *Broken: the visible entities
// with the components of them that are. Of what interest.Keep left there it says
// only whether it is there.
func (n *Net) CheckConverge() error {
	schema := n.config.Protocol.Schema()
	for i, c := range n.Clients {
		if !c.running {
			continue
		}
		if c.State() != netcode.Connected {
			return &Broken{Converge, i, n.frame, fmt.Sprintf("not connected: %v", c.Err())}
		}
		sees := netecs.VisibleTo(n.Server, c.ID())
		if d, differs := netecs.FirstDifferenceOf(n.Server.Store(), sees, &c.World, schema); differs {
			return &Broken{Converge, i, n.frame, d.String()}
		}
	}
	return nil
}

// Break makes an invariant fail on purpose from now on, so that a test can
// hold that the harness notices: Converge and NoGhostRef by changing the first
// client's world, Order by giving its check a tick of the past, since no
// sequence of datagrams makes a client go back.
func (n *Net) Break(i Invariant) { n.broken[i] = true }

// loseAnEntity takes one replicated entity out of a client's world.
func (n *Net) loseAnEntity(c *Client) {
	for e := range netecs.Entities(&c.World) {
		c.World.RemoveEntity(e)
		return
	}
}
