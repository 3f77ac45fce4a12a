package peer

import (
	"encoding/binary"
	"math/bits"
	"sort"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	// itemOverhead is the part of ReliableBytes that a reliable message takes in addition to its own bytes.
	itemOverhead = 64
	// minArena is the least ReliableBytes, and the memory allocated for the first reliable message.
	minArena = 4 << 10
	// numberSize is the size of the message number before a reliable message's payload.
	numberSize = 2
)

// sendChannel is one reliable channel on the sending side.
type sendChannel struct {
	channel    wire.Channel
	next       uint64 // number of the next message
	confirmed  window
	head, tail uint64 // ids of the first and last waiting message; 0: none
}

// fragmentSet is a large message in flight: a piece was sent, and not every piece is acknowledged.
type fragmentSet struct {
	first, end uint64 // ids of its pieces
	confirmed  uint64 // number of confirmed pieces
}

// reliable is the queue of reliable messages of all channels, from the call to the acknowledgement.
type reliable struct {
	arena    arena
	items    items
	carried  sentReliables
	index    [2 * wire.MaxChannels]uint8 // 1 + index in channels of each reliable channel; 0: none
	channels []sendChannel               // one for each channel in use, in the order of their first use
	sets     [maxFragmentSets]fragmentSet
	open     int // number of sets in use: the first ones

	underway    int       // number of messages sent and not acknowledged
	asked       tick.Tick // of the message that Reserve opened: tick before which it must not be handled
	heldUntil   tick.Tick // the newest such tick of all added messages
	granted     uint64    // granted credit since the start
	spent       uint64    // spent credit since the start
	limit       int       // ReliableBytes
	held        int       // used part of limit
	waiting     int       // bytes of waiting and lost messages
	unconfirmed int
	most        int    // largest size of a framed message
	scratch     []byte // prefix and body of a message that may have to be cut into pieces
	channel     wire.Channel
	kind        wire.MessageType // type of the message that Reserve opened
	stage       byte
}

func newReliable(cfg OutgoingConfig) reliable {
	return reliable{
		items:   newItems(),
		carried: sentReliables{remember: uint64(cfg.SentPackets)},
		granted: InitialCredit,
		limit:   cfg.ReliableBytes,
		most:    mostReliable(min(cfg.PacketSize, cfg.PieceSize)),
	}
}

// mostReliable returns the largest size of a framed reliable message in packets of a size.
func mostReliable(packetSize int) int { return packetSize - packetOverhead - furtherBatch }

// piece returns the size of a piece of a large message.
func (r *reliable) piece() int { return r.most - wire.MessageHeaderSize - numberSize - fragmentHeader }

// cut returns the number of pieces of a message with n bytes of prefix and body, 1 if it is sent whole.
func (r *reliable) cut(n int) int {
	if n <= r.most-wire.MessageHeaderSize-numberSize {
		return 1
	}
	return (n + r.piece() - 1) / r.piece()
}

// size returns the memory in the arena for n bytes of prefix and body in pieces.
func (r *reliable) size(n, pieces int) int {
	if pieces == 1 {
		return wire.MessageHeaderSize + numberSize + n
	}
	return n + pieces*(wire.MessageHeaderSize+numberSize+fragmentHeader)
}

// cost returns the credit that n bytes of prefix and body in pieces take.
func (r *reliable) cost(n, pieces int) int {
	return r.size(n, pieces) - pieces*wire.MessageHeaderSize + pieces*messageOverhead
}

// MaxBody returns the longest body that Reserve accepts for such a message in an empty queue, in bytes. It returns 0 if
// it accepts none.
func (o *Outgoing) MaxBody(p *Post) int {
	var prefix [maxPrefix]byte
	front := len(p.appendPrefix(prefix[:0]))
	if !p.Channel.Delivery().Reliable() {
		return max(min(o.unreliable.most(p.Channel)-wire.MessageHeaderSize-front, o.config.PacketSize), 0)
	}
	return max(sort.Search(maxMessageCost+1, func(bound int) bool { return !o.reliable.takes(front + bound) })-1, 0)
}

