package predict

import (
	"bytes"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/wire"
)

// server is the simulation at a server.
type server struct {
	*Simulation
	end  *netcode.Server
	rows []serverRow

	predicted ecs.ID
	simulated ecs.Mask // Entities of the simulation that are replicated.
}

// serverRow is one predicted component.
type serverRow struct {
	id      ecs.ID
	size    int
	plan    *quantize.Plan
	lanes   []uint32
	rounds  bool
	rounded []byte         // Values that were rounded last, in the order of the query.
	all     ecs.Mask       // Entities that are simulated and have it.
	untaken ecs.MaskFilter // Entities that are to be simulated and have it.
}

// learn looks up the components.
func (s *server) learn(w *ecs.World) {
	s.rows = s.rows[:0]
	s.predicted = ecs.ComponentID[components.Predicted](w)
	s.simulated = ecs.All(s.replicated, s.tagged)
	for _, r := range s.all.rows {
		id := ecs.TypeID(w, r.of)
		s.rows = append(s.rows, serverRow{
			id: id, size: int(r.of.Size()), plan: r.plan, lanes: make([]uint32, r.plan.Lanes()),
			rounds:  !r.unrounded && !r.plan.Plain() && r.plan.Lanes() > 0,
			all:     ecs.All(s.tagged, id),
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
	s.listPredicted(w)
	for t := s.end.Tick() - netcode.Tick(s.end.Steps()) + 1; t <= s.end.Tick(); t++ {
		for i := range s.rows {
			s.take(w, &s.rows[i])
		}
		for i := range s.rows {
			if s.rows[i].rounds {
				s.rows[i].round(w)
			}
		}
		s.run(t, true)
	}
}

// listPredicted lists for each client the entities that it predicts.
func (s *server) listPredicted(w *ecs.World) {
	for client := range s.end.Clients {
		if r, ok := netcode.ExtensionOf[*resting](s.end.Session(client)); ok {
			r.begin(s.end.Store())
		}
	}
	query := w.Query(&s.simulated)
	for query.Next() {
		id := (*components.Replicated)(query.Get(s.replicated)).ID
		if id.IsZero() {
			continue
		}
		owner, all := netcode.ClientID(0), false
		if query.Has(s.owner) {
			owner = (*components.Owner)(query.Get(s.owner)).Client
		}
		if query.Has(s.predicted) {
			to := (*components.Predicted)(query.Get(s.predicted)).Client
			all = to == 0
			if to != 0 && to != owner {
				s.tellRest(to, id)
			}
		}
		if all {
			for client := range s.end.Clients {
				if client != owner {
					s.tellRest(client, id)
				}
			}
		}
		if owner != 0 {
			s.tellRest(owner, id)
		}
	}
	for client := range s.end.Clients {
		if r, ok := netcode.ExtensionOf[*resting](s.end.Session(client)); ok {
			r.order()
		}
	}
}

// tellRest adds an entity to those that a client predicts.
func (s *server) tellRest(client netcode.ClientID, id netcode.NetworkID) {
	if c := s.end.Session(client); c != nil {
		if r, ok := netcode.ExtensionOf[*resting](c); ok {
			r.ids = append(r.ids, id)
		}
	}
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
func (r *serverRow) round(w *ecs.World) {
	query := w.Query(&r.all)
	if need := query.Count() * r.size; len(r.rounded) < need {
		r.rounded = append(r.rounded, make([]byte, 2*need-len(r.rounded))...)
	}
	for at := 0; query.Next(); at += r.size {
		p := query.Get(r.id)
		now, before := bytesAt(byteAt(p), r.size), r.rounded[at:at+r.size]
		if bytes.Equal(now, before) {
			continue
		}
		if fault := r.plan.Quantise(p, r.lanes); fault.Reason == wire.NoFault {
			r.plan.Dequantise(r.lanes, p)
			copy(before, now)
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
