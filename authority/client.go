package authority

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// client is the feature's state on a client: its rights, and values of Write until they are captured into Client.Upstream.
type client struct {
	*netcode.Client
	writers *writers

	rights  map[wire.NetworkID]writeRight // For lookup only.
	list    []wire.NetworkID              // Known entities with rights, and those just lost, in order of arrival.
	newest  uint32                        // The newest number of a right that came.
	waits   int                           // Entities with a right that waits for its state.
	arrived []wire.NetworkID              // Of these, those whose state may have arrived.

	set    []setRow // Rows set by Write and not captured yet.
	lanes  []uint32
	change []func(entity netcode.NetworkID, may bool, from netcode.Tick)
	reset  []func(entity netcode.NetworkID, rows snapshot.Mask)
}

// writeRight is the rows of an entity that a client may write. An entity that the client does not know is not listed: it costs
// nothing until it arrives.
type writeRight struct {
	rows     snapshot.Mask
	anew     snapshot.Mask // Of rows: those taken from the server's state since mirrored.
	number   uint32        // Of the right. The client's own records have it as their generation.
	mirrored uint32        // The number of the records in Client.Upstream; 0: none.
	released uint32        // The number of the right that Release gave up; 0: none.
	listed   bool
	waits    bool // next waits for its state. The rows that both have are written under the old number until then.
	next     nextRight
}

// nextRight is a right that begins when the client has the server's state of a tick.
type nextRight struct {
	rows, anew snapshot.Mask
	number     uint32
	from       uint32 // Low 32 bits of that tick.
}

// setRow is a row of an entity; its lanes begin at from.
type setRow struct {
	id   wire.NetworkID
	row  int
	from int
}

// Client implements extend.ClientSide.
func (e ends) Client(with extend.Client) extend.ClientHooks {
	of := netcode.ClientOf(with)
	w := &client{Client: of, writers: e.writers}
	extend.OfClient(of).SendState()
	return extend.ClientHooks{
		State:  w,
		Opened: w.restart,
		Read:   w.listArrived,
		Dispatch: func(stage tick.Stage) {
			if stage == tick.Initialization && len(w.arrived) > 0 {
				w.beginArrived()
			}
		},
		CaptureOwn: func() { w.Gather(nil) },
		Owns:       w.upstreamID,
	}
}

// restart resets the state for a new connection.
func (w *client) restart() {
	w.rights, w.list, w.waits, w.arrived, w.newest = map[wire.NetworkID]writeRight{}, w.list[:0], 0, w.arrived[:0], 0
	w.set, w.lanes = w.set[:0], w.lanes[:0]
}

// upstreamID returns the id of an entity's records in Client.Upstream, zero if the client writes nothing of it.
func (w *client) upstreamID(id netcode.NetworkID) netcode.NetworkID {
	if h := w.rights[id]; !h.rows.IsZero() {
		return h.upstreamID(id)
	}
	return netcode.NetworkID{}
}

// upstreamID returns the id of the records under a right: the number stands in place of the generation.
func (h *writeRight) upstreamID(id wire.NetworkID) wire.NetworkID {
	return wire.NetworkID{Index: id.Index, Generation: h.number}
}

// setRight takes the right to an entity, known to the client or not. Rows that it loses it loses at once. The others begin when the
// client has the state that the right begins with. Too many rights end the connection.
func (w *client) setRight(m *right) {
	rows := maskOf(m.Rows, w.writers.numbered(extend.OfClient(w).SharedRows()))
	if w.Hosted() != nil { // A host writes in the server's own world.
		w.tell(m.Entity, m.Rows != 0, m.Tick)
		return
	}
	if w.newest = max(w.newest, m.Number); m.Number == 0 {
		rows = snapshot.Mask{}
	}
	h, has := w.rights[m.Entity]
	if most := w.Config().MaxEntities; !has && !rows.IsZero() && len(w.rights) >= most {
		extend.OfClient(w).End(&netcode.CloseError{
			Reason: errs.ReasonTooManyEntities,
			Detail: fmt.Sprintf("the server has more entities that this client writes than Config.MaxEntities of the client, %d", most),
		})
		return
	}
	if !has && rows.IsZero() {
		return
	}
	lost := h.rows.Minus(rows)
	if h.released != 0 && !lost.IsZero() {
		if rows.IsZero() { // The entity may have left sight, and with it what Release sent.
			_ = netcode.Send(w.Client, netcode.ToServer(), &wish{Entity: m.Entity, Number: h.released, GiveUp: true})
		}
		h.released = 0
	}
	w.await(m, &h, rows)
	h.rows, h.anew = h.rows.Minus(lost), h.anew.Union(lost)
	w.rights[m.Entity] = h
	if !lost.IsZero() {
		w.takeBack(m.Entity, lost)
		w.tell(m.Entity, !h.rows.IsZero(), m.Tick)
	}
	if !h.waits {
		w.forget(m.Entity)
	} else if w.hasState(m.Entity, h.next.from) {
		w.begin(m.Entity, w.rights[m.Entity])
	}
}

