package netcode_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

func TestMalformedMessageEndsTheConnection(t *testing.T) {
	cases := map[string]struct {
		kind    wire.MessageType
		stage   tick.Stage
		payload []byte
	}{
		"snapshot from a client": {wire.MessageSnapshot, 0, []byte{1, 2, 3}},
		"keep-alive with bytes":  {wire.MessageKeepAlive, 0, []byte{1}},
		"keep-alive stage":       {wire.MessageKeepAlive, tick.Update, nil},
		"close without a reason": {wire.MessageClose, 0, nil},
		"resync of three bytes":  {wire.MessageResync, 0, []byte{1, 2, 3}},
		"netcode's own, unknown": {15, 0, nil},
		"message, short":         {wire.FirstUserMessage, tick.Update, []byte{1, 2, 3}},
		"message, long":          {wire.FirstUserMessage, tick.Update, []byte{1, 2, 3, 4, 5}},
		"message, not finite":    {wire.FirstUserMessage + 1, tick.Update, []byte{0, 0, 0xC0, 0x7F, 0, 0, 0, 0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := protocol()
			handled := 0
			netcode.Handle(p, func(*message.Context, *chat) { handled++ })
			netcode.Handle(p, func(*message.Context, *position) { handled++ }, netcode.Named("goto"))
			r := rig.New(t, p, netcode.Config{})
			honest := r.Joined(p, netcode.Config{})
			th := rig.NewThief(r, p)
			require.Len(t, r.Server.Log, 2)
			th.Send(c.kind, c.stage, c.payload)
			require.Len(t, r.Server.Log, 3)
			require.Contains(t, r.Server.Log[2], "disconnect 2: malformed packet")
			r.Run(2 * time.Second)
			require.Zero(t, handled)
			require.EqualValues(t, 1, r.Server.Stats().Malformed)
			require.Equal(t, netcode.Connected, honest.State())
		})
	}
}

func TestBatchIsTakenWholeOrRefused(t *testing.T) {
	p := protocol()
	handled := 0
	netcode.Handle(p, func(*message.Context, *chat) { handled++ })
	r := rig.New(t, p, netcode.Config{})
	th := rig.NewThief(r, p)
	b := th.Conn.Begin(make([]byte, 1200))
	b.Add(wire.FirstUserMessage, tick.Update, 4)
	b.Add(wire.FirstUserMessage, tick.Update, 3)
	steps.OfServer(r.Server).Receive(th.Address, th.Conn.Finish(&b, 1, r.Now))
	r.Step()
	require.Zero(t, handled, "the message before the malformed one has no effect")
	require.Len(t, r.Server.Log, 2)
}

func TestStrangersAreCountedAndNotAnswered(t *testing.T) {
	r, c := connected(t, netcode.Config{})
	stranger := transport.MustParseAddr("10.0.0.1:1")
	var packet []byte
	r.Tamper = func(from, _ transport.Addr, b []byte) []byte {
		if from == c.Conn.LocalAddr() {
			packet = append([]byte(nil), b...)
		}
		require.NotEqual(t, stranger, from)
		return b
	}
	r.Until(func() bool { return packet != nil })
	r.Tamper = func(_, to transport.Addr, b []byte) []byte {
		require.NotEqual(t, stranger, to, "nothing goes to a stranger")
		return b
	}
	steps.OfServer(r.Server).Receive(stranger, packet)
	steps.OfServer(r.Server).Receive(stranger, nil)
	steps.OfServer(r.Server).Receive(stranger, []byte{0x81})
	steps.OfServer(r.Server).Receive(stranger, []byte{0xFF, 1, 2})
	steps.OfClient(c).Receive(stranger, packet)
	r.Run(time.Second)
	require.EqualValues(t, 1, r.Server.Stats().Strangers)
	require.EqualValues(t, 3, r.Server.Stats().BadHandshakes)
	require.EqualValues(t, 1, c.Stats().Strangers)
	require.Equal(t, netcode.Connected, c.State())
}

