package netcode_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

// A handler that sends to itself in its own stage a million times over: a frame ends, the stack stays small, and the whole
// chain runs in the end.
func TestCase14ReentrantHandler(t *testing.T) {
	if testing.Short() {
		t.Skip("long; the race detector has nothing to find in one goroutine")
	}
	p := protocol()
	const length = 1_000_000
	handled, inFrame, most := 0, 0, 0
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) {
		handled++
		if inFrame++; inFrame > most {
			most = inFrame
		}
		if m.Number < length {
			require.NoError(t, netcode.Send(ctx.End, netcode.ToSelf(), &chat{m.Number + 1}))
		}
	}, netcode.AtStage(netcode.StageUpdate))
	r := newRig(t, p, netcode.Config{})
	require.NoError(t, netcode.Send(r.server.Server, netcode.ToSelf(), &chat{1}))
	frames := 0
	for handled < length {
		inFrame = 0
		r.now += frameTime
		r.serverFrame()
		frames++
		require.Less(t, frames, length)
	}
	require.Equal(t, length, handled)
	require.LessOrEqual(t, most, 4096+16)
	require.Empty(t, r.server.errors)
}

// Handlers close, kick, hide and connect anew from within; the frame goes on.
func TestCase14HandlersEndConnections(t *testing.T) {
	p := protocol()
	var r *rig
	var log []string
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) {
		s, isServer := ctx.End.(*netcode.Server)
		switch {
		case m.Number == 1 && isServer:
			require.True(t, s.Kick(ctx.Sender, "enough"))
			log = append(log, "kicked")
		case m.Number == 2 && !isServer:
			ctx.End.(*netcode.Client).Close()
			log = append(log, "closed")
		case m.Number == 3 && isServer:
			s.Close(peer.ReasonNone)
			log = append(log, "shut down")
		default:
			log = append(log, "heard")
		}
	})
	r = newRig(t, p, netcode.Config{})
	one, two := r.joined(p, netcode.Config{}), r.joined(p, netcode.Config{})
	three := r.joined(p, netcode.Config{})
	for range 5 {
		require.NoError(t, netcode.Send(one.Client, netcode.ToServer(), &chat{1}))
	}
	require.NoError(t, netcode.Send(two.Client, netcode.ToServer(), &chat{9}))
	r.run(time.Second)
	require.ElementsMatch(t, []string{"kicked", "heard"}, log, "nothing more of the one that was kicked")
	require.EqualValues(t, 4, r.server.Stats().OfTheGone)
	require.ErrorIs(t, one.Err(), peer.ReasonKicked)

	log = nil
	for range 5 {
		require.NoError(t, netcode.Send(r.server.Server, netcode.To(two.ID()), &chat{2}))
	}
	r.run(time.Second)
	require.Equal(t, []string{"closed"}, log)
	require.EqualValues(t, 4, two.Stats().OfTheGone)

	log = nil
	require.NoError(t, netcode.Send(three.Client, netcode.ToServer(), &chat{3}))
	require.NoError(t, netcode.Send(three.Client, netcode.ToServer(), &chat{4}))
	r.until(r.server.Closed)
	require.Equal(t, []string{"shut down"}, log)
}

// An entity that is gone when the time of a message about it comes: that one is not handled, and nobody is closed for it.
func TestCase14EntityIsGoneWhenItsMessageIsDue(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	id := k.spawn(1)
	k.sees(k.clients[0], id, 1)
	require.True(t, k.server.SetOwner(id, 1))
	require.NoError(t, netcode.Send(k.clients[0].Client, netcode.ToServer(), &order{1}, netcode.About(id), netcode.NotBefore(k.server.Tick()+15)))
	k.run(100 * time.Millisecond)
	require.Positive(t, k.server.Stats().Messages.Deferred)
	k.change(func(store *snapshot.Store) { store.Despawn(id) })
	k.run(time.Second)
	require.Empty(t, k.heard)
	require.Len(t, k.server.log, 1)
	require.EqualValues(t, 1, k.server.Stats().Messages.Undeliverable)
}