// await lets a right wait for the state that it begins with.
func (w *client) await(m *right, h *writeRight, rows snapshot.Mask) {
	anew := maskOf(m.Renewed, w.writers.numbered(extend.OfClient(w).SharedRows()))
	if h.waits {
		w.waits--
		anew = anew.Union(h.next.anew)
	}
	if h.waits = !rows.IsZero(); h.waits {
		w.waits++
		h.next = nextRight{rows: rows, anew: anew.Intersect(rows), number: m.Number, from: m.Tick}
	}
}

// beginArrived begins the rights whose state has arrived. It runs before the state is applied to the world.
func (w *client) beginArrived() {
	for _, id := range w.arrived {
		if h, ok := w.rights[id]; ok && h.waits && w.hasState(id, h.next.from) {
			w.begin(id, h)
		}
	}
	w.arrived = w.arrived[:0]
}

// begin makes a right count whose state has arrived.
func (w *client) begin(id wire.NetworkID, h writeRight) {
	before, next := h.rows, h.next
	w.waits--
	h.anew = h.anew.Union(next.anew)
	h.rows, h.number, h.waits, h.next = next.rows, next.number, false, nextRight{}
	w.put(id, h, w.knows(id))
	w.takeBack(id, next.anew)
	if before != next.rows {
		w.tell(id, true, next.from)
	}
}

// takeBack lets rows have the server's values: what the client wrote of them counts no more.
func (w *client) takeBack(id wire.NetworkID, rows snapshot.Mask) {
	for i := range w.set {
		if s := &w.set[i]; s.id == id && rows.Has(s.row) {
			s.row = -1
		}
	}
	for _, f := range w.reset {
		f(id, rows)
	}
}

// forget drops the right to an entity that is neither listed nor waits, if it has no rows.
func (w *client) forget(id wire.NetworkID) {
	if h, ok := w.rights[id]; ok && h.rows.IsZero() && !h.listed && !h.waits {
		delete(w.rights, id)
	}
}

// tell calls the functions of OnChange.
func (w *client) tell(id wire.NetworkID, may bool, from uint32) {
	for _, f := range w.change {
		f(id, may, tick.Tick(from))
	}
}

// put stores the right to an entity, and lists the entity if the client knows it.
func (w *client) put(id wire.NetworkID, h writeRight, known bool) {
	if known && !h.listed {
		w.list, h.listed = append(w.list, id), true
	}
	w.rights[id] = h
}

// knows reports whether the server shows an entity at present.
func (w *client) knows(id wire.NetworkID) bool {
	if w.Replica() == nil {
		return false
	}
	e := w.Replica().Entity(id.Index)
	return e.Alive && e.ID == id
}

// hasState reports whether the client has the state of an entity as of a tick, given by its low 32 bits.
func (w *client) hasState(id wire.NetworkID, low uint32) bool {
	if !w.knows(id) {
		return false
	}
	has := w.Replica().Entity(id.Index).Tick
	return int32(uint32(has)-low) >= 0
}

// countRights returns the number of entities that the client may write.
func (w *client) countRights() (n int) {
	for _, h := range w.rights {
		if !h.rows.IsZero() || h.waits {
			n++
		}
	}
	return n
}

// listArrived lists the newly arrived entities with rights.
func (w *client) listArrived() {
	if len(w.rights) == len(w.list) && w.waits == 0 {
		return
	}
	r := w.Replica()
	for _, index := range r.Changed() {
		e := r.Entity(index)
		h, ok := w.rights[e.ID]
		if !ok || !e.Alive {
			continue
		}
		if h.waits {
			w.arrived = append(w.arrived, e.ID)
		}
		if !h.listed && !h.rows.IsZero() {
			w.put(e.ID, h, true)
		}
	}
}

// Rights returns the rows of an entity that the client may write now, as the server has told it.
func Rights(c *netcode.Client, entity netcode.NetworkID) snapshot.Mask {
	if w, ok := extend.ExtensionOf[*client](c); ok {
		return w.Rights(entity)
	}
	return snapshot.Mask{}
}

