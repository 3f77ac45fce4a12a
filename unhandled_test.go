package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// What comes for a handler that is nil is no message that was handled: it is counted apart, and told of once a type, however it comes.
func TestAMessageWithoutAHandlerIsToldOfOnce(t *testing.T) {
	p := protocol()
	netcode.Handle[chat](p, nil, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle[wave](p, nil)
	for _, history := range []int{0, 4} {
		r := newRig(t, p, netcode.Config{History: history})
		c := r.joined(p, netcode.Config{})
		id := r.spawn(1)
		r.sees(c, id, 1)
		for range 3 {
			require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{1}))
		}
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{2}, netcode.About(id)))
		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &chat{3}, netcode.NotBefore(r.server.Tick()+10)))
		r.run(time.Second)
		require.NoError(t, netcode.Send(r.server.Server, netcode.ToSelf(), &chat{4}))
		r.run(time.Second)
		stats := r.server.Stats()
		require.EqualValues(t, 6, stats.Messages.Unhandled)
		require.Zero(t, stats.Messages.Handled+stats.Messages.Immediate)
		require.EqualValues(t, 1, stats.Errors)
		require.Len(t, r.server.errors, 1)
		var unhandled *netcode.UnhandledError
		require.ErrorAs(t, r.server.errors[0], &unhandled)
		require.Equal(t, "chat", unhandled.Name)
		require.Contains(t, unhandled.Error(), "nil as its handler")

		require.NoError(t, netcode.Send(c.Client, netcode.ToServer(), &wave{}))
		r.run(time.Second)
		require.Len(t, r.server.errors, 2, "another type")
	}
}
