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

// Options configures a run. Servers and Bots are required; other zero fields mean the defaults.
type Options struct {
	Servers []transport.Addr // Bots are distributed evenly. A server accepts at most wire.MaxClients.
	Bots    int              // Number of bots in this process.
	First   int              // Number of the first bot, different in each process.
	Ramp    float64          // Bots that join per second; default 50.
	For     time.Duration    // Time from the join of the last bot to the end; default 10 s.
	Link    transport.Link   // The bad link, for each direction.
	Bad     float64          // Share of the bots with the bad link, 0 to 1.
	Seed    uint64           // Seed of the bots' random numbers and links.
	Rate    int              // Frames per second of a bot; default 60.

	// Ticks returns the duration of the server's recent ticks; nil: unknown.
	Ticks func() (TickTimes, error)
	// Bound limits the 99th percentile of the server's ticks. The run ends when it is exceeded for three seconds, or when a bot
	// fails, and Report.Holds then has the number of bots. 0: no limit. Bound requires Ticks.
	Bound time.Duration
	// ByWork makes Bound limit the processor time of a tick instead of the 99th percentile. Waiting for a processor then does not
	// count.
	ByWork bool
	// Each is called every second with the sample of that second; may be nil.
	Each func(s *Sample)
}

// withDefaults sets zero fields to their defaults. It returns an error for an invalid field.
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

// slots is the number of parts of a frame. In each part a worker runs some of its bots, so that their packets are spread over the
// frame.
const slots = 8

// Run runs bots until all have joined and played for Options.For, the bound is exceeded, or ctx ends. The error is an invalid
// option, or that a bot could not be made.
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

// conduct lets bots join and takes a sample every second.
func (c *crowd) conduct(ctx context.Context) error {
	const pause = 5 * time.Millisecond
	begun, second := c.now(), 1
	full := time.Duration(0) // Time at which the last bot joined.
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
			at = min(at, full+c.o.For) // Exclude time after the end, however late the end is noticed.
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

// sample collects the measurements of a second. It reports whether the run is over.
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

// worker runs some of the bots in its own goroutine.
type worker struct {
	now  func() time.Duration
	rate int

	mu     sync.Mutex // Guards the fields below; a slot locks it.
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
			due = w.now() // Missed frames are skipped.
		}
	}
}

// slot runs the bots of one part of the frame.
func (w *worker) slot(slot int, late time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, b := range w.bots {
		if i%slots != slot {
			if b.line != nil {
				_ = b.line.flush() // Keeps the link's timing between two frames. The next Send returns an error again.
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

// collect adds the measurements since its last call to a sample.
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
	for range 3 { // Each frame sends the close message again.
		for _, b := range w.bots {
			b.step()
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, b := range w.bots {
		b.finish()
	}
}