// ClientState is a client's state of this feature; extend.ExtensionOf finds it. It is an interface so that the linker can omit
// the feature from programs that do not use it, although they use package systems.
type ClientState interface {
	// Rights implements the function Rights.
	Rights(entity netcode.NetworkID) snapshot.Mask
	// OnChange implements the function OnChange.
	OnChange(f func(entity netcode.NetworkID, may bool, from netcode.Tick))
	// OnReset adds a function that is called when rows of an entity are to have the server's values, whatever the client wrote: it
	// lost the right, or begins with a new one. systems.Gather puts them back.
	OnReset(f func(entity netcode.NetworkID, rows snapshot.Mask))
	// Gather captures the rows that the client writes, when a network tick is due. read overwrites the lanes of a row, which
	// contain the previous value, and reports whether the entity has the row. systems.Gather calls it. Without that system
	// Client.Send captures the rows that Write set.
	Gather(read func(entity netcode.NetworkID, row int, lanes []uint32) bool)
}

// Rights implements ClientState.
func (w *client) Rights(entity netcode.NetworkID) snapshot.Mask {
	host := w.Hosted()
	if host == nil {
		return w.rights[entity].rows
	}
	s, _ := extend.ExtensionOf[*server](host)
	if at, ok := extend.ExtensionOf[*session](extend.OfServer(host).Session(w.ID())); ok && at.Connected() {
		return s.rights(at, entity)
	}
	return snapshot.Mask{}
}

// OnChange adds a function that is called when the client may write components of an entity, or no longer may. from is the low 32
// bits of the server's tick in which that took effect. OnChange panics on nil.
func OnChange(c *netcode.Client, f func(entity netcode.NetworkID, may bool, from netcode.Tick)) {
	if f == nil {
		panic("netcode: authority.OnChange: the function is nil")
	}
	if w, ok := extend.ExtensionOf[*client](c); ok {
		w.OnChange(f)
	}
}

// OnChange implements ClientState.
func (w *client) OnChange(f func(entity netcode.NetworkID, may bool, from netcode.Tick)) {
	w.change = append(w.change, f)
}

// OnReset implements ClientState.
func (w *client) OnReset(f func(entity netcode.NetworkID, rows snapshot.Mask)) {
	w.reset = append(w.reset, f)
}

// Ask asks the server to name this client for an entity. The client may then write the components with NamedWrites. OnChange
// reports when it may; a server that refuses does not answer. The errors are those of netcode.Send, and errs.ErrNotRegistered
// if no component has a writer.
func Ask(c *netcode.Client, entity netcode.NetworkID) error {
	return netcode.Send(c, netcode.ToServer(), &wish{Entity: entity})
}

// Release gives up the right that Ask got. It follows the client's writes: what the client wrote before reaches the server first,
// with the same tick as a write of this frame. What it writes after the call may be refused.
func Release(c *netcode.Client, entity netcode.NetworkID) error {
	w, ok := extend.ExtensionOf[*client](c)
	if !ok {
		return netcode.Send(c, netcode.ToServer(), &wish{Entity: entity, GiveUp: true})
	}
	m, h := wish{Entity: entity, Number: w.newest, GiveUp: true}, w.rights[entity]
	if c.Hosted() != nil || h.rows.IsZero() || !w.knows(entity) {
		return netcode.Send(c, netcode.ToServer(), &m)
	}
	err := netcode.Send(c, netcode.ToServer(), &m, netcode.About(entity))
	if err == nil {
		h.released = w.newest
		w.rights[entity] = h
	}
	return err
}

// Write sets a component of an entity, for clients without a world. With a world, game code assigns to the component and
// systems.Gather notices. The value is copied and sent with the next tick. The errors are errs.ErrNoComponent,
// *errs.UnstorableError, and ErrNotAllowed if this client may not write the component.
//
// On a host the player writes to the server's entity. If Server.Spawn made the entity, Write acts as netcode.Put, with
// ErrNotAllowed if the entity lacks the component. If the entity is in the server's world, Write only returns ErrSharedWorld.
func Write[T any](c *netcode.Client, entity netcode.NetworkID, v *T) error {
	row := c.Protocol().Schema().RowOf(reflect.TypeFor[T]())
	switch {
	case row < 0:
		return errs.ErrNoComponent
	case !Rights(c, entity).Has(row):
		return ErrNotAllowed
	case c.Hosted() != nil:
		if !c.Hosted().Store().Mask(entity).Has(row) {
			return ErrNotAllowed
		}
		if err := netcode.Put(c.Hosted(), entity, v); err != errs.ErrNotSpawned {
			return err
		}
		return ErrSharedWorld
	}
	w, _ := extend.ExtensionOf[*client](c)
	plan := c.Protocol().Schema().Plan(row)
	from := len(w.lanes)
	for range plan.Lanes() {
		w.lanes = append(w.lanes, 0)
	}
	if fault := plan.Quantise(reflect.ValueOf(v).UnsafePointer(), w.lanes[from:]); fault.Reason != wire.NoFault {
		w.lanes = w.lanes[:from]
		return extend.Unstorable(plan, reflect.ValueOf(v), fault)
	}
	w.set = append(w.set, setRow{entity, row, from})
	return nil
}

