package thin

import (
	"encoding/binary"
	"slices"
)

// packets is the numbers of packets of both directions.
type packets struct {
	got      map[int64]bool // accepted ones, of the newest 33
	newestIn int64
	out      int64              // the newest that was sent
	streams  map[byte]*incoming // of reliable channels
	credit   uint32             // the sum of the costs of messages that were taken
}

// incoming is one channel of reliable messages. Those of Reliable are taken in order too.
type incoming struct {
	next  int64 // the oldest number that is missing
	early map[int64][]byte
	whole [][]byte // the pieces of a message, so far: 256 at most
}

// reliable is a message that is sent again until it arrives.
type reliable struct {
	channel byte
	bytes   []byte // with its header
	at      float64
	packets map[int64]bool // that had it
}

// outgoing holds messages that wait to be sent.
type outgoing struct {
	once    []byte // messages of channel 0 of Unreliable
	repeat  []*reliable
	numbers map[byte]uint16
	closing int
}

// read takes a packet without its checksum.
func (c *Client) read(b []byte, now float64) {
	r := &reader{b: b}
	flags, number := r.u8(), nearest(r.u16(), c.newestIn)
	var acks []int64
	if flags&1 != 0 {
		ack := nearest(r.u16(), c.out)
		acks = append(acks, ack)
		for k := range 4 {
			bits := byte(0xFF)
			if flags>>(1+k)&1 != 0 {
				bits = r.u8()
			}
			for i := range 8 {
				if bits>>i&1 != 0 {
					acks = append(acks, ack-1-int64(8*k+i))
				}
			}
		}
		if flags&0x20 != 0 {
			r.u16()
		}
	}
	if number < 1 || number < c.newestIn-32 || c.got[number] {
		return
	}
	messages := r.messages()
	for _, m := range messages {
		if m.kind == 1 {
			must(c.World.Snapshot(m.payload) == nil)
		}
	}
	c.repeat = slices.DeleteFunc(c.repeat, func(m *reliable) bool {
		return slices.ContainsFunc(acks, func(a int64) bool { return m.packets[a] })
	})
	c.got[number] = true
	for c.newestIn < number {
		c.newestIn++
		delete(c.got, c.newestIn-33)
	}
	for _, m := range messages {
		c.take(m)
	}
}

// reader reads bytes.
type reader struct{ b []byte }

func (r *reader) bytes(n int) []byte {
	must(n >= 0 && n <= len(r.b))
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}
func (r *reader) u8() byte    { return r.bytes(1)[0] }
func (r *reader) u16() uint16 { return binary.LittleEndian.Uint16(r.bytes(2)) }

// varint reads the number of an entity in front of a body.
func (r *reader) varint() (v uint64) {
	first, more := uint64(r.u8()), 0
	switch {
	case first <= 240:
		return first
	case first <= 248:
		return 240 + 256*(first-241) + uint64(r.u8())
	case first == 249:
		v = 2288
		return v + 256*uint64(r.u8()) + uint64(r.u8())
	default:
		more = int(first) - 247
	}
	for range more {
		v = v<<8 | uint64(r.u8())
	}
	return v
}

// part is a message of a packet.
type part struct {
	channel, kind, stage byte
	payload              []byte
}

func (r *reader) messages() (all []part) {
	channel := byte(0)
	for first := true; first || len(r.b) > 0; first = false {
		size := int(r.u16()) - 2
		if !first {
			channel, size = r.u8(), size-1
		}
		for batch := (reader{r.bytes(size)}); len(batch.b) > 0; {
			m := part{channel: channel, kind: batch.u8(), stage: batch.u8()}
			m.payload = batch.bytes(int(batch.u16()))
			all = append(all, m)
		}
	}
	return all
}

// take takes a message of an accepted packet.
func (c *Client) take(m part) {
	switch r := (&reader{m.payload}); {
	case m.channel >= 0x80:
		c.takeReliable(m)
	case m.kind == 2 && len(r.b) >= 2:
		c.World.Tick = max(c.World.Tick, nearest(r.u16(), c.World.Tick))
	case m.kind == 3 && len(r.b) > 0:
		c.Closed = "closed: " + string(m.payload[1:])
	case m.kind == 8 && len(r.b) >= 4:
		r.u16()
		c.feedback(float64(int16(r.u16())) / 256)
	case m.kind >= 16:
		c.handle(m, m.payload)
	}
}

