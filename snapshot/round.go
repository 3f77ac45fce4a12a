package snapshot

import (
	"slices"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where Config.Whole says so, nothing leans on anything: what a packet says depends on which entities are due
// alone. So packets are made once for all clients of whom the same is due, and copied: a round is all packets of
// a tick for such clients. What a packet carried is held once (alike), and what it means for a client is a few
// operations on words of bits.

// round is the packets that say all of what is due.
type round struct {
	serial  uint64 // 0: of nobody
	tick    tick.Tick
	epoch   uint16 // the resync that the clients were served
	due     bitset
	rest    bitset // of due, what is in no packet yet
	from    int    // no word of rest before it has any
	packets []roundPacket
	n       int // of them in use
	even    evenSize
	picked  []uint32 // what the packet that is made has records of
}

// roundPacket is one payload, from its first bit on.
type roundPacket struct {
	room   []byte
	code   []byte // what is used of it
	rows   uint64 // rows of all records
	tail   wire.Tail
	groups []sentGroup
	n      int // records
}

// rounds are those of a desk.
type rounds struct {
	all    [maxRounds]round
	serial uint64 // of the one that was begun last
	copied uint64 // packets that were copied for another client
	tails  [maxTails]wire.TailSize
	oldest int  // of tails
	alone  bool // nobody gets what another got: for tests
}

// maxRounds is how many are kept of a tick, and looked through for each client. Where clients differ more, each gets
// its own.
const maxRounds = 8

// maxTails is of how many sizes packets mostly are.
const maxTails = 8

// tail is a payload as the end of a packet.
func (d *rounds) tail(code []byte) wire.Tail {
	for i := range d.tails {
		if s := &d.tails[i]; s.Size() == len(code) {
			return s.Tail(code)
		}
	}
	s := &d.tails[d.oldest]
	d.oldest = (d.oldest + 1) % maxTails
	s.Prepare(len(code))
	return s.Tail(code)
}

// Tail is the payload that was written last as the end of a packet, if it was copied; else it is none.
func (v *View) Tail() wire.Tail { return v.whole.tail }

// wholeView is what a View whose rows travel whole has for it.
type wholeView struct {
	on       bool
	fresh    bitset // visible, and no record of this life went out
	round    *round // that the tick's packets are of
	serial   uint64 // its
	at       int    // how many of its packets went out
	sights   uint64 // View.sights when it was begun
	tail     wire.Tail
	waits    int  // a word of unsent that had any when somebody asked
	behind   bool // the tick before was cut short
	declined bool // for the last packet there was not the room of one that carries nothing else
}

// takeNext writes the next packet of the client's round. done is false where there is none, and what waits goes out
// as it does without.
func (p *packetWriter) takeNext(dst []byte, first bool) (n int, done bool) {
	v := p.v
	w := &v.whole
	w.tail = wire.Tail{}
	if first {
		if w.round = nil; !v.roundable() {
			return 0, false
		}
		w.round, w.at, w.sights = p.desk.rounds.of(v), 0, v.sights
		w.serial = w.round.serial
	}
	r := w.round
	if r == nil || !v.roundable() || r.serial != w.serial || r.tick != p.s || w.at != v.part || w.sights != v.sights || r.epoch != v.epoch {
		w.round = nil
		return 0, false
	}
	q := p.packet(r)
	if q == nil || !v.awaits(q) {
		w.round = nil // the rest, if there is one, is not of the kind that goes in rounds
		return 0, false
	}
	if len(dst) < len(q.code) {
		if w.declined = !w.declined; w.declined {
			v.sent.cancel(p.sent) // the next packet has all the room, if messages took it from this one
			return 0, true
		}
		w.round = nil
		return 0, false
	}
	w.declined = false
	w.at++
	p.carry(q)
	return copy(dst, q.code), true
}

// roundable reports whether what this client is sent may be another's too.
func (v *View) roundable() bool {
	return v.payload > 0 && v.payload == v.store.cfg.Payload && v.observed == v.store.tick && v.ties.n == 0 && v.hunger.index == 0 && !v.whole.behind && len(v.own.rows) == 0 && v.own.latest <= v.store.tick && !v.plan.active && v.store.watch == nil
}

// of is the round of a client: one that was begun for another, if the same is due.
func (d *rounds) of(v *View) *round {
	oldest := &d.all[0]
	for i := range d.all {
		r := &d.all[i]
		if r.tick == v.store.tick && !d.alone && r.suits(v) {
			return r
		}
		if r.serial < oldest.serial {
			oldest = r
		}
	}
	d.serial++
	oldest.begin(v, d.serial)
	return oldest
}

// suits reports whether a round says what is due to a client.
func (r *round) suits(v *View) bool {
	if r.serial == 0 || r.epoch != v.epoch || len(r.due) != len(v.unsent) {
		return false
	}
	owed := v.owed[:len(r.due)]
	for w, due := range v.unsent {
		if due&^owed[w] != r.due[w] {
			return false
		}
	}
	return true
}

// begin makes r the round of what is due to a client.
func (r *round) begin(v *View, serial uint64) {
	r.serial, r.tick, r.epoch = serial, v.store.tick, v.epoch
	r.due = append(r.due[:0], v.unsent...)
	for w, owed := range v.owed {
		r.due[w] &^= owed
	}
	r.rest = append(r.rest[:0], r.due...)
	r.from, r.n, r.even = 0, 0, evenSize{}
}

// packet is the next one of a round for a client, made now if it was not yet. It is nil when there is no more.
func (p *packetWriter) packet(r *round) *roundPacket {
	at := p.v.whole.at
	if at < r.n {
		p.desk.rounds.copied++
		q := &r.packets[at]
		if q.tail == (wire.Tail{}) {
			q.tail = p.desk.rounds.tail(q.code)
		}
		return q
	}
	if at == len(r.packets) {
		r.packets = append(slices.Grow(r.packets, usualParts), roundPacket{})
	}
	q := &r.packets[at]
	if len(q.room) < p.v.payload {
		q.room = make([]byte, p.v.payload)
	}
	q.groups, q.n = q.groups[:0], 0
	if !p.compose(r, q) {
		return nil
	}
	r.n++
	return q
}

// awaits reports whether the client still lacks all that a packet says: what was acknowledged since the round was
// begun is not said again.
func (v *View) awaits(q *roundPacket) bool {
	for _, m := range q.groups {
		if v.unsent[m.word]&^v.owed[m.word]&m.of != m.of {
			return false
		}
	}
	return true
}

// carry notes what a packet carries.
func (p *packetWriter) carry(q *roundPacket) {
	v, n := p.v, q.n
	for _, m := range q.groups {
		v.unsent[m.word] &^= m.of
		v.tooBig[m.word] &^= m.of
		v.unacked[m.word] |= m.of
		if fresh := v.whole.fresh[m.word] & m.of; fresh != 0 {
			v.introduce(m.word, fresh)
		}
		p.has(m, 0)
		v.sentPage(m.word, m.of, p.s)
	}
	p.sent.records = n
	v.plan.wrote(8 * len(q.code) / n)
	v.whole.tail = q.tail
	v.part++
	v.answer = false
	v.stats.Snapshots++
	v.stats.Rows += q.rows
	v.stats.Updates += uint64(n)
}

// known notes that a record of an index goes out.
func (w *wholeView) known(index uint32) {
	if w.on {
		w.fresh.unset(index)
	}
}

// introduce notes of some of a word that a record of this life goes out.
func (v *View) introduce(word uint32, of uint64) {
	v.whole.fresh[word] &^= of
	for ; of != 0; of &= of - 1 {
		index := firstOf(word, of)
		v.tenants[index].shown = v.tenants[index].generation
		v.stats.Spawns++
		v.stats.Updates--
	}
}