// takes reports whether a message with n bytes of prefixes and body can be sent at all.
func (r *reliable) takes(n int) bool {
	pieces := r.cut(n)
	return pieces <= MaxFragments && r.cost(n, pieces) <= maxMessageCost && r.size(n, pieces)+pieces*itemOverhead <= r.limit
}

// reserveReliable is Reserve for reliable channels.
func (o *Outgoing) reserveReliable(p *Post, bound int) ([]byte, error) {
	r := &o.reliable
	if bound > maxMessageCost {
		return nil, ErrTooLarge
	}
	var prefix [maxPrefix]byte
	front := p.appendPrefix(prefix[:0])
	n := len(front) + bound
	pieces := r.cut(n)
	size := r.size(n, pieces)
	if !r.takes(n) {
		return nil, ErrTooLarge
	}
	if r.held+size+pieces*itemOverhead > r.limit {
		return nil, ErrBackPressure
	}
	at, ok := r.room(size)
	if !ok {
		return nil, ErrBackPressure
	}
	if r.asked = 0; p.Flags&wire.FlagTick != 0 {
		r.asked = p.Tick
	}
	h := wire.MessageHeader{Type: p.Type, Stage: p.Stage, Flags: p.Flags}
	r.channel, o.message = p.Channel, at
	if pieces > 1 {
		if cap(r.scratch) < n {
			r.scratch = make([]byte, max(n, 2*cap(r.scratch)))
		}
		var header [wire.MessageHeaderSize]byte
		h.Put(header[:])
		r.kind, r.stage = p.Type, header[1]
		copy(r.scratch[:n], front)
		o.opened, o.body = openScratch, len(front)
		return r.scratch[len(front):n:n], nil
	}
	buf := r.arena.buf[at : at+size]
	h.Put(buf)
	copy(buf[wire.MessageHeaderSize+numberSize:], front)
	o.opened, o.body = openReliable, at+size-bound
	return buf[size-bound : size : size], nil
}

// room returns a position in the arena with space for size bytes. The arena grows up to the limit.
func (r *reliable) room(size int) (at int, ok bool) {
	for {
		at, ok = r.arena.place(size)
		if ok || len(r.arena.buf) >= r.limit {
			return at, ok
		}
		r.grow(min(max(2*len(r.arena.buf), minArena), r.limit))
	}
}

// grow moves the content of the arena into a larger one.
func (r *reliable) grow(size int) {
	buf, at := make([]byte, size), 0
	for id := r.items.first; id < r.items.next; id++ {
		it := r.items.at(id)
		copy(buf[at:], r.framed(it))
		it.start = at
		at += it.size
	}
	r.arena.buf, r.arena.tail, r.arena.head = buf, 0, at
}

// framed returns a message as it is sent.
func (r *reliable) framed(it *reliableMessage) []byte {
	return r.arena.buf[it.start : it.start+it.size]
}

// commitReliable is Commit for reliable channels.
func (o *Outgoing) commitReliable(kind opened, n int) {
	r := &o.reliable
	o.unreliable.close()
	o.stats.Reliable++
	r.heldUntil = max(r.heldUntil, r.asked)
	place := r.place(r.channel)
	if kind == openReliable {
		r.enqueue(place, reliableMessage{start: o.message, size: o.body + n - o.message})
		return
	}
	whole := r.scratch[:o.body+n]
	pieces := r.cut(len(whole))
	if pieces == 1 {
		size := r.size(len(whole), 1)
		buf := r.arena.buf[o.message : o.message+size]
		buf[0], buf[1] = byte(r.kind), r.stage
		copy(buf[wire.MessageHeaderSize+numberSize:], whole)
		r.enqueue(place, reliableMessage{start: o.message, size: size})
		return
	}
	o.stats.Pieces += uint64(pieces)
	cost, at := r.cost(len(whole), pieces), o.message
	for i := range pieces {
		part := whole[i*r.piece() : min((i+1)*r.piece(), len(whole))]
		it := reliableMessage{start: at, size: wire.MessageHeaderSize + numberSize + fragmentHeader + len(part), piece: true}
		if i == 0 {
			it.pieces, it.setCost = uint8(pieces), cost
		}
		buf := r.arena.buf[at : at+it.size]
		wire.MessageHeader{Type: wire.MessageFragment}.Put(buf)
		body := append(buf[:wire.MessageHeaderSize+numberSize], byte(r.kind), r.stage, byte(i), byte(pieces))
		copy(buf[len(body):], part)
		r.enqueue(place, it)
		at += it.size
	}
}

