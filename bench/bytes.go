package main

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

// The quantisation that every comparison uses: 50 bits of position in steps of 1/512 m, 29 of orientation, one flag.
type (
	tracePosition struct {
		X, Y float32 `net:"min=-256,max=255.998046875,step=0.001953125"`
		Z    float32 `net:"min=0,max=31.998046875,step=0.001953125"`
	}
	traceOrientation struct {
		Q [4]float32 `net:"quat,bits=9"`
	}
	traceInteracting struct{ On bool }
)

const (
	bytesHz         = 60
	bytesRoundTrip  = 100 * time.Millisecond
	bytesTarget     = 280   // kbit/s with plain bit-packing (T2)
	bytesAnchor     = 265.7 // kbit/s of the article's bit-packing on the recording cubes45, payload alone (measured elsewhere)
	digestsKept     = 256   // ticks; more than the client can ever be behind
	framesToConnect = 10 * bytesHz
)

// runBytes measures what one client costs: all bytes of all packets from server to client, from the first hello to the
// last frame, over the time that the motion lasts.
func runBytes(o options) error {
	source := motion(newGenerated())
	if o.trace != "" {
		recorded, err := openRecording(o.trace)
		if err != nil {
			return err
		}
		source = recorded
	}
	if source.hz() != bytesHz {
		return fmt.Errorf("motion at %d Hz, this scenario is for %d", source.hz(), bytesHz)
	}
	tables, err := readTables(o.tables)
	if err != nil {
		return err
	}
	b, err := newByteRunOver(source, transport.Link{Delay: bytesRoundTrip / 2}, tables)
	if err != nil {
		return err
	}
	verified := b.run()
	if verified != nil {
		b.mismatches++
	}
	b.report(o, verified == nil)
	return verified
}

// byteRun is a server world, a client world, and a link of fixed delay between them, on a virtual clock.
type byteRun struct {
	source  motion
	frame   int64
	bodies  []body
	changed changeCounter

	server       *netcode.Server
	serverWorld  ecs.World
	serverFrame  *systems.ServerSystems
	serverSteps  []systems.System
	serverSocket *countedSocket
	entities     []ecs.Entity
	write        generic.Map4[components.Replicated, tracePosition, traceOrientation, traceInteracting]

	client      *netcode.Client
	clientWorld ecs.World
	clientFrame *systems.ClientSystems
	clientSteps []systems.System
	read        generic.Map4[components.Replicated, tracePosition, traceOrientation, traceInteracting]

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

// readTables reads trained tables; without a name there are none.
func readTables(name string) (*wire.Tables, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return wire.ParseTables(text)
}

// newByteRunOver is a run over any link, which is the same in both directions and may be changed with setLink.
func newByteRunOver(source motion, link transport.Link, tables *wire.Tables) (*byteRun, error) {
	b := &byteRun{source: source, serverWorld: ecs.NewWorld(1024), clientWorld: ecs.NewWorld(1024)}
	protocol := netcode.NewProtocol()
	netcode.Replicate[tracePosition](protocol)
	netcode.Replicate[traceOrientation](protocol)
	netcode.Replicate[traceInteracting](protocol)
	if tables != nil {
		protocol.UseTables(tables)
	}
	config := netcode.Config{TickRate: bytesHz, SendBudget: -1, SentPackets: 4096}
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
		end, err := network.Listen(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port))
		if err != nil {
			return nil, err
		}
		b.links = append(b.links, transport.Condition(end, link, seed, b.now))
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
	b.serverSocket = &countedSocket{socket: serverEnd}
	b.serverFrame = systems.NewServer(b.server, b.serverSocket, b.now)
	b.clientFrame = systems.NewClient(b.client, clientEnd, b.now)
	b.serverSteps, b.clientSteps = b.serverFrame.Systems(), b.clientFrame.Systems()
	for _, s := range b.serverSteps {
		s.Initialize(&b.serverWorld)
	}
	for _, s := range b.clientSteps {
		s.Initialize(&b.clientWorld)
	}
	b.write = generic.NewMap4[components.Replicated, tracePosition, traceOrientation, traceInteracting](&b.serverWorld)
	b.read = generic.NewMap4[components.Replicated, tracePosition, traceOrientation, traceInteracting](&b.clientWorld)
	return b, b.client.Connect(serverEnd.LocalAddr())
}

// now is the virtual clock: exact multiples of 1/60 s, so that 50 ms are three frames.
func (b *byteRun) now() time.Duration { return time.Duration(b.frame * int64(time.Second) / bytesHz) }

// run plays the motion through and compares the client in every frame.
func (b *byteRun) run() error {
	if err := b.join(); err != nil {
		return err
	}
	for {
		err := b.move()
		if errors.Is(err, errEnded) {
			break
		}
		if err != nil {
			return err
		}
		if err := b.step(); err != nil {
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
		if err := b.step(); err != nil {
			return err
		}
	}
	b.joined = b.serverSocket.sentBytes
	return nil
}

// errEnded says that there is no more motion.
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
		query := b.write.NewBatchQ(len(bodies))
		for query.Next() {
			b.entities = append(b.entities, query.Entity())
		}
		b.bodies = make([]body, len(bodies))
	}
	for i, e := range b.entities {
		if b.frames > 0 && bodies[i] == b.bodies[i] {
			continue
		}
		_, p, q, on := b.write.Get(e)
		*p = tracePosition{bodies[i].position[0], bodies[i].position[1], bodies[i].position[2]}
		*q, *on = traceOrientation{bodies[i].orientation}, traceInteracting{bodies[i].interacting}
	}
	copy(b.bodies, bodies)
	b.changed.count(b.bodies)
	b.frames++
	return nil
}

