package adversary

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Config configures an adversary. All fields except Seed are required; a Server needs no Remote.
type Config struct {
	Protocol *netcode.Protocol    // the game's protocol
	Conn     transport.Conn       // its own socket, for example from nettest.Net.Listen
	Remote   transport.Addr       // the server's address, for a Client
	Now      func() time.Duration // a monotonic clock, for example nettest.Net.Now
	Seed     uint64               // of all random numbers
}

const (
	packetSize  = 1200
	aliveEvery  = 100 * time.Millisecond // time between two keep-alives
	helloEvery  = 250 * time.Millisecond
	joinEvery   = 100 * time.Millisecond
	sentPackets = 1 << 14 // records of sent packets: a flood must not stop because acknowledgements are missing
)

// End is one end of a connection. It acknowledges packets and keeps the session alive; its methods tell lies.
type End struct {
	config  Config
	random  *rand.Rand
	conn    *peer.Conn // nil without a connection
	check   wire.Checksum
	remote  transport.Addr
	server  bool
	tick    tick.Tick
	told    map[string]int
	reason  *errs.CloseError
	aliveAt time.Duration
	numbers map[wire.Channel]uint16
	calls   map[wire.MessageType]bool // types of questions and answers
	last    []byte                    // newest packet
	epoch   uint16                    // of the newest resync
	scratch message.Scratch
	room    [2 * packetSize]byte
	buf     [transport.MaxDatagram]byte

	alter   func(h *wire.PacketHeader) // habit that changes headers; nil: none
	silent  bool
	trickle time.Duration // time between two packets; 0: not this habit

	packets, refused int
}

func newEnd(config Config, server bool) *End {
	e := &End{
		config: config, random: rand.New(rand.NewPCG(config.Seed, 0xAD7E)), told: map[string]int{}, server: server,
		numbers: map[wire.Channel]uint16{}, calls: map[wire.MessageType]bool{}, remote: config.Remote,
	}
	entries := config.Protocol.Description()
	for _, t := range extend.OfProtocol(config.Protocol).Messages().Types() {
		text := string(t.Describe([]byte("message ")))
		e.calls[t.ID()] = slices.Contains(entries, text+"[question]") || slices.Contains(entries, text+"[answer]")
	}
	return e
}

// Connected reports whether the session is open.
func (e *End) Connected() bool { return e.conn != nil && e.reason == nil }

// Remote returns the address of the other end.
func (e *End) Remote() transport.Addr { return e.remote }

// Reason returns the reason why the other end ended or refused the session, nil otherwise.
func (e *End) Reason() *errs.CloseError { return e.reason }

// Told returns how often a lie was told, by the name of its method. It counts datagrams, or frames for habits of silence.
func (e *End) Told(lie string) int { return e.told[lie] }

// AllTold returns how often each lie was told.
func (e *End) AllTold() map[string]int { return e.told }

// Packets returns the number of accepted packets of the other end.
func (e *End) Packets() int { return e.packets }

// open opens a connection.
func (e *End) open(check, incoming wire.Checksum) {
	e.conn = peer.NewConn(peer.ConnConfig{Check: check, CheckIncoming: incoming, SentPackets: sentPackets, PacketSize: packetSize})
	e.check = check
	e.aliveAt = e.config.Now() - aliveEvery
}

// raw sends a datagram unchanged.
func (e *End) raw(datagram []byte) {
	_ = e.config.Conn.Send(e.remote, datagram) // Some tests close the socket.
}

// receive calls take for every waiting datagram.
func (e *End) receive(take func(from transport.Addr, datagram []byte)) {
	for {
		n, from, err := e.config.Conn.Receive(e.buf[:])
		if err != nil || n == 0 {
			return
		}
		take(from, e.buf[:n])
	}
}

// readPacket reads a packet of the other end, acknowledges it, and calls each with its messages. It returns false if the packet
// is invalid here, for example because it acknowledges a number that a lie made up.
func (e *End) readPacket(datagram []byte, out peer.Outcome, each func(r *peer.Reader)) bool {
	in, err := e.conn.Read(datagram, e.config.Now(), out)
	if err != nil {
		e.refused++
		return false
	}
	e.packets++
	e.conn.Accept(in, e.config.Now())
	r := in.Messages()
	for r.Next() {
		if r.Header.Type == wire.MessageClose && e.reason == nil {
			if reason, err := peer.ParseClose(r.Payload); err == nil {
				e.reason = &reason
			}
		}
		if each != nil {
			each(&r)
		}
	}
	return true
}

