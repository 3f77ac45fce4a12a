package collections

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// change is one change of a collection of a mirror, valid until Tell returns. If several elements are inserted or
// removed together, all of them are before the first call.
type change struct {
	Kind ChangeKind     // what happened
	ID   wire.NetworkID // entity of the collection
	At   int            // index of the element, if there is one; of a removed one its former index
	Row  []uint32       // the new element, or the removed one; else nil
	Old  []uint32       // the element that ChangeSet replaced; else nil
}

// ChangeKind is the kind of one change.
type ChangeKind uint8

// The kinds of change.
const (
	ChangeWhole    ChangeKind = iota + 1 // any element may have changed: the collection arrived, perhaps again
	ChangeInserted                       // an element was put in
	ChangeSet                            // an element was replaced
	ChangeRemoved                        // an element was taken out
	ChangeCleared                        // all elements were taken out
	ChangeGone                           // the collection is gone: its entity ended, left the client's sight, or belonged to an earlier connection
)

// String returns the kind in a word.
func (k ChangeKind) String() string {
	names := [...]string{"none", "whole", "inserted", "set", "removed", "cleared", "gone"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// mirror stores the collections of a client. It belongs to one goroutine.
type mirror struct {
	defs    []*definition
	entries map[entryKey]*entry // for look-up only

	any  []uint64     // bit per index: the entity may have collections
	gone []contentKey // not yet reported by TellGone

	// Tell is called after each change; nil is allowed. It must not call Apply, Keep or Reset.
	Tell func(d *definition, e *change)

	row, old []uint32
	event    change // argument of Tell
}

// entryKey is a type of collection at an entity index. One entity lives at an index at a time.
type entryKey struct {
	number int
	index  uint32
}

// entry is one collection of a mirror. shown is readable; it is replaced once coming is complete.
type entry struct {
	id      wire.NetworkID
	shown   rowList
	coming  rowList
	whole   bool // shown is valid
	filling bool // operations concern coming
	stopped bool // operations have no effect until the next reset
}

// newMirror returns an empty mirror. The types are in the order of their numbers.
func newMirror(defs []*definition) *mirror {
	return &mirror{defs: defs, entries: map[entryKey]*entry{}}
}

// Find returns the elements of an entity's collection, nil before it has come whole.
func (c *mirror) Find(number int, id wire.NetworkID) *rowList {
	h := c.entries[entryKey{number, id.Index}]
	if h == nil || h.id != id || !h.whole {
		return nil
	}
	return &h.shown
}

// Len returns the number of collections, with those that have not come whole.
func (c *mirror) Len() int { return len(c.entries) }

// Keep sets the entity at an index; the zero id means none. It removes the collections of any other entity there, to be
// reported by TellGone.
func (c *mirror) Keep(index uint32, id wire.NetworkID) {
	if int(index/64) >= len(c.any) || c.any[index/64]>>(index%64)&1 == 0 {
		return
	}
	for number := range c.defs {
		at := entryKey{number, index}
		h := c.entries[at]
		if h == nil || h.id == id {
			continue
		}
		delete(c.entries, at)
		if h.whole {
			c.gone = append(c.gone, contentKey{number, h.id})
		}
	}
	if id.IsZero() {
		c.any[index/64] &^= 1 << (index % 64)
	}
}

// KeepSeen removes the collections of all entities that the link does not see any more, to be reported by TellGone.
func (c *mirror) KeepSeen(link link) {
	for i, word := range c.any {
		for ; word != 0; word &= word - 1 {
			index := uint32(64*i + bits.TrailingZeros64(word))
			for number := range c.defs {
				if h := c.entries[entryKey{number, index}]; h != nil && !link.Names(h.id) {
					c.Keep(index, wire.NetworkID{})
					break
				}
			}
		}
	}
}

// TellGone reports the collections that were removed since the last call.
func (c *mirror) TellGone() {
	for i := 0; i < len(c.gone); i++ {
		c.tell(c.defs[c.gone[i].number], change{Kind: ChangeGone, ID: c.gone[i].id})
	}
	c.gone = c.gone[:0]
}

// entryOf makes an empty collection that is about to come.
func (c *mirror) entryOf(at entryKey, id wire.NetworkID, d *definition) *entry {
	width := d.plan.Lanes()
	h := &entry{id: id, shown: rowList{width: width}, coming: rowList{width: width}}
	c.entries[at] = h
	for int(at.index/64) >= len(c.any) {
		c.any = append(c.any, 0)
	}
	c.any[at.index/64] |= 1 << (at.index % 64)
	return h
}

// Reset removes everything, for another connection, to be reported by TellGone.
func (c *mirror) Reset() {
	for i, word := range c.any {
		for ; word != 0; word &= word - 1 {
			c.Keep(uint32(64*i+bits.TrailingZeros64(word)), wire.NetworkID{})
		}
	}
}

// Apply applies the operations of a body to an entity. Operations before the first reset, or after a stop, have no
// effect. The error is errMalformed; operations before the fault were applied.
func (c *mirror) Apply(id wire.NetworkID, body []byte) error {
	r, err := open(c.defs, body)
	if err != nil {
		return err
	}
	at := entryKey{r.def.number, id.Index}
	if h := c.entries[at]; h != nil && h.id != id {
		c.Keep(id.Index, id)
	}
	c.TellGone()
	c.row, c.old = slices.Grow(c.row[:0], maxLanes), slices.Grow(c.old[:0], maxLanes)
	for r.more() {
		o, err := r.next()
		if err != nil {
			return err
		}
		if err := c.apply(at, id, &r, o); err != nil {
			return err
		}
	}
	return nil
}

// apply applies one operation.
func (c *mirror) apply(at entryKey, id wire.NetworkID, r *cursor, o op) error {
	h := c.entries[at]
	if h == nil && o.kind == opReset {
		h = c.entryOf(at, id, r.def)
	}
	if h == nil || h.stopped && o.kind != opReset {
		return c.skip(r, o)
	}
	rows := &h.shown
	if h.filling {
		rows = &h.coming
	}
	switch o.kind {
	case opReset:
		h.filling, h.stopped = true, false
		h.coming.clear()
	case opStop:
		h.filling, h.stopped = false, true
	case opWhole:
		if !h.filling {
			return errMalformed
		}
		h.filling, h.whole = false, true
		h.shown, h.coming = h.coming, h.shown
		h.coming = rowList{width: h.coming.width} // releases the memory: large collections arrive whole only once
		c.tell(r.def, change{Kind: ChangeWhole, ID: id})
	case opClear:
		rows.clear()
		if !h.filling {
			c.tell(r.def, change{Kind: ChangeCleared, ID: id})
		}
	default:
		return c.applyAt(h, rows, r, o)
	}
	return nil
}

// skip reads over an operation.
func (c *mirror) skip(r *cursor, o op) error {
	if !o.kind.elements() {
		return nil
	}
	for r.left > 0 {
		if !r.row(c.row[:r.def.plan.Lanes()]) {
			return errMalformed
		}
	}
	if !r.finish() {
		return errMalformed
	}
	return nil
}

// applyAt applies an operation to a range of elements.
func (c *mirror) applyAt(h *entry, rows *rowList, r *cursor, o op) error {
	d := r.def
	switch {
	case o.kind == opInsert && (o.at > rows.Len() || rows.Len()+o.count > d.most):
		return errMalformed
	case o.kind != opInsert && o.at+o.count > rows.Len():
		return errMalformed
	case o.kind == opRemove:
		c.remove(h, rows, d, o)
		return nil
	case o.kind == opInsert:
		return c.insert(h, rows, r, o)
	}
	row := c.row[:rows.width]
	for i := range o.count {
		if !r.row(row) {
			return errMalformed
		}
		c.old = append(c.old[:0], rows.At(o.at+i)...)
		copy(rows.At(o.at+i), row)
		if d.keys > 0 && !slices.Equal(row[:d.keys], c.old[:d.keys]) {
			return errMalformed
		}
		c.tellAt(h, d, change{Kind: ChangeSet, ID: h.id, At: o.at + i, Row: rows.At(o.at + i), Old: c.old})
	}
	if !r.finish() {
		return errMalformed
	}
	return nil
}

// insert reads all elements and inserts them at once.
func (c *mirror) insert(h *entry, rows *rowList, r *cursor, o op) error {
	d := r.def
	c.row = slices.Grow(c.row[:0], o.count*rows.width)[:o.count*rows.width]
	for i := range o.count {
		if !r.row(c.row[i*rows.width : (i+1)*rows.width]) {
			return errMalformed
		}
	}
	if !r.finish() {
		return errMalformed
	}
	rows.insert(o.at, c.row)
	if d.keys > 0 && !rows.ordered(o.at, o.at+o.count, d.keys) {
		return errMalformed
	}
	for i := range o.count {
		c.tellAt(h, d, change{Kind: ChangeInserted, ID: h.id, At: o.at + i, Row: rows.At(o.at + i)})
	}
	return nil
}

// remove removes elements and reports each.
func (c *mirror) remove(h *entry, rows *rowList, d *definition, o op) {
	gone := append(c.row[:0], rows.between(o.at, o.at+o.count)...)
	rows.remove(o.at, o.count)
	for i := range o.count {
		c.tellAt(h, d, change{Kind: ChangeRemoved, ID: h.id, At: o.at, Row: gone[i*rows.width : (i+1)*rows.width]})
	}
	c.row = gone
}

// tellAt reports a change of one element, unless the collection is still incomplete.
func (c *mirror) tellAt(h *entry, d *definition, e change) {
	if !h.filling {
		c.tell(d, e)
	}
}

func (c *mirror) tell(d *definition, e change) {
	if c.Tell != nil {
		c.event = e
		c.Tell(d, &c.event)
		c.event = change{}
	}
}
