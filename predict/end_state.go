package predict

import (
	"errors"
	"slices"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/tick"
)

var errNoSimulation = errors.New("clients give inputs, and this server has no simulation: call predict.Simulate with its systems too, or remove predict.Register")

// sessionState is a server's state of one client.
type sessionState struct {
	resting resting
	chosen  chosenEntities
	spawns  unackedSpawns
	claims  waitingClaims
}

// endState is the state of an end.
type endState struct {
	simulation    *Simulation        // Nil without a simulation.
	anyChosen     bool               // At a server: a client chose an entity.
	anyClaims     bool               // At a server: effects of a client wait.
	joined        []netcode.ClientID // At a server: clients that do not know its systems yet.
	listedClients uint64             // At a server: a bit for each client with a list, by its id modulo 64.

	learn  func(s *server, w *netecs.World) // At a server: server.learn and server.update. As fields, the linker omits them from clients,
	update func(s *server)                  // whose programs never call ends.Server.
}

// clientState is a client's endState, with the reports of the server since the last comparison.
type clientState struct {
	endState
	restTicks     []netcode.Tick // By network index: the newest tick in which the entity rested.
	newlyResting  []uint32       // Indexes that the server reported since the last comparison.
	readTicks     []netcode.Tick // Ticks whose records were read since the last comparison.
	spawnsArrived netcode.Tick   // All own spawns up to this tick have arrived.
	serverSystems []string       // Nil: not known yet.
}

// ends makes the hooks of both ends.
type ends struct{}

// Server implements extend.ServerSide.
func (ends) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	sim := &endState{learn: (*server).learn, update: (*server).update}
	listed := func(c extend.Session) *sessionState { // Nil: there are no entities to report.
		if sim.listedClients>>(c.ID()%64)&1 == 0 {
			return nil
		}
		if state, ok := extend.ExtensionOf[*sessionState](c); ok && state.resting.listed == s.Tick() {
			return state
		}
		return nil
	}
	return extend.ServerHooks{
		State: sim,
		Opened: func(c extend.Session) any {
			if sim.simulation != nil {
				sim.joined = append(sim.joined, c.ID())
			}
			return &sessionState{}
		},
		BeginFrame: func() {
			if sim.simulation != nil || input.StatsOf(s).Taken == 0 {
				return
			}
			if all, ok := extend.ExtensionOf[*predictions](s.Protocol()); ok && len(all.registered) > 0 {
				extend.Misused(s, "predict.Register", all.registered[0].of, errNoSimulation)
			}
		},
		Section: &extend.ServerSection{
			Due: func(c extend.Session, busy bool) bool {
				state := listed(c)
				return state != nil && state.resting.requestPacket(s.Store().Tick(), busy)
			},
			Write: func(c extend.Session, room []byte, _ uint64) int {
				state := listed(c)
				if state == nil {
					state = sim.withoutState(c)
				}
				if state == nil {
					return 0
				}
				return state.writeResting(c, sim, s.Store().Tick(), room)
			},
		},
	}
}

// Client implements extend.ClientSide.
func (ends) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	r := &clientState{}
	return extend.ClientHooks{
		State: r,
		Opened: func() {
			clear(r.restTicks)
			r.spawnsArrived, r.serverSystems = tick.None, nil
			r.newlyResting, r.readTicks = r.newlyResting[:0], r.readTicks[:0]
		},
		Read: func() {
			t := c.Replica().LastRead()
			if r.simulation == nil || slices.Contains(r.readTicks, t) {
				return
			}
			if len(r.readTicks) == 2*Window { // No simulation compares them; the older ticks are outside of the history.
				r.readTicks = slices.Delete(r.readTicks, 0, Window)
			}
			r.readTicks = append(r.readTicks, t)
		},
		Section: &extend.ClientSection{
			Check: func(payload []byte) error { return readRest(payload, func(uint32) {}) },
			Take:  func(_ uint64, payload []byte) { r.takeResting(payload, c.Time().Tick) },
		},
	}
}
