package transfer

import (
	"errors"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	pieceSize = 480 // Bytes of a piece: two of them fit into a packet beside state.
	nameLimit = 64
	textLimit = 120
	channel   = wire.MaxChannels - 2
	gotEvery  = 16 << 10 // The receiver confirms after this many bytes.
)

var errMessage = errors.New("a message of a transfer that is not legal")

// begin starts a transfer. IDs of one sender ascend.
type begin struct {
	ID, Size uint32
	Name     string
}

// Serialize implements wire.Serializable.
func (m *begin) Serialize(s *wire.Serializer) {
	s.PackedUint32(&m.ID)
	s.PackedUint32(&m.Size)
	s.String(&m.Name, nameLimit)
}

// piece contains the next bytes of a transfer.
type piece struct {
	ID   uint32
	Data []byte
}

// Serialize implements wire.Serializable.
func (m *piece) Serialize(s *wire.Serializer) {
	s.PackedUint32(&m.ID)
	s.Bytes(&m.Data, pieceSize)
}

// got confirms the number of bytes that the receiver has.
type got struct{ ID, Bytes uint32 }

// Serialize implements wire.Serializable.
func (m *got) Serialize(s *wire.Serializer) {
	s.PackedUint32(&m.ID)
	s.PackedUint32(&m.Bytes)
}

// stop aborts a transfer.
type stop struct {
	ID     uint32
	Sender bool // The sender aborts it; otherwise the receiver does.
	Text   string
}

// Serialize implements wire.Serializable.
func (m *stop) Serialize(s *wire.Serializer) {
	s.PackedUint32(&m.ID)
	s.Bool(&m.Sender)
	s.String(&m.Text, textLimit)
}

// handle registers the messages.
func handle(p *netcode.Protocol) {
	register(p, "begin", func(e *end, from *peerState, m *begin) error { return e.begun(from, m) })
	register(p, "piece", func(e *end, from *peerState, m *piece) error { return e.came(from, m) })
	register(p, "got", func(e *end, from *peerState, m *got) error { return e.confirmed(from, m) })
	register(p, "stop", func(e *end, from *peerState, m *stop) error { return e.stopped(from, m) })
}

// register registers a message. An error of its handler ends the connection: a correct peer never causes one.
func register[T any](p *netcode.Protocol, name string, take func(e *end, from *peerState, m *T) error) {
	netcode.Handle(p, func(ctx *netcode.Context, m *T) {
		e, ok := extend.ExtensionOf[*end](ctx.End)
		if !ok {
			return
		}
		from := e.peers[ctx.Sender]
		if from == nil {
			return
		}
		if err := take(e, from, m); err != nil {
			e.refuse(from, &netcode.CloseError{Reason: errs.ReasonMalformed, Detail: err.Error()})
		}
	}, netcode.Named("netcode.transfer."+name), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(channel), netcode.AtStage(tick.Initialization))
}
