package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// stall runs the server alone for a while.
func (k *talk) stall(d time.Duration) {
	for end := k.now + d; k.now < end; {
		k.now += frameTime
		k.serverFrame()
	}
}

// What a client's own count of ticks gives up in a stall does not make a message late that waits for a tick, nor one behind it.
func TestNotBeforeIsOnTimeAfterStalls(t *testing.T) {
	for _, via := range []netcode.Delivery{netcode.Reliable, netcode.ReliableOrdered, netcode.Unreliable} {
		k := newTalk(t, netcode.Config{}, 1)
		c := k.clients[0]
		k.run(time.Second)
		for range 4 {
			k.stall(time.Second)
			k.run(time.Second)
		}
		require.Less(t, c.Tick(), k.server.Tick()-50, "what the stalls cost the client's own count")
		at := k.server.Tick() + 15
		require.NoError(t, netcode.Send(k.server.Server, netcode.To(1), &chat{1}, netcode.NotBefore(at), netcode.Via(via)))
		require.NoError(t, netcode.Send(k.server.Server, netcode.To(1), &chat{2}, netcode.Via(via)))
		behind := 1
		if via == wire.ReliableOrdered {
			behind = 0
		}
		for k.server.Tick() < at-2 {
			k.step()
			require.Less(t, len(k.heard), 1+behind, "%s at %d, to be heard at %d", via, k.server.Tick(), at)
		}
		for k.server.Tick() < at+3 {
			k.step()
		}
		require.ElementsMatch(t, []string{"1<0:1", "1<0:2"}, k.heard, via)
		require.Less(t, k.ctx.Tick, at-50, "Context.Tick is the client's own count")
	}
}

// A player at its own server goes by the server's ticks, whatever its own count was before.
func TestNotBeforeAtAHost(t *testing.T) {
	k := newTalk(t, netcode.Config{}, 0)
	k.stall(3 * time.Second)
	c, err := netcode.NewClient(k.server.Protocol(), netcode.Config{Random: random(9)})
	require.NoError(t, err)
	c.BeginFrame(k.now)
	require.NoError(t, netcode.Host(k.server.Server, c))
	k.clients = append(k.clients, &clientEnd{Client: c})
	at := k.server.Tick() + 15
	frame := func() {
		k.now += frameTime
		k.serverFrame()
		c.BeginFrame(k.now)
		for stage := range tick.Stage(tick.NumStages) {
			c.Dispatch(stage)
		}
		c.Send()
	}
	require.NoError(t, netcode.Send(k.server.Server, netcode.To(c.ID()), &chat{1}, netcode.NotBefore(at)))
	for k.server.Tick() < at-1 {
		frame()
		require.Empty(t, k.heard)
	}
	for k.server.Tick() < at+1 {
		frame()
	}
	require.Equal(t, []string{"1<0:1"}, k.heard)
}
