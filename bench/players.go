package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/internal/usage"
	ecs "github.com/arche-netcode/netcode/internal/world"
	bots "github.com/arche-netcode/netcode/load"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
	"github.com/arche-netcode/netcode/wire"
)

const (
	serveCommand = "serve" // as first argument: the scene as a server in real time
	botsCommand  = "bots"  // as first argument: its bots, with the flags of package load
	// playersTicks is the number of ticks of a measurement. A third more come before them.
	playersTicks = 3 * tickHz
	// playersRamp is the number of seconds in which as many bots join as are predicted: each second is one step of the answer.
	playersRamp = 25
	// playersOff is by how much the bots' answer may differ from the prediction.
	playersOff = 0.1
)

// findPlayers predicts how many clients a server holds within a processor time of o.bound for a tick, and lets bots find out. The
// prediction is a line, fixed + each * clients, through the cost of two numbers of clients in lockstep with the server, measured before the bots
// play and once more afterwards, since machines change their speed. Bots play in real time. Both count the processor time of the server's
// process, which has no client in it.
func findPlayers(o options) error {
	c := combination{entities: cmp.Or(o.entities, clientsEntities), clients: cmp.Or(o.clients, 80), moving: cmp.Or(o.moving, clientsMoving)}
	model := &tickCost{}
	if err := model.price(c); err != nil {
		return err
	}
	guess := model.clients(o.bound)
	if !(guess >= 1 && guess <= wire.MaxClients) {
		return usage.Errorf("-bound %v: a tick takes %.0f µs and %.2f µs more for each client, which is no bound of 1 to %d clients", o.bound, model.fixed()/1e3, model.each()/1e3, wire.MaxClients)
	}
	found, err := letBotsFind(c, o.bound, guess)
	if err != nil {
		return err
	}
	if err := model.price(c); err != nil {
		return err
	}
	predicted := model.clients(o.bound)
	steady, _ := found.Steady()
	o.report(result{
		Scenario: "capacity.players", Value: float64(found.Holds), Unit: "clients",
		Params: map[string]any{
			"entities": c.entities, "moving": c.moving, "bound_ms": float64(o.bound) / 1e6, "fixed_us": model.fixed() / 1e3, "each_us": model.each() / 1e3,
			"predicted_before": guess, "bots_late_p99_ms": float64(steady.Late.At(0.99)) / 1e6, "anchor": "predicted from the cost of a tick", "full": found.Full,
		},
	}.against(predicted).ratioTarget(1+playersOff, found.Full && found.Failed == 0 && float64(found.Holds) >= (1-playersOff)*predicted))
	return nil
}

// tickCost has the costs of ticks with some numbers of clients.
type tickCost struct{ at, ns []float64 }

// price adds the costs with c.clients, and with half of them.
func (t *tickCost) price(c combination) error {
	for _, c.clients = range []int{max(c.clients/2, 1), max(c.clients, 2)} {
		ns, err := costOfTick(c, playersTicks)
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		t.at, t.ns = append(t.at, float64(c.clients)), append(t.ns, ns)
	}
	return nil
}

func (t *tickCost) each() float64  { return slope(t.at, t.ns) }
func (t *tickCost) fixed() float64 { return mean(t.ns) - t.each()*mean(t.at) }

// clients is the number of clients with whom a tick costs as much as a bound.
func (t *tickCost) clients(bound time.Duration) float64 {
	return (float64(bound) - t.fixed()) / t.each()
}

