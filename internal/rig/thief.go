package rig

import (
	"encoding/binary"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

// Thief is a client with its own packet layer, so that it can send what no client sends.
type Thief struct {
	*Rig
	Address transport.Addr // Where it is.
	Conn    *peer.Conn     // Its packet layer.
	Socket  *memory.Conn   // The server's datagrams to it.
	Check   wire.Checksum  // Of its packets.
}

// NewThief joins a server.
func NewThief(r *Rig, p *netcode.Protocol) *Thief {
	th := &Thief{Rig: r, Address: transport.MustParseAddr("127.0.0.1:6666")}
	conn, err := r.Network.Listen(th.Address)
	r.must(err)
	const nonce = 0x7411EF // The same each time: the epoch follows from it.
	hello := peer.Hello{Version: peer.Version, Nonce: nonce, Protocol: p.Hash()}
	steps.OfServer(r.Server).Receive(th.Address, peer.AppendHello(nil, hello))
	r.Step()
	n, _, err := conn.Receive(r.Buf[:])
	r.must(err)
	challenge, err := peer.ParseChallenge(r.Buf[:n])
	r.must(err)
	hello.Cookie = challenge.Cookie
	steps.OfServer(r.Server).Receive(th.Address, peer.AppendHello(nil, hello))
	r.Step()
	n, _, err = conn.Receive(r.Buf[:])
	r.must(err)
	accept, err := peer.ParseAccept(r.Buf[:n])
	r.must(err)
	check := wire.NewChecksum(accept.Epoch, p.Hash())
	th.Socket, th.Check = conn, check
	th.Conn = peer.NewConn(peer.ConnConfig{Check: check, CheckIncoming: ^check})
	steps.OfServer(r.Server).Receive(th.Address, peer.AppendJoin(nil, peer.Join{Nonce: nonce, Cookie: hello.Cookie}, check))
	th.Send(wire.MessageKeepAlive, tick.Initialization, nil)
	return th
}

// Send sends one message without flags.
func (th *Thief) Send(kind wire.MessageType, stage tick.Stage, payload []byte) {
	b := th.Conn.Begin(make([]byte, 1200))
	copy(b.Payload(), payload)
	b.Add(kind, stage, len(payload))
	steps.OfServer(th.Server).Receive(th.Address, th.Conn.Finish(&b, 1, th.Now))
}

// Framed is Send for any type, stage and flags, legal or not.
func (th *Thief) Framed(kind, stage byte, payload []byte) {
	b := th.Conn.Begin(make([]byte, 1200))
	message := binary.LittleEndian.AppendUint16([]byte{kind, stage}, uint16(len(payload)))
	if !b.Append(append(message, payload...)) {
		th.T.Fatal("the message fits no packet")
	}
	steps.OfServer(th.Server).Receive(th.Address, th.Conn.Finish(&b, 1, th.Now))
}

// Post sends one message on any channel, with what its flags put in front.
func (th *Thief) Post(p *peer.Post, body []byte) {
	out := peer.NewOutgoing(peer.OutgoingConfig{}, peer.NewPool(1200))
	th.must(out.Push(p, body))
	b := th.Conn.Begin(make([]byte, 1200))
	out.Fill(&b, 1200)
	steps.OfServer(th.Server).Receive(th.Address, th.Conn.Finish(&b, 1, th.Now))
}

// Raw sends batches as they are, under a right checksum.
func (th *Thief) Raw(batches ...byte) {
	h := wire.PacketHeader{Sequence: wire.Sequence(th.Conn.Next())}
	th.Conn.DetectLost(th.Now+time.Hour, nil) // Makes room.
	th.Conn.Skip()
	packet := append(wire.AppendPacketHeader(nil, h), batches...)
	steps.OfServer(th.Server).Receive(th.Address, binary.LittleEndian.AppendUint32(packet, th.Check.Sum(packet)))
}

// Forged returns a snapshot in which a client writes rows of entities as it likes.
func Forged(p *netcode.Protocol, now tick.Tick, ids []wire.NetworkID, set func(store *snapshot.Store, id wire.NetworkID)) []byte {
	store := snapshot.NewStore(p.Schema(), snapshot.Config{})
	view := snapshot.NewView(store, snapshot.Config{})
	store.Begin(now)
	for _, id := range ids {
		store.Mirror(id)
		set(store, id)
	}
	store.Commit()
	view.Observe()
	b := make([]byte, 1000)
	return b[:view.Write(b, 1)]
}