// step runs one frame of both ends and compares what the client has with what the server had at that tick.
func (b *byteRun) step() error {
	b.advance()
	if b.client.State() != netcode.Connected || b.client.Replica().Tick() <= b.start {
		return nil
	}
	return b.compare(b.client.Replica().Tick())
}

// advance runs one frame of both ends.
func (b *byteRun) advance() {
	b.frame++
	for _, s := range b.serverSteps {
		s.Update(&b.serverWorld)
	}
	at := &b.history[int64(b.server.Tick())%digestsKept]
	at.tick = b.server.Tick()
	at.digest = netecs.DigestStore(b.server.Store(), b.server.Protocol().Schema(), func(wire.NetworkID) bool { return true })
	at.bodies = append(at.bodies[:0], b.bodies...)
	for _, s := range b.clientSteps {
		s.Update(&b.clientWorld)
	}
	for _, l := range b.links { // what the client sent is under way from now on
		if err := l.Poll(); err != nil {
			b.faults = append(b.faults, err)
		}
	}
}

// compare holds the client's world against the server's rows of that tick, bit by bit, and against the motion itself,
// which no code of netcode's has touched, within half a quantisation step.
func (b *byteRun) compare(t tick.Tick) error {
	was := &b.history[int64(t)%digestsKept]
	if was.tick != t {
		return fmt.Errorf("the client is at tick %d, the server at %d", t, b.server.Tick())
	}
	if got := netecs.Digest(&b.clientWorld, b.server.Protocol().Schema()); got != was.digest {
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
		_, p, q, on := b.read.Get(there)
		if err := resembles(was.bodies[i], *p, *q, *on); err != nil {
			return fmt.Errorf("tick %d: body %d: %w", t, i, err)
		}
	}
	b.verified++
	return nil
}

// resembles says whether decoded values are as near to the body as the quantisation allows.
func resembles(b body, p tracePosition, q traceOrientation, on traceInteracting) error {
	const halfStep = 1.0/1024 + 1e-6
	want := [3]float64{
		math.Max(-256, math.Min(float64(b.position[0]), 255.998046875)),
		math.Max(-256, math.Min(float64(b.position[1]), 255.998046875)),
		math.Max(0, math.Min(float64(b.position[2]), 31.998046875)),
	}
	for i, got := range [3]float32{p.X, p.Y, p.Z} {
		if math.Abs(float64(got)-want[i]) > halfStep {
			return fmt.Errorf("position %v is %v", b.position, p)
		}
	}
	dot, length := 0.0, 0.0
	for i := range q.Q {
		dot += float64(q.Q[i]) * float64(b.orientation[i])
		length += float64(b.orientation[i]) * float64(b.orientation[i])
	}
	// Half a step of each of three components, sqrt(2)/511/2, and what follows from them for the fourth.
	if math.Abs(dot)/math.Sqrt(length) < 1-2e-5 {
		return fmt.Errorf("orientation %v is %v", b.orientation, q.Q)
	}
	if on.On != b.interacting {
		return fmt.Errorf("interacting %v is %v", b.interacting, on.On)
	}
	return nil
}

// report prints the line that answers the target, when the motion is the one that the target speaks of.
func (b *byteRun) report(o options, verified bool) {
	seconds := float64(b.frames) / bytesHz
	bits := float64(b.serverSocket.sentBytes) * 8
	steady := float64(b.serverSocket.sentBytes-b.joined) * 8
	r := result{
		Scenario: "bytes", Value: bits / seconds / 1000, Unit: "kbit/s",
		Params: map[string]any{
			"motion": b.source.name(), "bodies": len(b.bodies), "frames": b.frames, "rtt_ms": int(bytesRoundTrip / time.Millisecond),
			"packets": b.serverSocket.sent, "bytes": b.serverSocket.sentBytes, "join_bytes": b.joined,
			"changed_bodies_per_frame": float64(b.changed.total) / float64(max(b.frames-1, 1)),
			"bits_per_changed_body":    steady / float64(max(b.changed.total, 1)),
			"header_share":             float64(b.serverSocket.headerBytes) / float64(b.serverSocket.sentBytes),
			"verified_frames":          b.verified, "verified": verified,
		},
	}
	if o.trace != "" {
		r = r.against(bytesAnchor).valueTarget(bytesTarget, verified)
		r.Params["anchor"] = "bit-packing as in the articles, payload alone, on cubes45"
		r.Main = true
	} else {
		r.Params["note"] = "no -trace: generated motion, which the target does not speak of"
	}
	o.report(r)
}
