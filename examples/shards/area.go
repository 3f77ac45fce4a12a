package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/handover"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/udp"
)

// shard is the server of one area.
type shard struct {
	number int
	node   *nats.Node
	match  *nats.Match
	server *netcode.Server
	mover  *handover.Server
	world  ecs.World
	group  *systems.ServerSystems

	bodies  generic.Map3[components.Replicated, components.Owner, Body]
	walking *generic.Filter2[components.Owner, Body]
	asked   map[uint64]asked
	points  uint32
	moved   uint32
	failed  uint32
	frames  uint32
}

// asked is a question to another area.
type asked struct {
	answer func(bool)
	to     string
	until  netcode.Tick
}

// serve runs a process: the area of that number, or below 0 the first one whose process dies.
func serve(ctx context.Context, url, name string, number int, key [32]byte) error {
	socket, err := udp.Listen("127.0.0.1:0", udp.Config{})
	if err != nil {
		return err
	}
	s := &shard{number: number, world: ecs.NewWorld(), asked: map[uint64]asked{}}
	orphans := make(chan *nats.Orphan, 1)
	config := nats.Config{
		Server: name, URL: url, Address: socket.LocalAddr().String(), Messages: s.messages(),
		OnError: func(err error) { fmt.Fprintln(os.Stderr, name, err) },
	}
	if number < 0 { // A process has one area: the first orphan, and leaves others to others.
		config.Orphan = func(o *nats.Orphan) {
			o.Node().TakeOver(false)
			select {
			case orphans <- o:
			default:
				if err := o.Refuse(ctx); err != nil {
					config.OnError(err)
				}
			}
		}
	}
	if s.node, err = nats.Start(ctx, config); err != nil {
		return err
	}
	defer func() { _ = s.node.Close() }()
	fmt.Println("ready")
	var orphan *nats.Orphan
	if number < 0 {
		select {
		case orphan = <-orphans:
			if _, err := fmt.Sscanf(orphan.ID, "area-%d", &s.number); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
	if err := s.open(ctx, socket, orphan, key); err != nil {
		return err
	}
	fmt.Println("serves", s.number)
	err = systems.NewRunner(&s.world, s.match, 3*tickRate).Run(ctx)
	return errors.Join(err, s.match.End(context.WithoutCancel(ctx)))
}

// open opens the area, or goes on with what a dead process has left.
func (s *shard) open(ctx context.Context, socket systems.Socket, orphan *nats.Orphan, key [32]byte) (err error) {
	config := netcode.Config{TickRate: tickRate, Clients: 512, ClientsPerAddress: -1, ClientsPerNetwork: -1, SilenceTimeout: 3 * time.Second}
	setup := nats.MatchConfig{ID: area(s.number), Checkpoint: time.Second, Restored: s.restored, Extra: func() []byte { return fmt.Append(nil, s.points) }}
	if orphan != nil {
		if setup.Restore, err = orphan.Load(ctx); err != nil {
			return err
		}
		if setup.Restore != nil {
			config.FirstTick = setup.Restore.Tick + 1
			_, _ = fmt.Sscan(string(setup.Restore.Extra), &s.points)
		}
	}
	if s.server, err = netcode.NewServer(newProtocol(), config); err != nil {
		return err
	}
	s.group = systems.NewServer(s.server, socket, systems.WallClock())
	setup.Group = s.group
	s.mover = handover.Attach(s.group, handover.Config{Key: key, Ask: s.ask})
	s.mover.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
	if orphan != nil {
		s.match, err = orphan.Open(setup)
	} else {
		s.match, err = s.node.Open(ctx, setup)
	}
	if err == nil {
		s.rules()
	}
	return err
}

// rules adds the game.
func (s *shard) rules() {
	s.bodies = generic.NewMap3[components.Replicated, components.Owner, Body](&s.world)
	s.walking = generic.NewFilter2[components.Owner, Body]()
	s.server.OnConnect(func(client netcode.ClientID) {
		old := s.match.Returned(client)
		switch {
		case s.mover.Arriving(client):
			s.remove(old) // It brings a newer one.
		case len(old) == 0:
			at := float32(client%side) / 2
			s.bodies.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Body{X: at, Y: at, DX: 6, DY: 2})
		}
	})
	s.mover.OnArrive(func(a *handover.Arrival) {
		for _, e := range a.Entities {
			_, _, b := s.bodies.Get(e)
			_, *b, _ = beyond(s.number, *b)
			b.Gates++
		}
		_ = nats.Publish(s.match, nats.ToAll(), &Point{uint32(s.number)})
	})
	s.mover.OnEnd(func(_ netcode.ClientID, outcome handover.Outcome, _ error) {
		if outcome == handover.Moved {
			s.moved++
		} else {
			s.failed++
		}
	})
	netcode.On(s.server, func(ctx *netcode.Context, m *Turn) { s.turn(ctx.Sender, m) })
	netcode.On(s.server, func(ctx *netcode.Context, m *Say) {
		m.From = s.server.Identity(ctx.Sender)
		_ = nats.Publish(s.match, nats.ToAll(), &Chat{*m}) // The own clients get it in the same way.
	})
	s.group.Add(tick.Update, systems.Func(func(*netecs.World) {
		if s.server.TickDue() {
			s.walk()
		}
		if s.frames++; s.frames%tickRate == 0 {
			s.tell()
		}
	}))
}

// walk moves the bodies, and their players to other areas.
func (s *shard) walk() {
	type gate struct {
		client netcode.ClientID
		to     int
	}
	var gates []gate
	for q := s.walking.Query(&s.world); q.Next(); {
		owner, b := q.Get()
		next := *b
		next.X += b.DX / tickRate
		next.Y += b.DY / tickRate
		to, _, out := beyond(s.number, next)
		if b.X >= 0 && b.X < side && b.Y >= 0 && b.Y < side {
			*b = next // It stands in the gate until it is through.
		}
		if out && !s.mover.Moving(owner.Client) {
			gates = append(gates, gate{owner.Client, to})
		}
	}
	for _, g := range gates {
		if m, ok := s.node.Match(area(g.to)); ok && m.Address != "" {
			_ = s.mover.Move(g.client, handover.Destination{Server: m.Address}) // One that fails is tried again.
		}
	}
	now := s.server.Tick()
	for id, a := range s.asked {
		if now > a.until { // Nobody answers: it is dead, or the question was lost.
			delete(s.asked, id)
			s.ask(a.to, handover.ID(id), a.answer)
		}
	}
}

// turn takes a player's wish.
func (s *shard) turn(client netcode.ClientID, m *Turn) {
	for q := s.walking.Query(&s.world); q.Next(); {
		if owner, b := q.Get(); owner.Client == client {
			b.DX, b.DY = min(max(m.DX, -12), 12), min(max(m.DY, -12), 12)
		}
	}
}

// restored is called when the area goes on from a checkpoint.
func (s *shard) restored([]netecs.Entity, error) { s.forget() }

// forget removes the bodies of a checkpoint whose players play in another area by now.
func (s *shard) forget() {
	for _, user := range s.match.Missing() {
		if p, ok := s.node.Player(user); ok && p.Match != area(s.number) {
			s.remove(s.match.Forget(user))
		}
	}
}

// remove removes bodies.
func (s *shard) remove(ids []netcode.NetworkID) {
	for _, id := range ids {
		if e, alive := s.group.Entity(id); alive {
			s.world.RemoveEntity(e)
		}
	}
}

// tell tells the board what there is here.
func (s *shard) tell() {
	s.forget()
	stats := s.node.Stats()
	c := &Census{Area: uint32(s.number), Points: s.points, Frames: s.frames, Held: uint32(stats.Held), Moved: s.moved, Failed: s.failed}
	for q := s.walking.Query(&s.world); q.Next(); {
		if owner, _ := q.Get(); !s.mover.Held(owner.Client) {
			if user := s.server.Identity(owner.Client); user != "" {
				c.Users = append(c.Users, user)
			}
		}
	}
	slices.Sort(c.Users)
	_ = nats.Publish(s.match, nats.ToMatch(board), c)
}

// ask asks the area at an address whether a player has arrived there.
func (s *shard) ask(to string, id handover.ID, answer func(arrived bool)) {
	for m := range s.node.Matches {
		if m.Address != to {
			continue
		}
		s.asked[uint64(id)] = asked{answer: answer, to: to, until: s.server.Tick() + tickRate}
		_ = nats.Publish(s.match, nats.ToMatch(m.ID), &Ask{From: uint32(s.number), ID: uint64(id)})
		return // Asked again in a second.
	}
	answer(false) // Its process has no lease any more: it is dead.
}

// messages are those between servers.
func (s *shard) messages() *nats.Messages {
	p := nats.NewMessages()
	nats.Handle(p, func(_ *nats.Context, m *Chat) { _ = netcode.Send(s.server, netcode.ToAll(), &m.Say) }, tick.Update)
	nats.Handle(p, func(*nats.Context, *Point) { s.points++ }, tick.Update)
	nats.Handle(p, func(ctx *nats.Context, m *Ask) {
		_ = nats.Publish(s.match, nats.ToMatch(area(int(m.From))), &Arrived{ID: m.ID, Arrived: s.mover.Void(handover.ID(m.ID))})
	}, tick.EarlyUpdate)
	nats.Handle(p, func(_ *nats.Context, m *Arrived) {
		if a, ok := s.asked[m.ID]; ok {
			delete(s.asked, m.ID)
			a.answer(m.Arrived)
		}
	}, tick.EarlyUpdate)
	nats.Handle[Census](p, nil, tick.Update)
	return p
}
