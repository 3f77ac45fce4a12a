package inspect

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/wire"
)

// Attribution counts the bytes of datagrams by reason, component, field and message. Total is the sum of all parts, and equals
// the bytes of all added datagrams exactly.
type Attribution struct {
	Datagrams  uint64 // Number of added datagrams.
	Bytes      uint64 // Bytes of all of them.
	Handshakes uint64 // Bytes of handshake datagrams.
	Headers    uint64 // Bytes of packet headers: sequence and acknowledgements.
	Batches    uint64 // Bytes of batch headers.
	Messages   uint64 // Bytes of message headers.
	Checksums  uint64 // Bytes.
	Others     uint64 // Bytes of netcode's own messages without state: keep-alive, close, credit, pieces.
	Unreadable uint64 // Bytes that are no valid packet.

	State *format.Bits // Snapshot payloads, in bits.
	Types []TypeBytes  // The game's messages, by type number.
}

// TypeBytes is the part of one message type.
type TypeBytes struct {
	Name  string // Wire name of the type.
	Count uint64 // Number of messages.
	Bytes uint64 // Bytes of payloads; their headers are in Attribution.Messages.
}

// New returns an empty Attribution. It freezes the protocol.
func New(p *netcode.Protocol) *Attribution {
	a := &Attribution{State: format.NewBits(p.Schema())}
	for _, m := range extend.OfProtocol(p).Messages().Types() {
		a.Types = append(a.Types, TypeBytes{Name: m.Name})
	}
	return a
}

// CountEntities makes the account count the bits of each entity too, in State.Entities.
func (a *Attribution) CountEntities() *Attribution {
	a.State.Entities = map[uint32]uint64{}
	return a
}

// Total returns the sum of all parts, in bits.
func (a *Attribution) Total() uint64 {
	sum := a.Handshakes + a.Headers + a.Batches + a.Messages + a.Checksums + a.Others + a.Unreadable
	for i := range a.Types {
		sum += a.Types[i].Bytes
	}
	return 8*sum + a.State.Total()
}

// Add adds a datagram from the server, at a client. Records of state are coded against versions that the client has, so call it
// while the datagram is new: when the server sends it, if both are in one process, or just before or after Receive.
func (a *Attribution) Add(c *netcode.Client, datagram []byte) {
	local := func(t wire.MessageType) wire.MessageType { return t }
	a.add(datagram, local, func(_ wire.Sequence, payload []byte) bool {
		if extend.OfClient(c).Newest() == nil {
			return false
		}
		extend.OfClient(c).Newest().AddBits(a.State, payload)
		return true
	})
}

// AddSent adds a datagram that a server passes to its socket, without its state, which the server's writers count: TakeState adds
// that. The session is nil for a datagram to an address without one.
func (a *Attribution) AddSent(c extend.Session, datagram []byte) {
	local := func(t wire.MessageType) wire.MessageType { return t }
	if c != nil {
		local = c.LocalType
	}
	a.add(datagram, local, func(wire.Sequence, []byte) bool { return true })
}

// CountState makes a server count the bits of the state that it writes, by component, field and entity, or ends that. Call it
// between two frames. While it is off, nothing is counted.
func CountState(s *netcode.Server, on bool) { s.Store().Count(on) }

// TakeState adds the state that a server has written since the last call, of any Attribution. Call it behind the last datagram of a
// frame: then Total is 8 * Bytes.
func (a *Attribution) TakeState(s *netcode.Server) { s.Store().TakeBits(a.State) }

// add adds a datagram. local returns this end's number of a message type, and state adds the payload of a snapshot, or returns
// false.
func (a *Attribution) add(datagram []byte, local func(wire.MessageType) wire.MessageType, state func(packet wire.Sequence, payload []byte) bool) {
	size := uint64(len(datagram))
	a.Datagrams++
	a.Bytes += size
	if size > 0 && datagram[0]&wire.HandshakeFlag != 0 {
		a.Handshakes += size
		return
	}
	h, n, err := wire.ParsePacketHeader(datagram)
	if err != nil || len(datagram)-n < wire.ChecksumSize+wire.BatchHeaderSize {
		a.Unreadable += size
		return
	}
	a.Headers += uint64(n)
	a.Checksums += wire.ChecksumSize
	body := datagram[n : len(datagram)-wire.ChecksumSize]
	a.addBatches(body, local, func(payload []byte) bool { return state(h.Sequence, payload) })
}

// addBatches adds the batches of a packet.
func (a *Attribution) addBatches(body []byte, local func(wire.MessageType) wire.MessageType, state func([]byte) bool) {
	in := peer.Incoming{Batches: body}
	rest := uint64(len(body))
	r := in.Messages()
	for r.Next() {
		a.Messages += wire.MessageHeaderSize
		rest -= wire.MessageHeaderSize + uint64(len(r.Payload))
		a.addMessage(local(r.Header.Type), r.Payload, state)
	}
	if r.Err() != nil {
		a.Unreadable += rest
		return
	}
	a.Batches += rest
}

// addMessage adds the payload of a message.
func (a *Attribution) addMessage(t wire.MessageType, payload []byte, state func([]byte) bool) {
	switch i := int(t) - int(wire.FirstUserMessage); {
	case t == wire.MessageSnapshot && state(payload):
	case i >= 0 && i < len(a.Types):
		a.Types[i].Count++
		a.Types[i].Bytes += uint64(len(payload))
	default:
		a.Others += uint64(len(payload))
	}
}
