package predict

import (
	"fmt"
	"math/rand/v2"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/world"
)

// Step is the argument of a system for one tick. It is valid during the call.
type Step struct {
	World *netecs.World // The game's world. Entities with components.Simulate are in the simulation.
	Tick  netcode.Tick  // The simulated tick: the same number on server and client.
	First bool          // The tick is simulated here for the first time; false: it is replayed.

	simulation *Simulation
	spawns     []spawnCount
}

// spawnCount counts the spawns for a client in one step.
type spawnCount struct {
	owner netcode.ClientID
	count uint8
}

// Replaying reports whether the tick was simulated here before.
func (s *Step) Replaying() bool { return !s.First }

// OnServer reports whether the step runs on a server or host. Its result is authoritative.
func (s *Step) OnServer() bool { return s.simulation.server != nil }

// Seconds returns the length of a tick.
func (s *Step) Seconds() float64 {
	if s.simulation.server != nil {
		return s.simulation.server.end.Interval().Seconds()
	}
	return s.simulation.client.end.Interval().Seconds()
}

// Input returns the input of a client's player in the simulated tick. The call is the same on both sides, in first runs
// and in replays. If the input of the tick did not arrive, the server uses an earlier one, and replays use the same one.
// ok is false without an input. A client has the input of another player only if it is relayed: see input.Relay.
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

// InputOf returns the owner's input in the tick of a misprediction, as this client knows it now: its own or a relayed
// one. ok is false on a server and without an owner or an input.
func InputOf[T any](sim *Simulation, m Misprediction) (v T, ok bool) {
	if sim.client == nil || m.Owner == 0 {
		return v, false
	}
	if c := sim.client.end; m.Owner != c.ID() {
		return input.Relayed[T](c, m.Owner, m.Tick)
	}
	return input.Own[T](sim.client.end, m.Tick)
}

// Rand returns a random source for an entity in this tick, valid until the next call. Its numbers depend on Config.Seed,
// the tick and the entity alone: they are equal on server and client, and in a replay.
//
// An entity is identified by its SpawnOf, else by its network id. The zero entity gives numbers of no entity, and so does
// an entity with neither.
func (s *Step) Rand(e netecs.Entity) *rand.Rand {
	sim := s.simulation
	sim.pcg.Seed(sim.config.Seed^uint64(s.Tick)*0x9E3779B97F4A7C15, sim.nameOf(e))
	return sim.random
}

// nameOf returns the number of an entity that both ends know: of its SpawnOf, else of its network id, else 0.
func (s *Simulation) nameOf(e netecs.Entity) uint64 {
	w := s.step.World
	if e.IsZero() || !w.Alive(e) {
		return 0
	}
	if world.Has(w, e, s.spawnOfID) {
		o := spawnOfAt(w, e, s.spawnOfID)
		return 1<<63 | uint64(o.Client)<<24 | uint64(o.Tick)<<8 | uint64(o.Ordinal)
	}
	if world.Has(w, e, s.replicatedID) {
		id := replicatedAt(w, e, s.replicatedID).ID
		if id.IsZero() && s.client != nil {
			id = s.client.idOf(e)
		}
		if !id.IsZero() {
			return uint64(id.Generation)<<32 | uint64(id.Index) + 1
		}
	}
	return 0
}

// Owner returns the owner of an entity by components.Owner, 0 without an owner.
func (s *Step) Owner(e netecs.Entity) netcode.ClientID {
	if !s.World.Alive(e) || !world.Has(s.World, e, s.simulation.ownerID) {
		return 0
	}
	return ownerAt(s.World, e, s.simulation.ownerID).Client
}

// String tells the tick and whether it is a replay.
func (s *Step) String() string {
	text := fmt.Sprintf("step of tick %d", s.Tick)
	if s.Replaying() {
		text += ", a replay"
	}
	return text
}
