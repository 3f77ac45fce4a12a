package thin

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Message is a message of the game that came.
type Message struct {
	Name    string
	Row     Row
	Mode    byte // 0 Unreliable, 1 UnreliableSequenced, 2 Reliable, 3 ReliableOrdered
	Channel byte
	Entity  Entity // that it is about
}

// Client is one end of a session. It does no I/O: Receive takes datagrams, Update returns those to send. A method that gets a time gets
// the same clock, in milliseconds.
type Client struct {
	World     *World
	Connected bool
	ID        uint32
	Closed    string // why the session is over; empty: it is not
	Messages  []Message
	Rate      int // ticks a second

	protocol *Protocol
	payload  []byte
	nonce    uint64
	cookie   []byte
	seed     uint32 // C of section 2
	accepted bool
	sentAt   float64 // of the newest Hello, Join or packet
	heardAt  float64

	packets
	outgoing
	inputs
}

// New makes a client that is about to join. nonce is random.
func New(p *Protocol, nonce uint64, payload []byte, now float64) *Client {
	c := &Client{protocol: p, nonce: nonce, payload: payload, cookie: make([]byte, 16), sentAt: -1e9, heardAt: now}
	c.packets.got, c.packets.streams = map[int64]bool{}, map[byte]*incoming{}
	c.outgoing.numbers = map[byte]uint16{}
	return c
}

// crcOf returns the checksum C of a session.
func crcOf(epoch uint32, hash []byte) uint32 {
	return crc32.ChecksumIEEE(append(binary.LittleEndian.AppendUint32(nil, epoch), hash...))
}

// open is the checksum C before the session.
func open() uint32 { return crcOf(0, make([]byte, 8)) }

// seal appends the checksum that continues from a seed.
func seal(seed uint32, b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Update(seed, crc32.IEEETable, b))
}

// opened returns a datagram without its checksum, nil if that is wrong.
func opened(seed uint32, b []byte) []byte {
	end := len(b) - 4
	if end < 1 || crc32.Update(seed, crc32.IEEETable, b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return nil
	}
	return b[:end]
}

// Update returns the datagrams that are due.
func (c *Client) Update(now float64) (out [][]byte) {
	switch silent := now - c.heardAt; {
	case c.Closed != "":
		return nil
	case !c.Connected && silent > 5000, silent > 10000:
		c.Closed = "silence"
		return nil
	case c.Connected && now-c.sentAt >= 1000/float64(c.Rate)-1:
		c.sentAt = now
		return [][]byte{seal(c.seed, c.packet(now))}
	case c.Connected:
		return nil
	case !c.accepted && now-c.sentAt >= 250:
		c.sentAt = now
		return [][]byte{seal(open(), c.hello())}
	case c.accepted && now-c.sentAt >= 100:
		c.sentAt = now
		b := binary.LittleEndian.AppendUint64([]byte{0x85}, c.nonce)
		return [][]byte{seal(c.seed, append(append(b, c.cookie...), c.payload...))}
	}
	return nil
}

func (c *Client) hello() []byte {
	b := binary.LittleEndian.AppendUint64([]byte{0x81, 1, 0}, c.nonce)
	b = append(append(append(b, c.protocol.hash...), c.cookie...), c.protocol.entries...)
	return append(b, make([]byte, 508-len(b))...)
}

// Receive takes a datagram of the server. One that is damaged or illegal has no effect.
func (c *Client) Receive(datagram []byte, now float64) {
	if len(datagram) == 0 || c.Closed != "" {
		return
	}
	if datagram[0] < 0x80 && c.Connected {
		if b := opened(^c.seed, datagram); b != nil && guard(func() { c.read(b, now) }) == nil {
			c.heardAt = now
		}
		return
	}
	if b := opened(^c.seed, datagram); datagram[0] == 0x86 && len(b) == 29 && c.accepted && !c.Connected {
		c.ID, c.Connected, c.heardAt, c.sentAt = binary.LittleEndian.Uint32(b[1:]), true, now, -1e9
		c.World = NewWorld(c.protocol, int64(binary.LittleEndian.Uint64(b[5:])))
		c.began, c.first = now, float64(c.World.Tick)+2+float64(c.Rate)*(now-c.askedAt)/1000
		return
	}
	b := opened(open(), datagram)
	if len(b) < 10 || c.Connected || binary.LittleEndian.Uint64(b[1:]) != c.nonce {
		return
	}
	switch {
	case b[0] == 0x82 && len(b) == 25 && !c.accepted:
		c.cookie, c.sentAt = append([]byte(nil), b[9:]...), -1e9
	case b[0] == 0x83 && len(b) == 19 && !c.accepted:
		if c.Rate = int(binary.LittleEndian.Uint16(b[13:])); c.Rate > 0 {
			c.seed = crcOf(binary.LittleEndian.Uint32(b[9:]), c.protocol.hash)
			c.accepted, c.sentAt, c.askedAt = true, -1e9, now
		}
	case b[0] == 0x84 && b[9] != 37 && b[9] != 39:
		c.Closed = fmt.Sprintf("refused, reason %d: %s", b[9], b[10:])
	}
}

// inputs holds the rows of the player, by tick.
type inputs struct {
	first   float64 // the tick of inputs at the time began
	began   float64
	askedAt float64
	newest  int64
	rows    [][]Row // of the newest ticks, one row of each input type
}

// SetInput sets the inputs of the present tick and of those that were left out: a row for each input type, in the order of Protocol.Inputs.
func (c *Client) SetInput(now float64, rows []Row) {
	at := int64(c.first + float64(c.Rate)*(now-c.began)/1000)
	if c.newest == 0 {
		c.newest = at - 1
	}
	for c.newest = max(c.newest, at-8); c.newest < at; c.newest++ {
		c.rows = append(c.rows, rows)
	}
	if len(c.rows) > 8 {
		c.rows = c.rows[len(c.rows)-8:]
	}
}

// feedback moves the clock of inputs: they should come one to three ticks early.
func (c *Client) feedback(early float64) {
	switch {
	case early < 1:
		c.first += math.Min(2-early, 16)
	case early > 3:
		c.first -= 0.05
	}
}

// inputMessage returns the body of an Input: the newest ticks, each type whole.
func (c *Client) inputMessage() []byte {
	s := &stream{}
	for of := range c.protocol.Inputs {
		s.writeNumber(uint64(len(c.rows)))
		for _, rows := range c.rows {
			writeRow(c.protocol.Inputs[of].fields, s, rows[of])
		}
	}
	b := binary.LittleEndian.AppendUint16(nil, uint16(c.newest))
	return append(append(b, 0xFF, 0xFF), s.b...)
}
