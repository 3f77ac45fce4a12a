package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

const (
	framesPerTick = 4                      // frames go faster than ticks, so that what arrives is not left lying for a tick
	reportEvery   = 100 * time.Millisecond // between two messages about a world's hash, where server and clients are apart
	farewell      = time.Second            // for the last packets of the connections
	// handshake is the longest time that connecting may take. At 40 % loss each way an answer comes to one Hello in three, two are
	// needed, and a client says four a second on a machine that is not busy.
	handshake = 15 * time.Second
)

// crowd is one run: the server's half, the clients' half, or both in one process and one goroutine.
type crowd struct {
	o       *options
	table   *Table
	now     func() time.Duration
	server  *crowdServer   // nil in the clients' half
	clients []*crowdClient // none in the server's half
	trace   io.Closer
	result  Result
	failed  bool // the worlds differ, or did not get to be compared and nobody stopped the run

	next   time.Duration // when the next frame begins
	second time.Duration // when the table is printed next
}

func newCrowd(o *options, table *Table) (*crowd, error) {
	a := &crowd{o: o, table: table, now: systems.WallClock()}
	err := a.open()
	if err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *crowd) open() (err error) {
	if a.o.trained, err = loadTables(a.o.tables); err != nil {
		return err
	}
	address := a.o.connect
	if address == "" {
		motion, err := a.newMotion()
		if err != nil {
			return err
		}
		if a.server, err = newCrowdServer(a.o, a.table, motion, a.now); err != nil {
			return err
		}
		address = a.server.socket.LocalAddr().String()
	}
	if a.o.listen != "" {
		a.table.Say("listening on %s", address)
		return nil
	}
	for number := 1; number <= a.o.clients; number++ {
		client, err := newCrowdClient(a.o, a.table, number, address, a.now)
		if err != nil {
			return err
		}
		a.clients = append(a.clients, client)
	}
	if a.o.bits && a.server != nil {
		a.server.ledger.account = inspect.New(a.server.net.Protocol())
		a.server.ledger.client = a.clients[0]
	}
	return nil
}

// newMotion returns the motion of the server's world: a recording or the simulation.
func (a *crowd) newMotion() ([]System, error) {
	if a.o.trace == "" {
		return newSimulation(a.o.hz, a.o.entities, a.o.churn, a.o.seed), nil
	}
	trace, file, err := openTrace(a.o.trace)
	if err != nil {
		return nil, err
	}
	a.trace, a.o.hz, a.o.entities = file, trace.Hz, trace.Bodies
	return []System{&Replay{Trace: trace, OnErr: func(err error) { a.table.Say("recording: %v", err) }}}, nil
}

// close gives back what open took. The worlds stay as they are.
func (a *crowd) close() (err error) {
	for _, c := range a.clients {
		err = errors.Join(err, c.socket.Close())
		if c.stopPage != nil {
			err = errors.Join(err, c.stopPage())
		}
	}
	if a.server != nil {
		err = errors.Join(err, a.server.recording.close(), a.server.socket.Close())
		if a.server.stopPage != nil {
			err = errors.Join(err, a.server.stopPage())
		}
	}
	if a.trace != nil {
		err = errors.Join(err, a.trace.Close())
	}
	return err
}

// run goes through the whole run and tells how it went.
func (a *crowd) run(ctx context.Context) *Result {
	a.next, a.second = a.now(), a.now()+time.Second
	if a.server == nil {
		a.follow(ctx)
		return &a.result
	}
	a.assemble(ctx)
	a.move(ctx)
	a.settle(ctx)
	a.part()
	a.gather()
	if account := a.server.ledger.account; account != nil {
		a.result.Bits = bitsOf(account)
		a.table.Say("where the bits to client 1 went\n\n%s", bitLines(account))
	}
	if a.o.record != "" {
		tables := tablesOf(a.o.record)
		a.table.Say("recorded to %s: go run ./cmd/netcode train -o %s %s, and then -tables %s", a.o.record, tables, a.o.record, tables)
	}
	return &a.result
}

// assemble waits until the clients of this process are connected, or have given up: a bad link takes handshakes too,
// and the time of motion is for what comes after. The bodies move already.
func (a *crowd) assemble(ctx context.Context) {
	connecting := func(c *crowdClient) bool { return c.net.State() == netcode.Connecting }
	for ctx.Err() == nil && slices.ContainsFunc(a.clients, connecting) {
		a.frame()
		a.tell()
	}
}

// move lets the bodies move for their time, or until ctx ends: one frame at least, since there is no world before. On a
// machine that stalls it takes longer, until there is something to measure.
func (a *crowd) move(ctx context.Context) {
	begin, length := a.now(), a.o.motionTime()
	moving := func() bool { return ctx.Err() == nil && (a.now()-begin < length || !a.server.measured()) }
	for first := true; first || moving(); first = false {
		a.frame()
		a.tell()
		if !a.server.steady && a.now()-begin >= min(time.Second, length/2) {
			a.server.begin()
		}
	}
	a.server.stop(&a.result)
	a.table.Say("motion stopped: %v", a.server.state())
}

