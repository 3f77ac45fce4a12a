package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// Recaller decides about messages about entities that are not acknowledged yet, after the rights of the peer to see
// these entities changed.
type Recaller interface {
	// Gone reports whether the peer must not receive anything more about an entity.
	Gone(entity wire.NetworkID) bool
	// Blank overwrites the body of a message about a Gone entity with one of the same length and without content, or
	// leaves it as it is. The message was sent and may have to be sent again. Its number and its cost are fixed, so it
	// cannot be taken back.
	Blank(id wire.MessageType, body []byte)
	// Amend removes everything that the peer must not see from the body of a message. The message was not sent yet, and
	// its entity is not Gone. Amend works in place and returns the new length, which is not larger.
	Amend(id wire.MessageType, body []byte) int
}

// Recall asks a Recaller about the messages of a reliable channel that are about an entity. Messages about Gone
// entities that were not sent are taken back, and later messages get their numbers. A large message stays
// if one of its pieces was sent: the receiver must get the others.
func (o *Outgoing) Recall(ch wire.Channel, by Recaller) {
	r := &o.reliable
	place := r.index[ch&(2*wire.MaxChannels-1)]
	if place == 0 || r.unconfirmed == 0 {
		return
	}
	o.stats.Recalled += r.recallWaiting(&r.channels[place-1], by)
	for id := r.items.first; id < r.items.next; id++ {
		it := r.items.at(id)
		if it.channel != place-1 || it.piece || it.state != itemFlying && it.state != itemLost {
			continue
		}
		if id, entity, body := r.about(it); entity.Generation != 0 && by.Gone(entity) {
			by.Blank(id, body)
		}
	}
	r.release()
}

// RecallAll is Recall for all reliable channels. It also removes waiting unreliable messages about Gone entities. It
// returns the number of messages taken back.
func (o *Outgoing) RecallAll(by Recaller) uint64 {
	before := o.stats.Recalled
	for _, delivery := range [...]wire.Delivery{wire.Reliable, wire.ReliableOrdered} {
		for number := range wire.MaxChannels {
			o.Recall(wire.NewChannel(delivery, number), by)
		}
	}
	o.stats.Recalled += o.unreliable.recall(by)
	return o.stats.Recalled - before
}

// recall removes the messages about Gone entities from the runs.
func (q *unreliableQueue) recall(by Recaller) (taken uint64) {
	q.close()
	kept := q.runs.first
	for id := q.runs.first; id < q.runs.next; id++ {
		r := *q.runs.at(id)
		buf := q.buf
		if i := r.buffer - q.oldest; i < uint64(len(q.full)) {
			buf = q.full[i]
		}
		end := r.start
		for at := r.start; at < r.end; {
			size := wire.MessageHeaderSize + int(binary.LittleEndian.Uint16(buf[at+2:]))
			if entity := entityOf(buf[at : at+size]); entity.Generation != 0 && by.Gone(entity) {
				taken++
			} else {
				end += copy(buf[end:], buf[at:at+size])
			}
			at += size
		}
		q.queued -= r.end - end
		if r.end = end; end > r.start {
			*q.runs.at(kept) = r
			kept++
		}
	}
	q.runs.next = kept
	q.recycle()
	return taken
}

// entityOf returns the entity of a framed unreliable message, or the zero id.
func entityOf(framed []byte) wire.NetworkID {
	var a Arrival
	var err error
	if a.Header, err = wire.ParseMessageHeader(framed); err != nil {
		return wire.NetworkID{}
	}
	if a.Body = framed[wire.MessageHeaderSize:]; a.openPrefix() != nil {
		return wire.NetworkID{}
	}
	return a.Entity
}

// recallWaiting goes through the waiting messages of a channel, and returns the number of messages that it took back.
func (r *reliable) recallWaiting(c *sendChannel, by Recaller) (taken uint64) {
	if c.head == 0 {
		return 0
	}
	number, next := r.items.at(c.head).number, uint64(0)
	link := &c.head // the field for the id of the next message that stays
	c.tail = 0
	pieces, gone := 0, false // of a large message: number of pieces that follow, and whether they are taken back
	for id := c.head; id != 0; id = next {
		it := r.items.at(id)
		next = it.next
		switch {
		case it.pieces > 0:
			_, entity, _ := r.about(it)
			pieces, gone = int(it.pieces), entity.Generation != 0 && by.Gone(entity)
		case !it.piece:
			gone = r.amend(it, by)
		case pieces == 0: // further pieces of a message in flight
			gone = false
		}
		pieces = max(pieces-1, 0)
		if gone {
			if !it.piece || it.pieces > 0 {
				taken++
			}
			r.unqueue(it)
			continue
		}
		it.number = number
		binary.LittleEndian.PutUint16(r.framed(it)[wire.MessageHeaderSize:], uint16(number))
		number++
		*link, c.tail = id, id
		link = &it.next
	}
	*link = 0
	c.next = number
	return taken
}

// amend asks about a whole waiting message, and reports whether to take it back.
func (r *reliable) amend(it *reliableMessage, by Recaller) (gone bool) {
	id, entity, body := r.about(it)
	switch {
	case entity.Generation == 0:
		return false
	case by.Gone(entity):
		return true
	}
	if shorter := len(body) - by.Amend(id, body); shorter > 0 {
		it.size -= shorter
		r.held -= shorter
		r.waiting -= shorter
		binary.LittleEndian.PutUint16(r.framed(it)[2:], uint16(it.size-wire.MessageHeaderSize))
	}
	return false
}

// unqueue takes a waiting message back. The caller removes it from its channel.
func (r *reliable) unqueue(it *reliableMessage) {
	r.held -= it.size
	r.waiting -= it.size
	r.unconfirmed--
	it.state, it.size = itemConfirmed, 0
}

// about returns the type, the entity and the body of a message. The entity is the zero id if there is none. The body of
// a large message is the part in its first piece.
func (r *reliable) about(it *reliableMessage) (id wire.MessageType, entity wire.NetworkID, body []byte) {
	framed := r.framed(it)
	at := wire.MessageHeaderSize + numberSize
	header := [wire.MessageHeaderSize]byte{framed[0], framed[1]}
	if it.piece {
		header = [wire.MessageHeaderSize]byte{framed[at], framed[at+1]}
		at += fragmentHeader
	}
	var a Arrival
	var err error
	if a.Header, err = wire.ParseMessageHeader(header[:]); err != nil {
		return id, entity, nil
	}
	a.Body = framed[at:]
	if a.openPrefix() != nil {
		return id, entity, nil
	}
	return a.Header.Type, a.Entity, a.Body
}
