package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

const (
	tickTarget  = 3  // times the floor (T1)
	digestEvery = 16 // ticks between comparisons of all worlds

	// warmUp is the number of ticks before measuring. The server's history holds two seconds of changes in a ring that is up to twice as long: until
	// that has gone round once, each tick writes to memory that no program has had, and the kernel clears it page by page.
	warmUp = 2*2*tickHz + 16
)

// runTick measures server ticks: the world's changes captured and sent to C clients, each of which decodes, applies and
// acknowledges in another process. Each tick is measured beside a tick of the floor with as many moving bodies and as
// many sockets; which of the two goes first alternates.
func runTick(o options) error {
	for _, c := range combinations(o) {
		if c.entities > maxFloorBodies {
			return errManyBodies
		}
		run, err := newTickRun(c, o.exact)
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		if err := run.measure(o.budget); err != nil {
			return fmt.Errorf("%+v: %w", c, errors.Join(err, run.stop()))
		}
		run.report(o)
		if err := run.stop(); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
	}
	return nil
}

// tickRun is the server of one combination, the floor beside it, and the far end of both.
type tickRun struct {
	combination
	exact bool
	far   *child
	floor *floorSender

	body     *bodyWorld
	subjects []ecs.Entity // the bodies that move
	orbits   []orbit
	server   *netcode.Server
	conn     *udp.Conn
	socket   *countedSocket
	before   []systems.System // what comes before Capture in a frame
	work     []systems.System // from Capture to Send
	frames   int64
	quantise func()
	stopped  bool // nothing moves any more

	floors, ticks, receives, wholes, passes, reached, used []float64 // ns
	workCPU, floorCPU                                      []float64 // ns of this process, interruptions left out
	worst                                                  tick.Tick // ticks that a client was behind when the next began
	undelivered                                            int64
	digests, wrong                                         int
	allocations                                            float64
	bytesBefore, measured                                  int64
	packetsBefore, packets                                 int64
	callsBefore, calls                                     int64
	listsBefore, lists                                     uint64 // lists that were copied from another client's packet
	fault                                                  error
}

func newTickRun(c combination, exact bool) (*tickRun, error) {
	r := &tickRun{combination: c, exact: exact, body: newBodyWorld(c.entities, exact)}
	var err error
	if r.conn, err = udp.Listen("127.0.0.1:0", udp.Config{Queue: 1 << 14, ReadBuffer: 8 << 20, WriteBuffer: 4 << 20}); err != nil {
		return nil, err
	}
	config := tickConfig(c.clients, c.network)
	if c.network.classes > 0 {
		config.SentPackets = realSentPackets(movers(c.entities, c.moving))
	}
	if r.server, err = netcode.NewServer(bodyProtocol(exact), config); err != nil {
		return nil, err
	}
	r.server.OnError(func(err error) { r.fault = err })
	end, err := securedServer(r.conn, c.secure)
	if err != nil {
		return nil, err
	}
	r.socket = &countedSocket{socket: end}
	group := systems.NewServer(r.server, r.socket, r.now)
	frame := group.Systems()
	for i, s := range frame {
		s.Initialize(r.body.world)
		if _, isTick := s.(*systems.Tick); isTick {
			r.before, r.work = frame[:i], frame[i:]
		}
	}
	r.subjects = r.body.subjects(c.moving)
	if r.far, err = startChild(c.clients, r.conn.LocalAddr(), exact, c.secure, c.network); err != nil {
		return nil, err
	}
	s := newScene(c.entities, c.moving)
	r.orbits = append(r.orbits, s.orbits...)
	r.quantise = quantisePass(r.server.Protocol().Schema(), s, exact)
	if c.entities <= maxFloorBodies { // the scenario capacity goes beyond, and measures no floor
		r.floor, err = newFloorSender(s, r.far.drains)
	}
	return r, err
}

// now is the server's virtual clock: one tick a frame.
func (r *tickRun) now() time.Duration { return time.Duration(r.frames) * time.Second / tickHz }

