package live

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// tap reads the datagrams that a server sends and receives, in their unencrypted form.
type tap struct {
	inspector *Inspector
	sum       Bandwidth
	account   *inspect.Attribution // Since the previous snapshot.
	packets   []Packet
	traced    []snapshot.PayloadBits // Of the followed client, of this frame.
	tracing   netcode.ClientID       // The client whose payloads are traced; 0: none.
	late      time.Duration          // The inspector's work after the end of the previous frame.
	sessions  map[transport.Addr]netcode.ClientID
	news      bool // A client came, left or moved: sessions is outdated.
}

// mostPackets is the maximum number of packets in a snapshot.
const mostPackets = 512

// beginFrame begins a frame in which datagrams are read.
func (t *tap) beginFrame() {
	if t.account == nil {
		t.account = inspect.New(t.inspector.server.Protocol()).CountEntities()
	}
	inspect.CountState(t.inspector.server, true)
	t.trace()
	if t.sessions == nil || t.news {
		t.beginSessions()
	}
}

// trace makes the server keep the accounts of payloads to the followed client.
func (t *tap) trace() {
	id, i := netcode.ClientID(0), t.inspector
	if i.on { // Otherwise the page that followed a client has closed.
		id = netcode.ClientID(i.follow.Load())
	}
	i.server.Store().Trace(id)
	t.tracing, t.traced = id, nil
}

// beginSessions rebuilds the table of clients by address.
func (t *tap) beginSessions() {
	t.news = false
	t.sessions = map[transport.Addr]netcode.ClientID{}
	for id := range t.inspector.server.Clients {
		if c, ok := t.inspector.server.ClientStats(id); ok {
			t.sessions[c.Address] = id
		}
	}
}

// forget drops all state, when nobody looks any more.
func (t *tap) forget() {
	t.trace()
	if t.inspector.reads == nil {
		inspect.CountState(t.inspector.server, false)
	}
	*t = tap{inspector: t.inspector}
}

// take returns the figures since its last call.
func (t *tap) take() (Bandwidth, []Packet) {
	t.account.TakeState(t.inspector.server)
	t.addAccount(t.account)
	sum, packets := t.sum, t.packets
	t.addRest(&sum)
	t.sum, t.packets, t.account = Bandwidth{}, nil, inspect.New(t.inspector.server.Protocol()).CountEntities()
	return sum, packets
}

// addPart adds bits to a part of the bandwidth.
func (t *tap) addPart(name string, bits uint64) { addBits(&t.sum.Parts, name, bits) }

func addBits(to *map[string]uint64, name string, bits uint64) {
	if *to == nil {
		*to = map[string]uint64{}
	}
	if bits > 0 {
		(*to)[name] += bits
	}
}

// addAccount adds an account to the parts of the bandwidth.
func (t *tap) addAccount(a *inspect.Attribution) {
	if t.inspector.reads != nil {
		t.inspector.reads(a)
	}
	s := a.State
	t.addPart("handshakes", 8*a.Handshakes)
	t.addPart("headers", 8*(a.Headers+a.Batches+a.Messages)+s.Header+s.Padding)
	t.addPart("checksums", 8*a.Checksums)
	t.addPart("keep-alive and credit", 8*a.Others)
	t.addPart("unreadable", 8*a.Unreadable+s.Unknown)
	t.addPart("which entities", s.List+s.Heads)
	t.addPart("which components", s.Changed)
	t.addPart("despawns", s.Despawns)
	for n := range s.Components {
		c := &s.Components[n]
		t.addPart(c.Name+" spawn", c.Spawn)
		t.addPart(c.Name+" whole", c.Whole)
		t.addPart(c.Name+" delta", c.Delta)
		rest := c.Spawn + c.Whole + c.Delta
		for _, f := range c.Fields {
			addBits(&t.sum.Fields, c.Name+"."+f.Name, f.Bits)
			rest -= f.Bits
		}
		addBits(&t.sum.Fields, c.Name+": which fields", rest)
	}
	t.addEntities(s.Entities)
	for _, m := range a.Types {
		t.addPart("message "+m.Name, 8*m.Bytes)
	}
}

// mostEntities is the maximum number of entities in Bandwidth.Entities: those with most bits.
const mostEntities = 64

// Names of bits in Bandwidth.Entities and Bandwidth.Owners.
const (
	otherEntities = "other entities" // beyond mostEntities
	noEntity      = "no entity"      // headers, messages, which entities, despawns
	gone          = "despawned"      // the entity is not alive any more
)

// addEntities adds the bits of entities, by index.
func (t *tap) addEntities(bits map[uint32]uint64) {
	s := t.inspector.server.Store()
	for index, n := range bits {
		name, owner := gone, gone
		if id, ok := s.At(index); ok {
			name, owner = id.String(), "server"
			if client := s.Owner(id); client != 0 {
				owner = fmt.Sprintf("client %d", client)
			}
		}
		addBits(&t.sum.Entities, name, n)
		addBits(&t.sum.Owners, owner, n)
	}
}

// addRest adds what is no state of an entity, and joins the entities with few bits.
func (t *tap) addRest(sum *Bandwidth) {
	of := uint64(0)
	for _, n := range sum.Owners {
		of += n
	}
	addBits(&sum.Entities, noEntity, 8*sum.Out-of)
	addBits(&sum.Owners, noEntity, 8*sum.Out-of)
	joinEntities(sum.Entities)
}

