package netcode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// One client sends twenty times its quota into every stage. The other 63 lose nothing; it is held to its quota first, and
// closed when it goes on.
func TestCase32OneFlooderAmongSixtyThree(t *testing.T) {
	p := protocol()
	handled := map[netcode.ClientID]int{}
	netcode.Handle(p, func(ctx *netcode.Context, _ *chat) { handled[ctx.Sender]++ })
	const quota = 70
	r := rig.New(t, p, netcode.Config{QueuePerSender: quota, SendBudget: -1, Clients: 64})
	for range 63 {
		r.Joined(p, netcode.Config{SendBudget: -1, SentPackets: 64, Entities: 1})
	}
	th := rig.NewThief(r, p)
	id := r.Spawn(1)
	sent, frames, before := 0, 0, 0
	for range 100 {
		for _, c := range r.Clients {
			for stage := range tick.Stage(tick.NumStages) {
				require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}, netcode.AtStage(stage)))
				sent++
			}
		}
		if _, open := r.Server.ClientStats(64); open {
			flood(th, 20*quota)
			frames++
		}
		r.Step()
		require.LessOrEqual(t, handled[64]-before, quota, "in one frame")
		before = handled[64]
	}
	r.Run(200 * time.Millisecond)
	honest := 0
	for client, n := range handled {
		if client != 64 {
			honest += n
		}
	}
	require.Equal(t, sent, honest, "honest loss")
	require.Equal(t, 64, frames, "frames until it was closed")
	require.Contains(t, r.Server.Log, "disconnect 64: "+errs.ReasonRateLimit.String())
	require.EqualValues(t, 1, r.Server.Stats().RateLimited)
	require.EqualValues(t, 64*19*quota, r.Server.Stats().Messages.PerSender)
	casebook.Injected(t, r.Server.Stats().Messages.PerSender, "messages beyond the quota")
	require.Len(t, r.Server.Log, 65, "nobody else was closed")
	r.Sees(r.Clients[62], id, 1)
}

// Clients that send all that their quota or their credit takes, in the same instant and for one stage, cost the others neither a
// message nor the connection.
func TestCase32ManyFlooders(t *testing.T) {
	for _, flooders := range []int{1, 9, 40} {
		for _, delivery := range []wire.Delivery{wire.Unreliable, wire.Reliable} {
			t.Run(fmt.Sprint(flooders, delivery), func(t *testing.T) { case32Many(t, flooders, delivery) })
		}
	}
}

func case32Many(t *testing.T, flooders int, delivery wire.Delivery) {
	if testing.Short() && flooders > 9 {
		t.Skip("large")
	}
	const honest = 4
	p := protocol()
	got := map[netcode.ClientID]int{}
	netcode.Handle(p, func(ctx *netcode.Context, _ *dot) { got[ctx.Sender]++ }, netcode.AtStage(tick.Update))
	r := rig.New(t, p, netcode.Config{})
	for range honest + flooders {
		r.Joined(p, netcode.Config{SendBudget: -1, Entities: 1, ReliableBytes: 1 << 20})
	}
	how := []wire.Delivery{netcode.Unreliable, netcode.Reliable}
	for frame := range 3 {
		for i, c := range r.Clients {
			n, kinds := 10, how
			if i >= honest {
				if n, kinds = 1024, []wire.Delivery{delivery}; delivery == wire.Reliable {
					n = 3700
				}
			}
			if i >= honest && (frame > 0 && delivery == wire.Reliable || c.State() != netcode.Connected) {
				continue
			}
			for number := range n {
				via := kinds[number%len(kinds)]
				require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &dot{1}, netcode.Over(via), netcode.OnChannel(number%4)))
			}
		}
		for i := range r.Clients {
			if frame%2 == 0 {
				i = len(r.Clients) - 1 - i // the honest come last, and in another frame first
			}
			r.ClientFrame(r.Clients[i])
		}
		r.Now += rig.FrameTime
		r.ServerFrame()
	}
	r.Run(500 * time.Millisecond)
	closed := 0
	for i, c := range r.Clients {
		if i < honest {
			require.Equal(t, netcode.Connected, c.State())
			require.Equal(t, 30, got[c.ID()], "honest loss")
		} else if c.State() != netcode.Connected {
			require.ErrorIs(t, c.Err(), errs.ReasonQueueOverflow)
			closed++
		}
	}
	stats := r.Server.Stats()
	require.Equal(t, delivery == wire.Reliable && flooders >= 9, closed > 0, "some must")
	require.Less(t, closed, max(flooders, 1))
	require.Equal(t, delivery == wire.Unreliable && flooders == 40, stats.Messages.PerStage > 0)
	require.Equal(t, closed > 0, stats.Messages.Evicted > 0)
	require.Zero(t, stats.RateLimited)
}

