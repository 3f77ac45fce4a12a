package authority

import (
	"cmp"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
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

	seen    int                   // The number of Handovers that were looked at.
	checked tick.Tick             // The newest capture that noteWrites looked at.
	again   []quantize.Conversion // By row: what the server stores of a value that came. Made when needed.
	lanes   []uint32              // Scratch of again.
}

// session is the entities that one client may write.
type session struct {
	extend.Session
	heldRights
	wrote []wire.NetworkID // Entities that it changed since the last capture.
	own   []wire.NetworkID // Scratch of beforeObserve.
	due   []int32          // Scratch of tellRightsTo.

	asks   int       // The number of requests in
	asksAt tick.Tick // this tick.
}

// Server implements extend.ServerSide.
func (e ends) Server(with extend.Server) extend.ServerHooks {
	of := netcode.ServerOf(with)
	s := &server{Server: of, writers: e.writers}
	return extend.ServerHooks{
		State:  s,
		Opened: func(c extend.Session) any { return s.open(c) },
		Closed: func(c extend.Session) {
			s.sessions = slices.DeleteFunc(s.sessions, func(a *session) bool { return a.Session == c })
		},
		Captured:      s.noteWrites,
		BeforeObserve: s.beforeObserve,
		BeforeSend:    s.tellRights,
	}
}

// open makes the state of a session.
func (s *server) open(c extend.Session) *session {
	a := &session{Session: c, heldRights: heldRights{newest: map[uint32]int32{}}}
	if up := c.Upstream(); up != nil {
		up.Guard(a.mayHaveWritten)
	}
	for id := range s.Store().All {
		if owns, named := s.rightTo(a, id); owns || named {
			a.hold(id)
		}
	}
	s.sessions = append(s.sessions, a)
	return a
}

