package nettest_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

// brick is a note that has a packet of 256 bytes for itself.
type brick struct {
	Number, Way uint32
	Check       uint64
	Filler      [20]uint64
}

// wrapWays is the number of flows in each direction: every mode, on two channels.
const wrapWays = 4 * 2

// flow is the messages of one mode and channel in one direction, counted as they come.
type flow struct {
	sent, came uint32
	next       uint32          // ordered: the next that must come; sequenced: behind the newest that came
	early      map[uint32]bool // reliable: which came beyond next; unreliable: of those that came lately
}

// take checks one message against what the mode promises.
func (f *flow) take(mode netcode.Delivery, number uint32) error {
	f.came++
	switch mode {
	case netcode.ReliableOrdered:
		if number != f.next {
			return fmt.Errorf("%d came, not %d", number, f.next)
		}
		f.next++
		return nil
	case netcode.UnreliableSequenced:
		if number < f.next {
			return fmt.Errorf("%d came after %d", number, f.next-1)
		}
		f.next = number + 1
		return nil
	}
	if number < f.next || f.early[number] || number >= f.sent {
		return fmt.Errorf("%d came twice, or was never sent", number)
	}
	f.early[number] = true
	for f.early[f.next] || mode == netcode.Unreliable && f.next+4096 < number {
		delete(f.early, f.next)
		f.next++
	}
	return nil
}

// floods are the flows of a server and one client, both ways: 0 is what the client sends.
type floods struct {
	apart float64 // sum of how much more than the link loses was thought to be lost
	looks int
	net   *nettest.Net
	flows [2][wrapWays]flow
}

// mode and channel of a flow.
func wayOf(way int) (netcode.Delivery, int) { return netcode.Delivery(way / 2), way % 2 * 63 }

// speak sends one message of each flow in both directions. A message that finds the queue full is sent later.
func (f *floods) speak(t *testing.T) {
	for way := range wrapWays {
		mode, channel := wayOf(way)
		for from := range f.flows {
			flow := &f.flows[from][way]
			m := brick{Number: flow.sent, Way: uint32(way), Check: check(flow.sent)}
			m.Filler[19] = ^m.Check
			end, to := netcode.Endpoint(f.net.Clients[0].Client), netcode.ToServer()
			if from == 1 {
				end, to = f.net.Server.Server, netcode.To(f.net.Clients[0].ID())
			}
			err := netcode.Send(end, to, &m, netcode.Via(mode), netcode.Channel(channel))
			if err == nil {
				flow.sent++
			} else if !errors.Is(err, netcode.ErrBackPressure) && !errors.Is(err, netcode.ErrQueueFull) {
				require.NoError(t, err)
			}
		}
	}
}

// packets counts the packets of the end that sent fewer.
func (f *floods) packets() uint64 {
	stats, _ := f.net.Server.ClientStats(f.net.Clients[0].ID())
	return min(stats.Packets.Sent, f.net.Clients[0].Stats().Packets.Sent)
}

// Ten times around the 16-bit sequence numbers in both directions, from the first number, from the middle and from the end of
// the numbers, on links that lose nothing up to 60 %, with bursts, duplicates and reordering: every mode keeps what it promises,
// by content, the worlds agree in the end, and what the ends make of the link goes on across every wrap. (peer has the same for
// connections whose very first packet has such a number.)
func TestCase16EveryModeOverTheWraps(t *testing.T) {
	if testing.Short() {
		t.Skip("long; the race detector has nothing to find in one goroutine")
	}
	for seed, start := range sized([]uint64{0}, []uint64{0, 32760, 65500}) {
		t.Run(fmt.Sprint(start), func(t *testing.T) {
			t.Parallel()
			overWraps(t, uint64(seed), start, uint64(sized(1, 10)))
		})
	}
}

