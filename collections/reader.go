package collections

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// link tells a reader what its client sees, and sends bodies to the client.
type link interface {
	// Life returns the tick since which the client has seen an entity without a break, and whether it sees it now.
	Life(id wire.NetworkID) (life tick.Tick, visible bool)
	// Held reports whether the client acknowledged the entity in the life that it sees now.
	Held(id wire.NetworkID) bool
	// Names reports whether an entity lives and may be named to the client.
	Names(id wire.NetworkID) bool
	// Sights returns a number that changes with what the client sees.
	Sights() uint64
	// Room reports whether a piece of a large collection may be added to the bytes that wait for the client.
	Room() bool
	// Limit returns the size in bytes of a body that fits a packet. A body with a single element may be longer.
	Limit() int
	// Push sends a body about an entity, reliably and in order. After an error nothing was sent. It does not keep body.
	Push(id wire.NetworkID, body []byte) error
}

// reader sends one client the operations that it lacks. It belongs to the origin's goroutine.
type reader struct {
	states map[*content]*sendState // for look-up only
	queue  []*sendState            // to be sent whole, in order; nil: sent or dropped
	first  int                     // the first place of queue that may not be nil
	naming []*sendState            // elements contain entity fields
	free   []*sendState
	sights uint64 // of the link, at the last scan of naming

	body   []byte
	head   int // where the first operation is in it
	hidden []uint32

	amended []byte   // output of Amend
	rows    []uint32 // elements of one of its operations
}

// newReader returns the reader of a client without collections.
func newReader() *reader { return &reader{states: map[*content]*sendState{}} }

// sendState is the progress of one client with one collection.
type sendState struct {
	content *content
	life    tick.Tick // of the entity, at the client
	prefix  int       // number of first elements that were sent
	begun   bool      // opReset was sent: operations in the prefix apply to the new content
	whole   bool      // opWhole was sent: the prefix is the whole content
	queued  int       // 1 + place in queue; 0: not queued
	named   int       // place in naming
	hidden  []uint32  // of each element of the prefix, if they contain entity fields
}

// Follow sends the journal of a collection. Call it once for each dirty content, before Fill.
func (r *reader) Follow(c *content, link link) {
	if c.dead {
		r.drop(r.states[c])
		return
	}
	s := r.stateOf(c, link)
	if s == nil || !s.begun {
		return
	}
	if c.log.over || r.follow(s, link) != nil {
		r.restart(s)
	}
}

// Meet begins to send a collection of an entity that the client has just acknowledged.
func (r *reader) Meet(c *content, link link) { r.stateOf(c, link) }

// stateOf returns the state of the entity's present life, nil while the client has not acknowledged the entity.
func (r *reader) stateOf(c *content, link link) *sendState {
	s := r.states[c]
	life, visible := link.Life(c.id)
	if s != nil && (!visible || s.life != life) {
		r.drop(s)
		s = nil
	}
	if s != nil || !visible || !link.Held(c.id) {
		return s
	}
	s = r.take()
	s.content, s.life = c, life
	r.states[c] = s
	if len(c.def.plan.Refs()) > 0 {
		s.named, r.naming = len(r.naming), append(r.naming, s)
	}
	r.enqueue(s)
	return s
}

// take returns an empty state.
func (r *reader) take() *sendState {
	n := len(r.free)
	if n == 0 {
		return &sendState{}
	}
	s := r.free[n-1]
	r.free = r.free[:n-1]
	return s
}

// drop removes a state: the client does not see the entity any more, or the entity is gone.
func (r *reader) drop(s *sendState) {
	if s == nil {
		return
	}
	delete(r.states, s.content)
	if len(s.content.def.plan.Refs()) > 0 {
		last := len(r.naming) - 1
		r.naming[s.named], r.naming[last].named = r.naming[last], s.named
		r.naming = r.naming[:last]
	}
	r.leaveQueue(s)
	*s = sendState{hidden: s.hidden[:0]}
	r.free = append(r.free, s)
}

// restart queues a collection to be sent whole again.
func (r *reader) restart(s *sendState) {
	s.prefix, s.begun, s.whole, s.hidden = 0, false, false, s.hidden[:0]
	r.enqueue(s)
}

func (r *reader) enqueue(s *sendState) {
	if s.queued == 0 {
		r.queue = append(r.queue, s)
		s.queued = len(r.queue)
	}
}

// leaveQueue removes a collection from the queue. Its place stays empty until those before it are too, so that the time does not grow
// with the queue.
func (r *reader) leaveQueue(s *sendState) {
	if s.queued == 0 {
		return
	}
	r.queue[s.queued-1], s.queued = nil, 0
	for r.first < len(r.queue) && r.queue[r.first] == nil {
		r.first++
	}
	if 2*r.first < len(r.queue) {
		return
	}
	kept := r.queue[:0]
	for _, other := range r.queue[r.first:] {
		if other != nil {
			kept = append(kept, other)
			other.queued = len(kept)
		}
	}
	clear(r.queue[len(kept):])
	r.queue, r.first = kept, 0
}

