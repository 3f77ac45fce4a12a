package netcode_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
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
	}, netcode.AtStage(tick.Update))
	r := rig.New(t, p, netcode.Config{})
	require.NoError(t, netcode.Send(r.Server.Server, netcode.ToSelf(), &chat{1}))
	frames := 0
	for handled < length {
		inFrame = 0
		r.Now += rig.FrameTime
		r.ServerFrame()
		frames++
		require.Less(t, frames, length)
	}
	require.Equal(t, length, handled)
	require.LessOrEqual(t, most, 4096+16)
	require.Empty(t, r.Server.Errors)
}

// Handlers close, kick, hide and connect anew from within; the frame goes on.
func TestCase14HandlersEndConnections(t *testing.T) {
	p := protocol()
	var r *rig.Rig
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
			s.Close(errs.ReasonNone)
			log = append(log, "shut down")
		default:
			log = append(log, "heard")
		}
	})
	r = rig.New(t, p, netcode.Config{})
	one, two := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{})
	three := r.Joined(p, netcode.Config{})
	for range 5 {
		require.NoError(t, netcode.Send(one.Client, netcode.ToServer(), &chat{1}))
	}
	require.NoError(t, netcode.Send(two.Client, netcode.ToServer(), &chat{9}))
	r.Run(time.Second)
	require.ElementsMatch(t, []string{"kicked", "heard"}, log, "nothing more of the one that was kicked")
	require.EqualValues(t, 4, r.Server.Stats().OfTheGone)
	require.ErrorIs(t, one.Err(), errs.ReasonKicked)

	log = nil
	for range 5 {
		require.NoError(t, netcode.Send(r.Server.Server, netcode.To(two.ID()), &chat{2}))
	}
	r.Run(time.Second)
	require.Equal(t, []string{"closed"}, log)
	require.EqualValues(t, 4, two.Stats().OfTheGone)

	log = nil
	require.NoError(t, netcode.Send(three.Client, netcode.ToServer(), &chat{3}))
	require.NoError(t, netcode.Send(three.Client, netcode.ToServer(), &chat{4}))
	r.Until(r.Server.Closed)
	require.Equal(t, []string{"shut down"}, log)
}

// An entity that is gone when the time of a message about it comes: that one is not handled, and nobody is closed for it.
func TestCase14EntityIsGoneWhenItsMessageIsDue(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 1)
	id := k.Spawn(1)
	k.Sees(k.Clients[0], id, 1)
	require.True(t, k.Server.SetOwner(id, 1))
	require.NoError(t, netcode.Send(k.Clients[0].Client, netcode.ToServer(), &order{1}, netcode.About(id), netcode.NotBefore(k.Server.Tick()+15)))
	k.Run(100 * time.Millisecond)
	require.Positive(t, k.Server.Stats().Messages.Deferred)
	k.Change(func(store *snapshot.Store) { store.Despawn(id) })
	k.Run(time.Second)
	require.Empty(t, k.heard)
	require.Len(t, k.Server.Log, 1)
	require.EqualValues(t, 1, k.Server.Stats().Messages.Undeliverable)
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
	r := rig.New(t, p, netcode.Config{Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelError}))})
	bad, good := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{})
	for i, c := range []*rig.ClientEnd{bad, good} {
		for n := range uint32(6) {
			number := uint32(1)
			if i == 0 && n == 2 {
				number = 13
			}
			require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{number}))
		}
	}
	r.Run(time.Second)
	require.Equal(t, 2, count(handled, 1), "what came before it, and nothing after")
	require.Equal(t, 6, count(handled, 2))
	require.Contains(t, r.Server.Log, "disconnect 1: a handler panicked: the server's handler of chat")
	require.ErrorIs(t, bad.Err(), errs.ReasonHandlerPanic)
	require.Equal(t, netcode.Connected, good.State())
	require.EqualValues(t, 1, r.Server.Stats().HandlerPanics)
	casebook.Injected(t, r.Server.Stats().HandlerPanics, "handlers that panic")
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), "thirteen")
	require.Contains(t, out.String(), "TestCase15HandlerPanics", "the stack")
	require.NotContains(t, bad.Err().Error(), "thirteen", "what it was is nobody else's business")

	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(2), &chat{13}))
	r.Until(func() bool { return good.State() == netcode.Disconnected })
	require.ErrorIs(t, good.Err(), errs.ReasonHandlerPanic)
	require.Contains(t, r.Server.Log, "disconnect 2: a handler panicked: the client's handler of chat")

	require.Len(t, r.Server.Errors, 1, "of the first client's message; the other one was the client's own")
	require.NoError(t, netcode.Send(r.Server.Server, netcode.ToSelf(), &chat{13}), "at once or later, to oneself it ends no connection")
	r.Run(rig.FrameTime)
	require.Len(t, r.Server.Errors, 2)
	var failed *errs.PanicError
	require.ErrorAs(t, r.Server.Errors[1], &failed)
	require.Equal(t, "chat", failed.Name)
	require.Equal(t, "thirteen", failed.Value)
}

