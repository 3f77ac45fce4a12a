package handover

import (
	"errors"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// channel has all messages of this package, in order.
const channel = 60

const (
	maxServer  = 255  // bytes of Destination.Server
	maxToken   = 2048 // bytes of Destination.Token
	maxReceipt = 128
	maxText    = 160
)

var errMessage = errors.New("a message of a move that is not legal")

// offer tells a client at the old server where to go.
type offer struct {
	ID     uint64
	Server string
	Token  []byte
	Pass   []byte
}

// Serialize implements wire.Serializable.
func (m *offer) Serialize(s *wire.Serializer) {
	s.Uint64(&m.ID)
	s.String(&m.Server, maxServer)
	s.Bytes(&m.Token, maxToken)
	s.Bytes(&m.Pass, wire.MaxPayload)
}

// here tells a client at the new server that it has the world.
type here struct{ Nonce [2]uint64 }

// Serialize implements wire.Serializable.
func (m *here) Serialize(s *wire.Serializer) {
	s.Uint64(&m.Nonce[0])
	s.Uint64(&m.Nonce[1])
}

// ready tells the old server that the client has the world of the new one.
type ready struct {
	ID    uint64
	Nonce [2]uint64
}

// Serialize implements wire.Serializable.
func (m *ready) Serialize(s *wire.Serializer) {
	s.Uint64(&m.ID)
	s.Uint64(&m.Nonce[0])
	s.Uint64(&m.Nonce[1])
}

// carry has what the player carries, from the old server. It is empty if the server delivers it.
type carry struct {
	ID     uint64
	Tick   uint16 // the low bits of the tick of its state: inputs of later ticks are not in it
	Sealed []byte
}

// Serialize implements wire.Serializable.
func (m *carry) Serialize(s *wire.Serializer) {
	s.Uint64(&m.ID)
	s.Uint16(&m.Tick)
	s.Bytes(&m.Sealed, MaxCarried)
}

// bring is carry on its way to the new server.
type bring struct {
	ID     uint64
	Since  uint16 // the low bits of the first tick of the new server whose input is not in it
	Sealed []byte
}

// Serialize implements wire.Serializable.
func (m *bring) Serialize(s *wire.Serializer) {
	s.Uint64(&m.ID)
	s.Uint16(&m.Since)
	s.Bytes(&m.Sealed, MaxCarried)
}

// arrived tells a client that it has the player's entities at the new server.
type arrived struct {
	ID      uint64
	Tick    uint16 // the low bits of the tick in which they came
	Receipt []byte
}

// Serialize implements wire.Serializable.
func (m *arrived) Serialize(s *wire.Serializer) {
	s.Uint64(&m.ID)
	s.Uint16(&m.Tick)
	s.Bytes(&m.Receipt, maxReceipt)
}

// left tells the old server that the new one has the player.
type left struct {
	ID      uint64
	Receipt []byte
}

// Serialize implements wire.Serializable.
func (m *left) Serialize(s *wire.Serializer) {
	s.Uint64(&m.ID)
	s.Bytes(&m.Receipt, maxReceipt)
}

// done tells a client at the old server that all messages to it have come.
type done struct{ ID uint64 }

// Serialize implements wire.Serializable.
func (m *done) Serialize(s *wire.Serializer) { s.Uint64(&m.ID) }

// stop ends a move: to a server, that the client cannot go; to a client, that it need not, or that it was refused.
type stop struct {
	ID   uint64
	Text string
}

// Serialize implements wire.Serializable.
func (m *stop) Serialize(s *wire.Serializer) {
	s.Uint64(&m.ID)
	s.String(&m.Text, maxText)
}

// cancel tells the old server that the client cannot move.
type cancel struct {
	ID   uint64
	Text string
}

// Serialize implements wire.Serializable.
func (m *cancel) Serialize(s *wire.Serializer) {
	s.Uint64(&m.ID)
	s.String(&m.Text, maxText)
}

// Register adds moves to a protocol. Call it on both sides. It panics on a second call and on a frozen protocol.
func Register(p *netcode.Protocol) {
	extend.OfProtocol(p).Extend(extend.Extension{Name: "handover", Server: ends{}, Client: ends{}})
	toClient(p, "offer", func(s *session, m *offer) { s.mover.offered(s, m) })
	toClient(p, "here", func(s *session, m *here) { s.mover.complete(s, m.Nonce) })
	toClient(p, "carry", func(s *session, m *carry) { s.mover.carry(s, m) })
	toClient(p, "arrived", func(s *session, m *arrived) { s.mover.arrived(s, m) })
	toClient(p, "done", func(s *session, m *done) { s.mover.finished(s, m.ID) })
	toClient(p, "stop", func(s *session, m *stop) { s.mover.stopped(s, m) })
	toServer(p, "ready", func(s *Server, from netcode.ClientID, m *ready) error { return s.ready(from, m) })
	toServer(p, "bring", func(s *Server, from netcode.ClientID, m *bring) error { return s.bring(from, m) })
	toServer(p, "left", func(s *Server, from netcode.ClientID, m *left) error { return s.left(from, m) })
	toServer(p, "cancel", func(s *Server, from netcode.ClientID, m *cancel) error { return s.cancel(from, m) })
}

// toClient registers a message for clients. A client that no Client runs ignores it.
func toClient[T any](p *netcode.Protocol, name string, take func(s *session, m *T)) {
	netcode.Handle(p, func(ctx *netcode.Context, m *T) {
		if s, ok := extend.ExtensionOf[*session](ctx.End); ok && s.mover != nil {
			take(s, m)
		}
	}, options(name, netcode.FromServer())...)
}

// toServer registers a message for servers. An error ends the connection: no correct client causes one.
func toServer[T any](p *netcode.Protocol, name string, take func(s *Server, from netcode.ClientID, m *T) error) {
	netcode.Handle(p, func(ctx *netcode.Context, m *T) {
		s, ok := extend.ExtensionOf[*Server](ctx.End)
		if !ok || s.group == nil {
			return
		}
		if err := take(s, ctx.Sender, m); err != nil {
			s.stats.Refused++
			if c := extend.OfServer(s.server).Session(ctx.Sender); c != nil {
				c.End(&netcode.CloseError{Reason: errs.ReasonMalformed, Detail: err.Error()})
			}
		}
	}, options(name, netcode.FromClient())...)
}

// options returns the options of a message.
func options(name string, from netcode.Option) []netcode.Option {
	return []netcode.Option{
		netcode.Named("netcode.handover." + name), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(channel),
		netcode.AtStage(tick.EarlyUpdate), from,
	}
}

// ends makes the states of both ends.
type ends struct{}

// Client implements extend.ClientSide.
func (ends) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	s := &session{client: c}
	return extend.ClientHooks{State: s, Undelivered: func(m *extend.Posted, sent bool) {
		if s.mover != nil {
			s.losses.add(0, m, sent)
		}
	}}
}

// Server implements extend.ServerSide.
func (ends) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	m := newServer(s)
	return extend.ServerHooks{State: m, Captured: m.captured, BeginFrame: m.beginFrame, Undelivered: m.losses.add}
}