// place returns the index of a channel in channels. It adds the channel if it is new.
func (r *reliable) place(ch wire.Channel) uint8 {
	place := &r.index[ch&(2*wire.MaxChannels-1)]
	if *place == 0 {
		r.channels = append(r.channels, sendChannel{channel: ch})
		*place = uint8(len(r.channels))
	}
	return *place - 1
}

// enqueue queues a message whose bytes are in the arena. It writes the size and the number.
func (r *reliable) enqueue(place uint8, it reliableMessage) {
	c := &r.channels[place]
	r.arena.take(it.start, it.size)
	buf := r.framed(&it)
	binary.LittleEndian.PutUint16(buf[2:], uint16(it.size-wire.MessageHeaderSize))
	binary.LittleEndian.PutUint16(buf[wire.MessageHeaderSize:], uint16(c.next))
	it.number, it.channel = c.next, place
	c.next++
	r.held += it.size + itemOverhead
	r.waiting += it.size
	r.unconfirmed++
	id := r.items.push(it)
	if c.head == 0 {
		c.head = id
	} else {
		r.items.at(c.tail).next = id
	}
	c.tail = id
}

// acked confirms the messages of a packet.
func (r *reliable) acked(seq uint64, stats *OutgoingStats) {
	p := r.carried.packet(seq)
	if p == nil || p.acked {
		return
	}
	p.acked = true
	for n := p.spans; n < p.spans+p.count; n++ {
		s := r.carried.spans.at(n)
		for id := s.first; id < s.first+s.count; id++ {
			if r.confirm(id) {
				stats.Confirmed++
				if p.lost {
					stats.LateAcks++
				}
			}
		}
	}
	r.release()
}

// release frees the memory of the oldest messages, up to the first unconfirmed one.
func (r *reliable) release() {
	r.held -= itemOverhead * r.items.release()
	if r.items.first == r.items.next {
		r.arena.clear()
	} else {
		r.arena.free(r.items.at(r.items.first).start)
	}
}

// confirm notes that a message arrived. It returns false if that was known.
func (r *reliable) confirm(id uint64) bool {
	if !r.items.live(id) {
		return false
	}
	it := r.items.at(id)
	switch it.state {
	case itemConfirmed:
		return false
	case itemLost:
		r.items.unmarkLost(id)
		r.waiting -= it.size
	}
	it.state = itemConfirmed
	r.held -= it.size
	it.size = 0
	r.unconfirmed--
	r.underway--
	r.channels[it.channel].confirmed.set(it.number)
	if it.piece {
		r.confirmPiece(id)
	}
	return true
}

// confirmPiece counts a confirmed piece of a set, and closes the set after the last piece.
func (r *reliable) confirmPiece(id uint64) {
	for i := range r.sets[:r.open] {
		s := &r.sets[i]
		if id < s.first || id >= s.end {
			continue
		}
		if s.confirmed++; s.confirmed == s.end-s.first {
			r.open--
			*s = r.sets[r.open]
		}
		return
	}
}

