package netcode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
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
	var bound *netcode.BoundError
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
