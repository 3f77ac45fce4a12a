package nettest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// startAndStop pushes for half a second, every two and a half seconds.
func startAndStop(rate int) func(frame int) shove {
	return func(frame int) shove {
		if frame%(5*rate/2) < rate/2 {
			return shove{X: float32(1 - 2*(frame/(5*rate/2)%2))}
		}
		return shove{}
	}
}

// restGame is a player that starts and stops, in a world that is at rest else. It returns the frames in which the prediction stood, and the
// report.
func restGame(t *testing.T, rate int, link transport.Link, run time.Duration) (stood uint64, reported *predict.StoodError) {
	near := link
	near.Delay = min(link.Delay, 400*time.Millisecond) // It has 4 s to connect.
	config := nettest.Config{Clients: 1, Seed: 5, Rate: rate, Link: near, Server: netcode.Config{TickRate: rate}}
	g := newPushGame(t, config, false, startAndStop(rate))
	g.SetLink(link)
	g.Clients[0].OnError(func(err error) { errors.As(err, &reported) })
	g.Run(3 * time.Second) // The client learns its delays.
	last, still := g.sims[0].Tick(), 0
	for end := g.Now() + run; g.Now() < end; {
		g.Step()
		if now := g.sims[0].Tick(); now > last || g.Clients[0].Steps() == 0 {
			last = now
		} else {
			still++
		}
	}
	stood = g.sims[0].Stats().Stood
	require.LessOrEqual(t, still, int(stood), "frames without a step")
	return stood, reported
}

// The own player starts at once in a world that was at rest, at each round trip up to 600 ms, 128 ticks a second and a loss of 20 %.
func TestPredictionNeverStandsInAWorldAtRest(t *testing.T) {
	for _, c := range []struct {
		rate int
		link transport.Link
	}{
		{128, transport.Link{Delay: 150 * time.Millisecond}},
		{60, transport.Link{Delay: 300 * time.Millisecond}},
		{128, transport.Link{Delay: 300 * time.Millisecond, Loss: .2}},
		{128, transport.Link{Delay: 280 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: .2}},
	} {
		stood, reported := restGame(t, c.rate, c.link, time.Duration(sized(10, 60))*time.Second)
		require.Zero(t, stood, "%+v", c)
		require.Nil(t, reported, "%+v", c)
	}
}

// Beyond what the history carries, the client is told and the frames are counted.
func TestAPredictionThatStandsIsReported(t *testing.T) {
	stood, reported := restGame(t, 128, transport.Link{Delay: 800 * time.Millisecond}, 4*time.Second)
	require.NotZero(t, stood)
	require.NotNil(t, reported)
	require.GreaterOrEqual(t, reported.Ahead, predict.Window)
	require.ErrorContains(t, reported, "lower Config.TickRate of the server, or set InputDelay")
}

// At the edge of the window, 192 ticks at 128 a second, with 20 % loss: up to 600 ms nothing stands, and wherever it stands in eight
// frames the client is told the way out.
func TestTheEdgeOfTheWindow(t *testing.T) {
	stands := 0
	for trip := 600 * time.Millisecond; trip <= 1600*time.Millisecond; trip += 100 * time.Millisecond {
		stood, reported := restGame(t, 128, transport.Link{Delay: trip / 2, Loss: .2}, time.Duration(sized(3, 20))*time.Second)
		t.Logf("%v: %d frames stood, %+v", trip, stood, reported)
		require.Equal(t, stood >= 8, reported != nil, "%v", trip)
		if reported != nil {
			stands++
			require.GreaterOrEqual(t, reported.Ahead, predict.Window)
			require.ErrorContains(t, reported, "lower Config.TickRate of the server, or set InputDelay")
		}
		if trip == 600*time.Millisecond {
			require.Zero(t, stood, "%v", trip)
		}
	}
	require.NotZero(t, stands, "the test shows nothing beyond the edge")
}
