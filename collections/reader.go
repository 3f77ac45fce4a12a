package collections

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Link tells a Reader about its client, and takes the operations for it.
type Link interface {
	// Life returns since when the client has seen an entity without a break, and whether it sees it now.
	Life(id wire.NetworkID) (life tick.Tick, visible bool)
	// Held reports whether the client is proved to hold an entity, of the life that it sees now.
	Held(id wire.NetworkID) bool
	// Names reports whether an entity lives and may be named to the client.
	Names(id wire.NetworkID) bool
	// Sights returns a number that is another one when what the client sees is not the same any more.
	Sights() uint64
	// Room reports whether so little waits for the client that a piece of a large collection may too.
	Room() bool
	// Limit returns how long a body should be at most, in bytes, so that it fits a packet. One with a single element
	// may be longer.
	Limit() int
	// Push sends a body about an entity, reliably and in order. After an error nothing was sent. It keeps nothing of body.
	Push(id wire.NetworkID, body []byte) error
}

// Reader sends one client the operations that it lacks. It belongs to the Origin's goroutine.
type Reader struct {
	seats  map[*Content]*seat // looked up only
	queue  []*seat            // those that are to be sent whole, in order
	naming []*seat            // those whose elements name entities
	free   []*seat
	sights uint64 // of the link, when naming was last looked through

	body  []byte
	head  int // where the first operation is in it
	veils []uint32

	amended []byte   // what Amend makes of a body,
	rows    []uint32 // and the elements of one of its operations
}

// NewReader returns the Reader of a client that has nothing.
func NewReader() *Reader { return &Reader{seats: map[*Content]*seat{}} }

// seat is the progress of one client with one collection.
type seat struct {
	content *Content
	life    tick.Tick // of the entity, at the client
	prefix  int       // elements that it was sent
	begun   bool      // opReset was sent: what is done in the prefix concerns it
	whole   bool      // opWhole too: the prefix is all there is
	queued  bool
	veils   []uint32 // of each element of the prefix, where they name entities
}

// Follow sends what was done to a collection since the last flush. It is to be called once a flush for each that is
// dirty, before Fill.
func (r *Reader) Follow(c *Content, link Link) {
	if c.dead {
		r.drop(r.seats[c])
		return
	}
	s := r.seat(c, link)
	if s == nil || !s.begun {
		return
	}
	if c.log.over || r.follow(s, link) != nil {
		r.restart(s)
	}
}

// Meet is to be called for each collection of an entity that the client has just been proved to hold.
func (r *Reader) Meet(c *Content, link Link) { r.seat(c, link) }

// seat returns the seat of the entity's present life, nil while the client does not hold it.
func (r *Reader) seat(c *Content, link Link) *seat {
	s := r.seats[c]
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
	r.seats[c] = s
	if len(c.def.plan.Refs()) > 0 {
		r.naming = append(r.naming, s)
	}
	r.enqueue(s)
	return s
}

// take returns an empty seat.
func (r *Reader) take() *seat {
	n := len(r.free)
	if n == 0 {
		return &seat{}
	}
	s := r.free[n-1]
	r.free = r.free[:n-1]
	return s
}

// drop forgets a seat: the client does not hold the entity any more, or that is gone.
func (r *Reader) drop(s *seat) {
	if s == nil {
		return
	}
	delete(r.seats, s.content)
	if len(s.content.def.plan.Refs()) > 0 {
		r.naming = slices.DeleteFunc(r.naming, func(other *seat) bool { return other == s })
	}
	if s.queued {
		r.queue = slices.DeleteFunc(r.queue, func(other *seat) bool { return other == s })
	}
	*s = seat{veils: s.veils[:0]}
	r.free = append(r.free, s)
}

// restart has a collection sent whole again.
func (r *Reader) restart(s *seat) {
	s.prefix, s.begun, s.whole, s.veils = 0, false, false, s.veils[:0]
	r.enqueue(s)
}

