package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

const (
	realFrameTarget   = 10 // us a frame
	realFrameEntities = 1000
	// realFramePackets is the number of packets of a measured frame, and the tolerance.
	realFramePackets, realFrameOff = 36, 4
)

// realInput is a player's action.
type realInput struct {
	X, Y  float32 `net:"min=-1,max=1,step=0.01"`
	Jump  bool
	Shoot bool
}

// frameRun is a server and a client in one process, on a network. Every record is full, so that most of the client's frame is not
// theirs.
type frameRun struct {
	server  *netcode.Server
	body    *bodyWorld
	orbits  []orbit
	serve   []systems.System
	client  *netcode.Client
	world   *ecs.World
	steps   []systems.System
	held    *heldSocket
	late    *lateSocket
	twin    *replica.Replica // reads what the client reads
	frames  int64
	fault   error
	frameNs []float64 // ns of the frames that count, without Apply
	readNs  []float64 // ns of Replica.Read in these
	leastNs []float64 // ns of copying and summing up the same datagrams
	sum     uint32    // of no meaning: that it is kept makes the sums be made
	buffer  [2048]byte
	packets []float64
	wrong   int
}

func newFrameRun(n realNetwork) (*frameRun, error) {
	f := &frameRun{body: newBodyWorld(realFrameEntities, true), world: ecs.New(realFrameEntities), orbits: newScene(realFrameEntities, 1).orbits}
	protocol := func() *netcode.Protocol {
		p := bodyProtocol(true)
		input.Register[realInput](p)
		return p
	}
	network := memory.NewNetwork()
	config := tickConfig(1, n)
	config.HistoryBytes = 1 << 16 // no baseline is held, so every record is full
	far, err := network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	near, err := network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	far.Reserve(1024)
	near.Reserve(1024)
	if f.server, err = netcode.NewServer(protocol(), config); err != nil {
		return nil, err
	}
	if f.client, err = netcode.NewClient(protocol(), config); err != nil {
		return nil, err
	}
	keep := func(err error) { f.fault = errors.Join(f.fault, err) }
	f.server.OnError(keep)
	f.client.OnError(keep)
	f.held = &heldSocket{socket: near}
	f.late = newLateSocket(f.held, n, 0)
	f.late.begin(n.punctual())
	f.serve = systems.NewServer(f.server, far, f.frameTime).Systems()
	f.steps = systems.NewClient(f.client, f.late, f.frameTime).Systems()
	for _, s := range f.serve {
		s.Initialize(f.body.world)
	}
	for _, s := range f.steps {
		s.Initialize(f.world)
	}
	f.twin = replica.New(f.client.Protocol().Schema(), snapshot.Config{Window: 2 * tickHz}, tick.None)
	return f, f.client.Connect(far.LocalAddr())
}

func (f *frameRun) frameTime() time.Duration { return time.Duration(f.frames) * realTick }

// playBoth plays a frame of the server and one of the client.
func (f *frameRun) playBoth(keep bool) error {
	f.frames++
	for k, e := range f.body.entities {
		p, q, v := f.orbits[k].nextPose()
		f.body.write(e, p, q, v)
	}
	for _, s := range f.serve {
		s.Update(f.body.world)
	}
	f.held.pump()
	f.late.passFrame(f.frames)
	arrived := f.late.due
	if f.client.State() == netcode.Connected {
		if err := input.Set(f.client, &realInput{X: 0.5, Y: float32(f.frames%100) / 100, Jump: f.frames%7 == 0}); err != nil {
			return err
		}
	}
	read, err := f.readTwin(arrived)
	if err != nil {
		return fmt.Errorf("tick %d: %w", f.server.Tick(), err)
	}
	least := timed(func() {
		for _, d := range arrived {
			f.sum ^= wire.NewChecksum(1, 1).Sum(f.buffer[:copy(f.buffer[:], d)])
		}
	})
	rest := 0.0
	for _, s := range f.steps {
		took := timed(func() { s.Update(f.world) })
		if _, isApply := s.(*systems.Apply); !isApply {
			rest += took
		}
	}
	if n := len(arrived); keep && n >= realFramePackets-realFrameOff && n <= realFramePackets+realFrameOff {
		f.frameNs, f.readNs, f.packets = append(f.frameNs, rest), append(f.readNs, read), append(f.packets, float64(n))
		f.leastNs = append(f.leastNs, least)
	}
	if f.client.Err() != nil {
		return f.client.Err()
	}
	return f.fault
}