// lost marks the messages of a packet as lost, except messages that arrived or that a later packet has.
func (r *reliable) lost(seq uint64) {
	p := r.carried.packet(seq)
	if p == nil || p.acked || p.lost {
		return
	}
	p.lost = true
	for n := p.spans; n < p.spans+p.count; n++ {
		s := r.carried.spans.at(n)
		for id := s.first; id < s.first+s.count; id++ {
			if !r.items.live(id) {
				continue
			}
			if it := r.items.at(id); it.state == itemFlying && it.packet == seq {
				r.items.lose(id)
				r.waiting += it.size
			}
		}
	}
}

func (r *reliable) clear() {
	r.arena.clear()
	r.items.clear()
	r.carried.packets.first, r.carried.spans.first = r.carried.packets.next, r.carried.spans.next
	r.index, r.channels, r.open = [2 * wire.MaxChannels]uint8{}, r.channels[:0], 0
	r.granted, r.spent = InitialCredit, 0
	r.held, r.waiting, r.unconfirmed, r.underway, r.heldUntil = 0, 0, 0, 0, 0
}

// EachUnconfirmed calls f for each reliable message that is not acknowledged, in the order of the calls: before Clear it is
// what the other end may never get. The ticks of p have their 16 low bits only. body is valid until f returns. Of a large message with
// acknowledged pieces, whole is false and the body unknown.
func (o *Outgoing) EachUnconfirmed(f func(p Post, body []byte, whole bool)) {
	r := &o.reliable
	for id := r.items.first; id < r.items.next; id++ {
		if it := r.items.at(id); it.state == itemConfirmed {
			continue
		} else if !it.piece {
			f(openPost(r.channels[it.channel].channel, r.framed(it)[:2], r.framed(it)[wire.MessageHeaderSize+numberSize:]))
			continue
		}
		id = r.unconfirmedPieces(id, f)
	}
}

// unconfirmedPieces is EachUnconfirmed for a large message with an unconfirmed piece. It returns the id of its last piece.
func (r *reliable) unconfirmedPieces(id uint64, f func(p Post, body []byte, whole bool)) uint64 {
	part := r.framed(r.items.at(id))[wire.MessageHeaderSize+numberSize:]
	head, at, count := [2]byte(part), uint64(part[2]), uint64(part[3])
	first, whole := id-at, []byte{}
	for i := first; i < first+count; i++ {
		if !r.items.live(i) || r.items.at(i).state == itemConfirmed {
			f(Post{Channel: r.channels[r.items.at(id).channel].channel, Type: wire.MessageType(head[0])}, nil, false)
			return first + count - 1
		}
		whole = append(whole, r.framed(r.items.at(i))[wire.MessageHeaderSize+numberSize+fragmentHeader:]...)
	}
	f(openPost(r.channels[r.items.at(id).channel].channel, head[:], whole))
	return first + count - 1
}

// openPost splits a message of this end into its fields and its body. head has the first two bytes of its header.
func openPost(channel wire.Channel, head, rest []byte) (p Post, body []byte, whole bool) {
	a := Arrival{Channel: channel, Body: rest}
	a.Header, _ = wire.UnpackMessageHeader(uint32(head[0]) | uint32(head[1])<<8)
	whole = a.openPrefix() == nil
	return Post{
		Channel: channel, Type: a.Header.Type, Stage: a.Header.Stage, Flags: a.Header.Flags,
		Tick: tick.Tick(a.Tick), Entity: a.Entity, Call: a.Call, State: tick.Tick(a.State),
	}, a.Body, whole
}

// resend moves the lost messages into the packet. It reports whether all fitted.
func (r *reliable) resend(b *Builder, stats *OutgoingStats) bool {
	for id := r.items.oldestLost(); id != 0; id = r.items.oldestLost() {
		it := r.items.at(id)
		b.Switch(r.channels[it.channel].channel)
		if !b.Append(r.framed(it)) {
			return false
		}
		r.items.unmarkLost(id)
		r.noteSent(b.sequence, id, it)
		stats.Resent++
	}
	return true
}

