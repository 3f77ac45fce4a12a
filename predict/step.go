package predict

import (
	"math/rand/v2"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
)

// Step is the argument of a system while it simulates one tick. It is good during the call.
type Step struct {
	World *ecs.World   // The game's. Its entities with components.Simulate are those of the simulation.
	Tick  netcode.Tick // The tick that is simulated: the same number on server and client.
	First bool         // The tick is simulated here for the first time; false: it is replayed.

	simulation *Simulation
	spawns     []spawnCount
}

// spawnCount counts the spawns for a client in one step.
type spawnCount struct {
	owner netcode.ClientID
	count uint8
}

// Replaying tells that the tick was simulated here before.
func (s *Step) Replaying() bool { return !s.First }

// OnServer tells that the step is the server's, or a host's: its result is the truth.
func (s *Step) OnServer() bool { return s.simulation.server != nil }

// Seconds is the length of a tick.
func (s *Step) Seconds() float64 {
	if s.simulation.server != nil {
		return s.simulation.server.end.Interval().Seconds()
	}
	return s.simulation.client.end.Interval().Seconds()
}

// Input is the input of a client's player in the tick that is simulated: the same call on both sides, in first runs and in replays.
// If the input of the tick did not arrive, the server uses an earlier one, and replays use the server's. ok is false if there is none. A
// client has the input of another player if it is relayed: input.Relay.
func Input[T any](s *Step, owner netcode.ClientID) (v T, ok bool) {
	if s.simulation.server != nil {
		return input.At[T](s.simulation.server.end, owner, s.Tick)
	}
	c := s.simulation.client.end
	switch owner {
	case 0:
		return v, false
	case c.ID():
		return input.Own[T](c, s.Tick)
	}
	return input.Relayed[T](c, owner, s.Tick)
}

// InputOf is the input with which this client simulated the tick of a misprediction, of the owner of the entity: its own input, or a relayed
// one, as it is known by then. It is false where there is none.
func InputOf[T any](sim *Simulation, m Misprediction) (v T, ok bool) {
	if sim.client == nil || m.Owner == 0 {
		return v, false
	}
	if c := sim.client.end; m.Owner != c.ID() {
		return input.Relayed[T](c, m.Owner, m.Tick)
	}
	return input.Own[T](sim.client.end, m.Tick)
}

// Rand is a random source for an entity in this tick. It gives the same numbers on server and client, and in a replay: it is a function of
// Config.Seed, the tick and the entity. The entity counts by its network id, or by the step that spawned it. Use the zero entity for
// numbers of no entity; an entity without id and step counts as it. The source is valid until the next call.
func (s *Step) Rand(e ecs.Entity) *rand.Rand {
	sim := s.simulation
	name := uint64(0)
	if !e.IsZero() && s.World.Alive(e) {
		switch {
		case s.World.Has(e, sim.spawnOf):
			o := spawnOfAt(s.World, e, sim.spawnOf)
			name = 1<<63 | uint64(o.Client)<<24 | uint64(o.Tick)<<8 | uint64(o.Ordinal)
		case s.World.Has(e, sim.replicated):
			id := replicatedAt(s.World, e, sim.replicated).ID
			name = uint64(id.Generation)<<32 | uint64(id.Index) + 1
		}
	}
	sim.pcg.Seed(sim.config.Seed^uint64(s.Tick)*0x9E3779B97F4A7C15, name)
	return sim.random
}

// Owner is the client that an entity belongs to, 0 if it is none.
func (s *Step) Owner(e ecs.Entity) netcode.ClientID {
	if !s.World.Alive(e) || !s.World.Has(e, s.simulation.owner) {
		return 0
	}
	return ownerAt(s.World, e, s.simulation.owner).Client
}
