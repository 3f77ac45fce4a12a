package authority

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// server is the feature's state on a server: the rights of its clients.
type server struct {
	*netcode.Server
	writers  *writers
	sessions []*session // Open sessions in order of connection.
	ask      func(client netcode.ClientID, entity netcode.NetworkID) bool
	stats    Stats
}

// session is the entities that one client may write.
type session struct {
	*netcode.Session
	held  []heldRight      // Entities that it may write now, or when it sees them.
	given []lostRight      // Rights that it lost recently.
	wrote []wire.NetworkID // Entities that it changed since the last capture.
	own   []wire.NetworkID // Scratch of beforeObserve.
}

// heldRight is the rows of an entity that a client was told it may write.
type heldRight struct {
	id   wire.NetworkID
	rows snapshot.Mask
}

// lostRight is rows of an entity that a client may no longer write. The client may not know yet.
type lostRight struct {
	heldRight
	at tick.Tick // Tick of the loss.
}

// Server implements netcode.ServerSide.
func (e ends) Server(of *netcode.Server) netcode.ServerHooks {
	s := &server{Server: of, writers: e.writers}
	return netcode.ServerHooks{
		State:  s,
		Opened: func(c *netcode.Session) any { return s.open(c) },
		Closed: func(c *netcode.Session) {
			s.sessions = slices.DeleteFunc(s.sessions, func(a *session) bool { return a.Session == c })
		},
		BeforeObserve: s.beforeObserve,
		BeforeSend:    s.tellRights,
	}
}

// open makes the state of a session.
func (s *server) open(c *netcode.Session) *session {
	a := &session{Session: c}
	if up := c.Upstream(); up != nil {
		up.Guard(func(id wire.NetworkID, rows snapshot.Mask) bool { return s.mayHaveWritten(a, id, rows) })
	}
	for id := range s.Store().All {
		if owns, named := s.rightTo(a, id); owns || named {
			a.hold(id)
		}
	}
	s.sessions = append(s.sessions, a)
	return a
}

// Grant names the client that may write the components of an entity with NamedWrites; 0 means only the server. It takes effect in
// the present tick, which it returns. From now on the server rejects values from the previous client. Both clients are told. ok
// is false if there is no such entity.
func Grant(s *netcode.Server, entity netcode.NetworkID, client netcode.ClientID) (from netcode.Tick, ok bool) {
	return s.Tick(), s.Store().SetNamed(entity, client)
}

// Granted returns the client that Grant named for an entity, 0 if there is none.
func Granted(s *netcode.Server, entity netcode.NetworkID) netcode.ClientID {
	return s.Store().Named(entity)
}

// OnAsk sets the function that decides when a client calls Ask for an entity that it may see. If it returns true, the client is
// named as by Grant. Without a function all requests are refused. The function may call Granted.
func OnAsk(s *netcode.Server, f func(client netcode.ClientID, entity netcode.NetworkID) bool) {
	if a, ok := netcode.ExtensionOf[*server](s); ok {
		a.ask = f
	}
}

// wished handles a client's wish.
func (s *server) wished(client netcode.ClientID, m *wish) {
	c := s.Session(client)
	switch {
	case m.GiveUp && c != nil && c.Connected() && s.Store().Named(m.Entity) == client: // Also for an entity that is no longer visible to the client.
		Grant(s.Server, m.Entity, 0)
	case !s.MayConcern(client, m.Entity) || m.GiveUp:
	case s.ask != nil && s.ask(client, m.Entity):
		Grant(s.Server, m.Entity, client)
	}
}

// hold lists an entity that a client might write.
func (a *session) hold(id wire.NetworkID) {
	for i := range a.held {
		if a.held[i].id == id {
			return
		}
	}
	a.held = append(a.held, heldRight{id: id})
}

// rightTo reports whether a client owns an entity, and whether it is named for it.
func (s *server) rightTo(c *session, id wire.NetworkID) (owns, named bool) {
	return s.Store().Owner(id) == c.ID(), s.Store().Named(id) == c.ID()
}

// mayHaveWritten validates a record of a client. The client must be allowed to write the entity and the rows, or have lost that
// right so recently that it may not know. This holds for a record without rows too, because it takes memory.
func (s *server) mayHaveWritten(c *session, id wire.NetworkID, rows snapshot.Mask) bool {
	owns, named := s.rightTo(c, id)
	may, known := s.writers.of(owns, named), owns || named
	for i := 0; i < len(c.held) && (!rows.Within(may) || !known); i++ {
		if c.held[i].id == id {
			may, known = may.Union(c.held[i].rows), true
		}
	}
	for i := 0; i < len(c.given) && (!rows.Within(may) || !known); i++ {
		if c.given[i].id == id {
			may, known = may.Union(c.given[i].rows), true
		}
	}
	return known && rows.Within(may)
}

