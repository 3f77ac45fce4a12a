package netcode_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type (
	spoken    struct{ Text string }
	terrain   struct{ Height [3000]uint8 }
	mistagged struct {
		X float32 `net:"min=0,max=1,steps=0.1"`
	}
	stroll struct{ X int8 }
)

// letter is a message whose method uses a field that is nil before it is read.
type letter struct{ To *chat }

func (m *letter) Serialize(s *wire.Serializer) { s.Uint32(&m.To.Number) }

// turned reads its fields in another order.
type turned struct {
	A uint8
	B uint16
}

func (m *turned) Serialize(s *wire.Serializer) {
	if s.IsReading() {
		s.Uint16(&m.B)
		s.Uint8(&m.A)
		return
	}
	s.Uint8(&m.A)
	s.Uint16(&m.B)
}

// panics returns the value that a function panics with, as text.
func panics(t *testing.T, f func()) (text string) {
	defer func() {
		value := recover()
		require.NotNil(t, value)
		text = fmt.Sprint(value)
	}()
	f()
	return ""
}

// The panic at a beginner's first mistake says what to do instead.
func TestFirstMistakesNameTheirRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		make func(p *netcode.Protocol)
		says []string
	}{
		"text": {func(p *netcode.Protocol) { netcode.Handle[spoken](p, nil) },
			[]string{"spoken.Text", "string", "func (m *spoken) Serialize(s *wire.Serializer)"}},
		"many fields": {func(p *netcode.Protocol) { netcode.Handle[terrain](p, nil) },
			[]string{"terrain.Height[2048]", "2048 words", "func (m *terrain) Serialize(s *wire.Serializer)"}},
		"nil field": {func(p *netcode.Protocol) { netcode.Handle[letter](p, nil) },
			[]string{"(*letter).Serialize panics on a zero value", "nil pointer", "m.Field = new(T)", "wire.SerializeOptional"}},
		"reads another order than it writes": {func(p *netcode.Protocol) { netcode.Handle[turned](p, nil) },
			[]string{"(*turned).Serialize writes A:u8 where it reads B:u16", "the same calls in the same order"}},
		"unknown word": {func(p *netcode.Protocol) { netcode.Handle[mistagged](p, nil) },
			[]string{"mistagged.X", `"steps=0.1"`, "min=, max=, step=, bits=, extrapolate=, angle, quat, half, axis, entity"}},
		"no protocol": {func(*netcode.Protocol) { netcode.Handle[chat](nil, nil) },
			[]string{"Handle[netcode_test.chat]", "the protocol is nil", "NewProtocol"}},
		"after Schema": {func(p *netcode.Protocol) { p.Schema(); netcode.Handle[chat](p, nil) },
			[]string{"Handle[netcode_test.chat]", "the first NewServer or NewClient", "Schema", "Hash"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := panics(t, func() { c.make(netcode.NewProtocol()) })
			for _, part := range c.says {
				require.Contains(t, text, part)
			}
		})
	}
	text := panics(t, func() { netcode.Replicate[spoken](netcode.NewProtocol()) })
	require.NotContains(t, text, "Serialize", "which components have not")
	text = panics(t, func() { netcode.Handle[mistagged](netcode.NewProtocol(), nil) })
	require.NotContains(t, text, "func (m", "which is no remedy for a tag")
}

// Calls without what they need say so.
func TestCallsWithMissingArguments(t *testing.T) {
	_, err := netcode.NewServer(nil, netcode.Config{})
	require.ErrorContains(t, err, "NewServer: the protocol is nil")
	_, err = netcode.NewClient(nil, netcode.Config{})
	require.ErrorContains(t, err, "NewClient: the protocol is nil")

	p := protocol()
	netcode.Handle[chat](p, nil)
	netcode.Answer[price, cost](p, nil)
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	var none *chat
	for range 2 { // The second time the type and the way are known.
		require.ErrorContains(t, netcode.Send(r.Server.Server, netcode.To(1), none), "the message is nil")
		require.ErrorContains(t, netcode.Send(r.Server.Server, netcode.ToAll(), none), "the message is nil")
		require.ErrorContains(t, netcode.Send(r.Server.Server, netcode.ToSelf(), none), "the message is nil")
		require.NoError(t, netcode.Send(r.Server.Server, netcode.To(1), &chat{1}))
	}
	require.ErrorContains(t, netcode.Call(context.Background(), c.Client, 0, (*price)(nil), func(*cost, error) {}), "the message is nil")
	require.ErrorContains(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}, netcode.Within(time.Second)), "Within is for Call: a message has no deadline")

	err = netcode.Send(c.Client, netcode.ToServer(), &stroll{})
	require.ErrorIs(t, err, errs.ErrNotRegistered)
	require.ErrorContains(t, err, "netcode_test.stroll")
	err = input.Set(c.Client, &stroll{})
	require.ErrorIs(t, err, input.ErrNotRegistered)
	require.ErrorContains(t, err, "netcode_test.stroll")
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}, netcode.AtStage(tick.Update)))
}