// Gather implements ClientState. read is nil if the client has no world.
func (w *client) Gather(read func(entity netcode.NetworkID, row int, lanes []uint32) bool) {
	own := extend.OfClient(w).Upstream()
	if own == nil || w.State() != netcode.Connected || !w.TickDue() || own.Tick() >= w.Tick() || len(w.list)+len(w.set)+own.Len() == 0 {
		return
	}
	own.Begin(w.Tick())
	kept := w.list[:0]
	for _, id := range w.list {
		if w.gatherEntity(own, id, read) {
			kept = append(kept, id)
		}
	}
	w.list = kept
	schema := w.Protocol().Schema()
	for _, s := range w.set {
		h := w.rights[s.id]
		if up := h.upstreamID(s.id); s.row >= 0 && h.rows.Has(s.row) && own.Alive(up) {
			own.Set(up, s.row, w.lanes[s.from:s.from+schema.Plan(s.row).Lanes()])
		}
	}
	w.set, w.lanes = w.set[:0], w.lanes[:0]
	own.Commit()
}

// gatherEntity captures one entity. It returns false if the client may write nothing of it, or no longer knows it.
func (w *client) gatherEntity(own *snapshot.Store, id wire.NetworkID, read func(entity netcode.NetworkID, row int, lanes []uint32) bool) bool {
	h := w.rights[id]
	if h.rows.IsZero() || !w.knows(id) {
		own.Despawn(wire.NetworkID{Index: id.Index, Generation: h.mirrored})
		h.listed, h.mirrored = false, 0
		w.rights[id] = h
		w.forget(id)
		return false
	}
	if h.mirrored != h.number && !w.mirror(own, id, &h, read == nil) {
		return true
	}
	rows, up := h.rows.Intersect(w.Replica().Entity(id.Index).Mask), h.upstreamID(id)
	if gone := own.Mask(up).Minus(rows); !gone.IsZero() {
		for ; !gone.IsZero(); gone = gone.Rest() {
			own.Remove(up, gone.Lowest())
		}
	}
	for ; read != nil && !rows.IsZero(); rows = rows.Rest() {
		row, from := rows.Lowest(), len(w.lanes)
		if own.Mask(up).Has(row) {
			w.lanes = append(w.lanes, own.Row(up, row)...)
		} else {
			w.lanes = append(w.lanes, w.Replica().Row(id.Index, row)...)
		}
		if lanes := w.lanes[from:]; read(id, row, lanes) {
			own.Set(up, row, lanes)
		}
		w.lanes = w.lanes[:from]
	}
	return true
}

// mirror begins the records under a new number. keep carries the rows over that are not anew, for a client that has no world to read
// them from.
func (w *client) mirror(own *snapshot.Store, id wire.NetworkID, h *writeRight, keep bool) bool {
	old, from, kept := wire.NetworkID{Index: id.Index, Generation: h.mirrored}, len(w.lanes), snapshot.Mask{}
	if keep {
		kept = own.Mask(old).Intersect(h.rows).Minus(h.anew)
	}
	for m := kept; !m.IsZero(); m = m.Rest() {
		w.lanes = append(w.lanes, own.Row(old, m.Lowest())...)
	}
	lanes := w.lanes[from:]
	w.lanes = w.lanes[:from]
	if !own.Mirror(h.upstreamID(id)) {
		return false
	}
	for m := kept; !m.IsZero(); m = m.Rest() {
		n := w.Protocol().Schema().Plan(m.Lowest()).Lanes()
		own.Set(h.upstreamID(id), m.Lowest(), lanes[:n])
		lanes = lanes[n:]
	}
	h.mirrored, h.anew = h.number, snapshot.Mask{}
	w.rights[id] = *h
	return true
}
