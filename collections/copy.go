package collections

import (
	"math/bits"
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// Event is one change of one collection of a Copy. It is good until the function that is told returns. Of elements that
// come, or go, together the first is told of when all of them are there, or gone.
type Event struct {
	Kind EventKind      // what happened
	ID   wire.NetworkID // whose collection
	At   int            // place of the element, where there is one; of a removed one, the place that it had
	Row  []uint32       // the element as it is now; the one that was removed; else nil
	Old  []uint32       // what EventSet replaced; else nil
}

// EventKind says what happened.
type EventKind uint8

// Events of a collection.
const (
	EventWhole    EventKind = iota + 1 // everything may be another than before: the collection came, or came anew
	EventInserted                      // an element was put in
	EventSet                           // an element was replaced
	EventRemoved                       // an element was taken out
	EventCleared                       // all elements were taken out
	EventGone                          // the entity is gone, out of sight or of an earlier connection, and with it the collection
)

// String returns what happened, in a word.
func (k EventKind) String() string {
	names := [...]string{"none", "whole", "inserted", "set", "removed", "cleared", "gone"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// Copy is the collections that a client has. It belongs to one goroutine.
type Copy struct {
	defs []*Def
	held map[spot]*held // looked up only

	any  []uint64 // bit by index: it may have collections
	gone []place  // that nobody was told of yet

	// Tell is told of each change, when it has been made; nil: nobody is. It must not call Apply, Keep or Reset.
	Tell func(d *Def, e *Event)

	row, old []uint32
	event    Event // that is told of
}

// spot is a place among the living: an index has one entity at a time.
type spot struct {
	number int
	index  uint32
}

// held is one collection. What is shown stays as it is until what comes is whole.
type held struct {
	id      wire.NetworkID
	shown   Rows
	coming  Rows
	whole   bool // shown counts
	filling bool // operations concern coming
	stopped bool // operations have no effect until the next reset
}

// NewCopy returns one that has nothing. The types are in the order of their numbers.
func NewCopy(defs []*Def) *Copy { return &Copy{defs: defs, held: map[spot]*held{}} }

// Find returns the elements of an entity's collection, nil when it has not come.
func (c *Copy) Find(number int, id wire.NetworkID) *Rows {
	h := c.held[spot{number, id.Index}]
	if h == nil || h.id != id || !h.whole {
		return nil
	}
	return &h.shown
}

// Len returns how many collections there are, those included of which not all has come.
func (c *Copy) Len() int { return len(c.held) }

// Keep is to be called when what lives at an index may be another than before: of any other entity the collections are
// forgotten. TellGone tells of them. The zero id says that nobody lives there.
func (c *Copy) Keep(index uint32, id wire.NetworkID) {
	if int(index/64) >= len(c.any) || c.any[index/64]>>(index%64)&1 == 0 {
		return
	}
	for number := range c.defs {
		at := spot{number, index}
		h := c.held[at]
		if h == nil || h.id == id {
			continue
		}
		delete(c.held, at)
		if h.whole {
			c.gone = append(c.gone, place{number, h.id})
		}
	}
	if id.IsZero() {
		c.any[index/64] &^= 1 << (index % 64)
	}
}

// KeepSeen forgets the collections of all entities that the link does not see any more. TellGone tells of them.
func (c *Copy) KeepSeen(link Link) {
	for i, word := range c.any {
		for ; word != 0; word &= word - 1 {
			index := uint32(64*i + bits.TrailingZeros64(word))
			for number := range c.defs {
				if h := c.held[spot{number, index}]; h != nil && !link.Names(h.id) {
					c.Keep(index, wire.NetworkID{})
					break
				}
			}
		}
	}
}

// TellGone tells of what was forgotten since it was last called.
func (c *Copy) TellGone() {
	for i := 0; i < len(c.gone); i++ {
		c.tell(c.defs[c.gone[i].number], Event{Kind: EventGone, ID: c.gone[i].id})
	}
	c.gone = c.gone[:0]
}

// hold makes a collection that begins to come.
func (c *Copy) hold(at spot, id wire.NetworkID, d *Def) *held {
	width := d.plan.Lanes()
	h := &held{id: id, shown: Rows{width: width}, coming: Rows{width: width}}
	c.held[at] = h
	for int(at.index/64) >= len(c.any) {
		c.any = append(c.any, 0)
	}
	c.any[at.index/64] |= 1 << (at.index % 64)
	return h
}

// Reset forgets everything: the connection is another one. TellGone tells of it.
func (c *Copy) Reset() {
	for i, word := range c.any {
		for ; word != 0; word &= word - 1 {
			c.Keep(uint32(64*i+bits.TrailingZeros64(word)), wire.NetworkID{})
		}
	}
}

// Apply does what a body says about an entity. Operations on what has not begun to come, or was stopped, are of an earlier life
// of the entity and have no effect. The error is ErrMalformed; what stood before the fault has been done by then.
func (c *Copy) Apply(id wire.NetworkID, body []byte) error {
	r, err := open(c.defs, body)
	if err != nil {
		return err
	}
	at := spot{r.def.number, id.Index}
	if h := c.held[at]; h != nil && h.id != id {
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

// apply does one operation.
func (c *Copy) apply(at spot, id wire.NetworkID, r *cursor, o op) error {
	h := c.held[at]
	if h == nil && o.kind == opReset {
		h = c.hold(at, id, r.def)
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
			return ErrMalformed
		}
		h.filling, h.whole = false, true
		h.shown, h.coming = h.coming, h.shown
		h.coming = Rows{width: h.coming.width} // large ones come whole once
		c.tell(r.def, Event{Kind: EventWhole, ID: id})
	case opClear:
		rows.clear()
		if !h.filling {
			c.tell(r.def, Event{Kind: EventCleared, ID: id})
		}
	default:
		return c.applyAt(h, rows, r, o)
	}
	return nil
}

// skip reads over an operation.
func (c *Copy) skip(r *cursor, o op) error {
	if !o.kind.elements() {
		return nil
	}
	for r.left > 0 {
		if !r.row(c.row[:r.def.plan.Lanes()]) {
			return ErrMalformed
		}
	}
	if !r.finish() {
		return ErrMalformed
	}
	return nil
}

// applyAt does an operation on elements in their places.
func (c *Copy) applyAt(h *held, rows *Rows, r *cursor, o op) error {
	d := r.def
	switch {
	case o.kind == opInsert && (o.at > rows.Len() || rows.Len()+o.count > d.most):
		return ErrMalformed
	case o.kind != opInsert && o.at+o.count > rows.Len():
		return ErrMalformed
	case o.kind == opRemove:
		c.remove(h, rows, d, o)
		return nil
	case o.kind == opInsert:
		return c.insert(h, rows, r, o)
	}
	row := c.row[:rows.width]
	for i := range o.count {
		if !r.row(row) {
			return ErrMalformed
		}
		c.old = append(c.old[:0], rows.At(o.at+i)...)
		copy(rows.At(o.at+i), row)
		if d.keys > 0 && !slices.Equal(row[:d.keys], c.old[:d.keys]) {
			return ErrMalformed
		}
		c.tellAt(h, d, Event{Kind: EventSet, ID: h.id, At: o.at + i, Row: rows.At(o.at + i), Old: c.old})
	}
	if !r.finish() {
		return ErrMalformed
	}
	return nil
}

// insert makes room for all elements at once and reads them into it.
func (c *Copy) insert(h *held, rows *Rows, r *cursor, o op) error {
	d := r.def
	c.row = slices.Grow(c.row[:0], o.count*rows.width)[:o.count*rows.width]
	for i := range o.count {
		if !r.row(c.row[i*rows.width : (i+1)*rows.width]) {
			return ErrMalformed
		}
	}
	if !r.finish() {
		return ErrMalformed
	}
	rows.insert(o.at, c.row)
	if d.keys > 0 && !rows.ordered(o.at, o.at+o.count, d.keys) {
		return ErrMalformed
	}
	for i := range o.count {
		c.tellAt(h, d, Event{Kind: EventInserted, ID: h.id, At: o.at + i, Row: rows.At(o.at + i)})
	}
	return nil
}

// remove takes elements out and tells of each.
func (c *Copy) remove(h *held, rows *Rows, d *Def, o op) {
	gone := append(c.row[:0], rows.between(o.at, o.at+o.count)...)
	rows.remove(o.at, o.count)
	for i := range o.count {
		c.tellAt(h, d, Event{Kind: EventRemoved, ID: h.id, At: o.at, Row: gone[i*rows.width : (i+1)*rows.width]})
	}
	c.row = gone
}

// tellAt tells of one element, unless it is not shown yet.
func (c *Copy) tellAt(h *held, d *Def, e Event) {
	if !h.filling {
		c.tell(d, e)
	}
}

func (c *Copy) tell(d *Def, e Event) {
	if c.Tell != nil {
		c.event = e
		c.Tell(d, &c.event)
		c.event = Event{}
	}
}
