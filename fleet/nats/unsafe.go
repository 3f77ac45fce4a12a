package nats

import (
	"time"
	_ "unsafe" // For go:linkname.

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/world"
)

// The election times of a NATS cluster, which has no option for them: by default four to nine seconds without a leader, longer than any match may
// stand still. They are variables of its package; a version without them does not link, and is noticed by the first build. ADR 98.
//
// SAFETY: the names, the types and the package are those of nats-server v2.15.2. They are written once, by shortElections, before this process has
// a server of a cluster, and read by the servers' goroutines afterwards.
//
//go:linkname minElection github.com/nats-io/nats-server/v2/server.minElectionTimeout
var minElection time.Duration

//go:linkname maxElection github.com/nats-io/nats-server/v2/server.maxElectionTimeout
var maxElection time.Duration

//go:linkname heartbeat github.com/nats-io/nats-server/v2/server.hbInterval
var heartbeat time.Duration

// shortElections sets the times of elections for servers of one data centre: half a second to a second.
func shortElections() {
	if minElection == 500*time.Millisecond {
		return
	}
	minElection, maxElection, heartbeat = 500*time.Millisecond, time.Second, 125*time.Millisecond
}

// setOwner writes the components.Owner of an entity that has one.
//
// SAFETY: the world returned the pointer for this type of component, and nothing changes the entity before it is written.
func setOwner(w *netecs.World, e netecs.Entity, owner components.Owner) {
	if _, has := netecs.OwnerOf(w, e); has {
		*(*components.Owner)(world.Get(w, e, world.ComponentID[components.Owner](w))) = owner
	}
}