func TestFloodOfMessagesIsHeldToItsQuota(t *testing.T) {
	p := protocol()
	var from []wire.ClientID
	netcode.Handle(p, func(ctx *message.Context, _ *chat) { from = append(from, ctx.Sender) })
	r := rig.New(t, p, netcode.Config{QueuePerSender: 8})
	honest := r.Joined(p, netcode.Config{})
	th := rig.NewThief(r, p)
	r.Step()
	from = nil
	for range 100 {
		th.Send(wire.FirstUserMessage, tick.Update, []byte{1, 0, 0, 0})
	}
	require.NoError(t, netcode.Send(honest.Client, netcode.ToServer(), &chat{1}))
	r.Run(time.Second)
	require.Equal(t, 8, count(from, 2))
	require.Equal(t, 1, count(from, 1))
	require.EqualValues(t, 92, r.Server.Stats().Messages.PerSender)
}

func count(ids []wire.ClientID, id wire.ClientID) int {
	n := 0
	for _, other := range ids {
		if other == id {
			n++
		}
	}
	return n
}

// hostileTypes is a protocol with a message of each kind.
func hostileTypes() *netcode.Protocol {
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) {})
	netcode.Handle(p, func(*netcode.Context, *line) {})
	netcode.Handle(p, func(*netcode.Context, *order) {}, netcode.FromClient(), netcode.OwnerOnly())
	netcode.Answer(p, func(*netcode.Context, *price, *cost) error { return nil })
	return p
}

// FuzzMessages takes bytes for the batches of one packet after another, with a right checksum, at both ends: nothing panics,
// nothing that the handlers see is illegal, and honest clients stay.
func FuzzMessages(f *testing.F) {
	p := hostileTypes()
	f.Add([]byte{2, 0}, []byte{2, 0, 13, 0, 0x80, 16, 4, 6, 0, 0, 0, 1, 0, 0, 0})
	f.Add([]byte{9, 0, 0xC0, 18, 0x1C, 9, 0}, []byte{2, 0, 18, 0, 0xC3, 6, 0, 11, 0, 0, 0, 17, 4, 0, 2, 1, 2, 3, 4, 5})
	f.Add([]byte{10, 0, 7, 0x20, 4, 0, 1, 0, 'n', 'o'}, []byte{10, 0, 5, 0, 4, 0, 255, 255, 255, 127})
	f.Fuzz(func(t *testing.T, one, two []byte) {
		r := rig.New(t, p, netcode.Config{})
		honest := r.Joined(p, netcode.Config{})
		th := rig.NewThief(r, p)
		im := newImposter(t, p, netcode.Config{})
		for _, batches := range [][]byte{one, two, one} {
			if len(batches) > 1100 {
				return
			}
			for _, end := range []struct {
				conn *peer.Conn
				give func(packet []byte)
			}{
				{th.Conn, func(packet []byte) { steps.OfServer(r.Server).Receive(th.Address, packet) }},
				{im.conn, func(packet []byte) { steps.OfClient(im.client).Receive(im.socket.LocalAddr(), packet) }},
			} {
				h := wire.PacketHeader{Sequence: wire.Sequence(end.conn.Next())}
				end.conn.Skip()
				packet := append(wire.AppendPacketHeader(nil, h), batches...)
				check := th.Check
				if end.conn == im.conn {
					check = ^wire.NewChecksum(77, p.Hash())
				}
				end.give(binary.LittleEndian.AppendUint32(packet, check.Sum(packet)))
			}
			r.Step()
			im.frame()
		}
		require.NoError(t, netcode.Send(honest.Client, netcode.ToServer(), &chat{1}))
		r.Run(100 * time.Millisecond)
		require.Equal(t, netcode.Connected, honest.State())
	})
}