// step moves the bodies of the game.
func (r *tickRun) step() {
	if r.stopped {
		return
	}
	for k, e := range r.subjects {
		next := r.orbits[k].nextPose
		if r.tumbles {
			next = r.orbits[k].tumble
		}
		p, q, v := next()
		r.body.write(e, p, q, v)
	}
}

// receive begins a frame and reads what the clients acknowledged.
func (r *tickRun) receive() {
	r.frames++
	for _, s := range r.before {
		s.Update(r.body.world)
	}
}

// captureAndSend is the server's tick.
func (r *tickRun) captureAndSend() {
	for _, s := range r.work {
		s.Update(r.body.world)
	}
}

// timed returns the duration of f, in ns.
func timed(f func()) float64 {
	began := time.Now()
	f()
	return float64(time.Since(began))
}

// connect runs server frames until every client has the world.
func (r *tickRun) connect() error {
	type reply struct {
		fields []string
		err    error
	}
	replies := make(chan reply, 1)
	if err := r.far.tell(commandJoin); err != nil {
		return err
	}
	go func() {
		fields, err := r.far.answer()
		replies <- reply{fields, err}
	}()
	for {
		r.receive()
		r.captureAndSend()
		select {
		case got := <-replies:
			if got.err != nil {
				return got.err
			}
			if got.fields[0] != "0" {
				return fmt.Errorf("%s of %d clients did not get the world", got.fields[0], r.clients)
			}
			return r.fault
		case <-time.After(time.Millisecond):
		}
	}
}

// settle makes the far end apply the tick just sent, all of it, and returns what it says of itself.
func (r *tickRun) settle() (took float64, err error) {
	var behind, read int64
	took = timed(func() {
		var fields []string
		if fields, err = r.far.ask(fmt.Sprint(commandReach, " ", int64(r.server.Tick()), " ", r.socket.sent-r.undelivered)); err == nil {
			_, err = fmt.Sscan(strings.Join(fields, " "), &behind, &read)
		}
	})
	if err != nil {
		return 0, err
	}
	r.worst = max(r.worst, tick.Tick(behind))
	r.undelivered = r.socket.sent - read
	return took, r.fault
}

// measure fills the samples.
func (r *tickRun) measure(budget time.Duration) error {
	if err := r.connect(); err != nil {
		return err
	}
	for range warmUp {
		if err := r.turn(false); err != nil {
			return err
		}
	}
	r.bytesBefore, r.packetsBefore, r.callsBefore = r.socket.sentBytes, r.socket.sent, r.socket.calls
	r.listsBefore = r.server.Store().PagesShared()
	for start := time.Now(); time.Since(start) < budget || len(r.ticks) < 30; {
		if err := r.turn(true); err != nil {
			return err
		}
		if len(r.ticks)%digestEvery == 1 {
			if err := r.compare(); err != nil {
				return err
			}
		}
	}
	r.measured, r.packets, r.calls = r.socket.sentBytes-r.bytesBefore, r.socket.sent-r.packetsBefore, r.socket.calls-r.callsBefore
	r.lists = r.server.Store().PagesShared() - r.listsBefore
	if err := r.countAllocations(); err != nil {
		return err
	}
	return r.compare()
}

// turn is one tick of both: the floor's and the server's, in alternating order, and the clients' answer.
func (r *tickRun) turn(keep bool) error {
	var floor, work, pass, floorCPU float64
	var failed error
	runFloor := func() {
		r.floor.scene.step()
		floorCPU = cpuTime()
		floor = timed(func() { _, failed = r.floor.tick() })
		floorCPU = cpuTime() - floorCPU
		pass = timed(r.quantise)
	}
	if r.frames%2 == 0 {
		runFloor()
	}
	r.step()
	used := cpuTime()
	received := timed(r.receive)
	workCPU := cpuTime()
	work = timed(r.captureAndSend)
	workCPU, used = cpuTime()-workCPU, cpuTime()-used
	if r.frames%2 == 0 { // receive has counted the frame
		runFloor()
	}
	settled, err := r.settle()
	if keep {
		r.floors, r.ticks, r.receives = append(r.floors, floor), append(r.ticks, work), append(r.receives, received)
		r.used = append(r.used, used)
		r.workCPU, r.floorCPU = append(r.workCPU, workCPU), append(r.floorCPU, floorCPU)
		r.passes, r.reached, r.wholes = append(r.passes, pass), append(r.reached, settled), append(r.wholes, received+work)
	}
	return errors.Join(failed, err)
}