var errBroken = errors.New("broken")

// A handler that panics, at either end: OnError gets the message type, the stack and the sender.
func TestOnErrorGetsThePanicOfAHandler(t *testing.T) {
	p := protocol()
	netcode.Handle(p, func(*netcode.Context, *chat) { breakDown() })
	r := rig.New(t, p, netcode.Config{Logger: slog.New(slog.DiscardHandler)})
	r.Joined(p, netcode.Config{})
	c := r.Joined(p, netcode.Config{Logger: slog.New(slog.DiscardHandler)})
	var told []error
	c.OnError(func(err error) { told = append(told, err) })
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
	r.Until(func() bool { return c.State() == netcode.Disconnected })
	require.Len(t, r.Server.Errors, 1)
	var failed *errs.PanicError
	require.ErrorAs(t, r.Server.Errors[0], &failed)
	require.Equal(t, "chat", failed.Name)
	require.Equal(t, netcode.ClientID(2), failed.Sender)
	require.Equal(t, errBroken, failed.Value)
	require.Contains(t, string(failed.Stack), "breakDown")
	require.ErrorIs(t, r.Server.Errors[0], errBroken)
	require.EqualError(t, failed, "netcode: the handler of chat panicked at "+failed.At+" on a message from client 2: broken")

	d := r.Clients[0]
	d.OnError(func(err error) { told = append(told, err) })
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{2}))
	r.Until(func() bool { return d.State() == netcode.Disconnected })
	require.Len(t, told, 1)
	require.ErrorAs(t, told[0], &failed)
	require.Zero(t, failed.Sender)
	require.Contains(t, string(failed.Stack), "breakDown")
	require.EqualError(t, failed, "netcode: the handler of chat panicked at "+failed.At+" on a message from the server: broken")
	require.Len(t, r.Server.Errors, 1)
}

//go:noinline
func breakDown() { panic(errBroken) }

func TestCase15AnswerPanics(t *testing.T) {
	p := protocol()
	netcode.Answer(p, func(*netcode.Context, *ping, *cost) error { panic("no") })
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	var got error
	require.NoError(t, netcode.Call(t.Context(), c.Client, 0, &ping{}, func(_ *cost, err error) { got = err }))
	r.Until(func() bool { return got != nil })
	require.ErrorIs(t, got, errs.ReasonHandlerPanic)
}

// A message to oneself is handled at once if its stage is the present one. It is handled later in the frame if its stage comes
// later, and otherwise in the next frame.
func TestLoopbackOrder(t *testing.T) {
	p := protocol()
	var order []uint32
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) {
		require.True(t, ctx.Loopback())
		order = append(order, m.Number)
	})
	r := rig.New(t, p, netcode.Config{})
	s := r.Server.Server
	self := func(n uint32, stage tick.Stage) {
		require.NoError(t, netcode.Send(s, netcode.ToSelf(), &chat{n}, netcode.AtStage(stage)))
		order = append(order, 1000)
	}
	steps.OfServer(s).BeginFrame(r.Now + rig.FrameTime)
	steps.OfServer(s).Dispatch(tick.Initialization)
	steps.OfServer(s).Dispatch(tick.PreUpdate)
	self(1, tick.PreUpdate)
	self(2, tick.PostLateUpdate)
	self(3, tick.EarlyUpdate)
	require.NoError(t, netcode.Send(s, netcode.ToSelf(), &chat{4}), "the stage that it is in")
	require.Equal(t, []uint32{1, 1000, 1000, 1000, 4}, order)
	order = nil
	steps.OfServer(s).Dispatch(tick.PostLateUpdate)
	require.Equal(t, []uint32{2}, order)
	steps.OfServer(s).BeginFrame(r.Now + 2*rig.FrameTime)
	steps.OfServer(s).Dispatch(tick.Initialization)
	steps.OfServer(s).Dispatch(tick.EarlyUpdate)
	require.Equal(t, []uint32{2, 3}, order)
}

