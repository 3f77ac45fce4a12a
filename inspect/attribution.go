package inspect

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/wire"
)

// Attribution counts the bytes of datagrams: by reason, by component, by field and by message. Total is the
// sum of all of it, and exactly the bytes of all datagrams that were added.
type Attribution struct {
	Datagrams  uint64 // How many were added.
	Bytes      uint64 // Of all of them.
	Handshakes uint64 // Bytes of handshake datagrams.
	Headers    uint64 // Bytes of packet headers: sequence and acknowledgements.
	Batches    uint64 // Bytes of batch headers.
	Messages   uint64 // Bytes of message headers.
	Checksums  uint64 // Bytes.
	Others     uint64 // Bytes of netcode's own messages that are no state: keep-alive, close, credit, pieces.
	Unreadable uint64 // Bytes of what is no packet.

	State *replica.Bits // The payloads of snapshots, in bits.
	Types []TypeBytes   // The game's messages, by their numbers.
}

// TypeBytes is one message type's part.
type TypeBytes struct {
	Name  string // Wire name of the type.
	Count uint64 // How many there were.
	Bytes uint64 // Of payloads; headers are in Attribution.Messages.
}

// New makes an empty account. It freezes the protocol.
func New(p *netcode.Protocol) *Attribution {
	a := &Attribution{State: replica.NewBits(p.Schema())}
	for _, m := range p.Messages().Types() {
		a.Types = append(a.Types, TypeBytes{Name: m.Name})
	}
	return a
}

// Total is the sum of all parts, in bits.
func (a *Attribution) Total() uint64 {
	sum := a.Handshakes + a.Headers + a.Batches + a.Messages + a.Checksums + a.Others + a.Unreadable
	for i := range a.Types {
		sum += a.Types[i].Bytes
	}
	return 8*sum + a.State.Total()
}

// Add adds a datagram from the server to the account. Records of state are coded against versions that the client holds, so
// call it while the datagram is new: when it is sent, if that is in the same process, or before or after Receive.
func (a *Attribution) Add(c *netcode.Client, datagram []byte) {
	a.add(datagram, func(payload []byte) bool {
		if c.Newest() == nil {
			return false
		}
		c.Newest().AddBits(a.State, payload)
		return true
	})
}

// AddSent adds a datagram to a client to the account, where it is sent: the server knows what its records are coded against, until it
// receives something. Call it in the frame that the datagram was built in. The state of a client of an older build is Unknown, and so is that of
// one whose session is over, nil.
func (a *Attribution) AddSent(c *netcode.Session, datagram []byte) {
	a.add(datagram, func(payload []byte) bool {
		if c == nil || c.View() == nil || c.Protocol() != c.Server().Protocol().Hash() {
			a.State.Unknown += 8 * uint64(len(payload))
			return true
		}
		replica.AddBits(c.Server().Protocol().Schema(), a.State, payload, c.Server().Store().Tick(), c.View().Baselines())
		return true
	})
}

// add adds a datagram; state adds the payload of a snapshot, or returns false.
func (a *Attribution) add(datagram []byte, state func(payload []byte) bool) {
	size := uint64(len(datagram))
	a.Datagrams++
	a.Bytes += size
	if size > 0 && datagram[0]&wire.HandshakeFlag != 0 {
		a.Handshakes += size
		return
	}
	_, n, err := wire.ParsePacketHeader(datagram)
	if err != nil || len(datagram)-n < wire.ChecksumSize+wire.BatchHeaderSize {
		a.Unreadable += size
		return
	}
	a.Headers += uint64(n)
	a.Checksums += wire.ChecksumSize
	body := datagram[n : len(datagram)-wire.ChecksumSize]
	a.addBatches(body, state)
}

// addBatches adds a packet's batches.
func (a *Attribution) addBatches(body []byte, state func([]byte) bool) {
	in := peer.Incoming{Batches: body}
	rest := uint64(len(body))
	r := in.Messages()
	for r.Next() {
		a.Messages += wire.MessageHeaderSize
		rest -= wire.MessageHeaderSize + uint64(len(r.Payload))
		a.addMessage(r.Header, r.Payload, state)
	}
	if r.Err() != nil {
		a.Unreadable += rest
		return
	}
	a.Batches += rest
}

// addMessage adds a message's payload.
func (a *Attribution) addMessage(h wire.MessageHeader, payload []byte, state func([]byte) bool) {
	switch i := int(h.Type) - int(wire.FirstUserMessage); {
	case h.Type == wire.MessageSnapshot && state(payload):
	case i >= 0 && i < len(a.Types):
		a.Types[i].Count++
		a.Types[i].Bytes += uint64(len(payload))
	default:
		a.Others += uint64(len(payload))
	}
}