// follow sends the operations of the journal that are in the prefix.
func (r *reader) follow(s *sendState, link link) error {
	c := s.content
	r.begin(c.def)
	width, lanes := c.def.plan.Lanes(), c.log.lanes
	for _, o := range c.log.ops {
		var rows []uint32
		if o.kind.elements() {
			rows, lanes = lanes[:o.count*width], lanes[o.count*width:]
		}
		if o = s.clip(o); o.kind == 0 {
			continue
		}
		if o.kind.elements() {
			rows = rows[:o.count*width]
		}
		if err := r.put(s, o, rows, link); err != nil {
			return err
		}
	}
	return r.send(s, link)
}

// clip returns the part of an operation that is in the prefix, or the zero op. An insert right behind the prefix is in it if
// the prefix is the whole content.
func (s *sendState) clip(o op) op {
	switch {
	case o.kind == opClear:
		return o
	case o.at > s.prefix, o.at == s.prefix && !(o.kind == opInsert && s.whole):
		return op{}
	case o.kind != opInsert:
		o.count = min(o.count, s.prefix-o.at)
	}
	return o
}

// begin begins a body.
func (r *reader) begin(d *definition) {
	r.body = wire.AppendVarint(r.body[:0], uint64(d.number))
	r.head = len(r.body)
}

// put adds an operation to the body, in parts if it is long. It sends full bodies, and moves the prefix.
func (r *reader) put(s *sendState, o op, rows []uint32, link link) error {
	if !o.kind.elements() {
		if err := r.makeRoom(s, maxOp, link); err != nil {
			return err
		}
		r.body = appendOp(r.body, o)
		s.move(o, nil)
		return nil
	}
	d := s.content.def
	width, size := d.plan.Lanes(), bytesOf(d.plan)
	for o.count > 0 {
		if err := r.makeRoom(s, maxOp+size, link); err != nil {
			return err
		}
		part := op{kind: o.kind, at: o.at, count: min(o.count, max(1, (link.Limit()-len(r.body)-maxOp)/size))}
		r.body = appendOp(r.body, part)
		r.body, r.hidden = d.appendRows(r.body, rows[:part.count*width], link, r.hidden[:0])
		s.move(part, r.hidden)
		rows = rows[part.count*width:]
		o.at, o.count = o.at+part.count, o.count-part.count
	}
	return nil
}

// move adjusts the prefix to an operation that is in it.
func (s *sendState) move(o op, hidden []uint32) {
	named := len(s.content.def.plan.Refs()) > 0
	switch o.kind {
	case opReset, opClear:
		s.prefix, s.hidden = 0, s.hidden[:0]
	case opInsert:
		s.prefix += o.count
		if named {
			s.hidden = slices.Insert(s.hidden, o.at, hidden...)
		}
	case opSet:
		if named {
			copy(s.hidden[o.at:], hidden)
		}
	case opRemove:
		s.prefix -= o.count
		if named {
			s.hidden = slices.Delete(s.hidden, o.at, o.at+o.count)
		}
	}
}

// makeRoom sends the body if more bytes do not fit into it.
func (r *reader) makeRoom(s *sendState, more int, link link) error {
	if len(r.body)+more <= link.Limit() {
		return nil
	}
	return r.send(s, link)
}

// send sends the body, if it has an operation, and begins it anew.
func (r *reader) send(s *sendState, link link) error {
	if len(r.body) == r.head {
		return nil
	}
	err := link.Push(s.content.id, r.body)
	r.body = r.body[:r.head]
	return err
}

// Fill sends pieces of the collections that the client does not have whole, as long as the link has room.
func (r *reader) Fill(link link) {
	r.sendRevealed(link)
	for r.first < len(r.queue) && link.Room() {
		s := r.queue[r.first]
		if life, visible := link.Life(s.content.id); !visible || life != s.life {
			r.drop(s)
			continue
		}
		before := *s
		if r.piece(s, link) != nil { // nothing was sent
			s.prefix, s.begun, s.whole, s.hidden = before.prefix, before.begun, before.whole, s.hidden[:len(before.hidden)]
			return
		}
		if s.whole {
			r.leaveQueue(s)
		}
	}
}