// Each end has the handlers that were bound to it, after that of the protocol and in their order, and no other end's.
func TestHandlersOfOneEnd(t *testing.T) {
	p := protocol()
	var calls []string
	netcode.Handle(p, func(*netcode.Context, *chat) { calls = append(calls, "all") })
	netcode.Handle[wave](p, nil)
	r := rig.New(t, p, netcode.Config{})
	one, two := r.Joined(p, netcode.Config{}), r.Joined(p, netcode.Config{})
	netcode.On(one.Client, func(ctx *netcode.Context, m *chat) {
		require.Equal(t, one.ID(), ctx.Local)
		require.EqualValues(t, 7, m.Number)
		calls = append(calls, "one")
	})
	netcode.On(one.Client, func(*netcode.Context, *chat) { calls = append(calls, "one again") })
	netcode.On(two.Client, func(*netcode.Context, *wave) { calls = append(calls, "two waves") })
	netcode.On(r.Server.Server, func(*netcode.Context, *wave) { calls = append(calls, "the server waves") })

	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(one.ID()), &chat{7}))
	r.Run(time.Second)
	require.Equal(t, []string{"all", "one", "one again"}, calls)

	calls = nil
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(two.ID()), &chat{7}))
	require.NoError(t, netcode.Send(r.Server.Server, netcode.To(two.ID()), &wave{}))
	r.Run(time.Second)
	require.Equal(t, []string{"all", "two waves"}, calls)

	calls = nil
	require.NoError(t, netcode.Send(one.Client, netcode.ToServer(), &wave{}))
	require.NoError(t, netcode.Send(r.Server.Server, netcode.ToSelf(), &wave{}))
	r.Run(time.Second)
	require.Equal(t, []string{"the server waves", "the server waves"}, calls)
	require.Zero(t, r.Server.Stats().Messages.Unhandled+two.Stats().Messages.Unhandled)
}

func TestHandlersOfOneEndNeedARegisteredMessage(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	end := r.Server.Server
	require.PanicsWithValue(t, "netcode: On[netcode_test.wave]: the message is not registered: call netcode.Handle[wave](protocol, nil) on both sides",
		func() { netcode.On(end, func(*netcode.Context, *wave) {}) })
	require.PanicsWithValue(t, "netcode: On[netcode_test.wave]: no end to handle messages: <nil>", func() { netcode.On(nil, func(*netcode.Context, *wave) {}) })
	require.PanicsWithValue(t, "netcode: On[netcode_test.wave]: the handler is nil", func() { netcode.On[wave](end, nil) })
}

// A handler of one end obeys OwnerOnly, as that of the protocol does.
func TestAHandlerOfOneEndIsForOwners(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.OwnerOnly(), netcode.AtStage(tick.Update))
	r := rig.New(t, p, netcode.Config{})
	r.Joined(p, netcode.Config{})
	var numbers []uint32
	netcode.On(r.Server.Server, func(_ *netcode.Context, m *chat) { numbers = append(numbers, m.Number) })
	th := rig.NewThief(r, p) // Client 2, which checks nothing itself.
	theirs, own := r.Spawn(1), r.Spawn(1)
	require.True(t, r.Server.SetOwner(theirs, 1))
	require.True(t, r.Server.SetOwner(own, 2))
	for number, id := range []netcode.NetworkID{theirs, own} {
		th.Post(&peer.Post{Type: wire.FirstUserMessage, Stage: tick.Update, Flags: wire.FlagEntity, Entity: id}, []byte{byte(number), 0, 0, 0})
		r.Step()
	}
	require.Equal(t, []uint32{1}, numbers)
	require.EqualValues(t, 1, r.Server.Stats().NotOwner)
}

// A message whose handler is nil does not count as handled. It is counted apart, however it comes, and the game is told once for
// each type.
func TestAMessageWithoutAHandlerIsToldOfOnce(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[wave](p, nil)
	for _, history := range []int{0, 4} {
		r := rig.New(t, p, netcode.Config{History: history})
		c := r.Joined(p, netcode.Config{})
		id := r.Spawn(1)
		r.Sees(c, id, 1)
		for range 3 {
			require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
		}
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{2}, netcode.About(id)))
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{3}, netcode.NotBefore(r.Server.Tick()+10)))
		r.Run(time.Second)
		require.NoError(t, netcode.Send(r.Server.Server, netcode.ToSelf(), &chat{4}))
		r.Run(time.Second)
		stats := r.Server.Stats()
		require.EqualValues(t, 6, stats.Messages.Unhandled)
		require.Zero(t, stats.Messages.Handled+stats.Messages.Immediate)
		require.EqualValues(t, 1, stats.Errors)
		require.Len(t, r.Server.Errors, 1)
		var unhandled *errs.UnhandledError
		require.ErrorAs(t, r.Server.Errors[0], &unhandled)
		require.Equal(t, "chat", unhandled.Name)
		require.Contains(t, unhandled.Error(), "nil as its handler")

		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &wave{}))
		r.Run(time.Second)
		require.Len(t, r.Server.Errors, 2, "another type")
	}
}