// takeReliable takes a message with a number, and those behind it that came early.
func (c *Client) takeReliable(m part) {
	in := c.streams[m.channel]
	if in == nil {
		in = &incoming{early: map[int64][]byte{}}
		c.streams[m.channel] = in
	}
	number := in.next + int64(int16((&reader{m.payload}).u16()-uint16(in.next)))
	if number < in.next || number >= in.next+1024 {
		return
	}
	in.early[number] = append([]byte{m.kind, m.stage}, m.payload...)
	for b := in.early[in.next]; b != nil; b = in.early[in.next] {
		delete(in.early, in.next)
		in.next++
		c.credit += uint32(len(b) - 2 + 32)
		switch p := (part{channel: m.channel, kind: b[0], stage: b[1]}); {
		case p.kind != 6:
			c.handle(p, b[4:])
		case len(b) > 8:
			in.whole = append(in.whole[:min(len(in.whole), int(b[6]))], b[8:])
			if int(b[6])+1 == int(b[7]) {
				p.kind, p.stage = b[4], b[5]
				c.handle(p, slices.Concat(in.whole...))
			}
		}
	}
}

// handle keeps a message of the game. What it waits for is left to the game.
func (c *Client) handle(m part, payload []byte) {
	r := &reader{payload}
	if m.stage&8 != 0 {
		r.u16()
	}
	out := Message{Mode: m.channel >> 6, Channel: m.channel & 63}
	if m.stage&16 != 0 {
		out.Entity = Entity{uint32(r.varint()), uint32(r.varint())}
	}
	if m.stage&32 != 0 {
		r.u16()
	}
	if m.stage&64 != 0 {
		r.u16()
	}
	if m.kind < 16 || int(m.kind)-16 >= len(c.protocol.Messages) {
		return
	}
	shape := &c.protocol.Messages[m.kind-16]
	out.Name, out.Row = shape.Name, readRow(shape.fields, &stream{b: r.b})
	c.Messages = append(c.Messages, out)
}

// Send sends a message of the game with the delivery that it was registered with, Reliable or ReliableOrdered or Unreliable.
func (c *Client) Send(name string, row Row) {
	for i := range c.protocol.Messages {
		shape := &c.protocol.Messages[i]
		if shape.Name != name {
			continue
		}
		s := &stream{}
		if shape.channel >= 0x80 {
			s.write(uint64(c.numbers[shape.channel]), 16)
			c.numbers[shape.channel]++
		}
		writeRow(shape.fields, s, row)
		b := append([]byte{byte(16 + i), 4, byte(len(s.b)), byte(len(s.b) >> 8)}, s.b...)
		if shape.channel < 0x80 {
			c.once = append(c.once, b...)
		} else {
			c.repeat = append(c.repeat, &reliable{channel: shape.channel, bytes: b, at: -1e9, packets: map[int64]bool{}})
		}
	}
}

// Close tells the server, in the next packets.
func (c *Client) Close() { c.closing = 3 }

// packet returns the next packet. There is one each tick, also if it has nothing but acknowledgements.
func (c *Client) packet(now float64) []byte {
	c.out++
	own := c.once
	c.once = nil
	if c.newestIn == 0 {
		own = append(own, 2, 0, 0, 0) // KeepAlive
	}
	if len(c.rows) > 0 {
		in := c.inputMessage()
		own = append(append(own, 9, 0, byte(len(in)), byte(len(in)>>8)), in...)
	}
	if c.credit > 0 {
		own = binary.LittleEndian.AppendUint32(append(own, 5, 0, 4, 0), 131072+c.credit)
	}
	if c.closing > 0 {
		own = append(own, 3, 0, 1, 0, 1)
		if c.closing--; c.closing == 0 {
			c.Closed = "closed"
		}
	}
	b := c.header()
	b = append(binary.LittleEndian.AppendUint16(b, uint16(2+len(own))), own...)
	for _, m := range c.repeat {
		if now-m.at >= 200 { // one reliable message a packet
			m.at, m.packets[c.out] = now, true
			b = append(binary.LittleEndian.AppendUint16(b, uint16(3+len(m.bytes))), m.channel)
			return append(b, m.bytes...)
		}
	}
	return b
}

// header returns flags, number and acknowledgements.
func (c *Client) header() []byte {
	b := binary.LittleEndian.AppendUint16([]byte{0}, uint16(c.out))
	if c.newestIn == 0 {
		return b
	}
	b[0] = 1
	b = binary.LittleEndian.AppendUint16(b, uint16(c.newestIn))
	for k := range 4 {
		bits := byte(0)
		for i := range 8 {
			if c.got[c.newestIn-1-int64(8*k+i)] {
				bits |= 1 << i
			}
		}
		if bits != 0xFF {
			b[0] |= 2 << k
			b = append(b, bits)
		}
	}
	return b
}

// Raw sends bytes of messages on channel 0, for tests of servers.
func (c *Client) Raw(b []byte) { c.once = append(c.once, b...) }

// Forge returns a packet of the server that this client would take next, with these bytes behind its header, for tests of clients. ahead is 1 for
// the number behind the newest.
func (c *Client) Forge(ahead int64, batches []byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte{0}, uint16(c.newestIn+ahead))
	return seal(^c.seed, append(b, batches...))
}