// send sends one packet, changed by the habits, and counts it as a lie if that has a name. It returns false if no packet may be
// sent: there is no connection, or too many packets are unacknowledged.
func (e *End) send(lie string, build func(b *peer.Builder)) bool {
	if e.conn == nil {
		return false
	}
	b := e.conn.Begin(e.room[:packetSize])
	if build != nil {
		build(&b)
	}
	packet := e.conn.Finish(&b, e.tick, e.config.Now())
	if packet == nil {
		return false
	}
	if e.alter != nil {
		packet = e.forge(packet, e.alter)
	}
	e.last = append(e.last[:0], packet...)
	e.raw(packet)
	if lie != "" {
		e.told[lie]++
	}
	return true
}

// forge changes the header of a packet and recomputes its checksum.
func (e *End) forge(packet []byte, alter func(h *wire.PacketHeader)) []byte {
	body := packet[:len(packet)-wire.ChecksumSize]
	h, n, err := wire.ParsePacketHeader(body)
	if err != nil {
		return packet
	}
	alter(&h)
	forged := append(wire.AppendPacketHeader(nil, h), body[n:]...)
	return binary.LittleEndian.AppendUint32(forged, e.check.Sum(forged))
}

// forged sends one keep-alive packet with a changed header.
func (e *End) forged(lie string, alter func(h *wire.PacketHeader)) {
	before := e.alter
	e.alter = func(h *wire.PacketHeader) {
		if before != nil {
			before(h)
		}
		alter(h)
	}
	e.send(lie, e.signOfLife)
	e.alter = before
}

// signOfLife adds a keep-alive message.
func (e *End) signOfLife(b *peer.Builder) {
	n := 0
	if e.server {
		n = 2
		binary.LittleEndian.PutUint16(b.Payload(), e.tick.Low())
	}
	b.Add(wire.MessageKeepAlive, tick.Initialization, n)
}

// stepped is the common part of a frame: keep-alives and acknowledgements. It returns false if a habit forbids sending in this
// frame.
func (e *End) stepped() bool {
	now := e.config.Now()
	e.conn.DetectLost(now, nil)
	switch {
	case e.silent:
		e.told["Silence"]++
		return false
	case e.trickle > 0:
		if now-e.aliveAt >= e.trickle {
			e.aliveAt = now
			e.send("Trickle", e.signOfLife)
		}
		return false
	case now-e.aliveAt >= aliveEvery:
		e.aliveAt = now
		e.send("", e.signOfLife)
	case e.conn.AckDue():
		e.send("", nil)
	}
	return true
}

// types returns the message types that this end may send, in order of their numbers.
func (e *End) types() (legal []*message.Type) {
	for _, t := range extend.OfProtocol(e.config.Protocol).Messages().Types() {
		if t.Direction.Allows(e.server) {
			legal = append(legal, t)
		}
	}
	return legal
}

// body returns a random body of a type that the other end accepts, nil if none was found.
func (e *End) body(t *message.Type) []byte {
	size := t.Codec.Size()
	for range 64 {
		n := size
		if n < 0 {
			n = e.random.IntN(64)
		}
		b := make([]byte, n)
		for i := range b {
			if e.random.IntN(2) == 0 {
				b[i] = byte(e.random.Uint32())
			}
		}
		if t.Codec.Check(&e.scratch, b) {
			return b
		}
	}
	return nil
}

// lanes returns a row of random valid values.
func (e *End) lanes(plan *quantize.Plan) []uint32 {
	lanes := make([]uint32, plan.Lanes())
	for try := range 32 {
		for i := range lanes {
			if lanes[i] = e.random.Uint32() >> e.random.IntN(32); try%2 == 1 { // random lanes of a rotation are rarely valid
				lanes[i] = uint32(e.random.Uint64N(plan.Lane(i).Largest + 1))
			}
		}
		if plan.Legal(lanes) {
			return lanes
		}
	}
	clear(lanes)
	return lanes
}

func (e *End) end() *End { return e }