func FuzzServerReceive(f *testing.F) {
	p := protocol()
	netcode.Handle[chat](p, nil)
	f.Add(peer.AppendHello(nil, peer.Hello{Version: peer.Version, Nonce: 1, Protocol: p.Hash()}))
	f.Add([]byte{0, 1, 0, 2, 0, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, batch []byte) {
		r := rig.New(t, p, netcode.Config{})
		c := r.Joined(p, netcode.Config{})
		steps.OfServer(r.Server).Receive(c.Conn.LocalAddr(), batch)
		steps.OfClient(c).Receive(r.Server.Conn.LocalAddr(), batch)
		th := rig.NewThief(r, p)
		if len(batch) > 1100 {
			batch = batch[:1100]
		}
		for len(batch) >= 4 { // The same bytes as messages behind a right checksum: any type, stage and flags.
			n := min(int(batch[2]), len(batch)-4)
			th.Framed(batch[0], batch[1], batch[4:4+n])
			batch = batch[4+n:]
		}
		r.Step()
	})
}

// A batch that no honest client sends ends the connection of its sender, and no other. The types by name: chat 16, cost 17, line
// 18, news 19, order 20, price 21.
func TestMalformedBatches(t *testing.T) {
	for name, batches := range map[string][]byte{
		"from the server only":           {10, 0, 19, 4, 4, 0, 1, 0, 0, 0},
		"for owners, about nothing":      {10, 0, 20, 4, 4, 0, 1, 0, 0, 0},
		"question without a call":        {10, 0, 21, 4, 4, 0, 1, 0, 0, 0},
		"answer without a call":          {10, 0, 17, 4, 4, 0, 1, 0, 0, 0},
		"message with a call":            {12, 0, 16, 0x24, 6, 0, 7, 0, 1, 0, 0, 0},
		"unknown flag":                   {10, 0, 16, 0x44, 4, 0, 1, 0, 0, 0},
		"stage that is none":             {10, 0, 16, 7, 4, 0, 1, 0, 0, 0},
		"tick cut short":                 {7, 0, 16, 0x0C, 1, 0, 5},
		"entity of generation 0":         {12, 0, 16, 0x14, 6, 0, 3, 0, 1, 0, 0, 0},
		"entity in a longer form":        {13, 0, 16, 0x14, 7, 0, 241, 0, 1, 1, 0, 0, 0},
		"body cut short behind a prefix": {11, 0, 16, 0x14, 5, 0, 3, 1, 1, 0, 0},
		"text that is not legal":         {8, 0, 18, 4, 2, 0, 1, 200},
		"two credits":                    {18, 0, 5, 0, 4, 0, 0, 0, 3, 0, 5, 0, 4, 0, 0, 0, 3, 0},
		"credit of three bytes":          {9, 0, 5, 0, 3, 0, 0, 0, 3},
		"refusal without a call":         {6, 0, 7, 0, 0, 0},
		"refusal that is not printable":  {9, 0, 7, 0x20, 3, 0, 1, 0, '\n'},
		"piece on an unreliable channel": {13, 0, 6, 0, 7, 0, 0, 0, 16, 4, 0, 2, 1},
		"keep-alive on another channel":  {2, 0, 7, 0, 0x41, 2, 0, 0, 0},
		"credit on a reliable channel":   {2, 0, 13, 0, 0x80, 5, 0, 6, 0, 0, 0, 0, 0, 3, 0},
		"no message in a further batch":  {2, 0, 3, 0, 0x41},
		"the same channel twice":         {2, 0, 11, 0, 0, 16, 4, 4, 0, 1, 0, 0, 0},
		"reliable without a number":      {2, 0, 8, 0, 0x80, 16, 4, 1, 0, 0},
		"number beyond the window":       {2, 0, 13, 0, 0x80, 16, 4, 6, 0, 0, 4, 1, 0, 0, 0},
		"pieces that make no message":    {2, 0, 25, 0, 0x80, 6, 0, 7, 0, 0, 0, 16, 4, 0, 2, 1, 6, 0, 7, 0, 1, 0, 16, 4, 1, 2, 1},
		"batch larger than the packet":   {99, 0, 16, 4, 4, 0, 1, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := hostileTypes()
			netcode.Handle(p, func(*netcode.Context, *news) {}, netcode.FromServer())
			r := rig.New(t, p, netcode.Config{})
			honest := r.Joined(p, netcode.Config{})
			th := rig.NewThief(r, p)
			th.Raw(batches...)
			require.Len(t, r.Server.Log, 3)
			require.Contains(t, r.Server.Log[2], "disconnect 2: malformed packet")
			require.EqualValues(t, 1, r.Server.Stats().Malformed)
			r.Run(200 * time.Millisecond)
			require.Equal(t, netcode.Connected, honest.State())
		})
	}
}

