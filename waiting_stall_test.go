package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// sack is 5 KiB, so that a few dozen use up the credit.
type sack struct{ A [1280]uint32 }

// Who asked for the wait is not ended for it: one ordered message that waits for a tick, and behind it more than the credit
// takes, in both directions.
func TestWaitingThatWasAskedForIsNoStall(t *testing.T) {
	for _, from := range []string{"server", "client"} {
		t.Run(from, func(t *testing.T) {
			p := protocol()
			handled := 0
			netcode.Handle(p, func(*netcode.Context, *sack) { handled++ }, netcode.Over(netcode.ReliableOrdered))
			r := newRig(t, p, netcode.Config{SendBudget: -1})
			c := r.joined(p, netcode.Config{SendBudget: -1})
			r.run(time.Second)
			var end netcode.Endpoint = r.server.Server
			to := netcode.To(c.ID())
			if from == "client" {
				end, to = c.Client, netcode.ToServer()
			}
			tamper := lossy(3, 10)
			r.tamper = tamper
			require.NoError(t, netcode.Send(end, to, &sack{}, netcode.NotBefore(r.server.Tick()+30*10)))
			for range 40 {
				require.NoError(t, netcode.Send(end, to, &sack{}))
			}
			r.run(9500 * time.Millisecond)
			require.Zero(t, handled)
			require.Equal(t, netcode.Connected, c.State())
			r.run(4 * time.Second)
			require.Equal(t, 41, handled)
			require.Zero(t, r.server.Stats().Stalled+c.Stats().Stalled)
		})
	}
}

// The wait that was asked for excuses nobody for longer, and nobody who does not even acknowledge.
func TestWaitingThatWasAskedForEndsWithItsTick(t *testing.T) {
	for name, silent := range map[string]bool{"grants nothing": false, "acknowledges nothing": true} {
		t.Run(name, func(t *testing.T) {
			p := protocol()
			netcode.Handle[sack](p, nil, netcode.Over(netcode.ReliableOrdered))
			r := newRig(t, p, netcode.Config{SendBudget: -1})
			th := newThief(t, r, p)
			r.run(100 * time.Millisecond)
			require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &sack{}, netcode.NotBefore(r.server.Tick()+30*3)))
			for range 40 {
				require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &sack{}))
			}
			start, ended := r.now, time.Duration(0)
			r.server.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) {
				require.ErrorIs(t, reason, peer.ReasonQueueOverflow)
				ended = r.now - start
			})
			for range 600 {
				r.step()
				th.read(!silent)
				th.send(wire.MessageKeepAlive, 0, nil)
			}
			if silent {
				require.InDelta(t, 5.1, ended.Seconds(), 0.3)
			} else {
				require.InDelta(t, 8.1, ended.Seconds(), 0.3)
			}
		})
	}
}

// read takes what came, and acknowledges it with the next packet if it should.
func (th *thief) read(acknowledge bool) {
	for {
		n, _, err := th.socket.Receive(th.buf[:])
		require.NoError(th.t, err)
		if n == 0 {
			return
		}
		if in, err := th.conn.Read(th.buf[:n], th.now, nil); err == nil && acknowledge {
			th.conn.Accept(in, th.now)
		}
		th.conn.DetectLost(th.now, nil)
	}
}
