package systems_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/systems"
)

// jab is an input with presses of one frame.
type jab struct {
	Fire   bool  `net:"event"`
	Number int32 `net:"event=count"`
}

// A press of the host's player is in exactly one tick's input, at any rates, and wherever in the frame it is made: before
// or after the game asks for inputs.
func TestAPressOfTheHostIsInOneTick(t *testing.T) {
	for _, ticks := range []int{20, 30, 60, 120} {
		for _, stage := range []netcode.Stage{netcode.StagePreUpdate, netcode.StagePostLateUpdate} {
			for _, every := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d ticks %v single %v", ticks, stage, every), func(t *testing.T) { pressAsHost(t, ticks, stage, every) })
			}
		}
	}
}

func pressAsHost(t *testing.T, ticks int, stage netcode.Stage, single bool) {
	e := newEnds()
	p := netcode.NewProtocol()
	input.Register[jab](p)
	server, err := netcode.NewServer(p, netcode.Config{TickRate: ticks})
	require.NoError(t, err)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	host, err := systems.NewHost(server, client, e.listen(t, serverAddress), e.clock)
	require.NoError(t, err)
	pressed, fired, sum, frame := 0, 0, 0, 0
	host.Add(stage, each(func() {
		if frame++; client.State() != netcode.Connected {
			return
		}
		in := jab{}
		if frame%7 == 0 && frame < 700 {
			pressed++
			in = jab{Fire: true, Number: int32(pressed)}
		}
		require.NoError(t, input.Set(client, &in))
	}))
	host.Add(netcode.StageUpdate, each(func() {
		note := func(in jab, _ bool) {
			if sum += int(in.Number); in.Fire {
				fired++
			}
		}
		if !single {
			note(input.Of[jab](server, client.ID()))
			return
		}
		for step := netcode.Tick(server.Steps()) - 1; step >= 0; step-- {
			note(input.At[jab](server, client.ID(), server.Tick()-step))
		}
	}))
	e.run(e.world(), host)
	for range 720 {
		e.step()
	}
	require.Greater(t, pressed, 90)
	require.Equal(t, pressed, fired)
	require.Equal(t, pressed*(pressed+1)/2, sum)
}
