package nettest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// made is an input with the time of its Set.
type made struct{ At uint64 }

// hitchCase is a game with hitches of an end.
type hitchCase struct {
	tickRate   int
	roundTrip  time.Duration
	jitter     time.Duration
	loss       float64
	hitch      time.Duration // The length of each hitch of the server.
	client     time.Duration // The length of each hitch of the client at the same time.
	every      time.Duration // The time from hitch to hitch; 0: there is one.
	first      time.Duration // The start of the first hitch, since the client's first input; 0: 10 s.
	seed       uint64
	unbuffered bool
}

func (c hitchCase) String() string {
	return fmt.Sprintf("%d Hz, %v ± %v, loss %.0f %%, hitch %v (client %v) every %v from %v", c.tickRate, c.roundTrip, c.jitter, 100*c.loss, c.hitch, c.client, c.every, c.first)
}

// ages runs a game. It returns by frame since the client's first input how old the input of the newest tick was at the server, -1 without an
// input.
func (c hitchCase) ages(t *testing.T, run time.Duration) (ages []time.Duration) {
	config := nettest.Config{Protocol: netcode.NewProtocol(), Clients: 1, Seed: c.seed, Rate: max(c.tickRate, 60)}
	input.Register[made](config.Protocol)
	config.Server = netcode.Config{TickRate: c.tickRate, SilenceTimeout: 30 * time.Second}
	config.Client = config.Server
	config.Link = transport.Link{Delay: c.roundTrip / 2, Jitter: c.jitter, Loss: c.loss}
	var n *nettest.Net
	age := time.Duration(-1)
	config.Setup = func(s *systems.ServerSystems, _ *ecs.World) {
		s.Add(netcode.StageUpdate, call(func() {
			for id := range s.Server.Clients {
				if in, ok := input.Of[made](s.Server, id); ok && s.Server.TickDue() {
					age = n.Now() - time.Duration(in.At)
				}
			}
		}))
	}
	config.SetupClient = func(_ int, s *systems.ClientSystems, _ *ecs.World) {
		s.Add(netcode.StageUpdate, call(func() {
			require.NoError(t, input.Set(s.Client, &made{uint64(n.Now())}))
		}))
	}
	n = nettest.New(t, config)
	require.True(t, n.RunUntil(20*time.Second, func() bool { return age >= 0 }))
	if c.first == 0 {
		c.first = 10 * time.Second
	}
	start := n.Now()
	within := func(length time.Duration) bool {
		at := n.Now() - start - c.first
		if c.every > 0 && at > 0 {
			at %= c.every
		}
		return at >= 0 && at < length
	}
	for n.Now() < start+run {
		if within(c.hitch) {
			n.SuspendServer()
		} else {
			n.WakeServer()
		}
		if within(c.client) {
			n.Suspend(n.Clients[0])
		} else {
			n.Wake(n.Clients[0])
		}
		n.Step()
		if debugClient != nil { debugClient(n, age) }
		ages = append(ages, age)
	}
	require.Equal(t, netcode.Connected, n.Clients[0].State())
	return ages
}

// mean returns the mean age from a moment on.
func (c hitchCase) mean(ages []time.Duration, from, length time.Duration) time.Duration {
	rate := time.Duration(max(c.tickRate, 60))
	sum, count := time.Duration(0), time.Duration(0)
	for i := from * rate / time.Second; i < (from+length)*rate/time.Second; i++ {
		sum, count = sum+ages[i], count+1
	}
	return sum / count
}

type N = nettest.Net
var debugClient func(n *N, age time.Duration)

func TestInputsAreYoungAfterAHitch(t *testing.T) {
	for _, rate := range []int{30, 60, 128} {
		for _, rtt := range []time.Duration{0, 50 * time.Millisecond, 300 * time.Millisecond} {
			for _, bad := range []float64{0, .05, .2} {
				hitches := []time.Duration{0, 17, 34, 67, 100, 150, 200, 300, 500, 1000, 2000, 5000, 9900}
				sums := make([]float64, len(hitches))
				normal := 0.
				for seed := range uint64(6) {
				c := hitchCase{tickRate: rate, roundTrip: rtt, jitter: time.Duration(bad * 200 * float64(time.Millisecond)), loss: bad, seed: seed}
				plain := c.ages(t, 25*time.Second)
				normal += c.mean(plain, 10*time.Second, 15*time.Second).Seconds()*1000/6
				for i, hitch := range hitches {
					c.hitch = hitch * time.Millisecond
					after := time.Second
					if hitch > 1000 {
						after = 2 * time.Second
					}
					at := 10*time.Second + c.hitch + after
					got := c.ages(t, 24*time.Second)
					sums[i] += c.mean(got, at, time.Second).Seconds()*1000/6
				}
				}
				line := ""
				for i, hitch := range hitches { line += fmt.Sprintf(" %d:%+.0f", hitch, sums[i]-normal) }
				t.Logf("%3d Hz %3d ms loss %.2f normal %.0f:%s", rate, rtt.Milliseconds(), bad, normal, line)
			}
		}
	}
}