// A message of a type that this end lacks is ignored in every form that a message has. The connection stays, the messages in
// front of it and behind it are handled, and it is counted.
func TestUnknownMessageTypesAreIgnored(t *testing.T) {
	before, after := []byte{16, 4, 4, 0, 1, 0, 0, 0}, []byte{16, 4, 4, 0, 2, 0, 0, 0}
	first := slices.Concat([]byte{18, 0}, before, after) // Two messages of the first batch.
	for name, c := range map[string]struct {
		batches []byte
		unknown uint64
	}{
		"unreliable":        {slices.Concat([]byte{23, 0}, before, []byte{99, 4, 1, 0, 7}, after), 1},
		"empty":             {slices.Concat([]byte{22, 0}, before, []byte{254, 0, 0, 0}, after), 1},
		"with a tick":       {slices.Concat([]byte{24, 0}, before, []byte{99, 0x0C, 2, 0, 5, 0}, after), 1},
		"with an entity":    {slices.Concat([]byte{24, 0}, before, []byte{99, 0x14, 2, 0, 3, 1}, after), 1},
		"a question":        {slices.Concat([]byte{24, 0}, before, []byte{99, 0x24, 2, 0, 9, 0}, after), 1},
		"sequenced":         {slices.Concat(first, []byte{8, 0, 0x41, 99, 4, 1, 0, 7}), 1},
		"reliable":          {slices.Concat(first, []byte{9, 0, 0x80, 99, 4, 2, 0, 0, 0}), 1},
		"ordered, twice":    {slices.Concat(first, []byte{15, 0, 0xC0, 99, 4, 2, 0, 0, 0, 99, 4, 2, 0, 1, 0}), 2},
		"in pieces":         {slices.Concat(first, []byte{25, 0, 0x80, 6, 0, 7, 0, 0, 0, 99, 4, 0, 2, 1, 6, 0, 7, 0, 1, 0, 99, 4, 1, 2, 1}), 1},
		"ordered in pieces": {slices.Concat(first, []byte{25, 0, 0xC0, 6, 0, 7, 0, 0, 0, 99, 4, 0, 2, 1, 6, 0, 7, 0, 1, 0, 99, 4, 1, 2, 1}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := protocol()
			var got []uint32
			netcode.Handle(p, func(_ *netcode.Context, m *chat) { got = append(got, m.Number) })
			var out bytes.Buffer
			r := rig.New(t, p, netcode.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
			th := rig.NewThief(r, p)
			for range 3 {
				th.Raw(c.batches...)
				r.Step()
			}
			require.Len(t, r.Server.Log, 1, "it is still connected")
			require.Equal(t, []uint32{1, 2, 1, 2, 1, 2}, got)
			unknown := 3 * c.unknown
			if strings.Contains(name, "reliable") && name != "unreliable" || strings.Contains(name, "ordered") || name == "in pieces" {
				unknown = c.unknown // The repeats are duplicates.
			}
			require.Equal(t, unknown, r.Server.Stats().UnknownTypes)
			require.Equal(t, 1, strings.Count(out.String(), "unknown type"), "one line for a type")
			require.Zero(t, r.Server.Stats().Malformed)
		})
	}
}

// Unknown messages on an ordered channel cost nothing that lasts: more of them than the credit are taken, and what is behind them
// is handled in its turn.
func TestUnknownMessagesGiveTheirCreditBack(t *testing.T) {
	p := protocol()
	var got []uint32
	netcode.Handle(p, func(_ *netcode.Context, m *chat) { got = append(got, m.Number) })
	r := rig.New(t, p, netcode.Config{})
	th := rig.NewThief(r, p)
	for n := range uint16(300) {
		batch := binary.LittleEndian.AppendUint16([]byte{2, 0, 0xF1, 0x03, 0xC0, 99, 4, 0xEA, 0x03}, n) // 1000 bytes and the number
		th.Raw(append(batch, make([]byte, 1000)...)...)
		if n%20 == 19 {
			r.Step()
		}
	}
	require.EqualValues(t, 300, r.Server.Stats().UnknownTypes)
	th.Raw(append(binary.LittleEndian.AppendUint16([]byte{2, 0, 13, 0, 0xC0, 16, 4, 6, 0}, 300), 5, 0, 0, 0)...)
	r.Step()
	require.Equal(t, []uint32{5}, got)
	require.Len(t, r.Server.Log, 1)
}

// A question of an unknown type is refused, so that the asker does not wait for its deadline.
func TestUnknownQuestionsAreRefused(t *testing.T) {
	p := protocol()
	r := rig.New(t, p, netcode.Config{})
	th := rig.NewThief(r, p)
	th.Raw(2, 0, 11, 0, 0x80, 99, 0x24, 4, 0, 0, 0, 9, 0)
	refused := false
	for range 4 {
		r.Step()
		for n, _, _ := th.Socket.Receive(r.Buf[:]); n > 0; n, _, _ = th.Socket.Receive(r.Buf[:]) {
			refused = refused || bytes.Contains(r.Buf[:n], []byte("nobody answers that here"))
		}
	}
	require.True(t, refused)
	require.Len(t, r.Server.Log, 1)
}