// settle lets the packets that are on their way arrive until every client's world equals the server's, or until the
// time for it is over, and then compares. The time is counted in the server's ticks: where the machine stalls, ticks
// slip, and packets get no more time than they are due.
func (a *crowd) settle(ctx context.Context) {
	equal := func() bool { return a.difference() == "" }
	if len(a.clients) == 0 {
		equal = a.server.agrees
	}
	begin, from := a.now(), a.server.net.Tick()
	last := from + tick.Tick(a.o.settleTime()/a.server.net.Interval())
	for check := from; check < last; a.frame() {
		if now := a.server.net.Tick(); now != check {
			if check = now; equal() {
				break
			}
		}
	}
	if a.o.sabotage {
		a.clients[0].sabotage()
	}
	took := a.now() - begin
	a.final()
	difference, differs := a.difference(), true
	if len(a.clients) == 0 {
		difference, differs = a.server.disagreement(), a.server.differs()
	}
	if a.result.Converged = difference == ""; a.result.Converged {
		a.table.Say("converged within %.0f ms of the end of motion", inMilliseconds(took))
		return
	}
	a.fail(difference, differs || ctx.Err() == nil)
}

// fail notes why the worlds were not found equal. Without failed it says only that the user stopped the run before they were compared.
func (a *crowd) fail(why string, failed bool) {
	a.result.Converged, a.result.Difference = false, why
	if !failed {
		a.table.Say("stopped: %s", why)
		return
	}
	a.failed = true
	a.table.Say("NOT converged: %s", why)
}

// difference names the first value in which a client's world differs from the server's. Empty: all are equal.
func (a *crowd) difference() string {
	for _, c := range a.clients {
		if text := compare(a.server, c); text != "" {
			return fmt.Sprintf("client %d: %s", c.number, text)
		}
	}
	return ""
}

// final prints what can be compared from outside.
func (a *crowd) final() {
	if a.server != nil {
		a.table.Say("server   final %v", a.server.state())
	}
	for _, c := range a.clients {
		a.table.Say("client %d final %v", c.number, c.state())
	}
}

// part closes the server and gives both ends time for their last packets.
func (a *crowd) part() {
	a.server.net.Close(errs.ReasonShuttingDown)
	for begin := a.now(); !a.parted() && a.now()-begin < farewell+a.o.rtt; {
		a.frame()
	}
}

// parted tells if every connection of this process is over.
func (a *crowd) parted() bool {
	for _, c := range a.clients {
		if !c.net.Closed() {
			return false
		}
	}
	return a.server == nil || a.server.net.Closed()
}

// follow runs the clients' half until the server has parted from all of them, or until ctx ends.
func (a *crowd) follow(ctx context.Context) {
	for ctx.Err() == nil && !a.parted() {
		a.frame()
		a.tell()
	}
	for _, c := range a.clients {
		c.net.Close()
	}
	for begin := a.now(); !a.parted() && a.now()-begin < farewell; {
		a.frame()
	}
	if a.o.sabotage {
		a.clients[0].sabotage() // Apply has put back what was changed for the comparisons
	}
	a.final()
	a.result.Converged = true
	for _, c := range a.clients {
		if c.judge(); !c.equal {
			unknown := c.settled == nil && c.newest > 0
			a.fail(fmt.Sprintf("client %d: %s", c.number, c.verdict()), !unknown || ctx.Err() == nil)
		}
	}
	a.gather()
}

// frame waits for its time and steps every world once.
func (a *crowd) frame() {
	if early := a.next - a.now(); early > 0 {
		time.Sleep(early)
	}
	every := time.Second / time.Duration(a.o.hz*framesPerTick)
	a.next = max(a.next+every, a.now()-10*every) // after a stall time slips
	if a.server != nil {
		a.server.frame()
	}
	for _, c := range a.clients {
		c.frame()
	}
}

// tell prints the table once a second.
func (a *crowd) tell() {
	if a.now() < a.second {
		return
	}
	a.second += time.Second
	if a.server == nil {
		lines := make([]ClientLine, 0, len(a.clients))
		for _, c := range a.clients {
			lines = append(lines, c.line())
		}
		_ = a.table.Print(nil, lines)
		return
	}
	server, lines := a.server.lines(a.clients)
	_ = a.table.Print(&server, lines)
}

// gather sums up what all connections of this process have counted. The clients' half says what it saw of the whole
// time; it has no ticks to measure.
func (a *crowd) gather() {
	r := &a.result
	if a.server != nil {
		r.Packets = a.server.net.Stats().Packets.Sent
	}
	for _, c := range a.clients {
		packets := c.net.Stats().Packets
		r.Packets += packets.Sent
		if a.server == nil && c.last > c.began {
			share := 1 / float64(len(a.clients))
			r.KbitPerClient += share * float64(packets.BytesReceived) * 8 / 1000 / (c.last - c.began).Seconds()
			r.RTT += share * inMilliseconds(c.rtt)
			r.LossSeen += share * c.loss
		}
	}
}