// readTwin reads what the client has read in this frame, and returns how long that took.
func (f *frameRun) readTwin(datagrams [][]byte) (took float64, err error) {
	var payloads [][]byte
	for _, d := range datagrams {
		if peer.KindOf(d) != peer.KindPacket {
			continue
		}
		_, header, err := wire.ParsePacketHeader(d)
		if err != nil {
			return 0, err
		}
		in := peer.Incoming{Batches: d[header : len(d)-wire.ChecksumSize]}
		messages := in.Messages()
		for messages.Next() {
			if messages.Header.Type == wire.MessageSnapshot {
				payloads = append(payloads, messages.Payload)
			}
		}
	}
	took = timed(func() {
		for _, p := range payloads {
			err = errors.Join(err, f.twin.Read(p))
		}
	})
	return took, err
}

// letConnect lets the client connect and brings the network into effect.
func (f *frameRun) letConnect(n realNetwork) error {
	for range 2 * tickHz {
		if err := f.playBoth(false); err != nil {
			return err
		}
	}
	if f.client.State() != netcode.Connected {
		return errors.New("the client did not connect")
	}
	f.late.begin(n)
	for range realWarmUp {
		if err := f.playBoth(false); err != nil {
			return err
		}
	}
	return nil
}

// measureRealFrame measures what a client does in a frame beside rows and checksums: the clock, acknowledgements and inputs of 36
// packets.
func measureRealFrame(o options) error {
	networks := []realNetwork{o.network.perfect(), o.network}
	var runs []*frameRun
	for _, n := range networks {
		f, err := newFrameRun(n)
		if err != nil {
			return err
		}
		if err := f.letConnect(n); err != nil {
			return fmt.Errorf("frames of a client: %w", err)
		}
		runs = append(runs, f)
	}
	for start := time.Now(); time.Since(start) < o.budget || len(runs[1].frameNs) < realTicks; {
		for _, f := range runs {
			if err := f.playBoth(true); err != nil {
				return fmt.Errorf("frames of a client: %w", err)
			}
		}
	}
	ideal, got := runs[0], runs[1]
	o.report(result{
		Scenario: "real.frame", Value: got.rest(0.5), Unit: "us/frame", Params: map[string]any{
			"loss": o.network.loss, "jitter": o.network.jitter, "classes": o.network.classes, "seed": o.network.seed, "anchor": "perfect network",
			"packets": median(got.packets), "read_us": median(got.readNs) / 1e3, "sum_us": median(got.leastNs) / 1e3, "perfect_packets": median(ideal.packets), "frames": len(got.frameNs),
			"fastest_us": got.rest(0), "inputs_at_server": got.inputs(),
		},
	}.against(ideal.rest(0.5)).valueTarget(realFrameTarget, got.inputs()))
	return nil
}

// rest is the us of frames less those of Replica.Read and of copies and checksums in them, all at quantile q.
func (f *frameRun) rest(q float64) float64 {
	return (quantile(f.frameNs, q) - quantile(f.readNs, q) - quantile(f.leastNs, q)) / 1e3
}

// inputs tells if the server has the client's input.
func (f *frameRun) inputs() bool {
	for client := range f.server.Clients {
		if v, ok := input.Of[realInput](f.server, client); ok && v.X == 0.5 {
			return true
		}
	}
	return false
}
