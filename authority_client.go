package netcode

import (
	"reflect"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// writes is what a client writes: which rows of which entities are its own, and a store of them, of which the server is
// sent what it lacks, as a client is of the server's.
type writes struct {
	mine   *snapshot.Store // Nil where clients write nothing.
	view   *snapshot.View
	rights map[wire.NetworkID]writeRight // Looked up only.
	list   []wire.NetworkID              // Those of rights that the client knows, and those just lost, in the order in which they came.
	most   int                           // Of rights: Config.MaxEntities.

	said   []saidRow
	lanes  []uint32
	change []func(entity NetworkID, may bool, from Tick)
}

// writeRight is which rows of an entity a client may write. An entity that the client does not know is in no list: it costs
// nothing until it comes.
type writeRight struct {
	rows   snapshot.Mask
	listed bool
}

// saidRow is a row that Write gave and no capture has taken in yet; its lanes lie at from.
type saidRow struct {
	id   wire.NetworkID
	row  int
	from int
}

// restart begins a connection, in which nothing is the client's own yet.
func (w *writes) restart(p *Protocol, config snapshot.Config) {
	if !p.writers.any() {
		return
	}
	w.mine = snapshot.NewStore(p.schema, config)
	w.view = snapshot.NewView(w.mine, config)
	w.rights, w.list, w.most = map[wire.NetworkID]writeRight{}, w.list[:0], config.MaxEntities
	w.said, w.lanes = w.said[:0], w.lanes[:0]
}

// set takes over the rights to an entity, which the client knows or not. It returns false for one entity too many.
func (w *writes) set(m *right, known bool) (ok bool) {
	if w.mine == nil { // A host writes in the server's own world.
		w.tell(m)
		return true
	}
	h, has := w.rights[m.Entity]
	rows := snapshot.Mask(m.Rows)
	switch {
	case h.rows == rows:
		return true
	case !has && len(w.rights) >= w.most:
		return false
	case rows == 0 && !h.listed:
		delete(w.rights, m.Entity)
	default:
		h.rows = rows
		w.put(m.Entity, h, known)
	}
	w.tell(m)
	return true
}

// tell calls the functions of OnAuthority.
func (w *writes) tell(m *right) {
	for _, f := range w.change {
		f(m.Entity, m.Rows != 0, tick.Tick(m.Tick))
	}
}

// put sets the right to an entity. It lists the entity if the client knows it.
func (w *writes) put(id wire.NetworkID, h writeRight, known bool) {
	if known && !h.listed {
		w.list, h.listed = append(w.list, id), true
	}
	w.rights[id] = h
}

// listArrived lists the entities that have just come and that the client may write.
func (w *writes) listArrived(r *snapshot.Replica) {
	if len(w.rights) == len(w.list) {
		return
	}
	for _, index := range r.Changed() {
		if e := r.Entity(index); e.Alive {
			if h, ok := w.rights[e.ID]; ok && !h.listed {
				w.put(e.ID, h, true)
			}
		}
	}
}

// Rights is the rows of an entity that are the client's own to write by now, as the server has told it.
func (c *Client) Rights(entity NetworkID) snapshot.Mask {
	if c.host == nil {
		return c.writes.rights[entity].rows
	}
	if l := c.host.client(c.id); l != nil {
		return c.host.rights(l, entity)
	}
	return 0
}

// OnAuthority adds a function that is called when the client may write components of an entity from now on, or may not any
// more. from is the low 32 bits of the server's tick in which that took effect.
func (c *Client) OnAuthority(f func(entity NetworkID, may bool, from Tick)) {
	mustBeGiven(f != nil, "Client.OnAuthority")
	c.writes.change = append(c.writes.change, f)
}

// AskAuthority asks the server to name this client for an entity: it then writes the components that were registered with
// NamedWrites. OnAuthority tells when it does; a server that says no does not answer. The errors are those of Send, and
// ErrNotRegistered where no component has a writer.
func (c *Client) AskAuthority(entity NetworkID) error {
	return Send(c, ToServer(), &wish{Entity: entity})
}

// ReleaseAuthority gives up what AskAuthority got.
func (c *Client) ReleaseAuthority(entity NetworkID) error {
	return Send(c, ToServer(), &wish{Entity: entity, GiveUp: true})
}

// Write gives a component of an entity another value, where the client keeps no world: in one, game code assigns to the
// component and systems.Gather notices. The value is copied and travels with the next tick. The errors are ErrNoComponent,
// ErrNotAllowed where the component is not this client's to write, and *UnstorableError. A host's player writes where the server
// has the entity: of one that Spawn made and that has the component, Write is Put, and ErrNotAllowed where it has not; of one in
// the server's world it does nothing but return ErrSharedWorld.
func Write[T any](c *Client, entity NetworkID, v *T) error {
	row := rowOfType(c.protocol.Schema(), reflect.TypeFor[T]())
	switch {
	case row < 0:
		return ErrNoComponent
	case !c.Rights(entity).Has(row):
		return ErrNotAllowed
	case c.host != nil:
		if !c.host.store.Mask(entity).Has(row) {
			return ErrNotAllowed
		}
		if err := Put(c.host, entity, v); err != ErrNotSpawned {
			return err
		}
		return ErrSharedWorld
	}
	w, plan := &c.writes, c.protocol.schema.Plan(row)
	from := len(w.lanes)
	for range plan.Lanes() {
		w.lanes = append(w.lanes, 0)
	}
	if fault := plan.Quantise(reflect.ValueOf(v).UnsafePointer(), w.lanes[from:]); fault.Reason != wire.NoFault {
		w.lanes = w.lanes[:from]
		return unstorable(plan, reflect.ValueOf(v), fault)
	}
	w.said = append(w.said, saidRow{entity, row, from})
	return nil
}

// Gather captures what the client writes, when a network tick is due: read fills in the lanes of a row of an entity, from
// what they were, and says whether the entity has it. systems.Gather calls it; where nobody does, Send does, with what
// Write gave.
func (c *Client) Gather(read func(entity NetworkID, row int, lanes []uint32) bool) {
	w := &c.writes
	if w.mine == nil || c.state != Connected || !c.frame.due || w.mine.Tick() >= c.Tick() || len(w.list)+len(w.said)+w.mine.Len() == 0 {
		return
	}
	w.mine.Begin(c.Tick())
	kept := w.list[:0]
	for _, id := range w.list {
		if c.gather(id, read) {
			kept = append(kept, id)
		}
	}
	w.list = kept
	for _, said := range w.said {
		if w.rights[said.id].rows.Has(said.row) && w.mine.Alive(said.id) {
			w.mine.Set(said.id, said.row, w.lanes[said.from:said.from+c.protocol.schema.Plan(said.row).Lanes()])
		}
	}
	w.said, w.lanes = w.said[:0], w.lanes[:0]
	w.mine.Commit()
	w.view.Observe()
}

// gather captures one entity. It returns false if nothing of it is the client's any more, or the client does not know it any more.
func (c *Client) gather(id wire.NetworkID, read func(entity NetworkID, row int, lanes []uint32) bool) bool {
	w, rows := &c.writes, c.writes.rights[id].rows
	if rows == 0 || !c.holds(id) {
		w.mine.Despawn(id)
		if w.rights[id] = (writeRight{rows: rows}); rows == 0 {
			delete(w.rights, id)
		}
		return false
	}
	rows &= c.replica.Entity(id.Index).Mask
	if !w.mine.Mirror(id) {
		return true
	}
	for row := range c.protocol.schema.Rows() {
		had := w.mine.Mask(id).Has(row)
		if !rows.Has(row) {
			if had {
				w.mine.Remove(id, row)
			}
			continue
		}
		from := len(w.lanes)
		if had {
			w.lanes = append(w.lanes, w.mine.Row(id, row)...)
		} else {
			w.lanes = append(w.lanes, c.replica.Row(id.Index, row)...)
		}
		if lanes := w.lanes[from:]; read == nil && !had || read != nil && read(id, row, lanes) {
			w.mine.Set(id, row, lanes)
		}
		w.lanes = w.lanes[:from]
	}
	return true
}

// addWrites puts what the server lacks of the client's own into a packet.
func (c *Client) addWrites(b *peer.Builder) bool {
	w := &c.writes
	if w.view == nil || !c.frame.due || !w.view.Pending() || w.mine.Tick() == tick.None {
		return false
	}
	return c.addState(b, w.view, w.mine.EncodeCache())
}

// planWrites begins the packets of a tick.
func (c *Client) planWrites() {
	c.Gather(nil)
	if w := &c.writes; w.view != nil && c.frame.due {
		w.view.Observe()
		if rtt, _ := c.conn.RTT(); !w.view.Pending() && w.mine.Tick() != tick.None {
			w.view.Repeat(w.mine.Tick() - max(1, tick.Tick(rtt/2/c.Interval())))
		}
		w.view.Plan(c.budget.Left())
	}
}

// sendWrites sends what the server lacks of the client's own, as far as the budget goes. Messages share the packets.
func (c *Client) sendWrites() {
	w := &c.writes
	for w.view != nil && c.frame.due && w.view.Pending() {
		if c.short() {
			return
		}
		b, ok := c.beginPacket()
		if !ok || !c.addWrites(&b) {
			return
		}
		c.load(&b, false)
		c.finish(&b)
	}
}
