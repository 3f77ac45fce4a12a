package netcode_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// waitingPost is a reliable message of the game that waits for a tick, from an end that is not netcode's own.
func waitingPost(before tick.Tick) *peer.Post {
	return &peer.Post{
		Type: wire.FirstUserMessage, Stage: tick.Update, Channel: wire.NewChannel(wire.Reliable, 0), Flags: wire.FlagTick, Tick: before,
	}
}

// An end that has read a Close and handles what came before it is in the state closing for whatever comes then: each type
// has no effect on the game, and none is a fault.
func TestCase12EachMessageWhileTheRestIsHandled(t *testing.T) {
	for _, kind := range matrixTypes() {
		for role, when := range map[peer.Role]string{peer.RoleServer: "server", peer.RoleClient: "client"} {
			require.NotEqual(t, peer.VerdictClose, verdictOf(peer.StateClosing, role, kind), "%s: type %d", when, kind)
		}
		handled := 0
		p := protocol()
		netcode.Handle(p, func(*netcode.Context, *chat) { handled++ })
		build := buildMessage(t, p, kind)

		r := newRig(t, p, netcode.Config{})
		th := newThief(t, r, p)
		th.post(waitingPost(r.server.Tick()+15), []byte{1, 0, 0, 0})
		th.send(wire.MessageClose, tick.Initialization, peer.AppendClose(nil, peer.Error{Reason: peer.ReasonClosed}))
		r.run(100 * time.Millisecond)
		_, open := r.server.ClientStats(1)
		require.False(t, open)
		require.Len(t, r.server.log, 1, "the game is not told yet")
		acks := r.server.Stats().Packets.Sent
		b := th.conn.Begin(make([]byte, 1200))
		build(&b)
		r.server.Receive(th.address, th.conn.Finish(&b, 1, r.now))
		require.Equal(t, kind == wire.MessageClose, r.server.Stats().Packets.Sent == acks+1, "only a goodbye is answered")
		r.run(100 * time.Millisecond)
		require.Zero(t, handled, "type %d", kind)
		require.Len(t, r.server.log, 1)
		r.run(time.Second)
		require.Equal(t, 1, handled, "type %d", kind)
		require.Equal(t, "disconnect 1: closed", r.server.log[1])
		require.Zero(t, r.server.Stats().Malformed)

		handled = 0
		im := newImposter(t, p, netcode.Config{})
		im.send(func(b *peer.Builder) {
			out := peer.NewOutgoing(peer.OutgoingConfig{}, peer.NewPool(1200))
			require.NoError(t, out.Push(waitingPost(im.client.Tick()+15), []byte{1, 0, 0, 0}))
			out.Fill(b, 1200)
		})
		im.send(buildMessage(t, p, wire.MessageClose))
		im.run(100 * time.Millisecond)
		require.Equal(t, netcode.Closing, im.client.State())
		im.send(build)
		im.run(100 * time.Millisecond)
		require.Zero(t, handled, "type %d", kind)
		require.Len(t, im.client.log, 1)
		im.run(time.Second)
		require.Equal(t, 1, handled, "type %d", kind)
		require.Equal(t, netcode.Disconnected, im.client.State())
		require.Equal(t, "disconnect 5: closed", im.client.log[1])
		require.Zero(t, im.client.Stats().Malformed)
	}
}

// Nor does a packet that cannot be read at all end what is left to do for a client that has closed in order.
func TestCase12AnUnreadablePacketWhileTheRestIsHandled(t *testing.T) {
	handled := 0
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) { handled++ })
	for name, packet := range map[string]func(th *thief){
		"batch of no size":  func(th *thief) { th.raw(0, 0, 0, 0) },
		"message cut short": func(th *thief) { th.raw(10, 0, 16, 0, 40, 0, 1, 0, 0, 0) },
		"acknowledges what was never sent": func(th *thief) {
			h := wire.PacketHeader{Sequence: wire.Sequence(th.conn.Next()), HasAck: true, Ack: wire.Sequence(30000), AckBits: 1}
			th.conn.Skip()
			packet := wire.AppendPacketHeader(nil, h)
			th.server.Receive(th.address, binary.LittleEndian.AppendUint32(packet, th.check.Sum(packet)))
		},
	} {
		handled = 0
		r := newRig(t, p, netcode.Config{})
		th := newThief(t, r, p)
		th.post(waitingPost(r.server.Tick()+15), []byte{1, 0, 0, 0})
		th.send(wire.MessageClose, tick.Initialization, peer.AppendClose(nil, peer.Error{Reason: peer.ReasonClosed}))
		r.run(100 * time.Millisecond)
		packet(th)
		r.run(100 * time.Millisecond)
		require.Len(t, r.server.log, 1, name)
		r.run(time.Second)
		require.Equal(t, 1, handled, name)
		require.Equal(t, "disconnect 1: closed", r.server.log[1], name)
	}
}