// noteSent notes that a packet contains a message.
func (r *reliable) noteSent(seq, id uint64, it *reliableMessage) {
	for r.carried.crowded(seq) {
		r.lost(r.carried.packets.at(r.carried.packets.first).packet) // its unconfirmed messages are sent again
		r.carried.drop()
	}
	r.carried.note(r.carried.open(seq), id)
	if it.state == itemWaiting {
		r.underway++
	}
	it.state, it.packet = itemFlying, seq
	r.waiting -= it.size
}

// sendHead moves the first waiting message of a channel into the packet. It reports whether it fitted.
func (r *reliable) sendHead(c *sendChannel, b *Builder) bool {
	id := c.head
	it := r.items.at(id)
	b.Switch(c.channel)
	if !b.Append(r.framed(it)) {
		return false
	}
	c.head = it.next
	switch {
	case it.pieces > 0:
		r.sets[r.open] = fragmentSet{first: id, end: id + uint64(it.pieces)}
		r.open++
		r.spent += uint64(it.setCost)
	case !it.piece:
		r.spent += uint64(it.cost())
	}
	r.noteSent(b.sequence, id, it)
	return true
}

// blockReason is the reason why the first waiting message of a channel cannot be sent.
type blockReason uint8

const (
	blockNone   blockReason = iota
	blockEmpty              // nothing waits
	blockWindow             // too many messages before it are not acknowledged, or too many large messages are in flight
	blockCredit             // the receiver must grant more credit first
)

// blockReason checks the first waiting message of a channel. The first piece of a large message takes the credit of all pieces,
// so that a message that was begun can always be completed.
func (r *reliable) blockReason(c *sendChannel) blockReason {
	if c.head == 0 {
		return blockEmpty
	}
	it := r.items.at(c.head)
	switch {
	case it.number >= c.confirmed.base+ReliableWindow:
		return blockWindow
	case it.pieces > 0 && r.open == maxFragmentSets:
		return blockWindow
	case it.pieces > 0 && r.spent+uint64(it.setCost) > r.granted:
		return blockCredit
	case !it.piece && r.spent+uint64(it.cost()) > r.granted:
		return blockCredit
	}
	return blockNone
}

// sendable returns the channel with the message to send next: of the messages that are not held back, the one that was
// added first. If a message lacks credit, later messages must not spend credit, or a large message might wait forever.
// Further pieces spend none.
func (r *reliable) sendable() (next *sendChannel) {
	poorest := r.items.next // id of the first message that lacks credit
	var piece *sendChannel  // channel of the oldest piece that is not the first of its message
	for i := range r.channels {
		c := &r.channels[i]
		switch r.blockReason(c) {
		case blockCredit:
			poorest = min(poorest, c.head)
		case blockNone:
			if it := r.items.at(c.head); it.piece && it.pieces == 0 {
				if piece == nil || c.head < piece.head {
					piece = c
				}
			} else if next == nil || c.head < next.head {
				next = c
			}
		}
	}
	if next != nil && next.head > poorest {
		next = nil
	}
	if next == nil || piece != nil && piece.head < next.head {
		return piece
	}
	return next
}

// blocked returns why messages wait: for the window, otherwise for credit, otherwise blockNone.
func (r *reliable) blocked() blockReason {
	why := blockNone
	for i := range r.channels {
		switch r.blockReason(&r.channels[i]) {
		case blockWindow:
			return blockWindow
		case blockCredit:
			why = blockCredit
		}
	}
	return why
}

// itemState is the state of a reliable message.
type itemState uint8

const (
	itemWaiting   itemState = iota // not sent yet
	itemFlying                     // sent, neither acknowledged nor lost
	itemLost                       // to be sent again
	itemConfirmed                  // acknowledged
)

