package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/delta"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

const (
	bytesHz         = 60
	bytesRoundTrip  = 100 * time.Millisecond
	bytesAnchor     = 265.7 // kbit/s of the article's bit-packing on the recording cubes45, payload alone (measured elsewhere)
	digestsKept     = 256   // ticks; more than the client can ever be behind
	framesToConnect = 10 * bytesHz
)

// byteRun is a server world, a client world, and a link of fixed delay between them, on a virtual clock.
type byteRun struct {
	source  motion
	rate    int64 // frames a second
	frame   int64
	bodies  []body
	changed changeCounter

	server       *netcode.Server
	serverWorld  *ecs.World
	serverFrame  *systems.ServerSystems
	serverSteps  []systems.System
	serverSocket *countedSocket
	entities     []ecs.Entity
	dress        dress

	client      *netcode.Client
	clientWorld *ecs.World
	clientFrame *systems.ClientSystems
	clientSteps []systems.System

	start      tick.Tick // of the connection: the client's world is empty until it has decoded a later one
	history    [digestsKept]asOf
	joined     int64 // bytes sent until the client was in step for the first time
	frames     int   // frames of motion
	verified   int   // frames in which the client was compared
	mismatches int
	faults     []error
	links      []*transport.Conditioner // of the server, of the client
}

// asOf is the server's world as of one tick, as a digest of its rows and as the bodies that the motion gave.
type asOf struct {
	tick   tick.Tick
	digest uint64
	bodies []body
}

func newByteRun(source motion) (*byteRun, error) {
	return newByteRunOver(source, transport.Link{Delay: bytesRoundTrip / 2}, nil)
}

// newByteRunOver is a run over any link in the quantisation of the comparisons.
func newByteRunOver(source motion, link transport.Link, tables *delta.Tables) (*byteRun, error) {
	return newDressedRun(source, link, tables, &quantisedDress{})
}

// readTables reads trained tables; without a name there are none.
func readTables(name string) (*delta.Tables, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return delta.ParseTables(text)
}

// newDressedRun is a run over any link, which is the same in both directions and may be changed with setLink, in any
// components.
func newDressedRun(source motion, link transport.Link, tables *delta.Tables, d dress) (*byteRun, error) {
	b := &byteRun{source: source, rate: int64(source.hz()), dress: d, serverWorld: ecs.New(1024), clientWorld: ecs.New(1024)}
	protocol := netcode.NewProtocol()
	d.replicate(protocol)
	if tables != nil {
		protocol.UseTables(tables)
	}
	random := rand.NewChaCha8([32]byte{}) // which numbers are left out decides what is lost
	config := netcode.Config{TickRate: int(b.rate), SendBudget: -1, SentPackets: 4096, Random: random}
	var err error
	if b.server, err = netcode.NewServer(protocol, config); err != nil {
		return nil, err
	}
	if b.client, err = netcode.NewClient(protocol, config); err != nil {
		return nil, err
	}
	fault := func(err error) { b.faults = append(b.faults, err) }
	b.server.OnError(fault)
	b.client.OnError(fault)
	b.client.OnConnect(func(wire.ClientID) { b.start = b.client.Replica().Tick() })

	network := memory.NewNetwork()
	listen := func(port uint16, seed uint64) (*transport.Conditioner, error) {
		end, err := network.Listen(transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)))
		if err != nil {
			return nil, err
		}
		b.links = append(b.links, transport.Condition(end, link, seed, b.elapsed))
		return b.links[len(b.links)-1], nil
	}
	serverEnd, err := listen(9000, 1)
	if err != nil {
		return nil, err
	}
	clientEnd, err := listen(9001, 2)
	if err != nil {
		return nil, err
	}
	b.serverSocket = &countedSocket{socket: serverEnd, headers: true}
	b.serverFrame = systems.NewServer(b.server, b.serverSocket, b.elapsed)
	b.clientFrame = systems.NewClient(b.client, clientEnd, b.elapsed)
	b.serverSteps, b.clientSteps = b.serverFrame.Systems(), b.clientFrame.Systems()
	for _, s := range b.serverSteps {
		s.Initialize(b.serverWorld)
	}
	for _, s := range b.clientSteps {
		s.Initialize(b.clientWorld)
	}
	d.worlds(b.serverWorld, b.clientWorld)
	return b, b.client.Connect(serverEnd.LocalAddr())
}