// dot is the smallest message.
type dot struct{ B uint8 }

// flood sends so many messages over all stages at once, for the next frame.
func flood(th *rig.Thief, n int) {
	for n > 0 {
		b := th.Conn.Begin(make([]byte, 1200))
		for b.Fits(4) && n > 0 {
			copy(b.Payload(), []byte{1, 0, 0, 0})
			b.Add(wire.FirstUserMessage, tick.Stage(n%tick.NumStages), 4)
			n--
		}
		th.Conn.DetectLost(th.Now, nil)
		require.NoError(th.T, th.Socket.Send(th.Server.Conn.LocalAddr(), th.Conn.Finish(&b, 1, th.Now)))
	}
}

// A flood that stops in time is forgiven.
func TestAFloodThatStopsIsForgiven(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil)
	r := rig.New(t, p, netcode.Config{QueuePerSender: 10, FloodFrames: 20})
	th := rig.NewThief(r, p)
	for range 5 {
		for range 15 {
			flood(th, 20)
			r.Step()
		}
		for range 15 {
			flood(th, 10)
			r.Step()
		}
	}
	require.Len(t, r.Server.Log, 1)
	require.Zero(t, r.Server.Stats().RateLimited)
}

// A server may send a client more than the client takes: what is too much is dropped and counted there, and the client stays.
func TestAServerIsNoFlooder(t *testing.T) {
	p := protocol()
	got := 0
	netcode.Handle(p, func(*netcode.Context, *chat) { got++ })
	const quota, frames = 40, 30
	r := rig.New(t, p, netcode.Config{SendBudget: -1})
	c := r.Joined(p, netcode.Config{QueuePerSender: quota, FloodFrames: 5})
	for range frames {
		for range quota + 10 {
			require.NoError(t, netcode.Send(r.Server.Server, netcode.To(c.ID()), &chat{1}))
		}
		r.Step()
	}
	r.Step()
	require.Equal(t, netcode.Connected, c.State())
	require.Equal(t, frames*quota, got)
	require.EqualValues(t, frames*10, c.Stats().Messages.PerSender)
	require.Zero(t, c.Stats().RateLimited)
	require.Equal(t, []string{"connect 1"}, r.Server.Log)
}

// A server that does not come to a stage leaves reliable messages for it waiting: they are neither acknowledged and then
// dropped nor taken without bound. The client is told that it must wait.
func TestCase33ReliableIntoAFullQueue(t *testing.T) {
	p := protocol()
	var got []uint32
	netcode.Handle(p, func(_ *netcode.Context, m *chat) { got = append(got, m.Number) }, netcode.Over(netcode.ReliableOrdered))
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{SendBudget: -1})
	send := r.Server.Server
	stuck := true
	step := func() {
		r.Now += rig.FrameTime
		steps.OfServer(send).BeginFrame(r.Now)
		r.Receive(r.Server.Conn, steps.OfServer(send).ReceiveAfter)
		for stage := range tick.Stage(tick.NumStages) {
			if stage != tick.Update || !stuck {
				steps.OfServer(send).Dispatch(stage)
			}
		}
		steps.OfServer(send).Send()
		steps.OfServer(send).Drain(r.Server.Out)
		r.ClientFrame(c)
	}
	sent := uint32(0)
	fill := func() (err error) {
		for err == nil {
			if err = netcode.Send(c.Client, netcode.ToServer(), &chat{sent}); err == nil {
				sent++
			}
		}
		return err
	}
	for range 120 {
		require.ErrorIs(t, fill(), errs.ErrBackPressure)
		step()
	}
	require.Empty(t, got)
	require.Positive(t, c.Stats().BackPressure)
	casebook.Injected(t, c.Stats().BackPressure, "reliable messages into a full queue")
	require.Greater(t, sent, uint32(peer.InitialCredit/40))
	stuck = false
	for range 600 {
		step()
	}
	require.Len(t, got, int(sent))
	for i, number := range got {
		require.EqualValues(t, i, number)
	}
	require.Equal(t, netcode.Connected, c.State())

	stuck = true
	for range 60 * 6 {
		fill()
		step()
		if c.State() != netcode.Connected {
			break
		}
	}
	require.ErrorIs(t, c.Err(), errs.ReasonQueueOverflow, "who does not take them for five seconds is given up")
	require.EqualValues(t, 1, c.Stats().Stalled)
}

