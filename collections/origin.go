package collections

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// place names one collection: which type of it, on which entity.
type place struct {
	number int
	id     wire.NetworkID
}

// Origin is the collections of the end that writes. It belongs to one goroutine.
type Origin struct {
	defs     []*Def
	contents map[place]*Content // looked up only
	dirty    []*Content         // with something in their journals, in the order in which that came
}

// NewOrigin returns one without contents. The types are in the order of their numbers.
func NewOrigin(defs []*Def) *Origin {
	return &Origin{defs: defs, contents: map[place]*Content{}}
}

// Content is one collection of one entity, and what was done to it since the last flush.
type Content struct {
	origin *Origin
	def    *Def
	id     wire.NetworkID
	rows   Rows
	log    journal
	dirty  bool
	dead   bool
}

// Find returns the collection of a type that an entity has, nil when there is none yet.
func (o *Origin) Find(number int, id wire.NetworkID) *Content { return o.contents[place{number, id}] }

// Make returns the collection of a type that an entity has from now on, and whether it is new.
func (o *Origin) Make(number int, id wire.NetworkID) (c *Content, fresh bool) {
	at := place{number, id}
	if c = o.contents[at]; c != nil {
		return c, false
	}
	def := o.defs[number]
	c = &Content{origin: o, def: def, id: id, rows: Rows{width: def.plan.Lanes()}}
	o.contents[at] = c
	c.touch() // also an empty one is something that clients can have whole
	return c, true
}

// Len returns how many collections there are.
func (o *Origin) Len() int { return len(o.contents) }

// Drop forgets the collections of an entity that is gone. They are among the dirty ones, so that the readers learn of it.
func (o *Origin) Drop(id wire.NetworkID) {
	for number := range o.defs {
		at := place{number, id}
		if c := o.contents[at]; c != nil {
			c.dead = true
			c.touch()
			delete(o.contents, at)
		}
	}
}

// Dirty returns what changed since the last Settle, in the order in which that began. The slice is the Origin's own.
func (o *Origin) Dirty() []*Content { return o.dirty }

// Settle begins new journals, when every reader has followed the old ones.
func (o *Origin) Settle() {
	for _, c := range o.dirty {
		c.dirty = false
		c.log.clear()
	}
	clear(o.dirty)
	o.dirty = o.dirty[:0]
}

// touch notes that something was done.
func (c *Content) touch() {
	if !c.dirty {
		c.dirty = true
		c.origin.dirty = append(c.origin.dirty, c)
	}
}

// Rows returns the elements.
func (c *Content) Rows() *Rows {
	if c == nil {
		return nil
	}
	return &c.rows
}

// ID returns whose it is.
func (c *Content) ID() wire.NetworkID { return c.id }

// Insert puts an element in. The errors are ErrIndex and ErrFull; then nothing was done. Of what has keys, the place is
// the one that Find gave.
func (c *Content) Insert(at int, row []uint32) error {
	switch {
	case at < 0 || at > c.rows.Len():
		return ErrIndex
	case c.rows.Len() >= c.def.most:
		return ErrFull
	}
	c.rows.insert(at, row)
	c.note(opInsert, at, row)
	return nil
}

// Set replaces an element; by the same one, without any effect. The error is ErrIndex.
func (c *Content) Set(at int, row []uint32) error {
	if at < 0 || at >= c.rows.Len() {
		return ErrIndex
	}
	if slices.Equal(c.rows.At(at), row) {
		return nil
	}
	copy(c.rows.At(at), row)
	c.note(opSet, at, row)
	return nil
}

// Remove takes an element out. The error is ErrIndex.
func (c *Content) Remove(at int) error {
	if at < 0 || at >= c.rows.Len() {
		return ErrIndex
	}
	c.rows.remove(at, 1)
	c.note(opRemove, at, nil)
	return nil
}

// Clear takes all elements out.
func (c *Content) Clear() {
	if c.rows.Len() == 0 {
		return
	}
	c.rows.clear()
	c.log.clear() // what came before has no effect any more
	c.log.ops = append(c.log.ops, op{kind: opClear})
	c.touch()
}

// note puts an operation into the journal.
func (c *Content) note(kind opcode, at int, row []uint32) {
	c.touch()
	c.log.add(op{kind: kind, at: at, count: 1}, row, c.rows.Len())
}

// journal is the operations since the last flush, in order.
type journal struct {
	ops   []op
	lanes []uint32 // the elements of all of them
	over  bool     // it became longer than the collection: whoever followed gets that whole
}

// journalLeast is the number of operations that a journal takes in any case.
const journalLeast = 64

// add notes one operation about one element of a collection that now has so many. Neighbours become one.
func (j *journal) add(o op, row []uint32, elements int) {
	if j.over {
		return
	}
	if j.join(o) {
		j.lanes = append(j.lanes, row...)
		return
	}
	if len(j.ops) >= journalLeast+elements {
		j.over = true
		return
	}
	j.ops = append(j.ops, o)
	j.lanes = append(j.lanes, row...)
}

// join makes an operation a part of the last one, if it goes on where that ended.
func (j *journal) join(o op) bool {
	if len(j.ops) == 0 {
		return false
	}
	last := &j.ops[len(j.ops)-1]
	if last.kind != o.kind {
		return false
	}
	switch {
	case o.kind.elements() && o.at == last.at+last.count, o.kind == opRemove && o.at == last.at:
		last.count++
		return true
	}
	return false
}

func (j *journal) clear() { *j = journal{ops: j.ops[:0], lanes: j.lanes[:0]} }