// A function that is nil is refused where it is given, and not in a later frame, where a connection would end for it.
func TestFunctionsThatAreNilAreRefused(t *testing.T) {
	p := protocol()
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	for name, call := range map[string]func(){
		"Server.OnConnect": func() { s.OnConnect(nil) }, "Server.OnDisconnect": func() { s.OnDisconnect(nil) }, "Server.OnError": func() { s.OnError(nil) },
		"Client.OnConnect": func() { c.OnConnect(nil) }, "Client.OnDisconnect": func() { c.OnDisconnect(nil) }, "Client.OnError": func() { c.OnError(nil) },
		"authority.OnChange": func() { authority.OnChange(c, nil) },
	} {
		require.Equal(t, "netcode: "+name+": the function is nil", panics(t, call))
	}
	require.NotPanics(t, func() { authority.OnAsk(s, nil) }, "which takes the function away")
}

// A component that only one of two ends lets clients write is told in words.
func TestWritersThatDifferAreTold(t *testing.T) {
	server, client := netcode.NewProtocol(), netcode.NewProtocol()
	netcode.Replicate[stroll](server)
	netcode.Replicate[stroll](client, authority.WrittenBy(authority.OwnerWrites))
	r := rig.New(t, server, netcode.Config{})
	c := r.Join(client, netcode.Config{})
	r.Until(func() bool { return c.Err() != nil })
	require.ErrorContains(t, c.Err(), `component "stroll" differs: the server has it without WrittenBy, the client as [owner]`)
}

// A component that only one of two ends predicts is told in words, on both sides.
func TestPredictionAtOneEndIsTold(t *testing.T) {
	for _, at := range []string{"server", "client"} {
		server, client := netcode.NewProtocol(), netcode.NewProtocol()
		netcode.Replicate[stroll](server)
		netcode.Replicate[components.Owner](server)
		netcode.Replicate[stroll](client)
		netcode.Replicate[components.Owner](client)
		one, other := server, "client"
		if at == "client" {
			one, other = client, "server"
		}
		predict.Register[stroll](one)
		r := rig.New(t, server, netcode.Config{})
		c := r.Join(client, netcode.Config{})
		r.Until(func() bool { return c.Err() != nil })
		require.ErrorContains(t, c.Err(), "the "+at+" predicts it (predict.Register), the "+other+" does not")
	}
}

// The function of a call panics when it is told that there is no answer: in time, at all, or because the other end refuses.
// The connection to who was asked ends; the frame goes on, and so do other calls and clients.
func TestCase15FunctionOfACallPanics(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, ask := range map[string]struct {
		ctx  context.Context
		item uint32
		lose int
	}{
		"late": {context.Background(), 1, 100}, "cancelled": {cancelled, 1, 100}, "refused": {context.Background(), 13, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, netcode.Config{})
			c, other := s.Clients[0], s.Joined(s.Server.Protocol(), netcode.Config{})
			s.Tamper = lossy(1, ask.lose)
			var told error
			for range 2 {
				require.NoError(t, netcode.Call(ask.ctx, c.Client, 0, &price{ask.item}, func(_ *cost, err error) {
					told = err
					panic("no answer")
				}, netcode.Within(time.Second)))
			}
			s.Until(func() bool { return told != nil })
			s.Tamper = nil
			require.ErrorIs(t, c.Err(), errs.ReasonHandlerPanic)
			s.Until(func() bool { return len(s.Server.Log) == 3 })
			require.Contains(t, s.Server.Log[2], "disconnect 1: a handler panicked: the client's function of Call")
			require.Equal(t, netcode.Connected, other.State())
			require.EqualValues(t, 2, c.Stats().HandlerPanics)
		})
	}
}

// At a disconnection there is no connection left to end: OnError is told. The same for a panic of OnDisconnect itself.
func TestCase15PanicsAtDisconnect(t *testing.T) {
	s := newShop(t, netcode.Config{})
	c := s.Clients[0]
	s.Joined(s.Server.Protocol(), netcode.Config{})
	var errors []error
	after := 0
	c.OnError(func(err error) { errors = append(errors, err) })
	c.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { panic("gone") })
	c.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { after++ })
	for range 2 {
		require.NoError(t, netcode.Call(context.Background(), c.Client, 0, &price{1}, func(_ *cost, err error) { panic(err) }))
	}
	s.Server.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { panic("gone there") })
	require.NoError(t, netcode.Call(context.Background(), s.Server.Server, 1, &ping{1}, func(_ *cost, err error) { panic(err) }))
	require.True(t, s.Server.Kick(1, "out"))
	s.Run(time.Second)
	require.Equal(t, 1, after)
	var failed *errs.PanicError
	require.Len(t, errors, 3)
	require.ErrorAs(t, errors[0], &failed)
	require.NotEmpty(t, failed.Stack)
	failed.Stack, failed.At = nil, ""
	require.Equal(t, errs.PanicError{Name: "OnDisconnect", Value: "gone"}, *failed)
	require.ErrorAs(t, errors[2], &failed)
	require.Equal(t, "function of Call", failed.Name)
	require.Len(t, s.Server.Errors, 2)
	require.Equal(t, netcode.Connected, s.Clients[1].State())
	s.Clients[1].Close()
	s.Run(time.Second)
	require.Len(t, s.Server.Errors, 3)
}