// The others of a send to several cannot wait for the one whose queue is full.
func TestASlowClientAmongManyIsClosed(t *testing.T) {
	p := protocol()
	heard := 0
	netcode.Handle(p, func(ctx *netcode.Context, _ *chat) {
		if ctx.Local == 1 {
			heard++
		}
	}, netcode.Over(netcode.Reliable))
	r := rig.New(t, p, netcode.Config{ReliableBytes: 8 << 10, SendBudget: -1})
	r.Joined(p, netcode.Config{})
	slow := r.Joined(p, netcode.Config{})
	r.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == slow.Conn.LocalAddr() {
			return nil
		}
		return packet
	}
	sent := 0
	for len(r.Server.Log) == 2 {
		for range 5 {
			err := netcode.Send(r.Server.Server, netcode.ToAll(), &chat{1})
			if sent++; err != nil {
				require.ErrorIs(t, err, errs.ErrBackPressure)
				break
			}
		}
		r.Step()
	}
	require.Contains(t, r.Server.Log[2], "disconnect 2: queue overflow")
	require.EqualValues(t, 1, r.Server.Stats().QueueOverflows)
	r.Run(time.Second)
	require.Equal(t, sent, heard, "the other one has them all")
}

// A client that stood still for five seconds and then says everything at once is no flooder: within the burst that its quota
// allows nothing is lost, beyond it what is too much is, and it stays. Nor does its server drown it.
func TestCase35ClientFreezesAndBursts(t *testing.T) {
	p := protocol()
	handled := 0
	netcode.Handle(p, func(ctx *netcode.Context, _ *chat) {
		if ctx.Local == 0 {
			handled++
		}
	})
	const budget = 64 << 10
	r := rig.New(t, p, netcode.Config{SendBudget: budget})
	c := r.Joined(p, netcode.Config{SendBudget: -1})
	id := r.Spawn(1)
	r.Sees(c, id, 1)
	var spent []int
	r.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from == r.Server.Conn.LocalAddr() {
			spent[len(spent)-1] += len(packet)
		}
		return packet
	}
	frame := func(frozen bool) {
		spent = append(spent, 0)
		_ = netcode.Send(r.Server.Server, netcode.ToAll(), &chat{1})
		_ = netcode.Send(r.Server.Server, netcode.ToAll(), &chat{2}, netcode.Over(netcode.Reliable))
		r.Now += rig.FrameTime
		r.ServerFrame()
		if !frozen {
			r.ClientFrame(c)
		}
	}
	for range 5 * 60 {
		frame(true)
	}
	const backlog = 3 * 5 * 60
	for range backlog {
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	}
	for range 120 {
		frame(false)
	}
	require.Equal(t, backlog, handled)
	for range 4 * backlog {
		_ = netcode.Send(c.Client, netcode.ToServer(), &chat{1})
	}
	for range 120 {
		frame(false)
	}
	require.LessOrEqual(t, handled, 5*backlog)
	casebook.Injected(t, 5*backlog, "messages of a client that froze, at once")
	require.Equal(t, []string{"connect 1"}, r.Server.Log, "not kicked")
	require.Equal(t, netcode.Connected, c.State())
	total := 0
	for i, n := range spent {
		require.LessOrEqual(t, n, budget/4+1200, "bytes in one frame")
		total += n
		require.LessOrEqual(t, total, budget*(i+1)/60+budget/4+1200)
	}
	next := r.Spawn(9)
	r.Sees(c, next, 9)
}
