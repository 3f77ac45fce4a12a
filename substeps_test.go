package netcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// A frame may have no fixed step, one or several. What arrived for FixedUpdate is handled before the first step that comes,
// once, and in the order in which it was sent.
func TestFixedStepsOfAFrame(t *testing.T) {
	p := protocol()
	type handled struct{ frame, step, number int }
	var got []handled
	frame, step := 0, 0
	netcode.Handle(p, func(_ *netcode.Context, m *chat) {
		got = append(got, handled{frame, step, int(m.Number)})
	}, netcode.AtStage(tick.FixedUpdate), netcode.Over(netcode.ReliableOrdered))
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	for f, steps := range []int{1, 0, 3, 0, 0, 2} {
		frame = f
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{uint32(f)}))
		r.clientFrame(c)
		r.now += frameTime
		r.server.BeginFrame(r.now)
		r.receive(r.server.conn, r.server.ReceiveAfter)
		for stage := range tick.Stage(tick.NumStages) {
			n := 1
			if stage == tick.FixedUpdate {
				n = steps
			}
			for step = range n {
				r.server.Dispatch(stage)
			}
		}
		r.server.Send()
		r.server.Drain(r.server.send)
	}
	require.Equal(t, []handled{{0, 0, 0}, {2, 0, 1}, {2, 0, 2}, {5, 0, 3}, {5, 0, 4}, {5, 0, 5}}, got)
}
