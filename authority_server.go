package netcode

import (
	"errors"
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// authority is what the server knows about what one client writes.
type authority struct {
	theirs  *snapshot.Replica // What the client says; nil where clients write nothing.
	held    []heldRight       // Entities that it may write, or might when it sees them, in the order in which they came.
	given   []lostRight       // What was its own until lately.
	wrote   []wire.NetworkID  // What it has changed since the last capture.
	strikes int
}

// heldRight is which rows of an entity a client was told to be its own.
type heldRight struct {
	id   wire.NetworkID
	rows snapshot.Mask
}

// lostRight is which rows of an entity were a client's own: it may not know yet that they are not.
type lostRight struct {
	heldRight
	at tick.Tick // Since when they are not.
}

// setUpAuthority begins what a client writes.
func (s *Server) setUpAuthority(c *Session) {
	if !s.protocol.writers.any() {
		return
	}
	c.theirs = snapshot.NewReplica(s.protocol.schema, s.config.snapshot(), s.Tick())
	c.theirs.Guard(func(id wire.NetworkID, rows snapshot.Mask) bool { return s.mayHaveWritten(c, id, rows) })
	for id := range s.store.All {
		if s.store.Owner(id) == c.id || s.store.Named(id) == c.id {
			c.hold(id)
		}
	}
}

// hold remembers an entity that a client might write.
func (a *authority) hold(id wire.NetworkID) {
	for i := range a.held {
		if a.held[i].id == id {
			return
		}
	}
	a.held = append(a.held, heldRight{id: id})
}

// mayHaveWritten judges a record of a client's: whether the entity is one of those that it may write and these are rows that
// it may, or might until so lately that it could not know better. A record without rows says nothing, but takes memory: it too
// must be about such an entity.
func (s *Server) mayHaveWritten(c *Session, id wire.NetworkID, rows snapshot.Mask) bool {
	owner, named := s.store.Owner(id) == c.id, s.store.Named(id) == c.id
	may, known := s.protocol.writers.of(owner, named), owner || named
	for i := 0; i < len(c.held) && (rows&^may != 0 || !known); i++ {
		if c.held[i].id == id {
			may, known = may|c.held[i].rows, true
		}
	}
	for i := 0; i < len(c.given) && (rows&^may != 0 || !known); i++ {
		if c.given[i].id == id {
			may, known = may|c.given[i].rows, true
		}
	}
	return known && rows&^may == 0
}

// grace is how many ticks a client is forgiven for writing what it has lost: W, and as long as it may have heard nothing
// without its connection ending.
func (s *Server) grace() tick.Tick {
	return tick.Tick(s.config.Window) + tick.Tick(s.config.SilenceTimeout/s.config.interval())
}

// rights is what a client may write of an entity now.
func (s *Server) rights(c *Session, id wire.NetworkID) snapshot.Mask {
	rows := s.protocol.writers.of(s.store.Owner(id) == c.id, s.store.Named(id) == c.id)
	if rows == 0 || !s.sees(c, id) {
		return 0
	}
	return rows
}

// readWrites says whether a packet may be acknowledged: the client's snapshot was decoded whole.
func (s *Server) readWrites(c *Session, payload []byte) bool {
	err := c.theirs.Read(payload)
	switch {
	case err == nil:
		return true
	case errors.Is(err, snapshot.ErrGuarded):
		s.strike(c)
	case errors.Is(err, snapshot.ErrStale):
		s.stats.StaleSnapshots++
	case errors.Is(err, snapshot.ErrBaseline):
		s.stats.LostBaselines++
	default:
		s.refusePacket(c, closeError(err))
	}
	return false
}

// Writes hands out what clients have written and nobody has taken in yet, row by row; what is of entities of Spawn it takes
// in itself. It is the gate: a row comes from the client that may write it now and that may see the entity, and its
// numbers are finite and in range. systems.Accept calls it. lanes are good until f returns.
func (s *Server) Writes(f func(client ClientID, entity NetworkID, row int, lanes []uint32)) {
	if !s.protocol.writers.any() {
		return
	}
	for _, c := range s.sessions {
		if c.state != connected || c.theirs == nil {
			continue
		}
		for _, index := range c.theirs.Changed() {
			s.accept1(c, c.theirs.Entity(index), f)
		}
		c.theirs.ClearChanged()
	}
}

// accept1 takes in what a client wrote on one entity.
func (s *Server) accept1(c *Session, e snapshot.Entity, f func(client ClientID, entity NetworkID, row int, lanes []uint32)) {
	if !e.Alive {
		return
	}
	rows := s.rights(c, e.ID)
	if e.Mask&^rows != 0 {
		s.stats.WritesLate++
	}
	for row := range s.protocol.schema.Rows() {
		if !(e.Mask & rows & s.store.Mask(e.ID)).Has(row) {
			continue
		}
		lanes := c.theirs.Row(e.ID.Index, row)
		if s.worldless.Has(e.ID) {
			s.worldless.Put(e.ID, row, lanes)
		} else {
			f(c.id, e.ID, row, lanes)
		}
		s.stats.Writes++
		c.wrote = append(c.wrote, e.ID)
	}
}

// lately is which rows of an entity were a client's own and were not for a while, of which it may not have heard yet. When it
// does it puts back what the server had, and then has to get what it wrote before that and the server took.
func (a *authority) lately(id wire.NetworkID) (rows snapshot.Mask) {
	for i := range a.given {
		if a.given[i].id == id {
			rows |= a.given[i].rows
		}
	}
	return rows
}

// leaveOutAuthors keeps what clients wrote from being sent back to them, when the world of this tick is known.
func (s *Server) leaveOutAuthors() {
	for _, c := range s.sessions {
		if c.state == connected {
			s.leaveOutAuthor(c)
		}
	}
}

func (s *Server) leaveOutAuthor(c *Session) {
	if len(c.wrote) == 0 || !s.frame.due || s.store.Tick() != s.Tick() {
		return
	}
	own := c.wrote[:0]
	for _, id := range c.wrote {
		theirs := s.protocol.writers.of(s.store.Owner(id) == c.id, s.store.Named(id) == c.id)
		if changed := c.view.ChangedRows(id); changed != 0 && changed&^theirs == 0 && c.lately(id)&changed == 0 {
			own = append(own, id)
		}
	}
	c.view.ObserveBut(own)
	c.wrote = c.wrote[:0]
}

// observe has a client's view take in the newest capture: whoever asks it first, or changes what it sees, the client is not sent
// back what it wrote.
func (s *Server) observe(c *Session) {
	s.leaveOutAuthor(c)
	c.view.Observe()
}

// tellRights tells clients what has become, or is no longer, theirs to write. Where clients write nothing it drops the list of
// the store, which would grow else.
func (s *Server) tellRights() {
	if !s.frame.due {
		return
	}
	if !s.protocol.writers.any() {
		s.store.ClearHandovers()
		return
	}
	for _, h := range s.store.Handovers() {
		if c := s.client(h.To); c != nil {
			c.hold(h.Entity)
		}
	}
	s.store.ClearHandovers()
	for _, c := range s.sessions {
		if c.state == connected && len(c.held)+len(c.given) > 0 {
			s.tellRightsTo(c)
		}
	}
}

// tellRightsTo tells one client.
func (s *Server) tellRightsTo(c *Session) {
	for len(c.given) > 0 && s.Tick()-c.given[0].at > s.grace() {
		c.given = slices.Delete(c.given, 0, 1)
	}
	kept := c.held[:0]
	for _, h := range c.held {
		rows := s.rights(c, h.id)
		if rows != h.rows {
			m := right{Entity: h.id, Rows: uint64(rows), Tick: uint32(s.Tick())}
			if Send(s, To(c.id), &m) == nil { // Else again in the next tick.
				if h.rows&^rows != 0 {
					c.view.Again(h.id)
					c.given = append(c.given, lostRight{heldRight{h.id, h.rows &^ rows}, s.Tick()})
				}
				h.rows = rows
			}
		}
		if h.rows != 0 || s.store.Alive(h.id) && (s.store.Owner(h.id) == c.id || s.store.Named(h.id) == c.id) {
			kept = append(kept, h)
		}
	}
	c.held = kept
}

// askResync asks a client for everything that it writes anew, if what it said was lost here.
func (s *Server) askResync(c *Session) {
	if epoch, want := c.theirs.WantResync(); want {
		c.sendResync(epoch)
	}
}

// sendResync sends a packet that asks for a resync.
func (l *link) sendResync(epoch uint16) {
	if l.budget.Spent() {
		l.stats.BudgetSpent++
		return
	}
	if b, ok := l.beginPacket(); ok {
		putResync(b.Payload(), epoch)
		b.Add(wire.MessageResync, tick.Initialization, resyncSize)
		l.load(&b, false)
		l.finish(&b)
	}
}
