package voice_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/examples/extension/voice"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
)

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	voice.Register(p)
	return p
}

// Every player hears every other one over a link that loses a third of the packets, and nobody who has left.
func TestPlayersHearTalkingPlayers(t *testing.T) {
	n := nettest.New(t, nettest.Config{
		Protocol: protocol(), Clients: 3, Seed: 7, Link: transport.Link{Delay: 60 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.3},
	})
	n.Run(2 * time.Second)
	for round := range uint8(20) {
		for i, c := range n.Clients {
			voice.Talk(c.Client, round%4*uint8(i))
		}
		n.Run(6 * time.Second)
		for _, listener := range n.Clients {
			for i, c := range n.Clients {
				require.Equal(t, round%4*uint8(i), voice.Level(listener.Client, c.ID()), "round %d, player %d", round, i)
			}
		}
	}
	voice.Talk(n.Clients[2].Client, 9)
	n.Run(6 * time.Second)
	left := n.Clients[2].ID()
	require.EqualValues(t, 9, voice.Level(n.Clients[0].Client, left))
	n.Clients[2].Close()
	n.Run(6 * time.Second)
	require.Zero(t, voice.Level(n.Clients[0].Client, left))
}

// A protocol without the feature is another protocol.
func TestVoiceIsPartOfTheProtocol(t *testing.T) {
	require.NotEqual(t, netcode.NewProtocol().Hash(), protocol().Hash())
}

// The newest level is heard in the end, over a link that reorders packets.
func TestTheNewestLevelIsHeard(t *testing.T) {
	for seed := range uint64(40) {
		n := nettest.New(t, nettest.Config{
			Protocol: protocol(), Clients: 2, Seed: seed, Link: transport.Link{Delay: 60 * time.Millisecond, Jitter: 60 * time.Millisecond, Reorder: 0.3},
		})
		n.RunUntil(5*time.Second, n.Connected)
		n.Run(time.Second)
		for i := range uint8(30) {
			voice.Talk(n.Clients[0].Client, i+1)
			n.Step()
		}
		n.Run(3 * time.Second)
		require.EqualValues(t, 30, voice.Level(n.Clients[1].Client, n.Clients[0].ID()), "seed %d", seed)
	}
}