// reliableMessage is one reliable message, or one piece of a large one, from the call to its acknowledgement.
type reliableMessage struct {
	number uint64 // number in its channel
	next   uint64 // id of the channel's next waiting message; 0: none
	packet uint64 // the last packet with this message
	start  int    // position in the arena
	size   int    // size of header and payload; 0 if confirmed
	// setCost is the cost of the whole message and pieces the number of its pieces, both in the first piece. Elsewhere
	// they are 0.
	setCost int
	pieces  uint8
	piece   bool
	channel uint8 // index in reliable.channels
	state   itemState
}

// cost returns the credit that the item takes.
func (it *reliableMessage) cost() int { return messageCost(it.size - wire.MessageHeaderSize) }

// items stores the reliable messages of one peer in the order of the calls. Their ids count from 1.
type items struct {
	ring  []reliableMessage // a power of two long
	first uint64            // id of the oldest item; all before it are confirmed
	next  uint64            // id of the next item
	// lost has a bit for each place of the ring, set if its item is lost. No id below lostFrom is lost.
	lost      []uint64
	lostFrom  uint64
	lostCount int
}

func newItems() items { return items{first: 1, next: 1, lostFrom: 1} }

func (s *items) at(id uint64) *reliableMessage { return &s.ring[id&uint64(len(s.ring)-1)] }

// live reports whether id is in the ring.
func (s *items) live(id uint64) bool { return id >= s.first && id < s.next }

// push adds an item.
func (s *items) push(it reliableMessage) uint64 {
	if int(s.next-s.first) == len(s.ring) {
		s.grow()
	}
	id := s.next
	s.next++
	*s.at(id) = it
	return id
}

func (s *items) grow() {
	old := *s
	s.ring = make([]reliableMessage, max(64, 2*len(old.ring)))
	s.lost = make([]uint64, len(s.ring)/64)
	for id := s.first; id < s.next; id++ {
		it := old.at(id)
		*s.at(id) = *it
		if it.state == itemLost {
			s.mark(id)
		}
	}
}

func (s *items) mark(id uint64) {
	place := id & uint64(len(s.ring)-1)
	s.lost[place/64] |= 1 << (place % 64)
}

// lose marks an item in flight as lost.
func (s *items) lose(id uint64) {
	s.at(id).state = itemLost
	s.mark(id)
	s.lostFrom = min(s.lostFrom, id)
	s.lostCount++
}

// unmarkLost removes an item from the lost ones. The caller sets its new state.
func (s *items) unmarkLost(id uint64) {
	place := id & uint64(len(s.ring)-1)
	s.lost[place/64] &^= 1 << (place % 64)
	s.lostCount--
}

// oldestLost returns the lowest id of a lost item, or 0.
func (s *items) oldestLost() uint64 {
	if s.lostCount == 0 {
		return 0
	}
	s.lostFrom = max(s.lostFrom, s.first)
	for {
		place := s.lostFrom & uint64(len(s.ring)-1)
		if word := s.lost[place/64] >> (place % 64); word != 0 {
			s.lostFrom += uint64(bits.TrailingZeros64(word))
			return s.lostFrom
		}
		s.lostFrom += 64 - place%64
	}
}

// release drops the confirmed items at the front and returns their number.
func (s *items) release() (n int) {
	for ; s.first < s.next && s.at(s.first).state == itemConfirmed; s.first++ {
		n++
	}
	return n
}

// clear drops all items. Their ids are not used again.
func (s *items) clear() {
	clear(s.lost)
	s.first, s.lostFrom, s.lostCount = s.next, s.next, 0
}

// idRange is a range of items with consecutive ids.
type idRange struct {
	first uint64
	count uint64
}

// packetReliables lists the reliable messages in one packet.
type packetReliables struct {
	packet uint64
	spans  uint64 // number of its first idRange
	count  uint64 // number of idRanges
	acked  bool
	lost   bool
}

// sentReliables stores which reliable messages each packet had, as long as the connection stores the packet. Packets
// without reliable messages take no memory. Packets and spans are queues in rings, numbered from 0.
type sentReliables struct {
	packets  ring[packetReliables]
	spans    ring[idRange]
	remember uint64 // number of packets that the connection stores
}

