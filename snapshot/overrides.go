package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// clientOverrides is the state that differs from client to client beside visibility. Its slices are allocated at first use.
type clientOverrides struct {
	rows    []Mask      // per index: components that the client may not see
	masked  bitset      // indexes with any such
	shape   []tick.Tick // per index of masked: since when the entity has had the rows that the client may see, as far as the server's captures changed them
	touched []tick.Tick // per index: the newest change that is this client's alone
	weight  []uint16    // per index: relevance, 0 = never set
	// turned and since are, per index, and per row and index, the newest change of a
	// row that names entities which is a change to this client; see View.retarget.
	turned []tick.Tick
	since  [][]tick.Tick
	looks  uint64    // changes of rows
	latest tick.Tick // of touched
}

// reset gives an index at the start of a lifetime the state that all have at first.
func (o *clientOverrides) reset(index uint32) {
	if int(index) < len(o.rows) {
		o.hideRows(index, 0)
	}
	if int(index) < len(o.touched) {
		o.touched[index] = tick.None
	}
	if int(index) < len(o.turned) {
		o.turned[index] = tick.None
	}
	if int(index) < len(o.weight) {
		o.weight[index] = 0
	}
}

// SetRows sets the components of a visible entity that the client may see. A lifetime begins with all. Components that the
// client may not see any more are removed there.
func (v *View) SetRows(id wire.NetworkID, rows Mask) {
	if v.deferCall(deferredCall{what: orderRows, id: id, rows: rows}) {
		return
	}
	was := v.Rows(id)
	if !v.Visible(id) || was == rows {
		return
	}
	v.overrides.rows = grown(v.overrides.rows, int(id.Index)+1, len(v.acks))
	v.overrides.shape = grown(v.overrides.shape, int(id.Index)+1, len(v.acks))
	if !v.overrides.masked.has(id.Index) {
		v.overrides.shape[id.Index] = v.store.shape[id.Index]
	}
	v.overrides.hideRows(id.Index, ^rows)
	v.overrides.looks++
	if (was^rows)&v.store.rows.masks[id.Index] != 0 {
		v.touch(id.Index, v.next())
	}
}

// Rows returns the components that the client may see of an entity, whether it has them or not. It returns none when the
// entity is not visible.
func (v *View) Rows(id wire.NetworkID) Mask {
	if !v.Visible(id) {
		return 0
	}
	return v.rowsOf(id.Index)
}

func (v *View) rowsOf(index uint32) Mask {
	if int(index) >= len(v.overrides.rows) {
		return ^Mask(0)
	}
	return ^v.overrides.rows[index]
}

// SetWeight sets the relevance of a visible entity to this client, multiplied with the entity's priority. [NormalWeight] is
// 1.0, and a lifetime begins with it. Zero counts as 1, the least.
func (v *View) SetWeight(id wire.NetworkID, weight uint16) {
	if v.deferCall(deferredCall{what: orderWeight, id: id, weight: weight}) {
		return
	}
	if !v.Visible(id) {
		return
	}
	v.overrides.weight = grown(v.overrides.weight, int(id.Index)+1, len(v.acks))
	v.overrides.weight[id.Index] = max(weight, 1)
}

func (v *View) weightOf(index uint32) int64 {
	if int(index) >= len(v.overrides.weight) || v.overrides.weight[index] == 0 {
		return NormalWeight
	}
	return int64(v.overrides.weight[index])
}

// touch notes a change at tick t that only this client sees.
func (v *View) touch(index uint32, t tick.Tick) {
	if v.lifetimes[index].life >= t { // its first record is still to come, and says everything
		v.wait(index)
		return
	}
	v.overrides.touched = grown(v.overrides.touched, int(index)+1, len(v.acks))
	v.alone(index) // its rows may be others now
	v.overrides.touched[index] = max(v.overrides.touched[index], t)
	v.overrides.latest = max(v.overrides.latest, t)
	g := &v.pages[index/format.PageEntities]
	g.since = max(g.since, t)
	v.wait(index)
	if len(v.store.groups.left) > 0 && v.groupBefore(index, t) != v.store.groups.at(index) {
		v.bind(index, t)
	}
}

func (v *View) touchedAt(index uint32) tick.Tick {
	if int(index) >= len(v.overrides.touched) {
		return tick.None
	}
	return v.overrides.touched[index]
}

// moved returns the tick of an entity's newest change, as this client sees it.
func (v *View) moved(index uint32) tick.Tick {
	moved := max(v.ownWrites.moved(index, v.store.lastChanged(index)), v.touchedAt(index))
	if int(index) < len(v.overrides.turned) {
		moved = max(moved, v.overrides.turned[index])
	}
	return moved
}

// A component that a client may not see is not there for it: that it changed,
// came or went is no change, and no record is made for it, now or later. Only
// entities of which components are hidden are asked about, and only those of
// them that changed.

