package netcode_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type huge struct{ Bytes [2000]byte }

func TestMessagesTravelBothWays(t *testing.T) {
	p := protocol()
	type got struct {
		number        uint32
		sender, local wire.ClientID
		stage         tick.Stage
	}
	var all []got
	netcode.Handle(p, func(ctx *message.Context, m *chat) {
		require.Positive(t, ctx.Received)
		require.Positive(t, ctx.Tick)
		all = append(all, got{m.Number, ctx.Sender, ctx.Local, ctx.Stage})
	}, netcode.AtStage(tick.PreUpdate))
	netcode.Handle(p, func(*message.Context, *wave) { all = append(all, got{}) })
	r := newRig(t, p, netcode.Config{})
	one, two := r.joined(p, netcode.Config{}), r.joined(p, netcode.Config{})

	require.NoError(t, netcode.Send(one.Client, netcode.ToServer(), &chat{1}))
	require.NoError(t, netcode.Send(one.Client, netcode.ToServer(), &chat{2}))
	r.run(time.Second)
	require.Equal(t, []got{{1, 1, 0, tick.PreUpdate}, {2, 1, 0, tick.PreUpdate}}, all)

	all = nil
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(two.ID()), &chat{3}))
	r.run(time.Second)
	require.Equal(t, []got{{3, 0, 2, tick.PreUpdate}}, all)

	all = nil
	require.NoError(t, netcode.Send(r.server.Server, netcode.ToAll(), &chat{4}))
	require.NoError(t, netcode.Send(r.server.Server, netcode.ToAll(), &wave{}))
	r.run(time.Second)
	require.Len(t, all, 4)
}

func TestManyMessagesFillManyPackets(t *testing.T) {
	p := protocol()
	var numbers []uint32
	netcode.Handle(p, func(_ *message.Context, m *chat) { numbers = append(numbers, m.Number) })
	r := newRig(t, p, netcode.Config{SendBudget: -1})
	r.joined(p, netcode.Config{})
	id := r.spawn(1)
	for i := range uint32(1000) {
		require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{i}))
	}
	r.until(func() bool { return len(numbers) == 1000 })
	for i, n := range numbers {
		require.EqualValues(t, i, n)
	}
	r.sees(r.clients[0], id, 1)
}

func TestErrorsOfSending(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil)
	netcode.Handle[huge](p, nil)
	netcode.Handle[position](p, nil, netcode.Named("goto"))
	r := newRig(t, p, netcode.Config{OutboxBytes: 256})
	server := r.server.Server
	require.ErrorIs(t, netcode.Send(server, netcode.To(1), &chat{}), netcode.ErrNotConnected)
	c := r.join(p, netcode.Config{})
	require.ErrorIs(t, netcode.Send(c.Client, netcode.ToServer(), &chat{}), netcode.ErrNotConnected)
	r.until(func() bool { return len(r.server.log) == 1 })

	require.ErrorIs(t, netcode.Send(server, netcode.To(1), &wave{}), netcode.ErrNotRegistered)
	require.ErrorIs(t, netcode.Send(server, netcode.ToAll(), &wave{}), netcode.ErrNotRegistered)
	var tooLarge *netcode.TooLargeError
	require.ErrorAs(t, netcode.Send(server, netcode.To(1), &huge{}), &tooLarge)
	require.Equal(t, "huge", tooLarge.Name)
	require.Equal(t, 2000, tooLarge.Size)
	require.Less(t, tooLarge.Max, 1200)
	var unsendable *netcode.FieldError
	require.ErrorAs(t, netcode.Send(server, netcode.To(1), &position{Y: float32(math.NaN())}), &unsendable)
	require.Equal(t, "Y", unsendable.Field)
	sent := 0
	for netcode.Send(server, netcode.To(1), &chat{}) == nil {
		sent++
	}
	require.Equal(t, (1200-9-2-4)/8, sent, "as many as fit a packet, the least that OutboxBytes can be")
	require.ErrorIs(t, netcode.Send(server, netcode.To(1), &chat{}), netcode.ErrQueueFull)
	require.EqualValues(t, 2, r.server.Stats().OutboxFull)
	require.EqualValues(t, 1, r.server.Stats().TooLarge)
	r.run(time.Second)
	require.NoError(t, netcode.Send(server, netcode.To(1), &chat{}))
}

func TestHandlerMayAnswer(t *testing.T) {
	p := protocol()
	var server *netcode.Server
	var answers []uint32
	netcode.Handle(p, func(ctx *message.Context, m *chat) {
		if ctx.Local == 0 {
			require.NoError(t, netcode.Send(server, netcode.To(ctx.Sender), &chat{m.Number + 1}))
			return
		}
		answers = append(answers, m.Number)
	})
	r := newRig(t, p, netcode.Config{})
	server = r.server.Server
	c := r.joined(p, netcode.Config{})
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{41}))
	r.until(func() bool { return len(answers) == 1 })
	require.Equal(t, []uint32{42}, answers)
}

// bulk fills more than half of a packet, so that two never share one.
type bulk struct{ Words [287]uint32 }

func TestMessagesDoNotStarveTheState(t *testing.T) {
	p := protocol()
	netcode.Handle[bulk](p, nil)
	r := newRig(t, p, netcode.Config{SendBudget: 30 * 1300, OutboxBytes: 1 << 20})
	c := r.joined(p, netcode.Config{})
	id := r.spawn(1)
	r.server.game = func(store *snapshot.Store) { r.set(store, id, float32(r.server.Tick())) }
	for range 300 {
		for range 3 {
			_ = netcode.Send(r.server.Server, netcode.To(1), &bulk{})
		}
		r.run(frameTime)
	}
	x, alive := r.x(c, id)
	require.True(t, alive)
	require.InDelta(t, float32(r.server.Tick()), x, 30, "half of the packets are for the state")
}

// What came in one frame with the end of its connection is handled before the game is told of a goodbye, and not at all
// after a fault.
func TestNothingComesFromClientsThatAreGone(t *testing.T) {
	p := protocol()
	var log []string
	netcode.Handle(p, func(ctx *message.Context, m *chat) { log = append(log, "message") })
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	r.server.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { log = append(log, "gone") })
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	c.BeginFrame(r.now + time.Second)
	c.Send() // the message
	c.Close()
	c.Drain(c.send)
	r.until(func() bool { return len(log) == 2 })
	r.run(time.Second)
	require.Equal(t, []string{"message", "gone"}, log)
	require.Zero(t, r.server.Stats().OfTheGone)

	log = nil
	th := newThief(t, r, p)
	th.send(wire.FirstUserMessage, tick.Update, []byte{1, 0, 0, 0})
	th.send(15, tick.Initialization, nil) // which does not exist
	r.run(time.Second)
	require.Equal(t, []string{"gone"}, log)
	require.EqualValues(t, 1, r.server.Stats().OfTheGone)
}
