package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
)

const tickHz = 60

// config is that of both ends: no budget, so that each change goes out in its tick, and patience, since the virtual clock moves
// as fast as the machine can go.
func config(clients int) netcode.Config {
	return netcode.Config{
		TickRate: tickHz, SendBudget: -1, SentPackets: 1 << 12, Clients: clients,
		HandshakeTimeout: time.Hour, SilenceTimeout: time.Hour,
	}
}

func protocol(exact bool) *netcode.Protocol {
	p := netcode.NewProtocol()
	if exact {
		netcode.Replicate[Position](p)
		netcode.Replicate[Rotation](p)
		netcode.Replicate[Velocity](p)
	} else {
		netcode.Replicate[quantPosition](p)
		netcode.Replicate[quantRotation](p)
		netcode.Replicate[quantVelocity](p)
	}
	return p
}

// ours is a server of netcode's.
type ours struct {
	sample
	exact  bool
	scene  *scene
	world  ecs.World
	write  func(i int, b *body)
	server *netcode.Server
	conn   *udp.Conn
	before []systems.System // what comes before Capture in a frame
	work   []systems.System // from Capture to Send
	frames int64
	fault  error
}

func newOurs(s *scene, clients int, exact bool) (*ours, error) {
	o := &ours{exact: exact, scene: s, world: ecs.NewWorld(len(s.bodies) + 1)}
	if exact {
		o.write = populate(&o.world, s, func(b *body) (Position, Rotation, Velocity) { return b.p, b.r, b.v })
	} else {
		o.write = populate(&o.world, s, func(b *body) (quantPosition, quantRotation, quantVelocity) {
			return quantPosition(b.p), quantRotation{[4]float32{b.r.X, b.r.Y, b.r.Z, b.r.W}}, quantVelocity(b.v)
		})
	}
	var err error
	if o.conn, err = udp.Listen("127.0.0.1:0", udp.Config{Queue: 1 << 14, ReadBuffer: 8 << 20, WriteBuffer: 4 << 20}); err != nil {
		return nil, err
	}
	if o.server, err = netcode.NewServer(protocol(exact), config(clients)); err != nil {
		return nil, err
	}
	o.server.OnError(func(err error) { o.fault = err })
	frame := systems.NewServer(o.server, o.conn, o.now).Systems()
	for i, s := range frame {
		s.Initialize(&o.world)
		if _, isTick := s.(*systems.Tick); isTick {
			o.before, o.work = frame[:i], frame[i:]
		}
	}
	return o, nil
}

// populate makes the bodies, and gives the function by which the game writes one of them.
func populate[P, R, V any](w *ecs.World, s *scene, parts func(*body) (P, R, V)) func(i int, b *body) {
	builder := generic.NewMap4[components.Replicated, P, R, V](w)
	var entities []ecs.Entity
	for query := builder.NewBatchQ(len(s.bodies)); query.Next(); {
		_, p, r, v := query.Get()
		*p, *r, *v = parts(&s.bodies[len(entities)])
		entities = append(entities, query.Entity())
	}
	return func(i int, b *body) {
		_, p, r, v := builder.Get(entities[i])
		*p, *r, *v = parts(b)
	}
}

// now is a virtual clock: one tick a frame.
func (o *ours) now() time.Duration { return time.Duration(o.frames) * time.Second / tickHz }

// game moves what moves and writes it.
func (o *ours) game() {
	o.scene.step()
	for _, i := range o.scene.movers {
		o.write(i, &o.scene.bodies[i])
	}
}

// receive begins a frame: acknowledgements are read.
func (o *ours) receive() error {
	o.frames++
	for _, s := range o.before {
		s.Update(&o.world)
	}
	return o.fault
}

// tick is the rest of it, as bench measures it: the world is captured, and all clients are sent to.
func (o *ours) tick() error {
	for _, s := range o.work {
		s.Update(&o.world)
	}
	return o.fault
}

func (o *ours) sent() int64 { return int64(o.conn.Stats().BytesSent) }

// settle lets the clients apply the tick, and fails when one has not got it.
func (o *ours) settle(f *far) error {
	behind, err := f.ask(fmt.Sprintf("%s %v %d %d", farReach, o.exact, int64(o.server.Tick()), o.conn.Stats().Sent))
	if err == nil && behind != "0" {
		err = fmt.Errorf("exact=%v: a client is %s ticks behind", o.exact, behind)
	}
	return err
}

// join runs frames until every client has the world.
func (o *ours) join(f *far) error {
	for {
		if err := errors.Join(o.receive(), o.tick()); err != nil {
			return err
		}
		waiting, err := f.ask(fmt.Sprintf("%s %v", farJoin, o.exact))
		if err != nil || waiting == "0" {
			return err
		}
	}
}

// verify compares the clients' worlds with what the server holds.
func (o *ours) verify(f *far) error {
	got, err := f.ask(fmt.Sprintf("%s %v", farDigest, o.exact))
	want := fmt.Sprintf("%016x", netecs.DigestStore(o.server.Store(), o.server.Protocol().Schema(), nil))
	if err == nil && got != want {
		err = fmt.Errorf("exact=%v: the clients' worlds are %s, the server's is %s", o.exact, got, want)
	}
	return err
}
