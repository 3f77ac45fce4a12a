package main

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	hitchBegin     = 4 * time.Second // Of the hitch, since the client connected.
	hitchRoundTrip = 100 * time.Millisecond
	hitchShort     = time.Second // Inputs are as before 1 s after a hitch of up to that, 2 s after a longer one.
	hitchMargin    = 20.0        // ms by which inputs may be older then.
)

// hitchLengths returns the lengths of hitches, in milliseconds.
func hitchLengths() []time.Duration { return []time.Duration{17, 67, 150, 300, 1000, 2000, 5000, 9900} }

// hitchInput is an input with the time of its Set.
type hitchInput struct{ At uint64 }

// hitchLine is one line of the table.
type hitchLine struct {
	length     time.Duration
	loss       float64
	atClient   bool
	wait       time.Duration // From the hitch to the measured second.
	now        time.Duration
	age        time.Duration // Of the input of the newest tick.
	sum, count time.Duration
}

// runHitch plays games in which the server, or the client, stands still once. It prints how old inputs are at the server in the second that
// begins 1 s after the hitch, or 2 s after one above 1 s, against the same second of a game without a hitch.
func runHitch(o options) error {
	for _, atClient := range []bool{false, true} {
		for _, loss := range []float64{0, .05} {
			for _, length := range hitchLengths() {
				line := hitchLine{length: length * time.Millisecond, loss: loss, atClient: atClient}
				got, normal, err := line.measure()
				if err != nil {
					return err
				}
				end := "server"
				if atClient {
					end = "client"
				}
				o.report(result{
					Scenario: "hitch", Value: got, Unit: "ms", Main: !atClient && loss == 0 && length == 1000,
					Params: map[string]any{
						"hitch_ms": int(length), "of": end, "loss": loss, "rtt_ms": int(hitchRoundTrip / time.Millisecond), "after_ms": int(line.wait / time.Millisecond),
					},
				}.against(normal).valueTarget(normal+hitchMargin, true))
			}
		}
	}
	return nil
}

// measure returns the mean age of inputs with and without the hitch, in milliseconds.
func (l *hitchLine) measure() (got, normal float64, err error) {
	if l.wait = time.Second; l.length > hitchShort {
		l.wait = 2 * time.Second
	}
	if got, err = l.play(true); err == nil {
		normal, err = l.play(false)
	}
	return got, normal, err
}

// play plays one game. It returns the mean age of inputs in the measured second, in milliseconds.
func (l *hitchLine) play(hitch bool) (float64, error) {
	l.now, l.age, l.sum, l.count = 0, 0, 0, 0
	network := memory.NewNetwork()
	listen := func(seed uint64) (*transport.Conditioner, error) {
		end, err := network.Listen(transport.Addr{})
		if err != nil {
			return nil, err
		}
		return transport.Condition(end, transport.Link{Delay: hitchRoundTrip / 2, Loss: l.loss}, seed, func() time.Duration { return l.now }), nil
	}
	atServer, err := listen(1)
	if err != nil {
		return 0, err
	}
	atClient, err := listen(2)
	if err != nil {
		return 0, err
	}
	server, client, c, err := l.ends(atServer, atClient)
	if err != nil {
		return 0, err
	}
	begun := time.Duration(-1)
	for frame := time.Duration(1); begun < 0 || l.now < begun+hitchBegin+l.length+l.wait+time.Second; frame++ {
		l.now = frame * time.Second / tickHz
		if begun < 0 && l.age > 0 {
			begun = l.now
		}
		if begun < 0 && l.now > 20*time.Second {
			return 0, errors.New("the client's inputs do not arrive")
		}
		since := l.now - begun - hitchBegin
		stands := hitch && begun >= 0 && since >= 0 && since < l.length
		if !stands || l.atClient {
			server.Step()
		}
		if begun >= 0 && since >= l.length+l.wait {
			l.sum, l.count = l.sum+l.age, l.count+1
		}
		if !stands || !l.atClient {
			client.Step()
		}
		if err := errors.Join(atServer.Poll(), atClient.Poll()); err != nil {
			return 0, err
		}
	}
	if reason := c.Err(); reason != nil {
		return 0, reason
	}
	return float64(l.sum) / float64(l.count) / 1e6, nil
}

// ends makes a server that asks for the input in each tick, and a client that sets one in each frame.
func (l *hitchLine) ends(atServer, atClient *transport.Conditioner) (server, client *systems.Runner, c *netcode.Client, err error) {
	p := netcode.NewProtocol()
	input.Register[hitchInput](p)
	clock := func() time.Duration { return l.now }
	config := netcode.Config{TickRate: tickHz, SilenceTimeout: 30 * time.Second}
	config.Random = rand.NewChaCha8([32]byte{1})
	s, err := netcode.NewServer(p, config)
	if err != nil {
		return nil, nil, nil, err
	}
	config.Random = rand.NewChaCha8([32]byte{2})
	if c, err = netcode.NewClient(p, config); err != nil {
		return nil, nil, nil, err
	}
	ofServer, ofClient := systems.NewServer(s, atServer, clock), systems.NewClient(c, atClient, clock)
	ofServer.Add(tick.Update, systems.Func(func(*ecs.World) {
		for id := range s.Clients {
			if in, ok := input.Of[hitchInput](s, id); ok && s.TickDue() {
				l.age = l.now - time.Duration(in.At)
			}
		}
	}))
	ofClient.Add(tick.Update, systems.Func(func(*ecs.World) {
		if err := input.Set(c, &hitchInput{uint64(l.now)}); err != nil {
			panic(err)
		}
	}))
	err = c.Connect(atServer.LocalAddr())
	return systems.NewRunner(nil, ofServer, tickHz), systems.NewRunner(nil, ofClient, tickHz), c, err
}
