package predict

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// Window is the number of ticks that a client stores, as of inputs: 192. A client predicts at most that far ahead of the
// server's newest state.
const Window = input.Window

// Config has the settings of a simulation. A server uses Seed alone. The zero value is good for most games.
type Config struct {
	// InputDelay is the number of ticks between an input and the step that uses it, 0 to 8. Each tick of delay makes
	// replays one tick shorter. A game that prefers few corrections to an immediate answer sets 2 or 3.
	InputDelay int
	// MaxReplay bounds the steps of one frame; 0 means Window: a frame may run 191 steps, which a slow machine cannot do in time. With a
	// lower bound the remaining steps follow in the next frames: until then the state of the steps is late, and Stats.Postponed counts.
	MaxReplay int
	// CorrectionTime is the time over which a correction is blended on the screen, for components with components.Smooth.
	// 0 means 100 ms. A negative time shows corrections as jumps.
	CorrectionTime time.Duration
	// SwitchTime is the time over which an entity is blended on the screen when its prediction begins or ends: it moves
	// between the interpolated past and the prediction, for components with components.Smooth. Snap does not count for
	// it; a changed components.Teleport makes it a jump. 0 means 500 ms, a negative time a jump.
	SwitchTime time.Duration
	// Seed is the seed of Step.Rand. Both sides must have the same.
	Seed uint64
}

// System is a part of the simulation. It changes the world as a function of the world, the tick, inputs and Step.Rand
// alone. It reads no clock and has no state of its own, except in a Resource. The order of entities in a query may differ
// between runs.
type System interface {
	// Step runs one step.
	Step(s *Step)
}

// Func is a function as a System.
type Func func(s *Step)

// Step implements System.
func (f Func) Step(s *Step) { f(s) }

// Resource is state of the simulation outside of components: a score, a round's timer. It is stored for each tick.
type Resource interface {
	// Save appends the state to a slice.
	Save(to []byte) []byte
	// Load restores the state that Save appended.
	Load(from []byte)
}

// Stats counts the work of a simulation. A server counts Steps alone.
type Stats struct {
	Steps          uint64 `json:"steps"`          // Steps of new ticks.
	Replayed       uint64 `json:"replayed"`       // Steps of ticks that were simulated before.
	Rollbacks      uint64 `json:"rollbacks"`      // Rollbacks for any reason, also to the present tick.
	Mispredictions uint64 `json:"mispredictions"` // Entities whose predicted state differed from the server's.
	Corrected      uint64 `json:"corrected"`      // Rollbacks because the server used another input than the client.
	Guessed        uint64 `json:"guessed"`        // Rollbacks because a relayed input of another player differed from its guess.
	Started        uint64 `json:"started"`        // Entities whose prediction started.
	Stopped        uint64 `json:"stopped"`        // Entities whose prediction stopped.
	Resynced       uint64 `json:"resynced"`       // Entities whose local components differed from the server's answer.
	Postponed      uint64 `json:"postponed"`      // Frames in which Config.MaxReplay left steps for the next frames.
	Restarts       uint64 `json:"restarts"`       // Restarts of a client that fell too far behind.
	Unconfirmed    uint64 `json:"unconfirmed"`    // Entities that were spawned here and not at the server. They are no Mispredictions.
	Cancelled      uint64 `json:"cancelled"`      // Effects that were played and that the server did not make. Only with OnCancel.
	Late           uint64 `json:"late"`           // Effects that only a replay has.
	Stood          uint64 `json:"stood"`          // Frames in which the prediction stood or lagged: Window ticks ahead of the newest state. See StoodError.
}

// Misprediction describes the first difference between the server's state of an entity and the predicted state.
type Misprediction struct {
	Tick      netcode.Tick      // The tick that both states are of.
	Entity    netecs.Entity     // The entity in the client's world.
	ID        netcode.NetworkID // The network id of the entity.
	Owner     netcode.ClientID  // The player that owns the entity, 0 without an owner: see InputOf.
	Component string            // The wire name of the component; "": the whole entity.
	Field     string            // The path of the first field that differs; "": the component, or the entity, exists on one side only.
	Predicted float64           // The predicted value of the field as a number. Without a field: 1 exists, 0 does not.
	True      float64           // The server's value.
}

// String implements fmt.Stringer.
func (m Misprediction) String() string {
	if m.Field == "" {
		there := "is there at the server, not predicted"
		if m.True == 0 {
			there = "is predicted, not there at the server"
		}
		if m.Component == "" {
			return fmt.Sprintf("tick %d: entity %v %s", m.Tick, m.ID, there)
		}
		return fmt.Sprintf("tick %d, entity %v: %s %s", m.Tick, m.ID, m.Component, there)
	}
	return fmt.Sprintf("tick %d, entity %v: %s.%s is %.6g, predicted %.6g", m.Tick, m.ID, m.Component, m.Field, m.True, m.Predicted)
}

// Simulation runs the systems of a game, one step for each tick.
type Simulation struct {
	config    Config
	all       *predictions
	systems   []System
	resources []Resource
	step      Step
	client    *client // Either client or server is set.
	server    *server

	effects             effects
	mispredicted        []func(Misprediction)
	explained           []func(Explanation)
	traces              *traces  // Nil without Explain.
	hashLanes           []uint32 // Scratch of hashes.
	unspawned           []func(netecs.Entity)
	stats               Stats
	ownerID, simulateID world.ID // Ids of components in the world, set by learn.
	replicatedID        world.ID
	spawnOfID           world.ID
	pcg                 rand.PCG
	random              *rand.Rand
}

// group is the common part of the groups of package systems.
type group interface {
	Add(stage tick.Stage, systems ...systems.System)
}

