package netcode

import (
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/wire"
)

// Attribution says where the bytes of datagrams went: by reason, by component, by field and by message. Total is the
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

// NewAttribution makes an empty account. It freezes the protocol.
func (p *Protocol) NewAttribution() *Attribution {
	p.freeze()
	a := &Attribution{State: replica.NewBits(p.schema)}
	for _, m := range p.messages.Types() {
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

// Attribute adds a datagram from the server to an account. What state means can be told from what this client holds, so
// ask while the datagram is new: when it is sent, if that is in the same process, or before or after Receive.
func (c *Client) Attribute(to *Attribution, datagram []byte) {
	size := uint64(len(datagram))
	to.Datagrams++
	to.Bytes += size
	if size > 0 && datagram[0]&wire.HandshakeFlag != 0 {
		to.Handshakes += size
		return
	}
	_, n, err := wire.ParsePacketHeader(datagram)
	if err != nil || len(datagram)-n < wire.ChecksumSize+wire.BatchHeaderSize {
		to.Unreadable += size
		return
	}
	to.Headers += uint64(n)
	to.Checksums += wire.ChecksumSize
	body := datagram[n : len(datagram)-wire.ChecksumSize]
	c.attributeBatches(to, body)
}

// attributeBatches adds a packet's batches.
func (c *Client) attributeBatches(to *Attribution, body []byte) {
	in := peer.Incoming{Batches: body}
	rest := uint64(len(body))
	r := in.Messages()
	for r.Next() {
		to.Messages += wire.MessageHeaderSize
		rest -= wire.MessageHeaderSize + uint64(len(r.Payload))
		c.attributeMessage(to, r.Header, r.Payload)
	}
	if r.Err() != nil {
		to.Unreadable += rest
		return
	}
	to.Batches += rest
}

// attributeMessage adds a message's payload.
func (c *Client) attributeMessage(to *Attribution, h wire.MessageHeader, payload []byte) {
	switch i := int(h.Type) - int(wire.FirstUserMessage); {
	case h.Type == wire.MessageSnapshot && c.replica != nil:
		c.replica.AddBits(to.State, payload)
	case i >= 0 && i < len(to.Types):
		to.Types[i].Count++
		to.Types[i].Bytes += uint64(len(payload))
	default:
		to.Others += uint64(len(payload))
	}
}
