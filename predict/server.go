package predict

import (
	"bytes"
	"math/bits"
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
	find   func(netcode.NetworkID) (ecs.Entity, bool)
	rows   []serverRow
	locals []ecs.ID

	predicted ecs.ID
	simulated tables  // Entities of the simulation that are replicated: Replicated, Owner, Predicted, and then the rows.
	prompt    bits64  // By network index: a client predicts the entity.
	moved     bits64  // By network index: the last step changed a component that is rounded.
	differing []int32 // Scratch: rows of a table.
	bad       []int32 // Scratch: places in differing.
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
	id      ecs.ID
	size    int
	plan    *quantize.Plan
	lanes   []uint32      // Scratch.
	compare quantize.Rows // Rows of its size.
	rounds  bool
	rounded [][]byte       // By table: values that were rounded last.
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
		id, size := ecs.TypeID(w, r.of), int(r.of.Size())
		s.simulated.column(id, size)
		s.rows = append(s.rows, serverRow{
			id: id, size: size, plan: r.plan, compare: quantize.NewRows(size),
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
		clear(s.moved)
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

// listPredicted lists for each client the entities that it predicts.
func (s *server) listPredicted() {
	clear(s.prompt)
	for client := range s.end.Clients {
		session := s.end.Session(client)
		if r, ok := netcode.ExtensionOf[*resting](session); ok {
			r.begin(s.end.Store(), session)
			for _, id := range r.ids {
				s.prompt.set(id.Index)
			}
		}
	}
	for i := range s.simulated.list {
		s.listTable(&s.simulated.list[i])
	}
	for client := range s.end.Clients {
		if r, ok := netcode.ExtensionOf[*resting](s.end.Session(client)); ok {
			r.order()
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
		if ids[row].ID.IsZero() {
			continue // It came in this frame, and no capture has seen it.
		}
		if owners != nil {
			if owner = owners[row].Client; owner != 0 {
				s.tellRest(owner, ids[row].ID)
			}
		}
		if predicted == nil {
			continue
		}
		for client := range s.end.Clients {
			if client != owner && predicted[row].By(client) {
				s.tellRest(client, ids[row].ID)
			}
		}
	}
}

// tellRest adds an entity to those that a client predicts, unless it moves: it does not rest.
func (s *server) tellRest(client netcode.ClientID, id netcode.NetworkID) {
	s.prompt.set(id.Index)
	if s.moved.has(id.Index) {
		return
	}
	if c := s.end.Session(client); c != nil {
		if r, ok := netcode.ExtensionOf[*resting](c); ok {
			r.ids = append(r.ids, id)
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

// round makes the values of a component those that travel: what clients have, and continue from, is what is there. Most values
// are as they were after the last call, and round already.
func (s *server) round(i int) {
	r := &s.rows[i]
	for len(r.rounded) < len(s.simulated.list) {
		r.rounded = append(r.rounded, nil)
	}
	for n := range s.simulated.list {
		t := &s.simulated.list[n]
		if t.has>>(firstRow+i)&1 == 0 {
			continue
		}
		now, before := s.simulated.bytes(t, firstRow+i, 0, t.rows), r.rounded[n]
		known := min(len(before), len(now)) / r.size
		if len(before) < len(now) {
			before = append(before, now[len(before):]...)
			r.rounded[n] = before
		}
		s.differing = r.differ(now, before, known, s.differing[:0])
		for row := known; row < t.rows; row++ {
			s.differing = append(s.differing, int32(row))
		}
		s.roundRows(r, replicatedRows(t.columns[replicatedColumn], t.rows), now, before)
	}
}

// differ appends the rows, of so many, that are not as they were.
func (r *serverRow) differ(now, before []byte, rows int, list []int32) []int32 {
	for from := 0; from < rows; from += 64 {
		count := min(64, rows-from)
		set := r.compare.Differing(now[from*r.size:(from+count)*r.size], before[from*r.size:(from+count)*r.size], count)
		for ; set != 0; set &= set - 1 {
			list = append(list, int32(from+bits.TrailingZeros64(set)))
		}
	}
	return list
}

// roundRows rounds the rows of a column that differ, and notes their values. One that cannot travel stays as it is, and is looked at again.
// An entity whose rounded value is as before has not moved, though its systems tried.
func (s *server) roundRows(r *serverRow, ids []components.Replicated, now, before []byte) {
	if len(s.differing) == 0 {
		return
	}
	width := r.plan.Lanes()
	r.lanes = append(r.lanes[:0], make([]uint32, len(s.differing)*width)...)
	s.bad = r.plan.QuantiseRows(&now[0], r.size, s.differing, r.lanes, s.bad[:0])
	slices.Sort(s.bad)
	bad := s.bad
	for k, row := range s.differing {
		if len(bad) > 0 && int(bad[0]) == k {
			for len(bad) > 0 && int(bad[0]) == k {
				bad = bad[1:]
			}
			before[int(row)*r.size] = ^now[int(row)*r.size]
			continue
		}
		value := now[int(row)*r.size:][:r.size]
		r.plan.Dequantise(r.lanes[k*width:][:width], pointerTo(value))
		if rounded := before[int(row)*r.size:][:r.size]; !bytes.Equal(rounded, value) {
			s.moved.set(ids[row].ID.Index)
			copy(rounded, value)
		}
	}
}

// spawn makes an entity that a step spawns.
func (s *server) spawn(owner netcode.ClientID, origin components.SpawnOf) ecs.Entity {
	w := s.step.World
	e := w.NewEntity(s.replicated, s.owner, s.spawnOf, s.tagged)
	ownerAt(w, e, s.owner).Client = owner
	*spawnOfAt(w, e, s.spawnOf) = origin
	return e
}
