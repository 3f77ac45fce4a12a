package peer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestReader(t *testing.T) {
	batches := []byte{
		12, 0, 16, 4, 2, 0, 'h', 'i', 17, 0, 0, 0,
		8, 0, 0x41, 18, 0x0C, 1, 0, 'x',
		7, 0, 0, 19, 0, 0, 0,
	}
	r := readBatches(batches)
	require.True(t, r.Next())
	require.Equal(t, wire.MessageHeader{Type: 16, Stage: tick.Update, Size: 2}, r.Header)
	require.Equal(t, "hi", string(r.Payload))
	require.Equal(t, 2, cap(r.Payload), "no message reaches into the next")
	mark := r
	require.True(t, r.Next())
	require.Equal(t, wire.MessageType(17), r.Header.Type)
	require.Empty(t, r.Payload)
	require.True(t, r.Next())
	require.Equal(t, wire.NewChannel(wire.UnreliableSequenced, 1), r.Channel)
	require.Equal(t, wire.MessageHeader{Type: 18, Stage: tick.Update, Flags: wire.FlagTick, Size: 1}, r.Header)
	require.True(t, r.Next())
	require.Zero(t, r.Channel, "back on channel 0")
	require.Equal(t, wire.MessageType(19), r.Header.Type)
	require.False(t, r.Next())
	require.False(t, r.Next())
	require.NoError(t, r.Err())
	require.True(t, mark.Next())
	require.Equal(t, wire.MessageType(17), mark.Header.Type)

	whole := map[int]bool{12: true, 20: true, 27: true, 0: true} // ends of batches; of nothing there is nothing to read
	for cut := range len(batches) + 1 {
		r := readBatches(batches[:cut])
		for r.Next() {
		}
		require.Equal(t, whole[cut], r.Err() == nil, "cut at %d", cut)
		require.Equal(t, whole[cut] && cut > 0, legalBatches(batches[:cut]), "cut at %d", cut)
	}
	for name, bad := range map[string][]byte{
		"type 0":           {6, 0, 0, 0, 0, 0},
		"stage 7":          {6, 0, 16, 7, 0, 0},
		"too long":         {6, 0, 16, 0, 1, 0},
		"into the next":    {6, 0, 16, 0, 3, 0, 7, 0, 1, 16, 0, 0, 0},
		"cut header":       {5, 0, 16, 0, 0},
		"flag of a snap":   {6, 0, 1, 8, 0, 0},
		"same channel":     {6, 0, 16, 0, 0, 0, 7, 0, 0, 16, 0, 0, 0},
		"empty one":        {2, 0, 3, 0, 5},
		"half a message":   {2, 0, 7, 0, 5, 16, 0, 1, 0},
		"size beyond all":  {255, 255, 16, 0, 0, 0},
		"further size 1":   {2, 0, 1, 0, 5, 16, 0, 0, 0},
		"refusal, no call": {6, 0, 7, 0, 0, 0},
	} {
		r := readBatches(bad)
		for r.Next() {
		}
		require.ErrorIs(t, r.Err(), ErrMalformed, name)
	}
}

// TestChannelsNeverShareABatch builds packets of messages on random channels, and wants each back on its channel, in the
// order in which they were added, with a batch more exactly where the channel changes.
func TestChannelsNeverShareABatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(MinPacketSize, 600).Draw(t, "size")
		a, b := NewConn(ConnConfig{Check: testCheck(), PacketSize: size}), NewConn(ConnConfig{Check: testCheck()})
		builder := a.Begin(make([]byte, 600))
		channels := rapid.SliceOfNDistinct(rapid.Byte(), 1, 4, rapid.ID).Draw(t, "channels")
		var want []string
		last, bytes := wire.Channel(0), 0
		for range rapid.IntRange(0, 40).Draw(t, "messages") {
			ch := wire.Channel(rapid.SampledFrom(channels).Draw(t, "channel"))
			n := rapid.IntRange(0, 60).Draw(t, "n")
			builder.Switch(wire.Channel(rapid.Byte().Draw(t, "not used")))
			builder.Switch(ch)
			room := builder.Room()
			fits := builder.Fits(n)
			require.Equal(t, fits && n > 0, n > 0 && n <= room)
			body := rapid.SliceOfN(rapid.Byte(), n, n).Draw(t, "body")
			if rapid.Bool().Draw(t, "framed") {
				framed := make([]byte, 4)
				wire.MessageHeader{Type: 20, Stage: tick.Update, Size: uint16(n)}.Put(framed)
				require.Equal(t, fits, builder.Append(append(framed, body...)))
			} else {
				copy(builder.Payload(), body)
				require.Equal(t, fits, builder.Add(20, tick.Update, n))
			}
			if !fits {
				continue
			}
			if ch != last {
				last, bytes = ch, bytes+3
			}
			bytes += 4 + n
			want = append(want, fmt.Sprint(ch, body))
		}
		builder.Switch(99) // nothing follows
		require.Equal(t, len(want) == 0, builder.Empty())
		packet := a.Finish(&builder, 1, 0)
		require.Len(t, packet, 3+2+bytes+4)
		require.LessOrEqual(t, len(packet), size)
		in, err := b.Read(packet, 0, nil)
		require.NoError(t, err)
		require.Equal(t, len(want) > 0, in.Eliciting)
		var got []string
		r := in.Messages()
		for r.Next() {
			got = append(got, fmt.Sprint(r.Channel, r.Payload))
		}
		require.NoError(t, r.Err())
		require.Equal(t, want, got)
	})
}