// piece sends the next elements of a collection, as many as fit into one body.
func (r *reader) piece(s *sendState, link link) error {
	c, d := s.content, s.content.def
	r.begin(d)
	if !s.begun {
		s.begun = true
		if err := r.put(s, op{kind: opReset}, nil, link); err != nil {
			return err
		}
	}
	left := c.rows.Len() - s.prefix
	fit := max(1, (link.Limit()-len(r.body)-maxOp-1)/bytesOf(d.plan))
	if count := min(left, fit); count > 0 {
		o := op{kind: opInsert, at: s.prefix, count: count}
		if err := r.put(s, o, c.rows.between(o.at, o.at+count), link); err != nil {
			return err
		}
	}
	if s.prefix == c.rows.Len() {
		s.whole = true
		r.body = appendOp(r.body, op{kind: opWhole})
	}
	return r.send(s, link)
}

// sendRevealed sends the elements again that name an entity which became visible or invisible to the client.
func (r *reader) sendRevealed(link link) {
	now := link.Sights()
	if now == r.sights {
		return
	}
	r.sights = now
	for i := len(r.naming) - 1; i >= 0; i-- {
		s := r.naming[i]
		if life, visible := link.Life(s.content.id); !visible || life != s.life {
			r.drop(s)
			continue
		}
		if s.begun && r.sendRevealedOf(s, link) != nil {
			r.restart(s)
		}
	}
}

// sendRevealedOf is sendRevealed for one collection.
func (r *reader) sendRevealedOf(s *sendState, link link) error {
	rows, d := &s.content.rows, s.content.def
	r.begin(d)
	for i := range s.prefix {
		if d.hiddenFields(rows.At(i), link) == s.hidden[i] {
			continue
		}
		if err := r.put(s, op{kind: opSet, at: i, count: 1}, rows.At(i), link); err != nil {
			return err
		}
	}
	return r.send(s, link)
}

// blank overwrites the operations of a body with opStop. The client's collection stays as it is, and operations behind the body,
// which may depend on it, have no effect.
func blank(body []byte) {
	_, n, err := wire.ReadVarint(body)
	if err != nil {
		return
	}
	for i := n; i < len(body); i++ {
		body[i] = byte(opStop)
	}
}

// Amend removes from a body, in place, the names of entities that the client does not see any more, and returns the new length.
// The next Fill sends these elements once more.
func (r *reader) Amend(defs []*definition, body []byte, link link) int {
	c, err := open(defs, body)
	if err != nil || len(c.def.plan.Refs()) == 0 {
		return len(body)
	}
	out := append(r.amended[:0], body[:len(body)-len(c.rest)]...)
	var row [maxLanes]uint32
	width := c.def.plan.Lanes()
	for c.more() {
		o, err := c.next()
		if err != nil {
			return len(body)
		}
		out = appendOp(out, o)
		if !o.kind.elements() {
			continue
		}
		r.rows = r.rows[:0]
		for c.left > 0 {
			if !c.row(row[:width]) {
				return len(body)
			}
			r.rows = append(r.rows, row[:width]...)
		}
		if !c.finish() {
			return len(body)
		}
		out, r.hidden = c.def.appendRows(out, r.rows, link, r.hidden[:0])
	}
	r.amended = out
	return copy(body, out)
}

// rowList is the elements of one collection, each as the words of its fields (quantize.Plan). A nil rowList is empty.
type rowList struct {
	width int
	lanes []uint32
}

// Len returns the number of elements.
func (r *rowList) Len() int {
	if r == nil {
		return 0
	}
	return len(r.lanes) / r.width
}

// At returns an element, and panics if there is none. The slice is the collection's own: read it, do not keep it.
func (r *rowList) At(i int) []uint32 { return r.lanes[i*r.width : (i+1)*r.width : (i+1)*r.width] }

// between returns the words of the elements from one place up to another.
func (r *rowList) between(from, to int) []uint32 { return r.lanes[from*r.width : to*r.width] }

// Find returns the place of the element with a key, or the place to insert it. The elements must be in the order of their keys.
func (r *rowList) Find(key []uint32) (at int, found bool) {
	if r == nil {
		return 0, false
	}
	low, high := 0, r.Len()
	for low < high {
		middle := int(uint(low+high) / 2)
		switch slices.Compare(r.At(middle)[:len(key)], key) {
		case 0:
			return middle, true
		case -1:
			low = middle + 1
		default:
			high = middle
		}
	}
	return low, false
}

// ordered reports whether the keys rise strictly from one place up to another, with the neighbours at both ends.
func (r *rowList) ordered(from, to, keys int) bool {
	for i := max(from, 1); i <= to && i < r.Len(); i++ {
		if slices.Compare(r.At(i - 1)[:keys], r.At(i)[:keys]) >= 0 {
			return false
		}
	}
	return true
}

// insert inserts elements.
func (r *rowList) insert(at int, lanes []uint32) {
	r.lanes = slices.Insert(r.lanes, at*r.width, lanes...)
}

// remove removes elements.
func (r *rowList) remove(at, count int) {
	r.lanes = slices.Delete(r.lanes, at*r.width, (at+count)*r.width)
}

// clear removes all elements.
func (r *rowList) clear() { r.lanes = r.lanes[:0] }
