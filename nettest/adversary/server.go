package adversary

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Server accepts one client as a real server does, and sends it the state of a small world that changes in each tick. A new
// client that sends Hello replaces the old one. Call Step once a frame; each frame is a tick.
type Server struct {
	*End
	accept  peer.Accept
	welcome peer.Welcome
	refusal *errs.CloseError
	endless bool // answer each Hello with a Challenge
	joined  bool
	nonce   uint64
	limits  snapshot.Config
	store   *snapshot.Store
	view    *snapshot.View
	all     []wire.NetworkID
	spawns  int  // entities that spawn in each tick
	flicker bool // all entities are replaced in each tick
	bend    func(payload []byte) []byte
}

// serverTicks is the tick rate in a Server's Accept. It sends one snapshot per Step.
const serverTicks = 60

// NewServer makes a server that waits for a client.
func NewServer(config Config) *Server {
	s := &Server{
		End:     newEnd(config, true),
		accept:  peer.Accept{Epoch: 77, Rate: serverTicks, Window: 128, PacketSize: packetSize},
		welcome: peer.Welcome{Client: 5, Tick: 100},
		limits:  snapshot.Config{Window: 128, MaxEntities: snapshot.MaxEntities, Payload: peer.MaxPayload(packetSize)},
	}
	s.tick = s.welcome.Tick
	return s
}

// Address returns the address to which clients connect.
func (s *Server) Address() transport.Addr { return s.config.Conn.LocalAddr() }

// Joined reports whether a client has a session.
func (s *Server) Joined() bool { return s.joined && s.reason == nil }

// Entities returns the number of entities in its world.
func (s *Server) Entities() int { return len(s.all) }

// Step handles received datagrams, answers a handshake, and sends the state of one tick.
func (s *Server) Step() {
	s.receive(s.take)
	s.tick++
	if s.conn == nil || s.reason != nil {
		return
	}
	s.live()
	if !s.stepped() {
		return
	}
	s.sendState()
}

// take handles one datagram.
func (s *Server) take(from transport.Addr, datagram []byte) {
	switch peer.KindOf(datagram) {
	case peer.KindHello:
		if hello, err := peer.ParseHello(datagram); err == nil {
			s.answer(from, hello)
		}
	case peer.KindJoin:
		join, err := peer.ParseJoin(datagram)
		if err == nil && from == s.remote && join.Nonce == s.nonce && peer.JoinSealed(datagram, s.incoming()) {
			if s.conn == nil {
				s.start()
			}
			s.raw(peer.AppendWelcome(nil, s.welcome, ^s.incoming()))
		}
	case peer.KindPacket:
		if s.conn != nil && from == s.remote {
			s.joined = s.readPacket(datagram, (*outcome)(s), nil) || s.joined
		}
	}
}

// answer answers a Hello.
func (s *Server) answer(to transport.Addr, hello peer.Hello) {
	if to != s.remote || hello.Nonce != s.nonce {
		s.remote, s.nonce, s.conn, s.reason, s.joined = to, hello.Nonce, nil, nil, false
	}
	switch {
	case s.refusal != nil:
		s.told["Refuse"]++
		s.raw(peer.AppendRefuse(nil, peer.Refuse{Nonce: s.nonce, Reason: s.refusal.Reason, Detail: s.refusal.Detail}))
	case s.endless || hello.Cookie.IsZero():
		var cookie peer.Cookie
		binary.LittleEndian.PutUint64(cookie[:], s.random.Uint64()|1)
		if s.endless {
			s.told["ChallengeForever"]++
		}
		s.raw(peer.AppendChallenge(nil, peer.Challenge{Nonce: s.nonce, Cookie: cookie}))
	default:
		s.accept.Nonce = s.nonce
		s.raw(peer.AppendAccept(nil, s.accept))
	}
}

// incoming returns the checksum of the client's packets.
func (s *Server) incoming() wire.Checksum {
	return wire.NewChecksum(s.accept.Epoch, s.config.Protocol.Hash())
}

// start begins the session, with a world of a few entities.
func (s *Server) start() {
	s.open(^s.incoming(), s.incoming())
	s.store = snapshot.NewStore(s.config.Protocol.Schema(), s.limits)
	s.view = snapshot.NewView(s.store, s.limits)
	s.all = nil
	s.tick = s.welcome.Tick
	s.store.Begin(s.tick)
	s.spawn(8)
	s.store.Commit()
	s.view.Observe()
}

// spawn adds entities with all components and random values.
func (s *Server) spawn(count int) {
	schema := s.config.Protocol.Schema()
	for range count {
		id := s.store.Spawn()
		if id.IsZero() {
			return
		}
		for row := range schema.Rows() {
			s.store.Set(id, row, s.lanes(schema.Plan(row)))
		}
		s.all = append(s.all, id)
	}
}

// live changes the world for one tick.
func (s *Server) live() {
	s.store.Begin(max(s.tick, s.store.Tick()+1))
	if s.flicker {
		n := len(s.all)
		for _, id := range s.all {
			s.store.Despawn(id)
		}
		s.all = s.all[:0]
		s.spawn(n)
		s.told["Flicker"] += n
	}
	if s.spawns > 0 {
		s.spawn(s.spawns)
		s.told["SpawnForever"] += s.spawns
	}
	schema := s.config.Protocol.Schema()
	for range min(4, len(s.all)) {
		id, row := s.all[s.random.IntN(len(s.all))], s.random.IntN(max(schema.Rows(), 1))
		s.store.Set(id, row, s.lanes(schema.Plan(row)))
	}
	s.store.Commit()
	s.store.ClearEnded()
	s.view.Observe()
}

// sendState sends one packet with state, changed by Bend.
func (s *Server) sendState() {
	lie := ""
	if s.bend != nil {
		lie = "Bend"
	}
	s.view.Plan(packetSize)
	s.send(lie, func(b *peer.Builder) {
		n := s.view.Write(b.Payload(), b.Sequence())
		if s.bend != nil && n > 0 {
			n = copy(b.Payload(), s.bend(append([]byte(nil), b.Payload()[:n]...)))
		}
		if n > 0 {
			b.Add(wire.MessageSnapshot, tick.Initialization, n)
		}
	})
}

// outcome reports acknowledged and lost packets to the view.
type outcome Server

// Acked implements peer.Outcome.
func (o *outcome) Acked(sequence uint64, _ tick.Tick) { o.view.Acked(sequence) }

// Lost implements peer.Outcome.
func (o *outcome) Lost(sequence uint64) { o.view.Lost(sequence) }