// hideRows notes which components of an index are hidden. A hidden component does not exist for the client: its changes are
// no changes, and cause no record.
func (o *clientOverrides) hideRows(index uint32, rows Mask) {
	o.masked = o.masked.grownTo(int(index) + 1)
	if o.rows[index] = rows; rows == 0 {
		o.masked.unset(index)
		return
	}
	o.masked.set(index)
}

// reshape notes which entities with hidden components got or lost a component that the client may see.
func (v *View) reshape() {
	for _, index := range v.store.reshaped {
		if v.overrides.masked.has(index) && v.visible.has(index) && v.maskChanged(index) {
			v.overrides.shape[index] = v.store.tick
		}
	}
}

// lacks takes in the changes of the newest commit for a client with hidden components.
func (v *View) lacks() {
	for _, w := range v.store.words {
		changed := v.store.changed[w] & v.visible[w]
		if int(w) < len(v.overrides.masked) {
			changed &^= v.dropUnseen(w, changed&v.overrides.masked[w])
		}
		v.unsent[w] |= changed
		v.waits = true
	}
}

// dropUnseen returns the entities of a word whose changes the client may not see at all, and notes that.
func (v *View) dropUnseen(w uint32, of uint64) (silent uint64) {
	for ; of != 0; of &= of - 1 {
		if index := firstOf(w, of); !v.seesChange(index) {
			v.ownWrites.skipOwn(v, index)
			silent |= of & -of
		}
	}
	return silent
}

// seesChange reports whether the client may see any change of an entity in the newest capture. Rows that name entities are
// refreshRefs' business.
func (v *View) seesChange(index uint32) bool {
	s := v.store
	if v.maskChanged(index) {
		return true
	}
	for m := v.maskOf(index) &^ s.schema.Refs; m != 0; m &= m - 1 {
		if s.sinceOf(index, m.Lowest()) == s.tick {
			return true
		}
	}
	return false
}

// maskChanged reports whether the newest capture spawned an entity, or changed the rows that the client may see.
func (v *View) maskChanged(index uint32) bool {
	s := v.store
	return s.shape[index] == s.tick && (s.born[index] == s.tick || (s.was[index]^s.rows.masks[index])&v.rowsOf(index) != 0)
}

// names reports whether a visible row names the entity that the client saw last at target, and not one before or after it.
func (v *View) names(index, target uint32) bool {
	s, generation := v.store, v.lifetimes[target].generation
	for m := v.maskOf(index) & s.schema.Refs; m != 0; m &= m - 1 {
		row := m.Lowest()
		lanes := s.rows.row(index, row)
		for _, lane := range s.schema.Plan(row).Refs() {
			if id := refAt(lanes, lane); id.Index == target && id.Generation == generation {
				return true
			}
		}
	}
	return false
}

// What a client is told of a row that names entities is its own: whom it does not
// see it is not told of. So a change of such a row is not everybody's. To a client
// that reads the same before and after nothing has changed, and nothing is sent,
// neither now nor later: it does not learn that what it never saw has died, or was
// followed by another.

// refRow is a row that names entities and changed in this tick.
//
// A client reads nil for an entity that it does not see. So such a change is not a change for everybody. If the client reads
// the same before and after, nothing is sent, then or later: it does not learn that an unseen entity died or was replaced.
type refRow struct {
	index uint32
	row   int
	had   bool // the entity had it before,
	at    int  // with lanes that are kept there: the history may be too small for a tick
}

// note stores a row that names entities before its change in this tick.
func (r *backRefs) note(index uint32, row int, had bool, lanes []uint32) {
	r.places = grown(r.places, row+1, 0)
	r.places[row] = grown(r.places[row], int(index)+1, 0)
	r.places[row][index] = uint32(len(r.changed))
	r.changed = append(room(r.changed, 1, usualList), refRow{index, row, had, len(r.lanes)})
	if had {
		r.lanes = append(room(r.lanes, len(lanes), usualList), lanes...)
	}
}

// noted returns a row that changed in this tick, nil if it did not.
func (r *backRefs) noted(index uint32, row int) *refRow {
	if row >= len(r.places) || int(index) >= len(r.places[row]) {
		return nil
	}
	if at := r.places[row][index]; int(at) < len(r.changed) && r.changed[at].index == index && r.changed[at].row == row {
		return &r.changed[at]
	}
	return nil
}

// retarget notes that a row which the entity already had names other entities.
func (r *backRefs) retarget(index uint32) {
	r.moved = r.moved.grownTo(int(index) + 1)
	r.moved.set(index)
}

// begin forgets the changes of the tick before.
func (r *backRefs) begin() {
	for _, c := range r.changed {
		if r.moved.has(c.index) {
			r.moved.unset(c.index)
		}
	}
	r.changed, r.lanes = r.changed[:0], r.lanes[:0]
}

// retargeted returns the entities of a word with rows that name others than before.
func (r *backRefs) retargeted(w int) uint64 {
	if w >= len(r.moved) {
		return 0
	}
	return r.moved[w]
}

// changedOf returns the entities of a word that the newest capture changed in any way.
func (s *Store) changedOf(w int) uint64 { return s.changed[w] | s.refs.retargeted(w) }

