package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	linesHz      = 60
	linesQueue   = 200 * time.Millisecond
	linesDelay   = 30 * time.Millisecond // each way
	linesSeconds = 60
	linesStep    = 30 // seconds at each rate where the rate changes

	linesGoodput  = 0.9             // of what can get through, at least: the line, less the share that is lost at random before it
	linesWait     = 50.0            // ms, 95 % of the packets wait less
	linesOverflow = 0.01            // of the packets, at most
	linesShare    = 1.0 / 3         // of the line for either beside TCP, at least
	linesTCPFrom  = 5 * time.Second // the download begins in the game
)

// linesCase is one line and what is beside the game on it.
type linesCase struct {
	rates   []int // KiB/s, one after the other
	clients int
	loss    float64 // at random, in both directions, before the line
	tcp     string  // reno, cubic or none
}

func linesCases() []linesCase {
	var cases []linesCase
	for _, rate := range []int{16, 32, 64, 128, 1024} {
		one := []int{rate}
		cases = append(cases, linesCase{rates: one, clients: 1}, linesCase{rates: one, clients: 1, loss: 0.1}, linesCase{rates: one, clients: 4},
			linesCase{rates: one, clients: 1, tcp: "reno"}, linesCase{rates: one, clients: 1, tcp: "cubic"})
	}
	return append(cases, linesCase{rates: []int{16, 32, 128, 1024, 128, 32, 16}, clients: 1}, linesCase{rates: []int{128}, clients: 1, loss: 0.4})
}

// runLines plays a game that has more to send than each line takes, and measures at the line.
func runLines(o options) error {
	for _, c := range linesCases() {
		run, err := newLinesRun(c)
		if err != nil {
			return err
		}
		if err := run.playLines(); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		run.reportLines(o)
	}
	return nil
}

// linesRun is a server and clients that share a line from the server.
type linesRun struct {
	linesCase linesCase
	frame     int64
	line      *transport.Line
	links     []*transport.Conditioner
	server    *netcode.Server
	clients   []*netcode.Client
	bodies    []*bodyWorld // the server's, then those of the clients
	steps     [][]systems.System
	orbits    []orbit
	tcp       *tcpFlow
	fault     error

	capacity          float64 // bytes that the line takes
	kept, lost, bytes int64
	waits             histogram // ms
}

func (r *linesRun) virtualTime() time.Duration { return time.Duration(r.frame) * time.Second / linesHz }

func newLinesRun(c linesCase) (*linesRun, error) {
	entities := 600
	for _, rate := range c.rates {
		if rate > 128 {
			entities = 3000
		}
	}
	r := &linesRun{linesCase: c, line: transport.NewLine(c.rates[0]<<10, linesQueue), orbits: newScene(entities, 1).orbits}
	r.line.Seen = func(size int, wait time.Duration, kept bool) {
		if !kept {
			r.lost++
			return
		}
		r.kept++
		r.bytes += int64(size)
		r.waits.add(int(wait / time.Millisecond))
	}
	network := memory.NewNetwork()
	config := netcode.Config{TickRate: linesHz, SendBudget: 8 << 20, Entities: entities, SentPackets: 4096}
	protocol := bodyProtocol(false)
	var address transport.Addr
	for i := range 1 + c.clients {
		end, err := network.Listen(transport.MustParseAddr([...]string{"192.0.2.1:0", "198.51.100.1:0"}[min(i, 1)])) // the clients are in one home
		if err != nil {
			return nil, err
		}
		config.Random = rand.NewChaCha8([32]byte{byte(i + 1)})
		link := transport.Link{Delay: linesDelay, Loss: c.loss}
		if i > 0 {
			link.Line = r.line
		}
		conditioner := transport.Condition(end, link, uint64(i+1), r.virtualTime)
		r.links = append(r.links, conditioner)
		if i == 0 {
			address = end.LocalAddr()
		}
		if err := r.addEnd(protocol, config, conditioner, entities, address, i); err != nil {
			return nil, err
		}
	}
	if c.tcp != "" {
		r.tcp = newTCPFlow(r.line, linesDelay, c.tcp == "cubic", linesTCPFrom)
	}
	return r, nil
}