// elapsed is the virtual clock: exact multiples of a frame, so that 50 ms are three frames at 60 Hz.
func (b *byteRun) elapsed() time.Duration {
	return time.Duration(b.frame * int64(time.Second) / b.rate)
}

// run plays the motion through and compares the client in every frame.
func (b *byteRun) run() error {
	if err := b.join(); err != nil {
		return err
	}
	return b.play()
}

// play plays what is left of the motion and compares the client in every frame.
func (b *byteRun) play() error {
	for {
		err := b.move()
		if errors.Is(err, errEnded) {
			break
		}
		if err != nil {
			return err
		}
		if err := b.compareFrame(); err != nil {
			return err
		}
	}
	if len(b.faults) > 0 {
		return fmt.Errorf("%d faults, the first: %w", len(b.faults), b.faults[0])
	}
	if b.verified < b.frames-10 {
		return fmt.Errorf("the client was compared in %d of %d frames only", b.verified, b.frames)
	}
	return nil
}

// join runs until the client is in step with the first frame of the motion.
func (b *byteRun) join() error {
	if err := b.move(); err != nil {
		return err
	}
	for b.verified == 0 {
		if b.frame > framesToConnect {
			return fmt.Errorf("not in step after %d frames: %v %v", b.frame, b.client.Err(), b.faults)
		}
		if err := b.compareFrame(); err != nil {
			return err
		}
	}
	b.joined = b.serverSocket.sentBytes
	return nil
}

// errEnded means that there is no more motion.
var errEnded = errors.New("the motion has ended")

// move takes the next frame of motion into the server's world.
func (b *byteRun) move() error {
	bodies, more, err := b.source.next()
	if err != nil {
		return err
	}
	if !more {
		return errEnded
	}
	if len(b.entities) == 0 {
		b.entities = b.dress.spawn(len(bodies))
		b.bodies = make([]body, len(bodies))
	}
	for i, e := range b.entities {
		if b.frames > 0 && bodies[i] == b.bodies[i] {
			continue
		}
		b.dress.write(e, &bodies[i])
	}
	copy(b.bodies, bodies)
	b.changed.count(b.bodies)
	b.frames++
	return nil
}

// compareFrame runs one frame of both ends and compares what the client has with what the server had at that tick.
func (b *byteRun) compareFrame() error {
	b.advance()
	if b.client.State() != netcode.Connected || b.client.Replica().Tick() <= b.start {
		return nil
	}
	return b.compareWorlds(b.client.Replica().Tick())
}

// advance runs one frame of both ends.
func (b *byteRun) advance() {
	b.frame++
	for _, s := range b.serverSteps {
		s.Update(b.serverWorld)
	}
	at := &b.history[int64(b.server.Tick())%digestsKept]
	at.tick = b.server.Tick()
	at.digest = netecs.DigestStore(b.server.Store(), b.server.Protocol().Schema(), func(wire.NetworkID) bool { return true })
	at.bodies = append(at.bodies[:0], b.bodies...)
	for _, s := range b.clientSteps {
		s.Update(b.clientWorld)
	}
	for _, l := range b.links { // what the client sent is under way from now on
		if err := l.Poll(); err != nil {
			b.faults = append(b.faults, err)
		}
	}
}

// compareWorlds holds the client's world against the server's rows of that tick, bit by bit, and against the motion itself,
// which no code of netcode's has touched, within half a quantisation step.
func (b *byteRun) compareWorlds(t tick.Tick) error {
	was := &b.history[int64(t)%digestsKept]
	if was.tick != t {
		return fmt.Errorf("the client is at tick %d, the server at %d", t, b.server.Tick())
	}
	if got := netecs.Digest(b.clientWorld, b.server.Protocol().Schema()); got != was.digest {
		return fmt.Errorf("tick %d: the client's world is %016x, the server's rows were %016x", t, got, was.digest)
	}
	for i, e := range b.entities {
		id, known := b.serverFrame.ID(e)
		if !known {
			return fmt.Errorf("tick %d: body %d has no network id", t, i)
		}
		there, known := b.clientFrame.Entity(id)
		if !known {
			return fmt.Errorf("tick %d: body %d is not at the client", t, i)
		}
		if err := b.dress.compareBody(there, &was.bodies[i]); err != nil {
			return fmt.Errorf("tick %d: body %d: %w", t, i, err)
		}
	}
	b.verified++
	return nil
}
