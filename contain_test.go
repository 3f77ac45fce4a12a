package netcode_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
)

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
			c, other := s.clients[0], s.joined(s.server.Protocol(), netcode.Config{})
			s.tamper = lossy(1, ask.lose)
			var told error
			for range 2 {
				require.NoError(t, netcode.Call(ask.ctx, c.Client, 0, &price{ask.item}, func(_ *cost, err error) {
					told = err
					panic("no answer")
				}, netcode.Within(time.Second)))
			}
			s.until(func() bool { return told != nil })
			s.tamper = nil
			require.ErrorIs(t, c.Err(), peer.ReasonHandlerPanic)
			s.until(func() bool { return len(s.server.log) == 3 })
			require.Contains(t, s.server.log[2], "disconnect 1: a handler panicked: the client's function of Call")
			require.Equal(t, netcode.Connected, other.State())
			require.EqualValues(t, 2, c.Stats().HandlerPanics)
		})
	}
}

// At a disconnection there is no connection left to end: OnError is told. The same for a panic of OnDisconnect itself.
func TestCase15PanicsAtDisconnect(t *testing.T) {
	s := newShop(t, netcode.Config{})
	c := s.clients[0]
	s.joined(s.server.Protocol(), netcode.Config{})
	var errors []error
	after := 0
	c.OnError(func(err error) { errors = append(errors, err) })
	c.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { panic("gone") })
	c.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { after++ })
	for range 2 {
		require.NoError(t, netcode.Call(context.Background(), c.Client, 0, &price{1}, func(_ *cost, err error) { panic(err) }))
	}
	s.server.OnDisconnect(func(netcode.ClientID, *netcode.CloseError) { panic("gone there") })
	require.NoError(t, netcode.Call(context.Background(), s.server.Server, 1, &ping{1}, func(_ *cost, err error) { panic(err) }))
	require.True(t, s.server.Kick(1, "out"))
	s.run(time.Second)
	require.Equal(t, 1, after)
	var failed *netcode.PanicError
	require.Len(t, errors, 3)
	require.ErrorAs(t, errors[0], &failed)
	require.NotEmpty(t, failed.Stack)
	failed.Stack, failed.At = nil, ""
	require.Equal(t, netcode.PanicError{Name: "OnDisconnect", Value: "gone"}, *failed)
	require.ErrorAs(t, errors[2], &failed)
	require.Equal(t, "function of Call", failed.Name)
	require.Len(t, s.server.errors, 2)
	require.Equal(t, netcode.Connected, s.clients[1].State())
	s.clients[1].Close()
	s.run(time.Second)
	require.Len(t, s.server.errors, 3)
}

func TestCase15OnConnectPanics(t *testing.T) {
	r := newRig(t, protocol(), netcode.Config{})
	after := 0
	r.server.OnConnect(func(id netcode.ClientID) {
		if id == 2 {
			panic("not him")
		}
	})
	r.server.OnConnect(func(netcode.ClientID) { after++ })
	good, bad := r.joined(r.server.Protocol(), netcode.Config{}), r.join(r.server.Protocol(), netcode.Config{})
	r.until(func() bool { return bad.Err() != nil })
	require.ErrorIs(t, bad.Err(), peer.ReasonHandlerPanic)
	require.Equal(t, netcode.Connected, good.State())
	require.Equal(t, 2, after, "the others are told all the same")
	require.Equal(t, []string{"connect 1", "connect 2", "disconnect 2: a handler panicked: the server's OnConnect"}, r.server.log)

	c := r.join(r.server.Protocol(), netcode.Config{})
	c.OnConnect(func(netcode.ClientID) { panic("not there") })
	r.until(func() bool { return c.Err() != nil })
	require.ErrorIs(t, c.Err(), peer.ReasonHandlerPanic)
	require.Equal(t, netcode.Connected, good.State())
	require.EqualValues(t, 1, c.Stats().HandlerPanics)
}

func TestCallNeedsAContextAndAFunction(t *testing.T) {
	s := newShop(t, netcode.Config{Calls: 1})
	var none context.Context
	require.ErrorIs(t, netcode.Call(none, s.clients[0].Client, 0, &price{1}, func(*cost, error) {}), netcode.ErrNoContext)
	require.ErrorIs(t, netcode.Call[price, cost](context.Background(), s.clients[0].Client, 0, &price{1}, nil), netcode.ErrNoContext)
	require.Equal(t, "2", (*s.answered(1))[0], "and no call is open")
}

// answered asks and waits for what comes of it.
func (s *shop) answered(item uint32) *[]string {
	got := s.call(context.Background(), item)
	s.until(func() bool { return len(*got) == 1 })
	return got
}
