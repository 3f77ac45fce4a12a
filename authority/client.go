package authority

import (
	"fmt"
	"reflect"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// client is the feature's state on a client: its rights, and values of Write until they are captured into Client.Upstream.
type client struct {
	*netcode.Client
	writers *writers

	rights map[wire.NetworkID]writeRight // For lookup only.
	list   []wire.NetworkID              // Known entities with rights, and those just lost, in order of arrival.

	set    []setRow // Rows set by Write and not captured yet.
	lanes  []uint32
	change []func(entity netcode.NetworkID, may bool, from netcode.Tick)
}

// writeRight is the rows of an entity that a client may write. An entity that the client does not know is not listed: it costs
// nothing until it arrives.
type writeRight struct {
	rows   snapshot.Mask
	listed bool
}

// setRow is a row of an entity; its lanes begin at from.
type setRow struct {
	id   wire.NetworkID
	row  int
	from int
}

// Client implements netcode.ClientSide.
func (e ends) Client(of *netcode.Client) netcode.ClientHooks {
	w := &client{Client: of, writers: e.writers}
	of.SendState()
	return netcode.ClientHooks{
		State:      w,
		Opened:     w.restart,
		Read:       w.listArrived,
		CaptureOwn: func() { w.Gather(nil) },
		Owns:       func(id netcode.NetworkID) bool { return !w.rights[id].rows.IsZero() },
	}
}

// restart resets the state for a new connection.
func (w *client) restart() {
	w.rights, w.list = map[wire.NetworkID]writeRight{}, w.list[:0]
	w.set, w.lanes = w.set[:0], w.lanes[:0]
}

// setRight stores the right to an entity, known to the client or not. Too many rights end the connection.
func (w *client) setRight(m *right) {
	if w.Hosted() != nil { // A host writes in the server's own world.
		w.tell(m)
		return
	}
	h, has := w.rights[m.Entity]
	rows, most := maskOf(m.Rows, w.writers.numbered(w.SharedRows())), w.Config().MaxEntities
	switch {
	case h.rows == rows:
		return
	case !has && len(w.rights) >= most:
		w.End(&netcode.CloseError{
			Reason: peer.ReasonTooManyEntities,
			Detail: fmt.Sprintf("the server has more entities that this client writes than Config.MaxEntities of the client, %d", most),
		})
		return
	case rows.IsZero() && !h.listed:
		delete(w.rights, m.Entity)
	default:
		h.rows = rows
		w.put(m.Entity, h, w.knows(m.Entity))
	}
	w.tell(m)
}

// tell calls the functions of OnChange.
func (w *client) tell(m *right) {
	for _, f := range w.change {
		f(m.Entity, m.Rows != 0, tick.Tick(m.Tick))
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

// listArrived lists the newly arrived entities with rights.
func (w *client) listArrived() {
	if len(w.rights) == len(w.list) {
		return
	}
	r := w.Replica()
	for _, index := range r.Changed() {
		if e := r.Entity(index); e.Alive {
			if h, ok := w.rights[e.ID]; ok && !h.listed {
				w.put(e.ID, h, true)
			}
		}
	}
}

// Rights returns the rows of an entity that the client may write now, as the server has told it.
func Rights(c *netcode.Client, entity netcode.NetworkID) snapshot.Mask {
	if w, ok := netcode.ExtensionOf[*client](c); ok {
		return w.Rights(entity)
	}
	return snapshot.Mask{}
}

// ClientState is a client's state of this feature; netcode.ExtensionOf finds it. It is an interface so that the linker can omit
// the feature from programs that do not use it, although they use package systems.
type ClientState interface {
	// Rights implements the function Rights.
	Rights(entity netcode.NetworkID) snapshot.Mask
	// OnChange implements the function OnChange.
	OnChange(f func(entity netcode.NetworkID, may bool, from netcode.Tick))
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
	s, _ := netcode.ExtensionOf[*server](host)
	if at, ok := netcode.ExtensionOf[*session](host.Session(w.ID())); ok && at.Connected() {
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
	if w, ok := netcode.ExtensionOf[*client](c); ok {
		w.OnChange(f)
	}
}

// OnChange implements ClientState.
func (w *client) OnChange(f func(entity netcode.NetworkID, may bool, from netcode.Tick)) {
	w.change = append(w.change, f)
}

// Ask asks the server to name this client for an entity. The client may then write the components with NamedWrites. OnChange
// reports when it may; a server that refuses does not answer. The errors are those of netcode.Send, and netcode.ErrNotRegistered
// if no component has a writer.
func Ask(c *netcode.Client, entity netcode.NetworkID) error {
	return netcode.Send(c, netcode.ToServer(), &wish{Entity: entity})
}

// Release gives up the right that Ask got.
func Release(c *netcode.Client, entity netcode.NetworkID) error {
	return netcode.Send(c, netcode.ToServer(), &wish{Entity: entity, GiveUp: true})
}

// Write sets a component of an entity, for clients without a world. With a world, game code assigns to the component and
// systems.Gather notices. The value is copied and sent with the next tick. The errors are netcode.ErrNoComponent,
// *netcode.UnstorableError, and ErrNotAllowed if this client may not write the component.
//
// On a host the player writes to the server's entity. If Server.Spawn made the entity, Write acts as netcode.Put, with
// ErrNotAllowed if the entity lacks the component. If the entity is in the server's world, Write only returns ErrSharedWorld.
func Write[T any](c *netcode.Client, entity netcode.NetworkID, v *T) error {
	row := c.Protocol().RowOf(reflect.TypeFor[T]())
	switch {
	case row < 0:
		return netcode.ErrNoComponent
	case !Rights(c, entity).Has(row):
		return ErrNotAllowed
	case c.Hosted() != nil:
		if !c.Hosted().Store().Mask(entity).Has(row) {
			return ErrNotAllowed
		}
		if err := netcode.Put(c.Hosted(), entity, v); err != netcode.ErrNotSpawned {
			return err
		}
		return ErrSharedWorld
	}
	w, _ := netcode.ExtensionOf[*client](c)
	plan := c.Protocol().Schema().Plan(row)
	from := len(w.lanes)
	for range plan.Lanes() {
		w.lanes = append(w.lanes, 0)
	}
	if fault := plan.Quantise(reflect.ValueOf(v).UnsafePointer(), w.lanes[from:]); fault.Reason != wire.NoFault {
		w.lanes = w.lanes[:from]
		return netcode.Unstorable(plan, reflect.ValueOf(v), fault)
	}
	w.set = append(w.set, setRow{entity, row, from})
	return nil
}

// Gather implements ClientState. read is nil if the client has no world.
func (w *client) Gather(read func(entity netcode.NetworkID, row int, lanes []uint32) bool) {
	own := w.Upstream()
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
		if w.rights[s.id].rows.Has(s.row) && own.Alive(s.id) {
			own.Set(s.id, s.row, w.lanes[s.from:s.from+schema.Plan(s.row).Lanes()])
		}
	}
	w.set, w.lanes = w.set[:0], w.lanes[:0]
	own.Commit()
}

// gatherEntity captures one entity. It returns false if the client may write nothing of it, or no longer knows it.
func (w *client) gatherEntity(own *snapshot.Store, id wire.NetworkID, read func(entity netcode.NetworkID, row int, lanes []uint32) bool) bool {
	rows := w.rights[id].rows
	if rows.IsZero() || !w.knows(id) {
		own.Despawn(id)
		if w.rights[id] = (writeRight{rows: rows}); rows.IsZero() {
			delete(w.rights, id)
		}
		return false
	}
	rows = rows.Intersect(w.Replica().Entity(id.Index).Mask)
	if !own.Mirror(id) {
		return true
	}
	for row := range w.Protocol().Schema().Rows() {
		had := own.Mask(id).Has(row)
		if !rows.Has(row) {
			if had {
				own.Remove(id, row)
			}
			continue
		}
		from := len(w.lanes)
		if had {
			w.lanes = append(w.lanes, own.Row(id, row)...)
		} else {
			w.lanes = append(w.lanes, w.Replica().Row(id.Index, row)...)
		}
		if lanes := w.lanes[from:]; read == nil && !had || read != nil && read(id, row, lanes) {
			own.Set(id, row, lanes)
		}
		w.lanes = w.lanes[:from]
	}
	return true
}