// Simulate adds the simulation to a group: *systems.ServerSystems, *systems.HostSystems or *systems.ClientSystems. Give
// all groups the same systems, in the same order. A system that keeps filters or mappers needs a value for each world.
// A step runs in stage Update: set inputs earlier, for example in PreUpdate. A server of predicted components without a
// simulation tells OnError when clients give inputs.
//
// Simulate panics on another group, on an end that has a simulation, on a configuration out of range, and on a protocol
// without a predicted component.
func Simulate(g group, config Config, list ...System) *Simulation {
	if config.InputDelay < 0 || config.InputDelay > 8 {
		panic(fmt.Sprintf("netcode: predict.Simulate: Config.InputDelay is 0 to 8, not %d", config.InputDelay))
	}
	if config.MaxReplay < 0 {
		panic(fmt.Sprintf("netcode: predict.Simulate: Config.MaxReplay is not negative, as %d", config.MaxReplay))
	}
	if config.MaxReplay == 0 {
		config.MaxReplay = Window
	}
	if config.CorrectionTime == 0 {
		config.CorrectionTime = 100 * time.Millisecond
	}
	if config.SwitchTime == 0 {
		config.SwitchTime = 500 * time.Millisecond
	}
	s := &Simulation{config: config, systems: list}
	s.step.simulation = s
	s.effects.ordinals = map[effectName]uint8{}
	s.random = rand.New(&s.pcg)
	switch g := g.(type) {
	case *systems.HostSystems:
		s.server = newServer(s, g.ServerSystems)
	case *systems.ServerSystems:
		s.server = newServer(s, g)
	case *systems.ClientSystems:
		s.client = newClient(s, g)
	default:
		panic(fmt.Sprintf("netcode: predict.Simulate: %T is not a group of package systems", g))
	}
	p := s.protocol()
	p.Schema() // Schema freezes the protocol.
	all, ok := extend.ExtensionOf[*predictions](p)
	if !ok || len(all.registered) == 0 {
		panic("netcode: predict.Simulate: no component is predicted: call predict.Register before the server, or the client, is made")
	}
	s.mustBeOnly()
	s.all = all
	if s.server != nil {
		s.learnTraces(s.server.end)
	} else {
		s.learnTraces(s.client.end)
	}
	g.Add(tick.Update, s)
	return s
}

// mustBeOnly attaches the simulation to its end. It panics if the end has one already.
func (s *Simulation) mustBeOnly() {
	var at *endState
	if s.server != nil {
		at, _ = extend.ExtensionOf[*endState](s.server.end)
		s.server.state = at
	} else {
		r, _ := extend.ExtensionOf[*clientState](s.client.end)
		at = &r.endState
	}
	if at.simulation != nil {
		panic("netcode: predict.Simulate: this end has a simulation: give all systems to one call")
	}
	at.simulation = s
}

func (s *Simulation) protocol() *netcode.Protocol {
	if s.server != nil {
		return s.server.end.Protocol()
	}
	return s.client.end.Protocol()
}

// Keep adds a resource to the simulation. Call it before the first frame.
func (s *Simulation) Keep(r Resource) { s.resources = append(s.resources, r) }

// OnMisprediction adds a function that is called for each mispredicted entity, before it is corrected.
func (s *Simulation) OnMisprediction(f func(Misprediction)) {
	s.mispredicted = append(s.mispredicted, f)
}

// OnUnspawn adds a function that is called on a client for an entity that a step has spawned here and the server has not.
// The call comes just before the entity is removed.
func (s *Simulation) OnUnspawn(f func(netecs.Entity)) { s.unspawned = append(s.unspawned, f) }

// Stats returns a copy of the counters.
func (s *Simulation) Stats() Stats { return s.stats }

// Tick returns the tick that was simulated last.
func (s *Simulation) Tick() netcode.Tick { return s.step.Tick }

// Initialize implements systems.System.
func (s *Simulation) Initialize(w *netecs.World) { s.learn(w) }

// learn looks up the components of the simulation in a world.
func (s *Simulation) learn(w *netecs.World) {
	if s.step.World == w {
		return
	}
	s.step.World = w
	s.simulateID, s.ownerID = world.ComponentID[components.Simulate](w), world.ComponentID[components.Owner](w)
	s.replicatedID, s.spawnOfID = world.ComponentID[components.Replicated](w), world.ComponentID[components.SpawnOf](w)
	if s.server != nil {
		s.server.state.learn(s.server, w)
	} else {
		s.client.learn(w)
	}
}

// Update implements systems.System.
func (s *Simulation) Update(w *netecs.World) {
	s.learn(w)
	if s.server != nil {
		s.server.state.update(s.server)
	} else {
		s.client.update()
	}
}

// Finalize implements systems.System.
func (s *Simulation) Finalize(*netecs.World) {}

// run runs all systems for one tick. first is false in a replay.
func (s *Simulation) run(t netcode.Tick, first bool) {
	s.step.Tick, s.step.First = t, first
	s.step.spawns = s.step.spawns[:0]
	if s.effects.made.ticks == nil {
		s.effects.made = newByTick[madeEffect](s.effectTicks())
	}
	s.effects.begin(t, first)
	if s.traces != nil {
		s.traces.begin(t)
		s.trace(t, 0)
	}
	for i, system := range s.systems {
		system.Step(&s.step)
		if s.traces != nil {
			s.trace(t, i+1)
		}
	}
	s.effects.end(s)
	if first {
		s.stats.Steps++
	} else {
		s.stats.Replayed++
	}
}

// String tells the end and the newest step.
func (s *Simulation) String() string {
	end := "simulation of a client"
	if s.server != nil {
		end = "simulation of a server"
	}
	return fmt.Sprintf("%s at tick %d, %d steps", end, s.step.Tick, s.stats.Steps)
}
