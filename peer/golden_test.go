package peer

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// TestGoldenBytes pins the bytes that PROTOCOL.md shows. A change here is a
// change of the protocol and of its version.
func TestGoldenBytes(t *testing.T) {
	cookie := Cookie{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	hello := AppendHello(nil, Hello{Version: 1, Nonce: 0x1122334455667788, Protocol: 0xAABBCCDD, Cookie: cookie,
		Digest: NewDigest([]uint32{0xDEADBEEF, 5})})
	require.Len(t, hello, 1200)
	golden(t, "hello, 45 bytes", hello[:45],
		"81 0100 8877665544332211 ddccbbaa00000000 0102030405060708090a0b0c0d0e0f10 0200 efbeadde 05000000")
	golden(t, "hello, checksum", hello[1196:], goldenHelloSum)
	golden(t, "challenge", AppendChallenge(nil, Challenge{Nonce: 0x1122334455667788, Cookie: cookie}), goldenChallenge)
	golden(t, "accept", AppendAccept(nil, Accept{Nonce: 0x1122334455667788, Epoch: 0xCAFEF00D,
		Rate: 30, Window: 64, PacketSize: 1200}), goldenAccept)
	check := wire.NewChecksum(0xCAFEF00D, 0xAABBCCDD)
	golden(t, "join", AppendJoin(nil, Join{Nonce: 0x1122334455667788, Cookie: cookie}, check), goldenJoin)
	golden(t, "welcome", AppendWelcome(nil, Welcome{Client: 3, Tick: 1000}, ^check), goldenWelcome)
	golden(t, "refuse", AppendRefuse(nil, Refuse{Nonce: 0x1122334455667788, Reason: ReasonFull, Detail: "64 of 64"}), goldenRefuse)

	c := NewConn(ConnConfig{Check: wire.NewChecksum(0xCAFEF00D, 0xAABBCCDD)})
	var buf [64]byte
	b := c.Begin(buf[:])
	golden(t, "first packet, empty", c.Finish(&b, 1, 0), goldenEmpty)
	for _, n := range []uint64{1, 2, 4} {
		c.received.accept(n, true)
	}
	b = c.Begin(buf[:])
	n := len(AppendClose(b.Payload()[:0], Error{Reason: ReasonKicked, Detail: "hi"}))
	b.Add(wire.MessageClose, tick.Initialization, n)
	golden(t, "close, acknowledging 4, 2 and 1", c.Finish(&b, 1, 0), goldenClose)
}

const (
	goldenHelloSum  = "e8849c7d"
	goldenChallenge = "82 8877665544332211 0102030405060708090a0b0c0d0e0f10 7953dc34"
	goldenAccept    = "83 8877665544332211 0df0feca 1e00 4000 b004 a1ceaca3"
	goldenJoin      = "85 8877665544332211 0102030405060708090a0b0c0d0e0f10 79a5146d"
	goldenWelcome   = "86 03000000 e803000000000000 6b65b729"
	goldenRefuse    = "84 8877665544332211 20 3634206f66203634 8d00ae1f"
	goldenEmpty     = "00 0100 0200 197da71e"
	goldenClose     = "1f 0200 0400 06000000 0900 03000300 02 6869 cae65e2e"
)

func golden(t *testing.T, name string, got []byte, want string) {
	t.Helper()
	require.Equal(t, strings.ReplaceAll(want, " ", ""), hex.EncodeToString(got), name)
}

// TestGoldenMessages pins a packet with every kind of batch and prefix.
func TestGoldenMessages(t *testing.T) {
	c := NewConn(ConnConfig{Check: wire.NewChecksum(0xCAFEF00D, 0xAABBCCDD), PacketSize: 120})
	o := NewOutgoing(OutgoingConfig{PacketSize: 120}, NewPool(120))
	for _, m := range []struct {
		post Post
		body string
	}{
		{Post{Type: 16, Stage: tick.Update}, "hi"},
		{Post{Type: 16, Stage: tick.Update, Channel: wire.NewChannel(wire.UnreliableSequenced, 2)}, "s"},
		{Post{Type: 17, Stage: tick.FixedUpdate, Channel: wire.NewChannel(wire.Reliable, 0), Flags: wire.FlagTick | wire.FlagEntity,
			Tick: 0x10203, Entity: wire.NetworkID{Index: 300, Generation: 1}}, "r"},
		{Post{Type: wire.MessageRefusal, Channel: wire.NewChannel(wire.ReliableOrdered, 63), Flags: wire.FlagCall, Call: 0x0A0B}, "no"},
		{Post{Type: 18, Stage: tick.PostLateUpdate, Channel: wire.NewChannel(wire.ReliableOrdered, 63), Flags: wire.FlagCall, Call: 5}, strings.Repeat("x", 95)},
	} {
		require.NoError(t, o.Push(&m.post, []byte(m.body)))
	}
	buf := make([]byte, 120)
	b := c.Begin(buf)
	n := len(AppendCredit(b.Payload()[:0], InitialCredit+0x8000))
	require.True(t, b.Add(wire.MessageCredit, tick.Initialization, n))
	require.True(t, o.Fill(&b, 120))
	golden(t, "every kind", c.Finish(&b, 1, 0), goldenKinds)
	b = c.Begin(buf)
	require.True(t, o.Fill(&b, 120))
	golden(t, "first piece", c.Finish(&b, 1, 0)[:21], goldenPiece)
	b = c.Begin(buf)
	require.False(t, o.Fill(&b, 120))
	golden(t, "last piece", c.Finish(&b, 1, 0), goldenLast)
}

const (
	goldenKinds = "00 0100 1000 05000400 00800200 10040200 6869 0800 42 10040100 73 0f00 80 111a0800 0000 0302 f13c 01 72 " +
		"0d00 ff 07200600 0000 0b0a 6e6f 81a8ee8a"
	goldenPiece = "00 0200 0200 6900 ff 06006200 0100 12 26 00 02 0500 78"
	goldenLast  = "00 0300 0200 1200 ff 06000b00 0200 12 26 01 02 7878787878 bfa1f19f"
)
