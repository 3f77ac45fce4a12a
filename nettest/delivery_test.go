package nettest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// note is a message whose content tells whether it is the one that was sent.
type note struct {
	Number uint32
	Check  uint64
}

// sheet is a note that is larger than a packet.
type sheet struct {
	Number uint32
	Words  [300]uint64
}

func check(number uint32) uint64 { return uint64(number)*0x9E3779B97F4A7C15 + 1 }

// heard has the messages that each end got, by sender and channel.
type heard map[string][]uint32

func (h heard) take(t testing.TB, ctx *netcode.Context, number uint32, word uint64) {
	require.Equal(t, check(number), word, "what arrives is what was sent")
	key := fmt.Sprintf("%d to %d on %v", ctx.Sender, ctx.Local, ctx.Channel)
	h[key] = append(h[key], number)
}

// Every mode of delivery, both ways, small messages and some in pieces, on links from good to dreadful, while the state of a
// world moves over the same packets: exactly once, in order where that is promised, and the worlds equal in the end.
func TestEveryModeOfDeliveryOverBadLinks(t *testing.T) {
	links := map[string]transport.Link{
		"good":     {Delay: 20 * time.Millisecond},
		"lossy":    {Delay: 60 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.2, Duplicate: 0.2, Reorder: 0.2},
		"bursts":   {Delay: 40 * time.Millisecond, BurstLoss: transport.GilbertElliott{Enter: 0.05, Length: 8}, Duplicate: 0.1},
		"dreadful": {Delay: 90 * time.Millisecond, Jitter: 40 * time.Millisecond, Loss: 0.6, Reorder: 0.3},
	}
	for name, link := range links {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(3) {
				deliverAll(t, link, seed)
			}
		})
	}
}

func deliverAll(t *testing.T, link transport.Link, seed uint64) {
	got := heard{}
	p := protocol()
	netcode.Handle(p, func(ctx *netcode.Context, m *note) { got.take(t, ctx, m.Number, m.Check) })
	netcode.Handle(p, func(ctx *netcode.Context, m *sheet) { got.take(t, ctx, m.Number, m.Words[299]) })
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: seed, Link: transport.Link{Delay: link.Delay},
		Server: netcode.Config{SilenceTimeout: time.Minute, ReliableStall: time.Minute},
		Client: netcode.Config{SilenceTimeout: time.Minute, ReliableStall: time.Minute},
		Game:   wander,
	})
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	n.Run(200 * time.Millisecond)
	n.SetLink(link)
	const count = 120
	for i := range uint32(count) {
		for mode := netcode.Unreliable; mode <= netcode.ReliableOrdered; mode++ {
			for channel := range 2 {
				how := []netcode.How{netcode.Via(mode), netcode.Channel(channel * 9)}
				require.NoError(t, netcode.Send(n.Server.Server, netcode.ToAll(), &note{i, check(i)}, how...))
				require.NoError(t, netcode.Send(n.Clients[0].Client, netcode.ToServer(), &note{i, check(i)}, how...))
			}
		}
		if i%40 == 3 {
			m := sheet{Number: i}
			m.Words[299] = check(i)
			require.NoError(t, netcode.Send(n.Clients[1].Client, netcode.ToServer(), &m, netcode.Via(netcode.ReliableOrdered)))
		}
		n.Step()
	}
	n.Run(30 * time.Second)
	all := make([]uint32, count)
	for i := range all {
		all[i] = uint32(i)
	}
	for _, way := range []string{"0 to 1", "0 to 2", "1 to 0"} {
		for _, channel := range []int{0, 9} {
			on := func(mode netcode.Delivery) []uint32 { return got[fmt.Sprintf("%s on %v %d", way, mode, channel)] }
			require.Equal(t, all, on(netcode.ReliableOrdered), way)
			reliable := slices.Clone(on(netcode.Reliable))
			slices.Sort(reliable)
			require.Equal(t, all, reliable, way)
			require.True(t, increases(on(netcode.UnreliableSequenced)), "sequenced messages never go back")
			loose := slices.Clone(on(netcode.Unreliable))
			slices.Sort(loose)
			require.True(t, increases(loose), "at most once")
			require.NotEmpty(t, loose)
		}
	}
	require.Equal(t, []uint32{3, 43, 83}, got["2 to 0 on ReliableOrdered 0"], "in pieces")
	n.Heal()
	n.Run(3 * time.Second)
	n.AssertConverge()
}

// increases tells if each number is above the one before it.
func increases(numbers []uint32) bool {
	for i := 1; i < len(numbers); i++ {
		if numbers[i] <= numbers[i-1] {
			return false
		}
	}
	return true
}

// wander moves a few entities for as long as messages are sent.
func wander(w *ecs.World, frame int) {
	if frame == 1 {
		walkers := generic.NewMap2[components.Replicated, position](w)
		for range 20 {
			walkers.New()
		}
	}
	query := generic.NewFilter1[position]().Query(w)
	for query.Next() {
		if frame < 600 {
			query.Get().X += 0.25
		}
	}
}
