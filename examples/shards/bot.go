package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/fleet/nats/resume"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
)

// bot is a player that walks, turns and talks.
type bot struct {
	name    string
	node    *nats.Node
	mover   *handover.Client
	loop    *systems.Runner
	random  *rand.Rand
	home    int
	retryAt time.Time
	count   *tally
	rest    bool // It stands still.
}

// tally counts for all bots, which run in one goroutine.
type tally struct {
	switches, failed, heard, said, rejoins, resumed int
}

func newBot(node *nats.Node, number int, count *tally) *bot {
	b := &bot{name: fmt.Sprint("bot-", number), node: node, home: number % areas, random: rand.New(rand.NewPCG(1, uint64(number))), count: count}
	b.mover = handover.NewClient(b.open)
	b.mover.OnSwitch(func(from, _ *handover.Session) {
		if from != nil {
			count.switches++
		}
	})
	b.mover.OnFail(func(error) { count.failed++ })
	b.loop = systems.NewRunner(nil, b.mover, tickRate)
	return b
}

// address returns where the bot plays, or played.
func (b *bot) address() string {
	b.look()
	m, _ := b.node.Match(area(b.home))
	return m.Address
}

// look looks up in which area the bot is.
func (b *bot) look() {
	if p, ok := b.node.Player(b.name); ok {
		_, _ = fmt.Sscanf(p.Match, "area-%d", &b.home)
	}
}

// open makes the bot's session with a server.
func (b *bot) open(to handover.Destination, done func(*handover.Session, error)) {
	address, err := udp.Resolve(to.Server)
	if err != nil {
		done(nil, err)
		return
	}
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	if err != nil {
		done(nil, err)
		return
	}
	client, err := netcode.NewClient(newProtocol(), netcode.Config{SilenceTimeout: 1500 * time.Millisecond, KeepAlive: 250 * time.Millisecond, HandshakeTimeout: 2 * time.Second})
	if err != nil {
		done(nil, err)
		return
	}
	world := ecs.NewWorld()
	s := &handover.Session{
		Systems: systems.NewClient(client, socket, systems.WallClock()), World: &world, Server: address, Payload: []byte(b.name),
		Close: func() { _ = socket.Close() },
	}
	netcode.On(client, func(_ *netcode.Context, _ *Say) {
		if handover.Shown(client) {
			b.count.heard++
		}
	})
	resume.Of(client).OnResumed(func(time.Duration) { b.count.resumed++ })
	done(s, nil)
}

// frame runs a frame.
func (b *bot) frame(now time.Time) {
	b.loop.Step()
	s := b.mover.Shown()
	if (s == nil || s.Systems.Client.State() == netcode.Disconnected) && !b.mover.Moving() && now.After(b.retryAt) {
		if at := b.address(); at != "" {
			if s != nil {
				b.count.rejoins++
			}
			b.retryAt = now.Add(500 * time.Millisecond)
			b.mover.Start(handover.Destination{Server: at})
		}
		return
	}
	if s == nil || s.Systems.Client.State() != netcode.Connected {
		return
	}
	if b.random.IntN(tickRate/2) == 0 {
		b.look()
	}
	if b.rest {
		if b.random.IntN(tickRate/2) == 0 {
			_ = netcode.Send(s.Systems.Client, netcode.ToServer(), &Turn{})
		}
		return
	}
	switch client := s.Systems.Client; b.random.IntN(20 * tickRate) {
	case 0:
		b.count.said++
		_ = netcode.Send(client, netcode.ToServer(), &Say{Text: "hello from " + b.name})
	case 1, 2, 3, 4:
		_ = netcode.Send(client, netcode.ToServer(), &Turn{DX: b.random.Float32()*24 - 12, DY: b.random.Float32()*24 - 12})
	}
}

// body returns the bot's body in the world that it sees.
func (b *bot) body() (body Body, ok bool) {
	s := b.mover.Shown()
	if s == nil {
		return body, false
	}
	filter := generic.NewFilter2[components.Owner, Body]()
	for q := filter.Query(s.World); q.Next(); {
		if owner, at := q.Get(); owner.Client == s.Systems.Client.ID() {
			body, ok = *at, true
		}
	}
	return body, ok
}

// run runs bots until ctx is done.
func run(ctx context.Context, bots []*bot, each func()) {
	every := time.NewTicker(time.Second / tickRate)
	defer every.Stop()
	for ctx.Err() == nil {
		<-every.C
		now := time.Now()
		for _, b := range bots {
			b.frame(now)
		}
		each()
	}
}
