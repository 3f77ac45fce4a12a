package nettest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
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
			t.Parallel()
			for seed := range uint64(sized(1, 3)) {
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
				how := []netcode.Option{netcode.Over(mode), netcode.OnChannel(channel * 9)}
				require.NoError(t, netcode.Send(n.Server.Server, netcode.ToAll(), &note{i, check(i)}, how...))
				require.NoError(t, netcode.Send(n.Clients[0].Client, netcode.ToServer(), &note{i, check(i)}, how...))
			}
		}
		if i%40 == 3 {
			m := sheet{Number: i}
			m.Words[299] = check(i)
			require.NoError(t, netcode.Send(n.Clients[1].Client, netcode.ToServer(), &m, netcode.Over(netcode.ReliableOrdered)))
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
			on := func(mode wire.Delivery) []uint32 { return got[fmt.Sprintf("%s on %v %d", way, mode, channel)] }
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

// wound is written by the client that owns the entity.
type wound struct{ N uint32 }

// wounded is a message about that.
type wounded struct{ N uint32 }

// bodyCount entities of a client fill several packets a tick.
const bodyCount = 800

// A client's message about what it writes is handled by the server after that, over a network that loses a third of all packets and
// reorders the others.
func TestMessageOfClientWaitsForItsWritesUnderLoss(t *testing.T) {
	for seed := range uint64(3) {
		p := netcode.NewProtocol()
		netcode.Replicate[wound](p, authority.WrittenBy(authority.OwnerWrites))
		var server *systems.ServerSystems
		var world *ecs.World
		handled, early := 0, 0
		netcode.Handle(p, func(ctx *netcode.Context, m *wounded) {
			handled++
			wounds := generic.NewMap1[wound](world)
			if e, ok := server.Entity(ctx.Entity); !ok || wounds.Get(e).N < m.N {
				early++
			}
		}, netcode.FromClient())
		n := nettest.New(t, nettest.Config{
			Protocol: p, Clients: 1, Seed: seed, Client: netcode.Config{SendBudget: -1}, Link: transport.Link{Delay: 30 * time.Millisecond, Jitter: 40 * time.Millisecond, Loss: 0.33},
			Setup: func(s *systems.ServerSystems, w *ecs.World) {
				server, world = s, w
				s.Server.OnConnect(func(id netcode.ClientID) {
					bodies := generic.NewMap3[components.Replicated, components.Owner, wound](w)
					for range bodyCount {
						bodies.NewWith(&components.Replicated{}, &components.Owner{Client: id}, &wound{})
					}
				})
			},
		})
		c := n.Clients[0]
		var ids []netcode.NetworkID
		c.Systems.OnSpawn(func(_ ecs.Entity, spawned netcode.NetworkID) { ids = append(ids, spawned) })
		require.True(t, n.RunUntil(9*time.Second, func() bool {
			return len(ids) == bodyCount && !slices.ContainsFunc(ids, func(id netcode.NetworkID) bool { return authority.Rights(c.Client, id).IsZero() })
		}))
		all := generic.NewFilter1[wound]()
		wounds, rng := generic.NewMap1[wound](c.World), rand.New(rand.NewPCG(seed, 1))
		const count = 200
		for i := range uint32(count) {
			for query := all.Query(c.World); query.Next(); {
				query.Get().N = (i+1)<<20 + rng.Uint32N(1<<20)
			}
			id := ids[int(i)*97%bodyCount]
			e, _ := c.Systems.Entity(id)
			mode := netcode.Unreliable
			if i%2 == 0 {
				mode = netcode.Reliable
			}
			require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &wounded{wounds.Get(e).N}, netcode.About(id), netcode.Over(mode)))
			n.Step()
		}
		n.Run(3 * time.Second)
		require.Zero(t, early, "seed %d, of %d", seed, handled)
		require.GreaterOrEqual(t, handled, count/2)
		require.Zero(t, n.Server.Stats().Messages.StateLate)
		require.Positive(t, n.Server.Stats().Messages.Deferred)
	}
}

// sign is a row of as few lanes as rows that are coded side by side.
type sign struct{ Text wire.Text[[8]byte] }

// TestShortTextsOfManyEntities changes the texts of many entities at once on a line that loses packets.
func TestShortTextsOfManyEntities(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[sign](p)
	texts := []string{"", "a", "ab", "abcdefgh", "\u00e4", "abx"}
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 3, Link: transport.Link{Delay: 30 * time.Millisecond, Loss: 0.2},
		Game: func(w *ecs.World, frame int) {
			if frame > 200 {
				return
			}
			at := frame
			for query := generic.NewFilter1[sign]().Query(w); query.Next(); at++ {
				if at%3 == 0 {
					query.Get().Text.Set(texts[at/3%len(texts)])
				}
			}
		},
	})
	build := generic.NewMap2[components.Replicated, sign](n.Server.World)
	for range 200 {
		build.NewWith(&components.Replicated{}, &sign{})
	}
	n.Run(3 * time.Second)
	n.AssertConverge()
}
