package predict

import (
	"reflect"
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
)

// server is the simulation at a server.
type server struct {
	*Simulation
	end    *netcode.Server
	state  *simulated
	find   func(netcode.NetworkID) (ecs.Entity, bool)
	rows   []serverRow
	locals []ecs.ID

	predicted ecs.ID
	simulated tables     // Entities of the simulation that are replicated: Replicated, Owner, Predicted, and then the rows.
	prompt    bits64     // By network index: a client predicts the entity.
	changed   bits64     // By network index: the last tick changed something, so that the entity hardly rests. Its view is not asked.
	told      []*resting // To whom there may be something to tell.
	lanes     []uint32   // Scratch.
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
	untaken ecs.MaskFilter // Entities that are to be simulated and have it.
}

func newServer(s *Simulation, g *systems.ServerSystems) *server {
	n := &server{Simulation: s, end: g.Server, find: g.Entity}
	g.Capture.Prompt = n.promptRows
	return n
}

// learn looks up the components.
func (s *server) learn(w *ecs.World) {
	s.rows, s.locals = s.rows[:0], s.locals[:0]
	for i := range s.all.local {
		s.locals = append(s.locals, ecs.TypeID(w, s.all.local[i].of))
	}
	s.predicted = ecs.ComponentID[components.Predicted](w)
	s.simulated = newTables(w, ecs.All(s.replicated, s.tagged))
	s.simulated.column(s.replicated, int(reflect.TypeFor[components.Replicated]().Size()))
	s.simulated.column(s.owner, int(reflect.TypeFor[components.Owner]().Size()))
	s.simulated.column(s.predicted, int(reflect.TypeFor[components.Predicted]().Size()))
	for _, r := range s.all.rows {
		id := ecs.TypeID(w, r.of)
		s.simulated.column(id, int(r.of.Size()))
		s.rows = append(s.rows, serverRow{
			plan:    r.plan,
			rounds:  !r.unrounded && !r.plan.Plain() && r.plan.Lanes() > 0,
			untaken: ecs.All(s.replicated, id).Without(s.tagged),
		})
	}
}

// update takes the steps of a frame.
func (s *server) update() {
	if !s.end.TickDue() {
		return
	}
	w := s.step.World
	for t := s.end.Tick() - netcode.Tick(s.end.Steps()) + 1; t <= s.end.Tick(); t++ {
		for i := range s.rows {
			s.take(w, &s.rows[i])
		}
		s.simulated.look(w)
		for i := range s.rows {
			if s.rows[i].rounds {
				s.round(i)
			}
		}
		if t == s.end.Tick() {
			s.listPredicted()
		}
		s.run(t, true)
	}
}

// listPredicted lists for each client the entities that it predicts, and that may rest. It looks at no session without one: their state is
// in no near cache.
func (s *server) listPredicted() {
	clear(s.prompt)
	clear(s.changed)
	if store := s.end.Store(); store.Tick()%restQuiet != 0 { // An entity may rest though components change that are not predicted.
		for id := range store.Changes {
			s.changed.set(id.Index)
		}
	}
	s.told = s.told[:0]
	if s.state.chose {
		for client := range s.end.Clients {
			s.listChosen(client)
		}
	}
	for i := range s.simulated.list {
		s.listTable(&s.simulated.list[i])
	}
	s.state.telling = 0
	for _, r := range s.told {
		r.order()
		s.state.telling |= 1 << (r.client % 64)
	}
}

// listChosen lists the entities that a client chose and is shown. A choice changes what all clients are sent of an entity (promptRows), so one of a
// hidden entity counts for nothing.
func (s *server) listChosen(client netcode.ClientID) {
	session := s.end.Session(client)
	if r, ok := netcode.ExtensionOf[*resting](session); ok && len(r.also) > 0 {
		r.forget(s.end.Store())
		view := session.View()
		for _, id := range r.also {
			if view != nil && view.Visible(id) {
				s.tell(client, id, true)
			}
		}
	}
}

// tell notes an entity that a client predicts, for what it is told.
func (s *server) tell(client netcode.ClientID, id netcode.NetworkID, rests bool) {
	s.prompt.set(id.Index)
	if !rests {
		return
	}
	if c := s.end.Session(client); c != nil {
		if r, ok := netcode.ExtensionOf[*resting](c); ok {
			if r.listed != s.end.Tick() {
				r.client, r.listed, r.ids = client, s.end.Tick(), r.ids[:0]
				s.told = append(s.told, r)
			}
			r.ids = append(r.ids, id)
		}
	}
}

// listTable lists the entities of a table for those who predict them.
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
			continue // It came in this frame, and no capture has seen it.
		}
		rests := !s.changed.has(id.Index)
		if owner != 0 {
			s.tell(owner, id, rests)
		}
		if predicted == nil {
			continue
		}
		for client := range s.end.Clients {
			if client != owner && predicted[row].By(client) {
				s.tell(client, id, rests)
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

// promptRows is the predicted components of an entity that a client predicts: a Rate does not delay them, since the client compares each
// tick.
func (s *server) promptRows(id netcode.NetworkID) (rows snapshot.Mask) {
	if s.prompt.has(id.Index) {
		return s.all.mask
	}
	return rows
}

// take makes the entities that are replicated and have a predicted component part of the simulation.
func (s *server) take(w *ecs.World, r *serverRow) {
	query := w.Query(&r.untaken)
	count := query.Count()
	query.Close()
	if count > 0 {
		w.Batch().Add(&r.untaken, s.tagged)
	}
}

// round makes the values of a component those that travel: what clients have, and continue from, is what is there. One that cannot be sent
// stays as it is.
func (s *server) round(i int) {
	for n := range s.simulated.list {
		if t := &s.simulated.list[n]; t.has>>(firstRow+i)&1 != 0 {
			plan := s.rows[i].plan
			s.lanes = slices.Grow(s.lanes[:0], t.rows*plan.Lanes())[:t.rows*plan.Lanes()]
			plan.SnapRows(s.simulated.bytes(t, firstRow+i, 0, t.rows), s.lanes, t.rows)
		}
	}
}

// spawn makes an entity that a step spawns.
func (s *server) spawn(owner netcode.ClientID, origin components.SpawnOf) ecs.Entity {
	w := s.step.World
	e := w.NewEntity(s.replicated, s.owner, s.spawnOf, s.tagged)
	if c := s.end.Session(owner); c != nil {
		if r, ok := netcode.ExtensionOf[*resting](c); ok {
			r.settled(c, w, s.replicated)
			r.spawns = append(r.spawns, e)
		}
	}
	ownerAt(w, e, s.owner).Client = owner
	*spawnOfAt(w, e, s.spawnOf) = origin
	return e
}
