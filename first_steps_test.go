package netcode_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/tick"
)

type (
	spoken    struct{ Text string }
	terrain   struct{ Height [3000]uint8 }
	mistagged struct {
		X float32 `net:"min=0,max=1,steps=0.1"`
	}
	stroll struct{ X int8 }
)

// panics is what a function panics with, as text.
func panics(t *testing.T, f func()) (text string) {
	defer func() {
		value := recover()
		require.NotNil(t, value)
		text = fmt.Sprint(value)
	}()
	f()
	return ""
}

// What a beginner stumbles over first says what to do instead.
func TestFirstMistakesNameTheirRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		make func(p *netcode.Protocol)
		says []string
	}{
		"text": {func(p *netcode.Protocol) { netcode.Handle[spoken](p, nil) },
			[]string{"spoken.Text", "string", "func (m *spoken) Serialize(s *wire.Serializer)"}},
		"many fields": {func(p *netcode.Protocol) { netcode.Handle[terrain](p, nil) },
			[]string{"terrain.Height[2048]", "2048 words", "func (m *terrain) Serialize(s *wire.Serializer)"}},
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
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	var none *chat
	for range 2 { // The second time the type and the way are known.
		require.ErrorIs(t, netcode.Send(r.server.Server, netcode.To(1), none), netcode.ErrNoMessage)
		require.ErrorIs(t, netcode.Send(r.server.Server, netcode.ToAll(), none), netcode.ErrNoMessage)
		require.ErrorIs(t, netcode.Send(r.server.Server, netcode.ToSelf(), none), netcode.ErrNoMessage)
		require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{1}))
	}
	require.ErrorIs(t, netcode.Call(context.Background(), c.Client, 0, (*price)(nil), func(*cost, error) {}), netcode.ErrNoMessage)
	require.ErrorIs(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}, netcode.Within(time.Second)), netcode.ErrWithin)

	err = netcode.Send(c.Client, netcode.ToServer(), &stroll{})
	require.ErrorIs(t, err, netcode.ErrNotRegistered)
	require.ErrorContains(t, err, "netcode_test.stroll")
	err = input.Set(c.Client, &stroll{})
	require.ErrorIs(t, err, input.ErrNotRegistered)
	require.ErrorContains(t, err, "netcode_test.stroll")
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}, netcode.InStage(tick.Update)))
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
	r := newRig(t, server, netcode.Config{})
	c := r.join(client, netcode.Config{})
	r.until(func() bool { return c.Err() != nil })
	require.ErrorContains(t, c.Err(), `component "stroll" differs: the server has it without WrittenBy, the client as [owner]`)
}