// maxSpans limits the number of spans. One packet cannot have so many.
const maxSpans = 1 << 14

// firstRing is the first size of a ring, in elements. A packet without an acknowledgement keeps all later ones in the
// ring for a while. A smaller ring would therefore grow now and then, long after the start.
const firstRing = 128

// ring is a queue whose elements are numbered. The number of an element does not change.
type ring[T any] struct {
	buf         []T // the length is a power of two
	first, next uint64
}

func (r *ring[T]) at(n uint64) *T { return &r.buf[n&uint64(len(r.buf)-1)] }

func (r *ring[T]) len() uint64 { return r.next - r.first }

func (r *ring[T]) push(v T) {
	if r.len() == uint64(len(r.buf)) {
		old := *r
		r.buf = make([]T, max(firstRing, 2*len(old.buf)))
		for n := r.first; n < r.next; n++ {
			*r.at(n) = *old.at(n)
		}
	}
	r.next++
	*r.at(r.next - 1) = v
}

// packet returns the messages of a packet, or nil if it has none or was dropped.
func (c *sentReliables) packet(seq uint64) *packetReliables {
	n := c.packets.len()
	i := uint64(sort.Search(int(n), func(i int) bool { return c.packets.at(c.packets.first+uint64(i)).packet >= seq }))
	if i == n || c.packets.at(c.packets.first+i).packet != seq {
		return nil
	}
	return c.packets.at(c.packets.first + i)
}

// open returns the entry of the newest packet, which is being filled. Entries that must be dropped before have been
// dropped.
func (c *sentReliables) open(seq uint64) *packetReliables {
	if c.packets.len() > 0 {
		if p := c.packets.at(c.packets.next - 1); p.packet == seq {
			return p
		}
	}
	c.packets.push(packetReliables{packet: seq, spans: c.spans.next})
	return c.packets.at(c.packets.next - 1)
}

// note adds an item to the newest packet, which is open already.
func (c *sentReliables) note(p *packetReliables, id uint64) {
	if p.count > 0 {
		if s := c.spans.at(c.spans.next - 1); s.first+s.count == id {
			s.count++
			return
		}
	}
	p.count++
	c.spans.push(idRange{first: id, count: 1})
}

// crowded reports whether the oldest packet must be dropped before the packet seq is filled.
func (c *sentReliables) crowded(seq uint64) bool {
	if c.packets.len() == 0 {
		return false
	}
	oldest := c.packets.at(c.packets.first)
	return oldest.acked || oldest.packet+c.remember <= seq || c.spans.len() >= maxSpans && oldest.packet != seq
}

// drop drops the oldest packet.
func (c *sentReliables) drop() {
	oldest := c.packets.at(c.packets.first)
	c.spans.first = oldest.spans + oldest.count
	c.packets.first++
}

// arena is the memory of reliable messages: a ring buffer in which each message is contiguous. Messages are freed in
// the order in which they were added.
type arena struct {
	buf  []byte
	head int  // position of the next message
	tail int  // position of the oldest message
	any  bool // there is a message
}

// place returns a position with space for n bytes.
func (a *arena) place(n int) (at int, ok bool) {
	switch {
	case !a.any:
		return 0, n <= len(a.buf)
	case a.head > a.tail && len(a.buf)-a.head >= n:
		return a.head, true
	case a.head > a.tail:
		return 0, a.tail >= n
	}
	return a.head, a.tail-a.head >= n
}

// take marks n bytes at a position from place as used.
func (a *arena) take(at, n int) {
	if !a.any {
		a.tail, a.any = at, true
	}
	a.head = at + n
}

// free frees everything before tail.
func (a *arena) free(tail int) { a.tail = tail }

// clear frees everything.
func (a *arena) clear() { a.head, a.tail, a.any = 0, 0, false }