// compare holds every client's world against the server's, by digest, as of the tick that was just sent.
func (r *tickRun) compare() error {
	got, err := r.far.ask(commandDigest)
	if err != nil {
		return err
	}
	all := func(wire.NetworkID) bool { return true }
	want := fmt.Sprintf("%016x", netecs.DigestStore(r.server.Store(), r.server.Protocol().Schema(), all))
	for _, digest := range got {
		r.digests++
		if digest != want {
			r.wrong++
		}
	}
	return nil
}

// countAllocations runs some ticks more, and counts only what capturing and sending allocates.
func (r *tickRun) countAllocations() error {
	const ticks = 20
	var before, after runtime.MemStats
	total := uint64(0)
	for range ticks {
		r.step()
		r.receive()
		runtime.ReadMemStats(&before)
		r.captureAndSend()
		runtime.ReadMemStats(&after)
		total += after.Mallocs - before.Mallocs
		if _, err := r.settle(); err != nil {
			return err
		}
	}
	r.allocations = float64(total) / ticks
	return nil
}

// verified reports whether every client got everything in its tick, and all worlds were the server's.
func (r *tickRun) verified() bool { return r.wrong == 0 && r.worst <= 1 && r.undelivered == 0 }

// report prints two lines: the tick itself, which answers the target, and the tick with the reading of acks before it.
func (r *tickRun) report(o options) {
	anchor, against := median(r.floors), "floor"
	if r.clients < 16 && !r.exact {
		anchor, against = anchor+median(r.passes), "floor + one quantise pass"
	}
	verified := r.verified()
	line := result{
		Scenario: "tick", Value: median(r.ticks), Unit: "ns/tick", Main: r.main,
		Params: map[string]any{
			"entities": r.entities, "clients": r.clients, "moving": r.moving, "exact": r.exact, "anchor": against,
			"ticks": len(r.ticks), "p99_ns": quantile(r.ticks, 0.99), "fastest_ns": quantile(r.ticks, 0), "floor_fastest_ns": quantile(r.floors, 0),
			"cpu_ns": median(r.workCPU), "floor_cpu_ns": median(r.floorCPU), "ratio_of_cpu": median(r.workCPU) / max(median(r.floorCPU), 1),
			"ratio_of_fastest": quantile(r.ticks, 0) / quantile(r.floors, 0), "receive_ns": median(r.receives), "quantise_pass_ns": median(r.passes),
			"bytes_per_client": float64(r.measured) / float64(len(r.ticks)) / float64(r.clients), "floor_bytes_per_client": r.floor.encode(),
			"packets_per_client": float64(r.packets) / float64(len(r.ticks)) / float64(r.clients),
			"lists_copied":       float64(r.lists) / max(float64(r.packets), 1),
			"sends_per_client":   float64(r.calls) / float64(len(r.ticks)) / float64(r.clients),
			"allocs_per_tick":    r.allocations, "staleness_ticks": int64(r.worst), "undelivered": r.undelivered,
			"all_clients_applied_us": median(r.reached) / 1000, "all_clients_applied_p99_us": quantile(r.reached, 0.99) / 1000,
			"worlds_compared": r.digests, "worlds_wrong": r.wrong, "verified": verified,
		},
	}
	o.report(line.against(anchor).ratioTarget(tickTarget, verified))
	o.report(result{
		Scenario: "tick.with_receive", Value: median(r.wholes), Unit: "ns/tick",
		Params: map[string]any{"entities": r.entities, "clients": r.clients, "moving": r.moving, "exact": r.exact, "anchor": against},
	}.against(anchor).ratioTarget(tickTarget, verified))
}

func (r *tickRun) stop() error {
	err := errors.Join(r.far.stop(), r.conn.Close())
	if r.floor != nil {
		err = errors.Join(err, r.floor.socket.Close())
	}
	return err
}