// costOfTick is the processor time of the server's process for a tick with so many clients, in ns: all of a tick, with what its
// sockets read while the clients answer.
func costOfTick(c combination, ticks int) (ns float64, err error) {
	r, err := newTickRun(c, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.connect(); err != nil {
		return 0, err
	}
	pace := time.NewTicker(time.Second / tickHz)
	defer pace.Stop()
	for n := range ticks/3 + ticks {
		<-pace.C // An idle processor takes longer to begin.
		if n == ticks/3 {
			ns = cpuTime()
		}
		r.step()
		r.receive()
		r.captureAndSend()
		if _, err := r.settle(); err != nil {
			return 0, err
		}
	}
	ns = (cpuTime() - ns) / float64(ticks)
	if err := r.compare(); err != nil {
		return 0, err
	}
	if r.wrong > 0 {
		return 0, fmt.Errorf("%d worlds are not the server's", r.wrong)
	}
	return ns, nil
}

// letBotsFind runs the scene's server in a process of its own, and bots in this one until its ticks exceed the bound.
func letBotsFind(c combination, bound time.Duration, predicted float64) (report *bots.Report, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	server := exec.Command(self, serveCommand, "-addr", "127.0.0.1:0", "-inspect", "127.0.0.1:0", "-e", fmt.Sprint(c.entities), "-frac", fmt.Sprint(c.moving))
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close(), server.Wait()) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	address, page, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		return nil, errors.Join(errors.New("the server did not start"), err)
	}
	to, err := transport.ParseAddr(address)
	if err != nil {
		return nil, err
	}
	return bots.Run(context.Background(), bodyBots(), bots.Options{
		Servers: []transport.Addr{to}, Bots: min(int(2*predicted)+1, wire.MaxClients), Ramp: max(predicted/playersRamp, 1), Rate: tickHz,
		Ticks: bots.InspectorTicks(page), Bound: bound, ByWork: true,
		Each: func(s *bots.Sample) {
			fmt.Fprintf(os.Stderr, "capacity: %d bots, %.3f ms\n", s.Connected, float64(s.Ticks.Processor)/1e6)
		},
	})
}

// bodyBots is the scene as bots play it: they receive, apply and acknowledge, as the clients of the scenario tick do.
func bodyBots() bots.Game {
	return bots.Game{Protocol: bodyProtocol(false), Config: tickConfig(wire.MaxClients, realNetwork{})}
}

// runServe serves the scene in real time until its input ends or it is interrupted. It prints its address and that of its inspector.
func runServe(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet(serveCommand, flag.ContinueOnError)
	address := flags.String("addr", "127.0.0.1:9000", "serve at this `address`")
	page := flags.String("inspect", "127.0.0.1:6060", "`address` of the inspector")
	entities := flags.Int("e", clientsEntities, "entities")
	moving := flags.Float64("frac", clientsMoving, "moving part of the entities")
	if err := usage.Parse(flags, args, takes()); err != nil {
		return err
	}
	if *entities < 1 || *entities > snapshot.MaxEntities || !(*moving > 0 && *moving <= 1) {
		return usage.Errorf("-e %d -frac %v: serve wants 1 to %d entities, and a moving part above 0 to 1", *entities, *moving, snapshot.MaxEntities)
	}
	config := tickConfig(wire.MaxClients, realNetwork{})
	config.HandshakesPerAddress, config.HandshakesPerNetwork = -1, -1
	server, err := netcode.NewServer(bodyProtocol(false), config)
	if err != nil {
		return err
	}
	conn, err := udp.Listen(*address, udp.Config{Queue: 1 << 14, ReadBuffer: 8 << 20, WriteBuffer: 4 << 20})
	if err != nil {
		return err
	}
	body := newBodyWorld(*entities, false)
	subjects, orbits := body.subjects(*moving), newScene(*entities, *moving).orbits
	group := systems.NewServer(server, conn, systems.WallClock())
	group.Add(tick.Update, systems.Func(func(*ecs.World) {
		for k, e := range subjects {
			p, q, v := orbits[k].nextPose()
			body.write(e, p, q, v)
		}
	}))
	inspector := live.New(group)
	url, stop, err := inspector.Listen(*page)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	fmt.Fprintln(out, conn.LocalAddr(), url)
	ctx, cancel := systems.Interrupt(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return errors.Join(systems.NewRunner(body.world, inspector, tickHz).Run(ctx), stop())
}

func mean(samples []float64) (sum float64) {
	for _, s := range samples {
		sum += s / float64(len(samples))
	}
	return sum
}