// refreshRefs compares the rows that name entities and changed in the newest commit, as this client reads them. It comes
// before anything else of that commit, while the client's sight is still that of the tick before.
func (v *View) refreshRefs() {
	for i := range v.store.refs.changed {
		c := &v.store.refs.changed[i]
		if !v.visible.has(c.index) {
			continue
		}
		if v.readsAlike(c) {
			continue
		}
		v.overrides.since = grown(v.overrides.since, v.store.schema.Rows(), 0)
		v.overrides.since[c.row] = grown(v.overrides.since[c.row], int(c.index)+1, len(v.acks))
		v.overrides.since[c.row][c.index] = v.store.tick
		if !v.rowsOf(c.index).Has(c.row) || v.ownWrites.wrote(c.index, v.store.tick) {
			continue
		}
		v.overrides.turned = grown(v.overrides.turned, int(c.index)+1, len(v.acks))
		v.overrides.turned[c.index] = v.store.tick
		v.wait(c.index)
	}
}

// readsAlike reports whether the client reads a row that names entities as before the newest capture.
func (v *View) readsAlike(c *refRow) bool {
	s := v.store
	now := s.rows.get(c.index, c.row)
	if now == nil || !c.had {
		return false
	}
	plan, n := s.schema.Plan(c.row), len(now)
	v.lanes = append(append(v.lanes[:0], now...), s.refs.lanes[c.at:c.at+n]...)
	v.blind(plan, v.lanes[:n], s.tick)
	v.blind(plan, v.lanes[n:], s.tick)
	return slices.Equal(v.lanes[:n], v.lanes[n:])
}

// blind clears the fields of a row that name an entity which the client does not see at tick t.
func (v *View) blind(plan *quantize.Plan, lanes []uint32, t tick.Tick) {
	for _, lane := range plan.Refs() {
		if id := refAt(lanes, lane); !v.Visible(id) || v.lifetimes[id.Index].life > t {
			lanes[lane], lanes[lane+1] = 0, 0
		}
	}
}

// ChangedRows returns the rows of an entity that the newest capture changed, as the client will read them. Call it before
// Observe. Rows that the client may not see are left out.
func (v *View) ChangedRows(id wire.NetworkID) Mask {
	rows := v.store.ChangedRows(id) & v.Rows(id)
	for m := rows & v.store.schema.Refs; m != 0; m &= m - 1 {
		row := m.Lowest()
		if c := v.store.refs.noted(id.Index, row); c != nil && v.readsAlike(c) {
			rows = rows.Without(row)
		}
	}
	return rows
}

// sinceOf returns the tick of the newest change of a row that names entities. A change of the client's sight alone does not
// count.
func (o *clientOverrides) sinceOf(index uint32, row int) tick.Tick {
	if row >= len(o.since) || int(index) >= len(o.since[row]) {
		return tick.None
	}
	return o.since[row][index]
}

// backRefs is the reverse index of fields of kind entity.
type backRefs struct {
	of      [][]uint32 // by index of the target: indexes that name it, ascending, once for each time
	changed []refRow   // rows that name entities and that changed in this tick
	places  [][]uint32 // by row and index: where in changed such a row is, if it did
	lanes   []uint32   // of these rows, as they were before
	moved   bitset     // indexes with rows of these that only name others than before
}

// to lists the indexes that name a target, with repeats.
func (r *backRefs) to(target uint32) []uint32 {
	if int(target) >= len(r.of) {
		return nil
	}
	return r.of[target]
}

// change follows a row with entity fields from its old lanes to its new ones; nil is no row.
func (r *backRefs) change(plan *quantize.Plan, index uint32, had bool, before, after []uint32) {
	for _, lane := range plan.Refs() {
		var old, now wire.NetworkID
		if had {
			old = refAt(before, lane)
		}
		if after != nil {
			now = refAt(after, lane)
		}
		if old == now {
			continue
		}
		if !old.IsZero() {
			r.drop(old.Index, index)
		}
		if !now.IsZero() {
			r.addRef(now.Index, index)
		}
	}
}

// refAt returns the id in an entity field; generation 0 is nil.
func refAt(lanes []uint32, lane int) wire.NetworkID {
	if lanes[lane+1] == 0 {
		return wire.NetworkID{}
	}
	return wire.NetworkID{Index: lanes[lane], Generation: lanes[lane+1]}
}

func (r *backRefs) addRef(target, index uint32) {
	if target >= MaxEntities {
		return
	}
	r.of = grown(r.of, int(target)+1, 0)
	at, _ := slices.BinarySearch(r.of[target], index)
	r.of[target] = slices.Insert(r.of[target], at, index)
}

func (r *backRefs) drop(target, index uint32) {
	if int(target) >= len(r.of) {
		return
	}
	if at, ok := slices.BinarySearch(r.of[target], index); ok {
		r.of[target] = slices.Delete(r.of[target], at, at+1)
	}
}