// grace returns the number of ticks for which writes with a lost right are no protocol violation: the history window plus the
// connection timeout.
func (s *server) grace() tick.Tick {
	config := s.Config()
	return tick.Tick(config.Window) + tick.Tick(config.SilenceTimeout/s.Interval())
}

// rights returns the rows of an entity that a client may write now.
func (s *server) rights(c *session, id wire.NetworkID) snapshot.Mask {
	rows := s.writers.of(s.rightTo(c, id))
	if rows.IsZero() || !s.Store().Alive(id) || !c.View().Visible(id) {
		return snapshot.Mask{}
	}
	return rows
}

// Writes calls f for each row that clients have written and the server has not accepted yet. Rows of entities of Server.Spawn are
// stored without f. Writes is the gate: it accepts a row only if the client may write it now and may see the entity, and if its
// numbers are finite and in range. systems.Accept calls it. lanes are valid until f returns.
func Writes(s *netcode.Server, f func(client netcode.ClientID, entity netcode.NetworkID, row int, lanes []uint32)) {
	all, ok := netcode.ExtensionOf[*server](s)
	if !ok {
		return
	}
	for _, c := range all.sessions {
		up := c.Upstream()
		if up == nil || !c.Connected() {
			continue
		}
		for _, index := range up.Changed() {
			all.takeIn(c, up.Entity(index), f)
		}
		up.ClearChanged()
	}
}

// takeIn accepts the rows that a client wrote of one entity.
func (s *server) takeIn(c *session, e replica.Entity, f func(client netcode.ClientID, entity netcode.NetworkID, row int, lanes []uint32)) {
	if !e.Alive {
		return
	}
	rows := s.rights(c, e.ID)
	if !e.Mask.Within(rows) {
		s.stats.WritesLate++
	}
	rows = rows.Intersect(e.Mask.Intersect(s.Store().Mask(e.ID)))
	for row := range s.Protocol().Schema().Rows() {
		if !rows.Has(row) {
			continue
		}
		lanes := c.Upstream().Row(e.ID.Index, row)
		if !s.PutRow(e.ID, row, lanes) {
			f(c.ID(), e.ID, row, lanes)
		}
		s.stats.Writes++
		c.wrote = append(c.wrote, e.ID)
	}
}

// lately returns the rows of an entity that a client lost recently. When the client learns of the loss it restores the server's
// values, and needs for that the values that it wrote itself and the server accepted.
func (a *session) lately(id wire.NetworkID) (rows snapshot.Mask) {
	for i := range a.given {
		if a.given[i].id == id {
			rows = rows.Union(a.given[i].rows)
		}
	}
	return rows
}

// beforeObserve keeps a client's own writes from being sent back to it: the client's view observes the new capture without those
// entities.
func (s *server) beforeObserve(of *netcode.Session, view *snapshot.View) {
	c, ok := netcode.ExtensionOf[*session](of)
	if !ok || len(c.wrote) == 0 || !s.TickDue() || s.Store().Tick() != s.Tick() {
		return
	}
	own := c.wrote[:0]
	for _, id := range c.wrote {
		theirs := s.writers.of(s.rightTo(c, id))
		if changed := view.ChangedRows(id); !changed.IsZero() && changed.Within(theirs) && !c.lately(id).Overlaps(changed) {
			own = append(own, id)
		}
	}
	view.ObserveBut(own)
	c.wrote = c.wrote[:0]
}

// tellRights tells clients the changes of their rights.
func (s *server) tellRights() {
	if !s.TickDue() {
		return
	}
	for _, h := range s.Store().Handovers() {
		if c, ok := netcode.ExtensionOf[*session](s.Session(h.To)); ok && c.Connected() {
			c.hold(h.Entity)
		}
	}
	for _, c := range s.sessions {
		if c.Connected() && len(c.held)+len(c.given) > 0 {
			s.tellRightsTo(c)
		}
	}
}

// tellRightsTo tells one client the changes of its rights. A message without room is sent in the next tick.
func (s *server) tellRightsTo(c *session) {
	for len(c.given) > 0 && s.Tick()-c.given[0].at > s.grace() {
		c.given = slices.Delete(c.given, 0, 1)
	}
	kept := c.held[:0]
	for _, h := range c.held {
		rows := s.rights(c, h.id)
		if rows != h.rows {
			m := right{Entity: h.id, Rows: wordOf(rows, s.writers.numbered(c.SharedRows())), Tick: uint32(s.Tick())}
			if netcode.Send(s.Server, netcode.To(c.ID()), &m) == nil {
				if !h.rows.Within(rows) {
					c.View().Again(h.id)
					c.given = append(c.given, lostRight{heldRight{h.id, h.rows.Minus(rows)}, s.Tick()})
				}
				h.rows = rows
			}
		}
		if owns, named := s.rightTo(c, h.id); !h.rows.IsZero() || s.Store().Alive(h.id) && (owns || named) {
			kept = append(kept, h)
		}
	}
	c.held = kept
}