func (r *Reader) enqueue(s *seat) {
	if !s.queued {
		s.queued = true
		r.queue = append(r.queue, s)
	}
}

// follow sends what of the journal concerns the prefix.
func (r *Reader) follow(s *seat, link Link) error {
	c := s.content
	r.begin(c.def)
	width, lanes := c.def.plan.Lanes(), c.log.lanes
	for _, o := range c.log.ops {
		var rows []uint32
		if o.kind.elements() {
			rows, lanes = lanes[:o.count*width], lanes[o.count*width:]
		}
		if o = s.share(o); o.kind == 0 {
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

// share returns what of an operation concerns the prefix, and nothing if none does. What is put in right behind the
// prefix is a part of it where there is nothing else to come.
func (s *seat) share(o op) op {
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

// begin opens a body.
func (r *Reader) begin(d *Def) {
	r.body = wire.AppendVarint(r.body[:0], uint64(d.number))
	r.head = len(r.body)
}

// put adds an operation to the body, in parts where it is long, and sends the body when that is full. The prefix moves
// along.
func (r *Reader) put(s *seat, o op, rows []uint32, link Link) error {
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
		r.body, r.veils = d.appendRows(r.body, rows[:part.count*width], link, r.veils[:0])
		s.move(part, r.veils)
		rows = rows[part.count*width:]
		o.at, o.count = o.at+part.count, o.count-part.count
	}
	return nil
}

// move lets the prefix follow an operation that is in it.
func (s *seat) move(o op, veils []uint32) {
	named := len(s.content.def.plan.Refs()) > 0
	switch o.kind {
	case opReset, opClear:
		s.prefix, s.veils = 0, s.veils[:0]
	case opInsert:
		s.prefix += o.count
		if named {
			s.veils = slices.Insert(s.veils, o.at, veils...)
		}
	case opSet:
		if named {
			copy(s.veils[o.at:], veils)
		}
	case opRemove:
		s.prefix -= o.count
		if named {
			s.veils = slices.Delete(s.veils, o.at, o.at+o.count)
		}
	}
}

// makeRoom sends the body unless so much more fits into it, or it is empty.
func (r *Reader) makeRoom(s *seat, more int, link Link) error {
	if len(r.body)+more <= link.Limit() {
		return nil
	}
	return r.send(s, link)
}

// send sends what is in the body.
func (r *Reader) send(s *seat, link Link) error {
	if len(r.body) == r.head {
		return nil
	}
	err := link.Push(s.content.id, r.body)
	r.body = r.body[:r.head]
	return err
}

// Fill sends pieces of what the client does not have whole, as long as there is room for it.
func (r *Reader) Fill(link Link) {
	r.unveil(link)
	for len(r.queue) > 0 && link.Room() {
		s := r.queue[0]
		if life, visible := link.Life(s.content.id); !visible || life != s.life {
			r.drop(s)
			continue
		}
		before := *s
		if r.piece(s, link) != nil { // nothing of it was sent
			s.prefix, s.begun, s.whole, s.veils = before.prefix, before.begun, before.whole, s.veils[:len(before.veils)]
			return
		}
		if s.whole {
			s.queued = false
			r.queue = slices.Delete(r.queue, 0, 1)
		}
	}
}

// piece sends the next elements of a collection, as many as fit one body.
func (r *Reader) piece(s *seat, link Link) error {
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

// unveil sends anew the elements that name an entity which the client sees by now, or does not see any more.
func (r *Reader) unveil(link Link) {
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
		if s.begun && r.unveilIn(s, link) != nil {
			r.restart(s)
		}
	}
}

// unveilIn is unveil for one collection.
func (r *Reader) unveilIn(s *seat, link Link) error {
	rows, d := &s.content.rows, s.content.def
	r.begin(d)
	for i := range s.prefix {
		if d.veil(rows.At(i), link) == s.veils[i] {
			continue
		}
		if err := r.put(s, op{kind: opSet, at: i, count: 1}, rows.At(i), link); err != nil {
			return err
		}
	}
	return r.send(s, link)
}