// joinEntities joins all but the entities with most bits.
func joinEntities(bits map[string]uint64) {
	names := slices.SortedFunc(maps.Keys(bits), func(a, b string) int { return cmp.Or(cmp.Compare(bits[b], bits[a]), cmp.Compare(a, b)) })
	names = slices.DeleteFunc(names, func(name string) bool { return name == noEntity || name == otherEntities })
	for _, name := range names[min(len(names), mostEntities):] {
		bits[otherEntities] += bits[name]
		delete(bits, name)
	}
}

// sent counts a sent datagram.
func (t *tap) sent(to transport.Addr, datagram []byte) {
	i := t.inspector
	begun := i.now()
	t.sum.Out += uint64(len(datagram))
	t.sum.OutPieces++
	if t.news {
		t.beginSessions()
	}
	id := t.sessions[to]
	c := extend.OfServer(i.server).Session(id)
	t.account.AddSent(c, datagram)
	if id != 0 && id == t.tracing && len(t.packets) < mostPackets {
		t.notePacket(c, datagram)
	}
	i.times[Inspect] += i.now() - begun
}

// notePacket lists a packet to the followed client.
func (t *tap) notePacket(c extend.Session, datagram []byte) {
	h, _, err := wire.ParsePacketHeader(datagram)
	if err != nil {
		return
	}
	one := inspect.New(t.inspector.server.Protocol())
	one.AddSent(c, datagram)
	t.traced = append(t.traced, t.inspector.server.Store().TakeTraced()...)
	for n := range t.traced {
		if p := &t.traced[n]; wire.Sequence(p.Sequence) == h.Sequence {
			one.State = p.Bits
		}
	}
	t.packets = append(t.packets, Packet{At: t.inspector.now().Seconds(), Out: true, Sequence: uint64(h.Sequence), Bytes: len(datagram), Content: contentOf(one)})
}

// contentOf describes the parts of a packet.
func contentOf(a *inspect.Attribution) string {
	var b strings.Builder
	for n := range a.State.Components {
		c := &a.State.Components[n]
		if rows := c.Rows[0] + c.Rows[1] + c.Rows[2]; rows > 0 {
			fmt.Fprintf(&b, "%s: %d rows, %d bits; ", c.Name, rows, c.Spawn+c.Whole+c.Delta)
		}
	}
	if a.State.Despawns > 1 {
		fmt.Fprintf(&b, "despawns: %d bits; ", a.State.Despawns)
	}
	for _, m := range a.Types {
		if m.Count > 0 {
			fmt.Fprintf(&b, "%d %s: %d bytes; ", m.Count, m.Name, m.Bytes)
		}
	}
	if b.Len() == 0 {
		return "acknowledgements"
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// received counts a received datagram.
func (t *tap) received(from transport.Addr, datagram []byte) {
	i := t.inspector
	begun := i.now()
	t.sum.In += uint64(len(datagram))
	t.sum.InPieces++
	if id := t.sessions[from]; id != 0 && id == t.tracing && len(t.packets) < mostPackets {
		if h, _, err := wire.ParsePacketHeader(datagram); err == nil {
			p := Packet{At: begun.Seconds(), Sequence: uint64(h.Sequence), Bytes: len(datagram), Acked: []int{}}
			if h.HasAck {
				p.Acked = append(p.Acked, int(h.Ack))
				for bit := range 32 {
					if h.AckBits>>bit&1 != 0 {
						p.Acked = append(p.Acked, int(h.Ack-1-wire.Sequence(bit)))
					}
				}
			}
			t.packets = append(t.packets, p)
		}
	}
	i.times[Inspect] += i.now() - begun
}

// around wraps a socket in the tap. The result sends in batches if the socket does.
func (t *tap) around(socket systems.Socket) systems.Socket {
	inner := tapped{socket, t}
	if all, ok := socket.(transport.BatchSender); ok {
		return &tappedBatch{inner, all}
	}
	return &inner
}

// tapped is a socket with a tap.
type tapped struct {
	systems.Socket
	tap *tap
}

// Inside returns the socket without the tap.
func (s *tapped) Inside() systems.Socket { return s.Socket }

// Send implements systems.Socket.
func (s *tapped) Send(to transport.Addr, datagram []byte) error {
	if s.tap.inspector.reading {
		s.tap.sent(to, datagram)
	}
	return s.Socket.Send(to, datagram)
}

// Receive implements systems.Socket.
func (s *tapped) Receive(buf []byte) (n int, from transport.Addr, err error) {
	n, from, err = s.Socket.Receive(buf)
	if n > 0 && err == nil && s.tap.inspector.on {
		s.tap.received(from, buf[:n])
	}
	return n, from, err
}

// Waited implements transport.Timed.
func (s *tapped) Waited() time.Duration { return transport.WaitedOf(s.Socket) }

// Rank implements transport.Ranker.
func (s *tapped) Rank(session bool) { transport.RankOf(s.Socket, session) }

// Close closes the socket if it has Close.
func (s *tapped) Close() error {
	if c, ok := s.Socket.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// tappedBatch is a tapped socket that sends in batches.
type tappedBatch struct {
	tapped
	all transport.BatchSender
}

// SendAll implements transport.BatchSender.
func (s *tappedBatch) SendAll(to []transport.Addr, runs [][]byte, sizes []int) (failed int, err error) {
	if s.tap.inspector.reading {
		for n, run := range runs {
			for size := sizes[n]; len(run) > 0 && size > 0; run = run[min(size, len(run)):] {
				s.tap.sent(to[n], run[:min(size, len(run))])
			}
		}
	}
	return s.all.SendAll(to, runs, sizes)
}