// A sender that goes beyond its credit is closed for that. The first message of each channel is missing, so that none of
// the others is handled.
func TestBeyondTheCredit(t *testing.T) {
	p := hostileTypes()
	r := rig.New(t, p, netcode.Config{})
	th := rig.NewThief(r, p)
	sent := 0
	for channel := byte(0xC0); channel < 0xC4; channel++ {
		for number := uint16(1); number <= 1000 && len(r.Server.Log) == 1; number++ {
			batch := binary.LittleEndian.AppendUint16([]byte{2, 0, 13, 0, channel, 16, 4, 6, 0}, number)
			th.Raw(append(batch, 1, 0, 0, 0)...)
			sent++
		}
	}
	const cost = 2 + 4 + 32
	require.Equal(t, peer.InitialCredit/cost+1, sent)
	require.Contains(t, r.Server.Log[1], "disconnect 1: queue overflow")
	require.EqualValues(t, 1, r.Server.Stats().QueueOverflows)
	require.Zero(t, r.Server.Stats().Malformed)
}

// A question that its owner alone may ask is refused to others, with an answer.
func TestQuestionsForOwnersOnly(t *testing.T) {
	p := protocol()
	netcode.Answer(p, func(_ *netcode.Context, q *price, r *cost) error { r.Gold = q.Item; return nil }, netcode.OwnerOnly())
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	id := r.Spawn(1)
	r.Sees(c, id, 1)
	var got []string
	ask := func() {
		require.NoError(t, netcode.Call(t.Context(), c.Client, 0, &price{3}, func(r *cost, err error) {
			if err != nil {
				got = append(got, err.Error())
				return
			}
			got = append(got, "answered")
		}, netcode.About(id)))
		r.Run(200 * time.Millisecond)
	}
	ask()
	require.True(t, r.Server.SetOwner(id, 1))
	ask()
	require.Equal(t, []string{"netcode: the call was refused: the entity does not belong to the caller", "answered"}, got)
	require.EqualValues(t, 1, r.Server.Stats().NotOwner)
	require.ErrorContains(t, netcode.Call(t.Context(), c.Client, 0, &price{3}, func(*cost, error) {}), "the message is for owners only: say About which entity it is")
	require.Equal(t, netcode.Connected, c.State())
}

func TestAckOfUnsentEndsTheConnection(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	th := rig.NewThief(r, p)
	liar := peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, 1)})
	for range 50 { // Packets that the server never sent: th believes that they came.
		b := liar.Begin(make([]byte, 1200))
		b.Add(wire.MessageKeepAlive, 0, 0)
		liar.Finish(&b, 1, r.Now)
	}
	th.Conn.Accept(peer.Incoming{Sequence: 40, Eliciting: true}, r.Now)
	th.Send(wire.MessageKeepAlive, 0, nil)
	require.Contains(t, r.Server.Log[1], "acknowledged a packet that was never sent")
	require.EqualValues(t, 1, r.Server.Stats().Packets.AcksOfUnsent)
}