// sessionOf returns the state of a connected client, or nil.
func (s *server) sessionOf(client netcode.ClientID) *session {
	if c, ok := extend.ExtensionOf[*session](extend.OfServer(s).Session(client)); ok && c.Connected() {
		return c
	}
	return nil
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

// Correct makes the server's values of an entity count, in all components that a client may write: after a respawn, a teleport or a
// knock-back. Call it in the frame in which the game writes them, before or after. The client keeps its right. It gets the server's
// values as of the next network tick, and writes on from there. The server refuses what it wrote before, even if that arrives later.
// ok is false if there is no such entity.
func Correct(s *netcode.Server, entity netcode.NetworkID) (ok bool) {
	a, is := extend.ExtensionOf[*server](s)
	if is && s.Store().Alive(entity) {
		for _, client := range [...]netcode.ClientID{s.Store().Owner(entity), s.Store().Named(entity)} {
			if c := a.sessionOf(client); c != nil {
				if h := c.find(entity); h != nil {
					h.anew = h.told
				}
			}
		}
	}
	return s.Has(entity)
}

// OnAsk sets the function that decides when a client calls Ask for an entity that it may see. If it returns true, the client is
// named as by Grant. Without a function all requests are refused. The function may call Granted. It is called for at most 256 requests
// of a client and tick; the others are refused.
func OnAsk(s *netcode.Server, f func(client netcode.ClientID, entity netcode.NetworkID) bool) {
	if a, ok := extend.ExtensionOf[*server](s); ok {
		a.ask = f
	}
}

// maxAsks is the number of requests of a client and tick that are looked at.
const maxAsks = 256

// wished handles a client's wish.
func (s *server) wished(client netcode.ClientID, m *wish) {
	c := s.sessionOf(client)
	switch {
	case c == nil:
	case m.GiveUp:
		s.giveUp(c, m)
	case !c.mayAsk(s.Tick()):
		s.stats.AsksDropped++
	case extend.OfServer(s).MayConcern(client, m.Entity) && s.ask != nil && s.ask(client, m.Entity):
		Grant(s.Server, m.Entity, client)
		s.catchUp()
		if h := c.find(m.Entity); h != nil {
			h.granted = 0
		}
	}
}

// mayAsk counts a request.
func (c *session) mayAsk(now tick.Tick) bool {
	if c.asksAt != now {
		c.asks, c.asksAt = 0, now
	}
	c.asks++
	return c.asks <= maxAsks
}

// giveUp takes the name of a client from an entity, also if that is no longer visible to the client. A right that the game granted after
// the one that is given up stays.
func (s *server) giveUp(c *session, m *wish) {
	if s.Store().Named(m.Entity) != c.ID() {
		if m.Number == 0 {
			extend.OfServer(s).MayConcern(c.ID(), m.Entity) // It counts.
		}
		return
	}
	s.catchUp()
	if h := c.find(m.Entity); h == nil || m.Number >= h.granted || c.Local() {
		Grant(s.Server, m.Entity, 0)
	}
}

// catchUp looks at the changes of owners and named clients since the last call. Whatever decides about a write or a wish calls it
// first: a right that was taken and given back is another right.
func (s *server) catchUp() {
	all := s.Store().Handovers()
	for _, h := range all[min(s.seen, len(all)):] {
		c := s.sessionOf(h.To)
		if c == nil {
			continue
		}
		r := c.hold(h.Entity)
		r.anew = r.anew.Union(r.told.Intersect(s.writers.of(!h.Named, h.Named)))
		if h.Named {
			r.granted = notTold
		}
	}
	s.seen = len(all)
}

// rightTo reports whether a client owns an entity, and whether it is named for it.
func (s *server) rightTo(c *session, id wire.NetworkID) (owns, named bool) {
	return s.Store().Owner(id) == c.ID(), s.Store().Named(id) == c.ID()
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
// numbers are finite and in range. lanes are valid until f returns.
func Writes(s *netcode.Server, f func(client netcode.ClientID, entity netcode.NetworkID, row int, lanes []uint32)) {
	WritesTo(s, nil, f)
}

// WritesTo is Writes for a world that the game writes too. read overwrites lanes with the present value of a component, and returns
// false if the entity lacks it. A component that the game wrote since the last capture keeps the game's value, and the client is
// corrected. systems.Accept calls it.
func WritesTo(s *netcode.Server, read func(entity netcode.NetworkID, row int, lanes []uint32) bool, f func(client netcode.ClientID, entity netcode.NetworkID, row int, lanes []uint32)) {
	all, ok := extend.ExtensionOf[*server](s)
	if !ok {
		return
	}
	all.catchUp()
	for _, c := range all.sessions {
		up := c.Upstream()
		if up == nil || !c.Connected() {
			continue
		}
		for _, index := range up.Changed() {
			e := up.Entity(index)
			if h := c.under(e.ID); e.Alive && h != nil {
				all.takeIn(c, h, &e, read, f)
			}
		}
		up.ClearChanged()
	}
}

// takeIn accepts the rows that a client wrote of one entity. In its records the number of the right stands in place of the
// generation.
func (s *server) takeIn(c *session, h *heldRight, e *replica.Entity, read func(netcode.NetworkID, int, []uint32) bool, f func(netcode.ClientID, netcode.NetworkID, int, []uint32)) {
	rows := s.rights(c, h.id).Intersect(h.told).Minus(h.anew)
	for m := rows.Intersect(e.Mask); !m.IsZero(); m = m.Rest() {
		if row := m.Lowest(); h.since[s.writers.place[row]] > e.ID.Generation || read != nil && s.gameWrote(h, row, read) {
			rows = rows.Without(row)
		}
	}
	if !e.Mask.Within(rows) {
		s.stats.WritesLate++
	}
	for rows = rows.Intersect(e.Mask.Intersect(s.Store().Mask(h.id))); !rows.IsZero(); rows = rows.Rest() {
		row := rows.Lowest()
		lanes := c.Upstream().Row(e.ID.Index, row)
		accepted := &h.accepted[s.writers.place[row]]
		if *accepted = append((*accepted)[:0], lanes...); !extend.OfServer(s).PutRow(h.id, row, lanes) {
			*accepted = append((*accepted)[:0], s.stored(row, lanes)...)
			f(c.ID(), h.id, row, lanes)
		}
		s.stats.Writes++
		if !h.listed {
			c.wrote, h.listed = append(c.wrote, h.id), true
		}
	}
}

// gameWrote reports whether the world has another value of a row than the one that was captured or accepted last. The row is then to be
// told anew.
func (s *server) gameWrote(h *heldRight, row int, read func(netcode.NetworkID, int, []uint32) bool) bool {
	captured, accepted := s.Store().Row(h.id, row), h.accepted[s.writers.place[row]]
	s.lanes = append(s.lanes[:0], captured...)
	if captured == nil || !read(h.id, row, s.lanes) || slices.Equal(s.lanes, captured) || slices.Equal(s.lanes, accepted) {
		return false
	}
	h.anew, h.wrote = h.anew.With(row), h.wrote.With(row)
	return true
}

// noteWrites finds the rows that the server's game wrote although a client has the right to them, in a new capture. The client's
// right begins anew, or the client would keep its own value for ever.
func (s *server) noteWrites() {
	if s.checked == s.Store().Tick() {
		return
	}
	s.checked = s.Store().Tick()
	s.catchUp()
	for _, c := range s.sessions {
		if c.Upstream() == nil || !c.Connected() {
			continue
		}
		for i := range c.list {
			h := &c.list[i]
			if h.told.IsZero() || !s.Store().Alive(h.id) {
				continue
			}
			theirs := h.told.Minus(h.anew).Intersect(s.writers.of(s.rightTo(c, h.id)))
			for m := s.Store().ChangedRows(h.id).Intersect(theirs); !m.IsZero(); m = m.Rest() {
				if row := m.Lowest(); !slices.Equal(s.Store().Row(h.id, row), h.accepted[s.writers.place[row]]) && !s.isNewest(c, h, row) {
					h.anew, h.wrote = h.anew.With(row), h.wrote.With(row)
				}
			}
		}
	}
}

// isNewest reports whether the store has a row as the client wrote it last: code without a world stores it as it came.
func (s *server) isNewest(c *session, h *heldRight, row int) bool {
	e := c.Upstream().Entity(h.id.Index)
	return e.Alive && e.ID.Generation >= h.since[s.writers.place[row]] && slices.Equal(s.Store().Row(h.id, row), c.Upstream().Row(h.id.Index, row))
}

// stored returns the lanes that the server's capture makes of a value that came.
func (s *server) stored(row int, lanes []uint32) []uint32 {
	if s.again == nil {
		for row := range s.Protocol().Schema().Rows() {
			s.again = append(s.again, quantize.NewConversion(s.Protocol().Schema().Plan(row), s.Protocol().Schema().Plan(row)))
		}
	}
	s.lanes = append(s.lanes[:0], lanes...)
	s.again[row].Row(lanes, s.lanes)
	return s.lanes
}

// beforeObserve keeps a client's own writes from being sent back to it: the client's view observes the new capture without those
// entities.
func (s *server) beforeObserve(of extend.Session, view *snapshot.View) {
	c, ok := extend.ExtensionOf[*session](of)
	if !ok || len(c.wrote) == 0 || !s.TickDue() || s.Store().Tick() != s.Tick() {
		return
	}
	s.noteWrites()
	c.own = c.own[:0]
	for _, id := range c.wrote {
		h := c.find(id)
		if h == nil {
			continue
		}
		h.listed = false
		theirs := s.writers.of(s.rightTo(c, id)).Intersect(h.told).Minus(h.anew)
		if changed := view.ChangedRows(id); !changed.IsZero() && changed.Within(theirs) {
			c.own = append(c.own, id)
		}
	}
	view.ObserveBut(c.own)
	c.wrote = c.wrote[:0]
}

// tellRights tells clients the changes of their rights, on a network tick: before the packets of that tick, or later if the queue
// of reliable messages is full.
func (s *server) tellRights() {
	if !s.TickDue() {
		return
	}
	s.catchUp()
	s.seen = 0 // The store forgets them now.
	for _, c := range s.sessions {
		if c.Connected() && len(c.list) > 0 {
			s.tellRightsTo(c)
		}
	}
}

// tellRightsTo tells one client the changes of its rights, in the order of the ids: places in the list depend on hidden entities too.
func (s *server) tellRightsTo(c *session) {
	c.due = c.due[:0]
	for i := range c.list {
		h := &c.list[i]
		if h.id.Generation == 0 {
			continue
		}
		if rows := s.rights(c, h.id); rows != h.told || !h.anew.Intersect(rows).IsZero() && !c.Local() {
			c.due = append(c.due, int32(i))
		} else {
			h.anew = snapshot.Mask{}
			s.dropRight(c, int32(i))
		}
	}
	slices.SortFunc(c.due, func(a, b int32) int {
		x, y := c.list[a].id, c.list[b].id
		return cmp.Or(cmp.Compare(x.Index, y.Index), cmp.Compare(x.Generation, y.Generation))
	})
	for _, i := range c.due {
		h := &c.list[i]
		s.tellRight(c, h, s.rights(c, h.id))
		h.anew = h.anew.Intersect(h.told)
	}
}

// dropRight forgets the right at a place if the client has lost it long enough ago, or never had it.
func (s *server) dropRight(c *session, i int32) {
	h := &c.list[i]
	if !h.told.IsZero() || h.number != 0 && s.Tick()-h.lostAt <= s.grace() {
		return
	}
	if owns, named := s.rightTo(c, h.id); !s.Store().Alive(h.id) || !owns && !named {
		c.drop(i)
	}
}

// tellRight tells a client a right. Its rows that begin anew, and those that it lost, are sent again: the client puts the server's
// values in the place of its own.
func (s *server) tellRight(c *session, h *heldRight, rows snapshot.Mask) {
	lost, anew, from := h.told.Minus(rows), rows.Minus(h.told).Union(rows.Intersect(h.anew)), s.Tick()
	if !c.Local() && s.Store().Alive(h.id) && c.View().Visible(h.id) {
		from = c.View().Again(h.id)
	}
	both := s.writers.numbered(c.SharedRows())
	m := right{Entity: h.id, Rows: wordOf(rows, both), Renewed: wordOf(anew, both), Tick: uint32(from)}
	if !rows.IsZero() {
		m.Number = c.number + 1
	}
	if netcode.Send(s.Server, netcode.To(c.ID()), &m) != nil {
		return
	}
	if !h.anew.IsZero() {
		s.stats.Corrections++
	}
	if !lost.IsZero() {
		h.lostAt = s.Tick()
	}
	c.tell(h, rows, anew, m.Number, s.writers)
	s.reportWrites(c, h)
}

// reportWrites reports the rows of a client that the server's game wrote, each once.
func (s *server) reportWrites(c *session, h *heldRight) {
	wrote := h.wrote.Minus(h.reported)
	h.wrote, h.reported = snapshot.Mask{}, h.reported.Union(wrote)
	for id := h.id; !wrote.IsZero(); wrote = wrote.Rest() {
		s.Report(&ServerWroteError{Entity: id, Component: s.Protocol().Schema().Plan(wrote.Lowest()).Name(), Client: c.ID()})
	}
}
