package predict

import (
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
)

// server is the simulation of a server.
type server struct {
	sim    *Simulation
	end    *netcode.Server
	state  *endState
	find   func(netcode.NetworkID) (netecs.Entity, bool)
	rows   []serverRow
	locals []world.ID

	predictedID    world.ID
	simulated      tables     // Replicated entities of the simulation. Columns: Replicated, Owner, Predicted, then the rows.
	predictedByAny bits64     // By network index: a client predicts the entity.
	changed        bits64     // By network index: the last tick changed the entity, so that it is not listed as resting.
	listed         []*resting // The states of clients with a list in this tick.
	lanes          []uint32   // Scratch.

	made    byTick[effectName] // The effects of the last claimTicks, once a client told of its effects.
	refused claims             // Scratch.
}

// Columns of server.simulated.
const (
	replicatedColumn = iota
	ownerColumn
	predictedColumn
	firstRow
)

// serverRow is one predicted component.
type serverRow struct {
	plan    *quantize.Plan
	rounds  bool
	untaken world.Filter // Replicated entities with the component that are not in the simulation yet.
}

func newServer(s *Simulation, g *systems.ServerSystems) *server {
	n := &server{sim: s, end: g.Server, find: g.Entity}
	g.Tick.Prompt = n.promptRows
	return n
}

// learn looks up the ids of the components and the tables.
func (s *server) learn(w *netecs.World) {
	s.rows, s.locals = s.rows[:0], s.locals[:0]
	for i := range s.sim.all.local {
		s.locals = append(s.locals, world.TypeID(w, s.sim.all.local[i].of))
	}
	s.predictedID = world.ComponentID[components.Predicted](w)
	s.simulated = newTables(w, world.All(s.sim.replicatedID, s.sim.simulateID))
	s.simulated.column(s.sim.replicatedID, int(reflect.TypeFor[components.Replicated]().Size()))
	s.simulated.column(s.sim.ownerID, int(reflect.TypeFor[components.Owner]().Size()))
	s.simulated.column(s.predictedID, int(reflect.TypeFor[components.Predicted]().Size()))
	for _, r := range s.sim.all.rows {
		id := world.TypeID(w, r.of)
		s.simulated.column(id, int(r.of.Size()))
		s.rows = append(s.rows, serverRow{
			plan:    r.plan,
			rounds:  !r.unrounded && !r.plan.Plain() && r.plan.Lanes() > 0,
			untaken: world.Register(w, world.All(s.sim.replicatedID, id).Without(s.sim.simulateID)),
		})
	}
}

// update runs the steps of a frame.
func (s *server) update() {
	if !s.end.TickDue() {
		return
	}
	w := s.sim.step.World
	for t := s.end.Tick() - netcode.Tick(s.end.Steps()) + 1; t <= s.end.Tick(); t++ {
		for i := range s.rows {
			s.addSimulate(w, &s.rows[i])
		}
		s.simulated.refresh(w)
		for i := range s.rows {
			if s.rows[i].rounds {
				s.roundRows(i)
			}
		}
		if t == s.end.Tick() {
			s.listPredicted()
		}
		s.sim.run(t, true)
		s.keepMade(t)
	}
	s.judgeClaims()
	s.tellSystems()
}

// listPredicted lists, for each client, the predicted entities that may rest. It reads no session of a client without
// predicted entities, since that memory is rarely in a cache.
func (s *server) listPredicted() {
	clear(s.predictedByAny)
	clear(s.changed)
	if store := s.end.Store(); store.Tick()%restQuiet != 0 { // In each restQuiet-th tick every entity may rest: a change may be of a component that is not predicted.
		for id := range store.Changes {
			s.changed.set(id.Index)
		}
	}
	s.listed = s.listed[:0]
	if s.state.anyChosen {
		for client := range s.end.Clients {
			s.listChosen(client)
		}
	}
	for i := range s.simulated.list {
		s.listTable(&s.simulated.list[i])
	}
	s.state.listedClients = 0
	for _, r := range s.listed {
		r.order()
		s.state.listedClients |= 1 << (r.client % 64)
	}
}

// listFor marks an entity as predicted by a client. If the entity may rest, listFor adds it to the client's list.
func (s *server) listFor(client netcode.ClientID, id netcode.NetworkID, rests bool) {
	s.predictedByAny.set(id.Index)
	if !rests {
		return
	}
	if c := extend.OfServer(s.end).Session(client); c != nil {
		if state, ok := extend.ExtensionOf[*sessionState](c); ok {
			r := &state.resting
			if r.listed != s.end.Tick() {
				r.client, r.listed, r.entities = client, s.end.Tick(), r.entities[:0]
				s.listed = append(s.listed, r)
			}
			r.entities = append(r.entities, id)
		}
	}
}

// listTable lists the entities of a table for the clients that predict them.
func (s *server) listTable(t *table) {
	ids := replicatedRows(t.columns[replicatedColumn], t.rows)
	var owners []components.Owner
	if t.has>>ownerColumn&1 != 0 {
		owners = ownerRows(t.columns[ownerColumn], t.rows)
	}
	var predicted []components.Predicted
	if t.has>>predictedColumn&1 != 0 {
		predicted = predictedRows(t.columns[predictedColumn], t.rows)
	}
	for row := 0; row < t.rows && (owners != nil || predicted != nil); row++ {
		owner := netcode.ClientID(0)
		if owners != nil {
			owner = owners[row].Client
		}
		if owner == 0 && predicted == nil {
			continue
		}
		id := ids[row].ID
		if id.IsZero() {
			continue // The entity is new in this frame and has no network id before the next capture.
		}
		rests := !s.changed.has(id.Index)
		if owner != 0 {
			s.listFor(owner, id, rests)
		}
		if predicted == nil {
			continue
		}
		for client := range s.end.Clients {
			if client != owner && predicted[row].By(client) {
				s.listFor(client, id, rests)
			}
		}
	}
}

// bits64 is a set of network indexes.
type bits64 []uint64

func (b *bits64) set(index uint32) {
	for int(index>>6) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[index>>6] |= 1 << (index & 63)
}

func (b bits64) has(index uint32) bool {
	return int(index>>6) < len(b) && b[index>>6]>>(index&63)&1 != 0
}

// promptRows returns the predicted components of an entity that a client predicts. A Rate does not delay these rows,
// since the client compares each tick.
func (s *server) promptRows(id netcode.NetworkID) (rows snapshot.Mask) {
	if s.predictedByAny.has(id.Index) {
		return s.sim.all.mask
	}
	return rows
}

// addSimulate adds components.Simulate to the replicated entities with a predicted component.
func (s *server) addSimulate(w *netecs.World, r *serverRow) {
	if query := world.Open(w, &r.untaken); query.Next() {
		query.Close()
		world.AddAll(w, &r.untaken, s.sim.simulateID)
	}
}

// roundRows rounds the values of a component to the quantised values that are sent, so that clients continue from the same
// values. A value that cannot be sent stays as it is.
func (s *server) roundRows(i int) {
	for n := range s.simulated.list {
		if t := &s.simulated.list[n]; t.has>>(firstRow+i)&1 != 0 {
			plan := s.rows[i].plan
			s.lanes = slices.Grow(s.lanes[:0], t.rows*plan.Lanes())[:t.rows*plan.Lanes()]
			plan.SnapRows(s.simulated.bytes(t, firstRow+i, 0, t.rows), s.lanes, t.rows)
		}
	}
}