// A handler that panics in the middle of a batch ends the connection of whoever sent the message, and nothing else.
func TestCase15HandlerPanics(t *testing.T) {
	p := protocol()
	var handled []netcode.ClientID
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) {
		if m.Number == 13 {
			panic("thirteen")
		}
		handled = append(handled, ctx.Sender)
	})
	var out bytes.Buffer
	r := newRig(t, p, netcode.Config{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))})
	bad, good := r.joined(p, netcode.Config{}), r.joined(p, netcode.Config{})
	for i, c := range []*clientEnd{bad, good} {
		for n := range uint32(6) {
			number := uint32(1)
			if i == 0 && n == 2 {
				number = 13
			}
			require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{number}))
		}
	}
	r.run(time.Second)
	require.Equal(t, 2, count(handled, 1), "what came before it, and nothing after")
	require.Equal(t, 6, count(handled, 2))
	require.Contains(t, r.server.log, "disconnect 1: a handler panicked: the server's handler of chat")
	require.ErrorIs(t, bad.Err(), peer.ReasonHandlerPanic)
	require.Equal(t, netcode.Connected, good.State())
	require.EqualValues(t, 1, r.server.Stats().HandlerPanics)
	casebook.Injected(t, r.server.Stats().HandlerPanics, "handlers that panic")
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), "thirteen")
	require.Contains(t, out.String(), "TestCase15HandlerPanics", "the stack")
	require.NotContains(t, bad.Err().Error(), "thirteen", "what it was is nobody else's business")

	require.NoError(t, netcode.Send(r.server.Server, netcode.To(2), &chat{13}))
	r.until(func() bool { return good.State() == netcode.Disconnected })
	require.ErrorIs(t, good.Err(), peer.ReasonHandlerPanic)
	require.Contains(t, r.server.log, "disconnect 2: a handler panicked: the client's handler of chat")

	require.Len(t, r.server.errors, 1, "of the first client's message; the other one was the client's own")
	require.NoError(t, netcode.Send(r.server.Server, netcode.ToSelf(), &chat{13}), "at once or later, to oneself it ends no connection")
	r.run(frameTime)
	require.Len(t, r.server.errors, 2)
	var failed *netcode.PanicError
	require.ErrorAs(t, r.server.errors[1], &failed)
	require.Equal(t, "chat", failed.Name)
	require.Equal(t, "thirteen", failed.Value)
}

var errBroken = errors.New("broken")

// A handler that panics, at either end: OnError gets the message type, the stack and the sender.
func TestOnErrorGetsThePanicOfAHandler(t *testing.T) {
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) { breakDown() })
	r := newRig(t, p, netcode.Config{Logger: slog.New(slog.DiscardHandler)})
	r.joined(p, netcode.Config{})
	c := r.joined(p, netcode.Config{Logger: slog.New(slog.DiscardHandler)})
	var told []error
	c.OnError(func(err error) { told = append(told, err) })
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	r.until(func() bool { return c.State() == netcode.Disconnected })
	require.Len(t, r.server.errors, 1)
	var failed *netcode.PanicError
	require.ErrorAs(t, r.server.errors[0], &failed)
	require.Equal(t, "chat", failed.Name)
	require.Equal(t, netcode.ClientID(2), failed.Sender)
	require.Equal(t, errBroken, failed.Value)
	require.Contains(t, string(failed.Stack), "breakDown")
	require.ErrorIs(t, r.server.errors[0], errBroken)
	require.EqualError(t, failed, "netcode: the handler of chat panicked at "+failed.At+" on a message from client 2: broken")

	d := r.clients[0]
	d.OnError(func(err error) { told = append(told, err) })
	require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{2}))
	r.until(func() bool { return d.State() == netcode.Disconnected })
	require.Len(t, told, 1)
	require.ErrorAs(t, told[0], &failed)
	require.Zero(t, failed.Sender)
	require.Contains(t, string(failed.Stack), "breakDown")
	require.EqualError(t, failed, "netcode: the handler of chat panicked at "+failed.At+" on a message from the server: broken")
	require.Len(t, r.server.errors, 1)
}

//go:noinline
func breakDown() { panic(errBroken) }

func TestCase15AnswerPanics(t *testing.T) {
	p := protocol()
	netcode.Answer(p, func(*netcode.Context, *ping, *cost) error { panic("no") })
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	var got error
	require.NoError(t, netcode.Call(t.Context(), c.Client, 0, &ping{}, func(_ *cost, err error) { got = err }))
	r.until(func() bool { return got != nil })
	require.ErrorIs(t, got, peer.ReasonHandlerPanic)
}

// What is sent to oneself is handled at once in the same stage, later in the frame in a later one, and else in the next.
func TestLoopbackOrder(t *testing.T) {
	p := protocol()
	var order []uint32
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) {
		require.True(t, ctx.Loopback())
		order = append(order, m.Number)
	})
	r := newRig(t, p, netcode.Config{})
	s := r.server.Server
	self := func(n uint32, stage tick.Stage) {
		require.NoError(t, netcode.Send(s, netcode.ToSelf(), &chat{n}, netcode.InStage(stage)))
		order = append(order, 1000)
	}
	s.BeginFrame(r.now + frameTime)
	s.Dispatch(tick.Initialization)
	s.Dispatch(tick.PreUpdate)
	self(1, tick.PreUpdate)
	self(2, tick.PostLateUpdate)
	self(3, tick.EarlyUpdate)
	require.NoError(t, netcode.Send(s, netcode.ToSelf(), &chat{4}), "the stage that it is in")
	require.Equal(t, []uint32{1, 1000, 1000, 1000, 4}, order)
	order = nil
	s.Dispatch(tick.PostLateUpdate)
	require.Equal(t, []uint32{2}, order)
	s.BeginFrame(r.now + 2*frameTime)
	s.Dispatch(tick.Initialization)
	s.Dispatch(tick.EarlyUpdate)
	require.Equal(t, []uint32{2, 3}, order)
}
