package nettest

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// Invariant is a property that holds in every run.
type Invariant int

const (
	// Converge: when nothing changes or is lost for 2 s + 4 RTT, every client's world equals the visible part of the server's,
	// bit for bit.
	Converge Invariant = iota
	// NoGhostRef: no client has an entity that the server never had, a wrong generation, or an entity twice.
	NoGhostRef
	// Order: within a lifetime, the tick of an entity's state never decreases.
	Order

	numInvariants = iota
)

// String returns the name of the invariant.
func (i Invariant) String() string {
	if i >= 0 && i < numInvariants {
		return [numInvariants]string{"Converge", "NoGhostRef", "Order"}[i]
	}
	return fmt.Sprintf("Invariant(%d)", int(i))
}

// Broken is the error of a violated invariant.
type Broken struct {
	Invariant Invariant // the violated invariant
	Client    int       // index in Net.Clients
	Frame     int       // frame of the detection, from 1
	Detail    string    // description
}

// Error implements error.
func (b *Broken) Error() string {
	return fmt.Sprintf("%v does not hold at client %d in frame %d: %s", b.Invariant, b.Client, b.Frame, b.Detail)
}

// check checks the invariants of a client that hold after every frame.
func (n *Net) check(i int, c *Client) {
	for _, err := range []error{n.ghosts.check(n, i, c), c.order.check(n, i, c)} {
		if err != nil {
			n.t.Helper() // Not each time: it costs more than the checks.
			n.fail(err)
		}
	}
}

// fail reports only the first error: errors after a violated invariant are not informative.
func (n *Net) fail(err error) {
	n.t.Helper()
	if err != nil && !n.failed {
		n.failed = true
		n.t.Errorf("nettest: %v", err)
	}
}

// settleTime returns the 2 s + 4 RTT of Converge.
func (n *Net) settleTime() time.Duration {
	return 2*time.Second + 8*n.config.Link.Delay + 4*n.config.Link.Jitter
}

// AssertConverge repairs the network, runs for 2 s + 4 RTT, and fails the test unless Converge holds for every running client.
// The game must have stopped changing its world: state that changes cannot be equal on two machines.
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

// CheckConverge compares every running client's world with the visible part of the server's, now, and returns the first
// difference as *Broken. It compares visible entities and their visible components. Of entities that interest.Keep left at the
// client, it compares only their existence.
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
		if d, differs := netecs.FirstDifferenceOf(n.Server.Store(), sees, c.World, schema); differs {
			return &Broken{Converge, i, n.frame, d.String()}
		}
	}
	return nil
}

// Break violates an invariant on purpose from now on, so that a test can verify that the harness notices. For Converge and
// NoGhostRef it changes the first client's world. For Order it passes a tick of the past to the check, since no sequence of
// datagrams makes a client go back.
func (n *Net) Break(i Invariant) { n.broken[i] = true }

// loseAnEntity removes one replicated entity from a client's world.
func (n *Net) loseAnEntity(c *Client) {
	for e := range netecs.Entities(c.World) {
		c.World.RemoveEntity(e)
		return
	}
}
