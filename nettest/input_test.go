package nettest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// stamp is an input that says for which tick it was made.
type stamp struct{ Tick uint64 }

// call is a system that calls a function.
type call func()

func (call) Initialize(*ecs.World) {}
func (f call) Update(*ecs.World)   { f() }
func (call) Finalize(*ecs.World)   {}

// inputCount counts the inputs of its clients that a server saw.
type inputCount struct{ ticks, there, stood, wrong int }

// stampNet is clients that stamp their inputs, and a server that checks that each comes to its tick.
func stampNet(t *testing.T, config nettest.Config, count *inputCount) *nettest.Net {
	config.Protocol = protocol()
	input.Register[stamp](config.Protocol)
	config.Setup = func(s *systems.ServerSystems, _ *ecs.World) {
		s.Add(tick.Update, call(func() {
			if !s.Server.TickDue() {
				return
			}
			for id := range s.Server.Clients {
				in, ok := input.Of[stamp](s.Server, id)
				if !ok {
					continue // Its first has not come yet.
				}
				count.ticks++
				switch {
				case !input.Has(s.Server, id):
					count.stood++
				case in.Tick == uint64(s.Server.Tick()):
					count.there++
				default:
					count.wrong++
				}
			}
		}))
	}
	config.SetupClient = func(_ int, c *systems.ClientSystems, _ *ecs.World) {
		c.Add(tick.Update, call(func() {
			require.NoError(t, input.Set(c.Client, &stamp{uint64(c.Client.Time().Tick)}))
		}))
	}
	return nettest.New(t, config)
}

// With 5 % loss and 30 ms of jitter, of the server's ticks at least 99.5 % have their input in time, and each input comes
// to the tick that it was made in.
func TestInputsComeInTimeOverABadLink(t *testing.T) {
	var count inputCount
	n := stampNet(t, nettest.Config{
		Clients: 4, Seed: 7, Link: transport.Link{Delay: 40 * time.Millisecond, Jitter: 30 * time.Millisecond, Loss: .05},
	}, &count)
	n.Run(10 * time.Second)
	count = inputCount{}
	n.Run(60 * time.Second)
	t.Logf("%d ticks, %d inputs in time, %d stood in for", count.ticks, count.there, count.stood)
	require.Zero(t, count.wrong)
	require.GreaterOrEqual(t, count.ticks, 4*60*30-10)
	require.GreaterOrEqual(t, float64(count.there), .995*float64(count.ticks))
	for _, c := range n.Clients {
		require.Less(t, c.Lead().Float(), 14., "ticks ahead: the round trip is 2.4, jitter takes up to 1.8 more")
	}
}
