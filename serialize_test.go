package netcode_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// line is a message that serializes itself, because it holds text.
type line struct {
	Room uint8
	Text string
	more bool // Writes more than SizeUpperBound says.
}

func (m *line) Serialize(s *wire.Serializer) {
	s.Uint8(&m.Room)
	s.String(&m.Text, 40000)
	if m.more {
		more := strings.Repeat("m", 100)
		s.String(&more, 100)
	}
}

func (m *line) SizeUpperBound() int { return 1 + 9 + len(m.Text) }

func TestMessagesThatSerializeThemselves(t *testing.T) {
	p := protocol()
	var got []string
	netcode.Handle(p, func(_ *netcode.Context, m *line) { got = append(got, m.Text) }, netcode.Over(netcode.ReliableOrdered))
	r := newRig(t, p, netcode.Config{SendBudget: -1})
	c := r.joined(p, netcode.Config{SendBudget: -1})
	long := strings.Repeat("long ", 6000)
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: "short"}))
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: long}))
	require.NoError(t, netcode.Send(r.server.Server, netcode.ToAll(), &line{Text: long}))
	var bound *message.BoundError
	require.ErrorAs(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: "x", more: true}), &bound)
	require.Equal(t, "line", bound.Name)
	var large *netcode.TooLargeError
	require.ErrorAs(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: long}, netcode.Via(netcode.Unreliable)), &large)
	require.ErrorAs(t, netcode.Send(r.server.Server, netcode.ToAll(), &line{Text: long}, netcode.Via(netcode.Unreliable)), &large)
	require.Equal(t, 1200-9-2-4-4, large.Max)
	require.EqualValues(t, 1, r.server.Stats().TooLarge)
	require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &line{Text: "last"}))
	r.until(func() bool { return len(got) == 4 })
	require.ElementsMatch(t, []string{"short", long, long, "last"}, got)
	require.Equal(t, netcode.Connected, c.State())
}

// eager sends messages of its own while it is written.
type eager struct {
	Number uint32
	send   func()
}

func (e *eager) Serialize(s *wire.Serializer) {
	s.Uint32(&e.Number)
	if e.send != nil && !s.IsReading() {
		e.send()
	}
}

func (e *eager) SizeUpperBound() int { return 4 }

// A Serialize method may send: what it sends goes before the message that it is called for, to one, to several, to oneself, and
// whatever travels how. Neither harms the other.
func TestSerializeMaySend(t *testing.T) {
	p := protocol()
	var got []string
	netcode.Handle(p, func(ctx *netcode.Context, m *eager) {
		got = append(got, fmt.Sprintf("%d:eager %d", ctx.Local, m.Number))
	}, netcode.AtStage(tick.Update))
	netcode.Handle(p, func(ctx *netcode.Context, m *chat) { got = append(got, fmt.Sprintf("%d:%d", ctx.Local, m.Number)) }, netcode.AtStage(tick.Update))
	r := newRig(t, p, netcode.Config{History: 2})
	c := r.joined(p, netcode.Config{}).Client
	s := r.server.Server
	for name, way := range map[string]struct {
		end   netcode.Endpoint
		outer netcode.Recipient
		inner netcode.Recipient
		at    string
	}{
		"to the server": {c, netcode.ToServer(), netcode.ToServer(), "0"},
		"to a client":   {s, netcode.To(1), netcode.To(1), "1"},
		"to all":        {s, netcode.ToAll(), netcode.ToAll(), "1"},
		"to one in all": {s, netcode.ToAll(), netcode.To(1), "1"},
		"to itself":     {s, netcode.ToSelf(), netcode.ToSelf(), "0"},
	} {
		for _, via := range []netcode.Delivery{netcode.Unreliable, netcode.ReliableOrdered} {
			for _, nested := range []bool{false, true} {
				t.Run(fmt.Sprint(name, via, nested), func(t *testing.T) {
					got = nil
					later := netcode.InStage(tick.EarlyUpdate) // and not the one that the end is in
					send := func(n uint32) {
						require.NoError(t, netcode.Send(way.end, way.inner, &chat{n}, netcode.Via(via), later))
					}
					within := func() { send(2); send(3) }
					want := []string{"1", "2", "3", "eager 5", "6"}
					if nested {
						within = func() {
							require.NoError(t, netcode.Send(way.end, way.inner, &eager{4, func() { send(2) }}, netcode.Via(via), later))
							send(3)
						}
						want = []string{"1", "2", "eager 4", "3", "eager 5", "6"}
					}
					send(1)
					require.NoError(t, netcode.Send(way.end, way.outer, &eager{5, within}, netcode.Via(via), later))
					send(6)
					r.run(200 * time.Millisecond)
					for i := range want {
						want[i] = way.at + ":" + want[i]
					}
					require.Equal(t, want, got)
				})
			}
		}
	}
	require.Equal(t, netcode.Connected, c.State())
}
