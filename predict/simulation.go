package predict

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
)

// Window is the number of ticks that a client keeps. It predicts no farther ahead of the server's newest state.
const Window = 64

// Config has the settings of a simulation at a client. The zero value is good for most games.
type Config struct {
	// InputDelay is the number of ticks between an input and the step that uses it, 0 to 8. Each one makes replays shorter by a
	// tick. A game that wants few corrections more than an answer at once sets 2 or 3.
	InputDelay int
	// MaxReplay bounds the steps of one frame; 0 is 32. What is left is done in the frames that follow.
	MaxReplay int
	// CorrectionTime is the time that a correction takes on the screen, for components with components.Smooth. 0 is 100 ms; below 0
	// corrections are jumps.
	CorrectionTime time.Duration
	// Seed is that of Step.Rand. Both sides must have the same.
	Seed uint64
}

// System is a part of the simulation. It changes the world as a function of the world, the tick, inputs and Step.Rand alone: it
// reads no clock and keeps no state of its own that a replay would not put back. Entities may come in any order.
type System interface {
	// Step takes one step.
	Step(s *Step)
}

// Func is a System that is a function.
type Func func(s *Step)

// Step implements System.
func (f Func) Step(s *Step) { f(s) }

// Resource is state of the simulation outside of components: a score, a round's timer. It is kept for each tick.
type Resource interface {
	// Save appends the state to a slice.
	Save(to []byte) []byte
	// Load takes the state that Save appended.
	Load(from []byte)
}

// Stats counts the work of a simulation. On a server, Steps alone.
type Stats struct {
	Steps          uint64 `json:"steps"`          // Steps of new ticks.
	Replayed       uint64 `json:"replayed"`       // Steps of ticks that were simulated before.
	Rollbacks      uint64 `json:"rollbacks"`      // Returns to an earlier tick or to the start of this one, for whatever reason: also for an own spawn that arrives.
	Mispredictions uint64 `json:"mispredictions"` // Entities whose predicted state was not the server's.
	Corrected      uint64 `json:"corrected"`      // Returns because the server used another input than the client.
	Guessed        uint64 `json:"guessed"`        // Returns because a relayed input of another player is not as it was guessed.
	Started        uint64 `json:"started"`        // Entities that are predicted from then on.
	Stopped        uint64 `json:"stopped"`        // Entities that are not predicted any more.
	Resynced       uint64 `json:"resynced"`       // Entities whose local components were not the server's, which told.
	Postponed      uint64 `json:"postponed"`      // Frames in which Config.MaxReplay left steps for the next ones.
	Restarts       uint64 `json:"restarts"`       // Times that the client fell so far behind that it began anew.
	Unconfirmed    uint64 `json:"unconfirmed"`    // Entities that were spawned here and not at the server. They count as no misprediction.
	Cancelled      uint64 `json:"cancelled"`      // Effects that a corrected replay does not have.
	Late           uint64 `json:"late"`           // Effects that only a corrected replay has.
}

