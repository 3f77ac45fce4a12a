package collections

import (
	"slices"

	"github.com/arche-netcode/netcode/wire"
)

// contentKey names one collection by type and entity.
type contentKey struct {
	number int
	id     wire.NetworkID
}

// origin stores the collections on the server. It belongs to one goroutine.
type origin struct {
	defs     []*definition
	contents map[contentKey]*content // looked up only
	dirty    []*content              // contents with journal entries, in the order of their first entry
}

// newOrigin returns an origin without contents. The types are in the order of their numbers.
func newOrigin(defs []*definition) *origin {
	return &origin{defs: defs, contents: map[contentKey]*content{}}
}

// content is one collection of one entity, with a journal of the operations since the last Settle.
type content struct {
	origin *origin
	def    *definition
	id     wire.NetworkID
	rows   rowList
	log    journal
	dirty  bool
	dead   bool
}

// Find returns an entity's collection of a type, nil if there is none.
func (o *origin) Find(number int, id wire.NetworkID) *content {
	return o.contents[contentKey{number, id}]
}

// Make returns an entity's collection of a type and creates it if there is none; fresh reports that.
func (o *origin) Make(number int, id wire.NetworkID) (c *content, fresh bool) {
	at := contentKey{number, id}
	if c = o.contents[at]; c != nil {
		return c, false
	}
	def := o.defs[number]
	c = &content{origin: o, def: def, id: id, rows: rowList{width: def.plan.Lanes()}}
	o.contents[at] = c
	c.touch() // an empty collection must be sent as well
	return c, true
}

// Len returns the number of collections.
func (o *origin) Len() int { return len(o.contents) }

// Drop removes the collections of an entity that is gone. Dirty returns them once more, for the readers.
func (o *origin) Drop(id wire.NetworkID) {
	for number := range o.defs {
		at := contentKey{number, id}
		if c := o.contents[at]; c != nil {
			c.dead = true
			c.touch()
			delete(o.contents, at)
		}
	}
}

// Dirty returns the contents that changed since the last Settle, in the order of their first change. The slice is the origin's own.
func (o *origin) Dirty() []*content { return o.dirty }

// Settle empties the journals, after every reader has followed them.
func (o *origin) Settle() {
	for _, c := range o.dirty {
		c.dirty = false
		c.log.clear()
	}
	clear(o.dirty)
	o.dirty = o.dirty[:0]
}

// touch marks the content as changed.
func (c *content) touch() {
	if !c.dirty {
		c.dirty = true
		c.origin.dirty = append(c.origin.dirty, c)
	}
}

// Rows returns the elements.
func (c *content) Rows() *rowList {
	if c == nil {
		return nil
	}
	return &c.rows
}

// ID returns the entity.
func (c *content) ID() wire.NetworkID { return c.id }

// Insert inserts an element. The errors are errIndex and errFull; then nothing was done. With keys, the place is the result of
// Find.
func (c *content) Insert(at int, row []uint32) error {
	switch {
	case at < 0 || at > c.rows.Len():
		return errIndex
	case c.rows.Len() >= c.def.most:
		return errFull
	}
	c.rows.insert(at, row)
	c.note(opInsert, at, row)
	return nil
}

// Set replaces an element. An equal element has no effect. The error is errIndex.
func (c *content) Set(at int, row []uint32) error {
	if at < 0 || at >= c.rows.Len() {
		return errIndex
	}
	if slices.Equal(c.rows.At(at), row) {
		return nil
	}
	copy(c.rows.At(at), row)
	c.note(opSet, at, row)
	return nil
}

// Remove removes an element. The error is errIndex.
func (c *content) Remove(at int) error {
	if at < 0 || at >= c.rows.Len() {
		return errIndex
	}
	c.rows.remove(at, 1)
	c.note(opRemove, at, nil)
	return nil
}

// Clear removes all elements.
func (c *content) Clear() {
	if c.rows.Len() == 0 {
		return
	}
	c.rows.clear()
	c.log.clear() // earlier operations have no effect any more
	c.log.ops = append(c.log.ops, op{kind: opClear})
	c.touch()
}

// note adds an operation to the journal.
func (c *content) note(kind opcode, at int, row []uint32) {
	c.touch()
	c.log.add(op{kind: kind, at: at, count: 1}, row, c.rows.Len())
}

// journal is the operations since the last Settle, in order.
type journal struct {
	ops   []op
	lanes []uint32 // the elements of all of them
	over  bool     // longer than the collection: readers send the whole collection instead
}

// journalLeast is the number of operations that a journal takes in any case.
const journalLeast = 64

// add adds an operation on one element. elements is the length of the collection after it. Neighbouring operations become one.
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

// join makes an operation a part of the last one, if it begins where that one ends.
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
