package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// Options are those of one run. The zero value of each but Servers and Bots has a default.
type Options struct {
	Servers []netcode.Addr // Bots are dealt out to them. One server takes at most netcode.MaxClients.
	Bots    int            // At most; in this process.
	First   int            // Number of the first bot: each process has its own.
	Ramp    float64        // Bots that join in a second; default 50.
	For     time.Duration  // How long they play when all have joined; default 10 s.
	Link    transport.Link // The bad link, in each direction.
	Bad     float64        // Share of the bots behind it, 0 to 1.
	Seed    uint64         // Of the bots' random numbers and links.
	Rate    int            // Frames of a bot in a second; default 60.

	// Ticks asks for the time of the server's ticks of late; nil: they are not known.
	Ticks func() (TickTimes, error)
	// Bound ends the run when the 99th percentile of the server's ticks is above it for three seconds, or the first bot fails:
	// then Report.Holds has an answer. 0: none. It needs Ticks.
	Bound time.Duration
	// ByWork bounds the processor time of a tick in place of the 99th percentile: waits for a processor do not count.
	ByWork bool
	// Each is called each second with what was measured in it; nil: nobody listens.
	Each func(s *Sample)
}

// withDefaults fills in what is zero, and says what is wrong.
func (o Options) withDefaults() (Options, error) {
	if o.Ramp == 0 {
		o.Ramp = 50
	}
	if o.For == 0 {
		o.For = 10 * time.Second
	}
	if o.Rate == 0 {
		o.Rate = 60
	}
	switch {
	case len(o.Servers) == 0:
		return o, errors.New("load: Options.Servers is empty: give the address of a server")
	case o.Bots < 1:
		return o, fmt.Errorf("load: Options.Bots is %d: give 1 or more", o.Bots)
	case !(o.Ramp > 0) || o.For < 0 || o.Rate < 1 || o.Rate > 1000 || !(o.Bad >= 0 && o.Bad <= 1):
		return o, errors.New("load: Options: Ramp is above 0, For is not below 0, Rate is 1 to 1000 and Bad is 0 to 1")
	case o.Bound > 0 && o.Ticks == nil:
		return o, errors.New("load: Options.Bound is of the server's ticks: give Ticks, that tells of them")
	}
	return o, nil
}

// slots is the number of parts of a frame. A worker runs a part of its bots in each, so that their packets do not all come at once.
const slots = 8

// Run lets bots play until all have joined and played for Options.For, until the bound is exceeded, or until ctx ends, and
// reports. The error says what is wrong with the options, or that a bot could not be made.
func Run(ctx context.Context, game Game, options Options) (*Report, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	if game.Protocol == nil {
		return nil, errors.New("load: Game.Protocol is nil: give the game's protocol")
	}
	game.Protocol.Schema() // Freezes it before several goroutines use it.
	c := &crowd{game: game, o: o, now: systems.WallClock(), report: &Report{Asked: o.Bots, Bound: o.Bound, ByWork: o.ByWork}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), o.Bots) {
		w := &worker{now: c.now, rate: o.Rate, sample: Sample{}}
		c.workers = append(c.workers, w)
		running.Go(func() { w.run(ctx) })
	}
	err = c.conduct(ctx)
	stop()
	running.Wait()
	for _, w := range c.workers {
		w.close()
	}
	return c.report, err
}

// crowd is all bots of a process.
type crowd struct {
	game    Game
	o       Options
	now     func() time.Duration
	workers []*worker
	made    int
	report  *Report
}

// conduct lets bots join, and takes a sample each second.
func (c *crowd) conduct(ctx context.Context) error {
	const pause = 5 * time.Millisecond
	begun, second := c.now(), 1
	full := time.Duration(0) // When the last one joined.
	for ctx.Err() == nil {
		at := c.now() - begun
		for due := int(min(at.Seconds()*c.o.Ramp, float64(c.o.Bots))) + 1; c.made < min(due, c.o.Bots); {
			b, err := newBot(&c.game, &c.o, c.o.First+c.made, c.now)
			if err != nil {
				return err
			}
			c.workers[c.made%len(c.workers)].take(b)
			if c.made++; c.made == c.o.Bots {
				full = at
			}
		}
		if c.made == c.o.Bots {
			at = min(at, full+c.o.For) // A second after the end is none of the run, however late it is noticed.
		}
		if at >= time.Duration(second)*time.Second {
			if second++; c.sample(at) {
				return nil
			}
		}
		if c.made == c.o.Bots && at-full >= c.o.For {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// sample collects what was measured in a second, and tells whether the run is over.
func (c *crowd) sample(at time.Duration) (over bool) {
	s := &Sample{At: at, Asked: c.made, Ramping: c.made < c.o.Bots}
	for _, w := range c.workers {
		w.collect(s)
	}
	if c.o.Ticks != nil {
		if t, err := c.o.Ticks(); err == nil {
			s.Ticks = t
		} else {
			s.TicksFault = err.Error()
		}
	}
	if c.o.Each != nil {
		c.o.Each(s)
	}
	return c.report.add(s)
}

// worker runs some of the bots, in a goroutine of its own.
type worker struct {
	now  func() time.Duration
	rate int

	mu     sync.Mutex // Guards what follows: a slot holds it.
	bots   []*Bot
	sample Sample
}

// take adds a bot.
func (w *worker) take(b *Bot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.latency = &w.sample.State
	w.bots = append(w.bots, b)
}

// run runs frames until ctx ends.
func (w *worker) run(ctx context.Context) {
	length := time.Second / time.Duration(w.rate*slots)
	due, timer := w.now(), time.NewTimer(0)
	defer timer.Stop()
	for slot := 0; ; slot = (slot + 1) % slots {
		timer.Reset(max(due-w.now(), 0))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		late := w.now() - due
		w.slot(slot, late)
		if due += length; late > time.Second/time.Duration(w.rate) {
			due = w.now() // Missed frames are not made up for.
		}
	}
}

// slot runs the bots of a part of the frame.
func (w *worker) slot(slot int, late time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, b := range w.bots {
		if i%slots != slot {
			if b.line != nil {
				_ = b.line.flush() // The link keeps its time between two frames; a fault comes again with the next Send.
			}
			continue
		}
		if !b.told {
			w.sample.Late.Add(late)
			b.step()
		}
		if b.ended != nil && !b.told {
			b.told = true
			w.sample.fail(fmt.Sprintf("bot %d: %v", b.Number, b.ended), w.now())
		}
	}
}

// collect adds what was measured since the last call to a sample.
func (w *worker) collect(to *Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.bots {
		up, down := b.moved()
		w.sample.Up += up
		w.sample.Down += down
		if b.Client.State() == netcode.Connected {
			w.sample.Connected++
			if rtt, _ := b.Client.RTT(); rtt > 0 {
				w.sample.RTT.Add(rtt)
			}
		}
	}
	to.merge(&w.sample)
	w.sample = Sample{}
}

// close ends all connections.
func (w *worker) close() {
	for _, b := range w.bots {
		b.Client.Close()
	}
	for range 3 { // Each frame says goodbye once more.
		for _, b := range w.bots {
			b.step()
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, b := range w.bots {
		b.finish()
	}
}
