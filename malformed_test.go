package netcode_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// raw sends batches as they are, under a right checksum.
func (th *thief) raw(batches ...byte) {
	h := wire.PacketHeader{Sequence: wire.Sequence(th.conn.Next())}
	th.conn.DetectLost(th.now+time.Hour, nil) // Makes room.
	th.conn.Skip()
	packet := append(wire.AppendPacketHeader(nil, h), batches...)
	th.server.Receive(th.address, binary.LittleEndian.AppendUint32(packet, th.check.Sum(packet)))
}

// What no client sends ends its connection, and nobody else's. The types by name: chat 16, cost 17, line 18, news 19, order
// 20, price 21.
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
			r := newRig(t, p, netcode.Config{})
			honest := r.joined(p, netcode.Config{})
			th := newThief(t, r, p)
			th.raw(batches...)
			require.Len(t, r.server.log, 3)
			require.Contains(t, r.server.log[2], "disconnect 2: malformed packet")
			require.EqualValues(t, 1, r.server.Stats().Malformed)
			r.run(200 * time.Millisecond)
			require.Equal(t, netcode.Connected, honest.State())
		})
	}
}

// A sender that goes beyond its credit is closed for that. The first message of each channel is missing, so that none of
// the others is handled.
func TestBeyondTheCredit(t *testing.T) {
	p := hostileTypes()
	r := newRig(t, p, netcode.Config{})
	th := newThief(t, r, p)
	sent := 0
	for channel := byte(0xC0); channel < 0xC4; channel++ {
		for number := uint16(1); number <= 1000 && len(r.server.log) == 1; number++ {
			batch := binary.LittleEndian.AppendUint16([]byte{2, 0, 13, 0, channel, 16, 4, 6, 0}, number)
			th.raw(append(batch, 1, 0, 0, 0)...)
			sent++
		}
	}
	const cost = 2 + 4 + 32
	require.Equal(t, peer.InitialCredit/cost+1, sent)
	require.Contains(t, r.server.log[1], "disconnect 1: queue overflow")
	require.EqualValues(t, 1, r.server.Stats().QueueOverflows)
	require.Zero(t, r.server.Stats().Malformed)
}

// A question that its owner alone may ask is refused to others, with an answer.
func TestQuestionsForOwnersOnly(t *testing.T) {
	p := protocol()
	netcode.Answer(p, func(_ *netcode.Context, q *price, r *cost) error { r.Gold = q.Item; return nil }, netcode.OwnerOnly())
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	id := r.spawn(1)
	r.sees(c, id, 1)
	var got []string
	ask := func() {
		require.NoError(t, netcode.Call(t.Context(), c.Client, 0, &price{3}, func(r *cost, err error) {
			if err != nil {
				got = append(got, err.Error())
				return
			}
			got = append(got, "answered")
		}, netcode.About(id)))
		r.run(200 * time.Millisecond)
	}
	ask()
	require.True(t, r.server.SetOwner(id, 1))
	ask()
	require.Equal(t, []string{"netcode: the call was refused: the entity does not belong to the caller", "answered"}, got)
	require.EqualValues(t, 1, r.server.Stats().NotOwner)
	require.ErrorIs(t, netcode.Call(t.Context(), c.Client, 0, &price{3}, func(*cost, error) {}), netcode.ErrNeedsEntity)
	require.Equal(t, netcode.Connected, c.State())
}