// Misprediction says how the server's state of a tick differs from the predicted one.
type Misprediction struct {
	Tick      netcode.Tick      // That was predicted.
	Entity    ecs.Entity        // In the client's world.
	ID        netcode.NetworkID // Its network id.
	Owner     netcode.ClientID  // The player whose input moves it, 0 if there is none: see InputOf.
	Component string            // Its wire name.
	Field     string            // The path of the first field that differs; "": the component, or the entity, is there on one side only.
	Predicted float64           // The predicted value of the field, as a number. Without a field: 1 is there, 0 is not.
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

// Simulation runs the systems of a game, a step for each tick.
type Simulation struct {
	config    Config
	all       *predictions
	systems   []System
	resources []Resource
	step      Step
	client    *client // One of the two.
	server    *server

	effects       effects
	mispredicted  []func(Misprediction)
	explained     []func(Explanation)
	traces        *traces  // Nil without Explain.
	lanes         []uint32 // Scratch of hashes.
	unspawned     []func(ecs.Entity)
	stats         Stats
	owner, tagged ecs.ID // Of the world, once known.
	replicated    ecs.ID
	spawnOf       ecs.ID
	pcg           rand.PCG
	random        *rand.Rand
}

// group is the part of a group of systems that Simulate needs.
type group interface {
	Add(stage netcode.Stage, systems ...systems.System)
}

// Simulate adds the simulation to a group: *systems.ServerSystems, *systems.HostSystems or *systems.ClientSystems. Give all of
// them the same systems, in the same order; a system that keeps filters or mappers is a value of its own for each world. A server of
// predicted components that has no simulation tells OnError when clients give inputs. A step runs in stage Update: set inputs before, as in PreUpdate. Simulate panics on another
// group, on an end that has a simulation, on a configuration out of range, and where no component was given to Register.
func Simulate(g group, config Config, list ...System) *Simulation {
	if config.InputDelay < 0 || config.InputDelay > 8 {
		panic(fmt.Sprintf("netcode: predict.Simulate: Config.InputDelay is 0 to 8, not %d", config.InputDelay))
	}
	if config.MaxReplay < 0 {
		panic(fmt.Sprintf("netcode: predict.Simulate: Config.MaxReplay is not negative, as %d", config.MaxReplay))
	}
	if config.MaxReplay == 0 {
		config.MaxReplay = 32
	}
	if config.CorrectionTime == 0 {
		config.CorrectionTime = 100 * time.Millisecond
	}
	s := &Simulation{config: config, systems: list}
	s.step.simulation = s
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
	p.Schema() // It freezes the protocol.
	all, ok := netcode.ExtensionOf[*predictions](p)
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
	g.Add(netcode.StageUpdate, s)
	return s
}

// mustBeOnly panics for a second simulation of an end.
func (s *Simulation) mustBeOnly() {
	var at *simulated
	if s.server != nil {
		at, _ = netcode.ExtensionOf[*simulated](s.server.end)
		s.server.state = at
	} else {
		r, _ := netcode.ExtensionOf[*rested](s.client.end)
		at = &r.simulated
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

// Keep adds a resource to the simulation, before the first frame.
func (s *Simulation) Keep(r Resource) { s.resources = append(s.resources, r) }

// OnMisprediction adds a function that is called for each entity whose predicted state was not the server's, before it is
// corrected.
func (s *Simulation) OnMisprediction(f func(Misprediction)) {
	s.mispredicted = append(s.mispredicted, f)
}

// OnUnspawn adds a function that is called on a client for an entity that a step has spawned here, just before it is removed
// because the server did not spawn it.
func (s *Simulation) OnUnspawn(f func(ecs.Entity)) { s.unspawned = append(s.unspawned, f) }

// Stats is a copy of the counters.
func (s *Simulation) Stats() Stats { return s.stats }

// Tick is the tick that the simulated entities are at.
func (s *Simulation) Tick() netcode.Tick { return s.step.Tick }

// Initialize implements systems.System.
func (s *Simulation) Initialize(w *ecs.World) { s.learn(w) }

// learn looks the components of the simulation up in a world.
func (s *Simulation) learn(w *ecs.World) {
	if s.step.World == w {
		return
	}
	s.step.World = w
	s.tagged, s.owner = ecs.ComponentID[components.Simulate](w), ecs.ComponentID[components.Owner](w)
	s.replicated, s.spawnOf = ecs.ComponentID[components.Replicated](w), ecs.ComponentID[components.SpawnOf](w)
	if s.server != nil {
		s.server.state.learn(s.server, w)
	} else {
		s.client.learn(w)
	}
}

// Update implements systems.System.
func (s *Simulation) Update(w *ecs.World) {
	s.learn(w)
	if s.server != nil {
		s.server.state.update(s.server)
	} else {
		s.client.update()
	}
}

// Finalize implements systems.System.
func (s *Simulation) Finalize(*ecs.World) {}

// run takes one step.
func (s *Simulation) run(t netcode.Tick, first bool) {
	s.step.Tick, s.step.First = t, first
	s.step.spawns = s.step.spawns[:0]
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