func overWraps(t *testing.T, seed, start, wraps uint64) {
	links := []transport.Link{
		{Delay: 30 * time.Millisecond, Loss: .3},
		{Delay: 30 * time.Millisecond},
		{Delay: 30 * time.Millisecond, Loss: .1, Duplicate: .2, Reorder: .2, Jitter: 10 * time.Millisecond},
		{Delay: 30 * time.Millisecond, BurstLoss: transport.GilbertElliott{Enter: .05, Length: 8}, Duplicate: .1},
		{Delay: 30 * time.Millisecond, Loss: .6, Reorder: .3},
	}
	f := &floods{}
	for from := range f.flows {
		for way := range f.flows[from] {
			f.flows[from][way].early = map[uint32]bool{}
		}
	}
	p := protocol()
	netcode.Handle(p, func(ctx *netcode.Context, m *brick) {
		from := 0
		if ctx.Sender == 0 {
			from = 1
		}
		mode, channel := wayOf(int(m.Way))
		require.Equal(t, netcode.Via(mode), netcode.Via(ctx.Channel.Delivery()))
		require.Equal(t, channel, ctx.Channel.Number())
		require.True(t, m.Check == check(m.Number) && m.Filler[19] == ^m.Check, "what arrives is what was sent")
		require.NoError(t, f.flows[from][m.Way].take(mode, m.Number), "%v %d from %d", mode, channel, ctx.Sender)
	})
	patient := netcode.Config{SendBudget: -1, SilenceTimeout: time.Minute, ReliableStall: time.Minute}
	server := patient
	server.PacketSize = 256
	f.net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 1, Seed: 1600 + seed, Link: transport.Link{Delay: 30 * time.Millisecond}, Server: server, Client: patient,
		Game: wander,
	})
	require.True(t, f.net.RunUntil(5*time.Second, f.net.Connected))
	f.net.Run(200 * time.Millisecond)
	turn := func() {
		for range 4 {
			f.speak(t)
		}
		f.net.Step()
	}
	for f.packets() < start {
		turn()
	}
	const parts = 10 // of the way, each with a link of its own
	for part := range uint64(parts) {
		link := links[(part+seed)%uint64(len(links))]
		f.net.SetLink(link)
		began := f.net.Now()
		for f.packets() < start+(part+1)*wraps<<16/parts {
			turn()
			if f.net.Now()-began > 2*time.Second {
				f.continuous(t, link)
			}
		}
	}
	require.InDelta(t, 0, f.apart/float64(f.looks), .1, "what is thought to be lost, of %d looks", f.looks)
	f.net.Heal()
	f.net.Run(5 * time.Second)
	require.True(t, f.net.Connected())
	for from := range f.flows {
		for way := range f.flows[from] {
			flow, name := &f.flows[from][way], fmt.Sprint(wayOf(way))
			mode, _ := wayOf(way)
			require.Greater(t, flow.sent, uint32(1000*wraps), name)
			require.LessOrEqual(t, flow.came, flow.sent, name)
			require.Greater(t, flow.came, flow.sent/4, name)
			if mode == netcode.Reliable || mode == netcode.ReliableOrdered {
				require.Equal(t, flow.sent, flow.came, "%s: each once", name)
				require.Equal(t, flow.sent, flow.next, name)
			}
		}
	}
	f.net.AssertConverge()
}

// continuous fails when an end's idea of the link is not near what the link is.
func (f *floods) continuous(t *testing.T, link transport.Link) {
	stats, _ := f.net.Server.ClientStats(f.net.Clients[0].ID())
	near, _ := f.net.Clients[0].RTT()
	for _, rtt := range []time.Duration{stats.RTT, near} {
		require.Greater(t, rtt, 2*link.Delay-20*time.Millisecond)
		require.Less(t, rtt, 2*link.Delay+250*time.Millisecond)
	}
	if link.BurstLoss.Enter == 0 && link.Reorder == 0 { // what comes too late counts as lost
		require.Greater(t, stats.Loss, link.Loss-.3)
		require.Less(t, stats.Loss, link.Loss+.6) // acknowledgements are lost, too, and it is of some 50 packets
		f.apart, f.looks = f.apart+stats.Loss-link.Loss, f.looks+1
	}
}