func TestCase15OnConnectPanics(t *testing.T) {
	r := rig.New(t, protocol(), netcode.Config{})
	after := 0
	r.Server.OnConnect(func(id netcode.ClientID) {
		if id == 2 {
			panic("not him")
		}
	})
	r.Server.OnConnect(func(netcode.ClientID) { after++ })
	good, bad := r.Joined(r.Server.Protocol(), netcode.Config{}), r.Join(r.Server.Protocol(), netcode.Config{})
	r.Until(func() bool { return bad.Err() != nil })
	require.ErrorIs(t, bad.Err(), errs.ReasonHandlerPanic)
	require.Equal(t, netcode.Connected, good.State())
	require.Equal(t, 2, after, "the others are told all the same")
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 2: a handler panicked: the server's OnConnect"}, r.Server.Log)

	c := r.Join(r.Server.Protocol(), netcode.Config{})
	c.OnConnect(func(netcode.ClientID) { panic("not there") })
	r.Until(func() bool { return c.Err() != nil })
	require.ErrorIs(t, c.Err(), errs.ReasonHandlerPanic)
	require.Equal(t, netcode.Connected, good.State())
	require.EqualValues(t, 1, c.Stats().HandlerPanics)
}

func TestCallNeedsAContextAndAFunction(t *testing.T) {
	s := newShop(t, netcode.Config{Calls: 1})
	var none context.Context
	require.ErrorContains(t, netcode.Call(none, s.Clients[0].Client, 0, &price{1}, func(*cost, error) {}), "Call needs a context and a function, and one is nil")
	require.ErrorContains(t, netcode.Call[price, cost](context.Background(), s.Clients[0].Client, 0, &price{1}, nil), "Call needs a context and a function, and one is nil")
	require.Equal(t, "2", (*s.answered(1))[0], "and no call is open")
}

// answered asks and waits for what comes of it.
func (s *shop) answered(item uint32) *[]string {
	got := s.call(context.Background(), item)
	s.Until(func() bool { return len(*got) == 1 })
	return got
}

// A frame may have no fixed step, one or several. What arrived for FixedUpdate is handled before the first step that comes,
// once, and in the order in which it was sent.
// Server.Time is that of the frame, and while a datagram is read it is when that came.
func TestServerTimeIsThatOfTheDatagram(t *testing.T) {
	r := rig.New(t, protocol(), netcode.Config{})
	var frame tick.Time
	waited := tick.Span(0)
	extend.OfServer(r.Server).Extend(extend.ServerHooks{
		BeginFrame: func() { frame = extend.OfServer(r.Server).Time() },
		Opened:     func(extend.Session) any { waited = frame.Sub(extend.OfServer(r.Server).Time()); return nil },
	})
	r.Waited = time.Second / 120
	r.Joined(protocol(), netcode.Config{})
	require.InDelta(t, .25, waited.Float(), 1e-6, "of a tick of 30 a second")
	require.Equal(t, frame, extend.OfServer(r.Server).Time())
	require.Equal(t, r.Server.Tick(), frame.Add(tick.OneTick/1000).Tick)
}

func TestFixedStepsOfAFrame(t *testing.T) {
	p := protocol()
	type handled struct{ frame, step, number int }
	var got []handled
	frame, step := 0, 0
	netcode.Handle(p, func(_ *netcode.Context, m *chat) {
		got = append(got, handled{frame, step, int(m.Number)})
	}, netcode.AtStage(tick.FixedUpdate), netcode.Over(netcode.ReliableOrdered))
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	for f, times := range []int{1, 0, 3, 0, 0, 2} {
		frame = f
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{uint32(f)}))
		r.ClientFrame(c)
		r.Now += rig.FrameTime
		steps.OfServer(r.Server).BeginFrame(r.Now)
		r.Receive(r.Server.Conn, steps.OfServer(r.Server).ReceiveAfter)
		for stage := range tick.Stage(tick.NumStages) {
			n := 1
			if stage == tick.FixedUpdate {
				n = times
			}
			for step = range n {
				steps.OfServer(r.Server).Dispatch(stage)
			}
		}
		steps.OfServer(r.Server).Send()
		steps.OfServer(r.Server).Drain(r.Server.Out)
	}
	require.Equal(t, []handled{{0, 0, 0}, {2, 0, 1}, {2, 0, 2}, {5, 0, 3}, {5, 0, 4}, {5, 0, 5}}, got)
}
