package peer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestMaxBodyIsWhatReserveTakes(t *testing.T) {
	for _, size := range []int{256, 1200, 8192} {
		for _, bytes := range []int{16 << 10, 256 << 10} {
			for _, ch := range []wire.Channel{0, 5, wire.NewChannel(wire.UnreliableSequenced, 0), wire.NewChannel(wire.Reliable, 0), wire.NewChannel(wire.ReliableOrdered, 9)} {
				for _, flags := range []wire.MessageFlags{0, wire.FlagCall, wire.FlagTick | wire.FlagEntity | wire.FlagCall} {
					o := NewOutgoing(OutgoingConfig{PacketSize: size, ReliableBytes: bytes}, NewPool(size))
					p := Post{Type: 20, Stage: tick.Update, Channel: ch, Flags: flags, Entity: wire.NetworkID{Index: 70000, Generation: 1}}
					most := o.MaxBody(&p)
					require.Positive(t, most)
					_, err := o.Reserve(&p, most+1)
					require.ErrorIs(t, err, ErrTooLarge, "size %d, channel %v, flags %x", size, ch, flags)
					_, err = o.Reserve(&p, most)
					require.NoError(t, err, "size %d, channel %v, flags %x", size, ch, flags)
					o.Cancel()
				}
			}
		}
	}
}