// addEnd makes the server, the first of all, or a client.
func (r *linesRun) addEnd(p *netcode.Protocol, config netcode.Config, link *transport.Conditioner, entities int, server transport.Addr, i int) (err error) {
	onError := func(err error) { r.fault = err }
	if i == 0 {
		if r.server, err = netcode.NewServer(p, config); err != nil {
			return err
		}
		r.server.OnError(onError)
		r.bodies = append(r.bodies, newBodyWorld(entities, false))
		r.steps = append(r.steps, systems.NewServer(r.server, link, r.virtualTime).Systems())
	} else {
		client, err := netcode.NewClient(p, config)
		if err != nil {
			return err
		}
		client.OnError(onError)
		r.clients = append(r.clients, client)
		r.bodies = append(r.bodies, newBodyWorld(0, false))
		r.steps = append(r.steps, systems.NewClient(client, link, r.virtualTime).Systems())
		if err := client.Connect(server); err != nil {
			return err
		}
	}
	for _, s := range r.steps[i] {
		s.Initialize(r.bodies[i].world)
	}
	return nil
}

// stepLines is a frame of all ends, in which all bodies move.
func (r *linesRun) stepLines() {
	r.frame++
	for i, e := range r.bodies[0].entities {
		p, q, v := r.orbits[i].nextPose()
		r.bodies[0].write(e, p, q, v)
	}
	if r.tcp != nil {
		r.tcp.runUntil(r.virtualTime())
	}
	for i := range r.steps {
		for _, s := range r.steps[i] {
			s.Update(r.bodies[i].world)
		}
		for _, l := range r.links { // Datagrams enter the line now.
			if err := l.Poll(); err != nil {
				r.fault = err
			}
		}
	}
}

func (r *linesRun) playLines() error {
	seconds := linesSeconds
	if len(r.linesCase.rates) > 1 {
		seconds = linesStep
	}
	for i, rate := range r.linesCase.rates {
		if i > 0 {
			r.line.SetRate(r.virtualTime(), rate<<10)
		}
		for range seconds * linesHz {
			r.stepLines()
		}
		r.capacity += float64(rate<<10) * float64(seconds)
	}
	for _, c := range r.clients {
		if c.State() != netcode.Connected {
			return fmt.Errorf("a client is %v: %w", c.State(), c.Err())
		}
	}
	return r.fault
}

// reportLines prints what the line saw from the first packet on. Beside TCP the shares count, which fill the queue together.
func (r *linesRun) reportLines(o options) {
	goodput, p95 := float64(r.bytes)/r.capacity, r.waits.quantile(0.95)
	overflow := float64(r.lost) / float64(max(r.kept+r.lost, 1))
	stats, _ := r.server.ClientStats(r.clients[0].ID())
	params := map[string]any{
		"kib_s": r.linesCase.rates, "clients": r.linesCase.clients, "loss": r.linesCase.loss, "queue_p95_ms": p95, "overflow": short(overflow), "hz": linesHz,
		"reason": stats.Line.Reason.String(), "rate": stats.Line.Rate,
	}
	line := result{Scenario: "lines", Unit: "of line", Value: goodput, Params: params}
	if r.tcp != nil {
		share := float64(r.tcp.delivered) / r.capacity
		params["tcp"], params["tcp_share"] = r.linesCase.tcp, short(share)
		o.report(line.atLeast(linesShare, share >= linesShare))
		return
	}
	o.report(line.atLeast(linesGoodput*(1-r.linesCase.loss), float64(p95) <= linesWait && overflow <= linesOverflow))
}

// atLeast demands that the value is at least target and that everything else that the scenario demands held.
func (r result) atLeast(target float64, held bool) result {
	ok := held && r.Value >= target
	r.Target, r.OK = &target, &ok
	return r
}
