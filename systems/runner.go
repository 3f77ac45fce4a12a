package systems

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// frameCatchUp bounds the frames that the loop repeats after a stall.
	frameCatchUp = 4
	// flushTime bounds the time in which Run tells the other ends of the close.
	flushTime = 5 * time.Second
	// callsPerFrame bounds the functions of Do that are called before a frame.
	callsPerFrame = 256
)

// Runner is a small game loop: it runs a group's systems over one world at a fixed frame rate. After a stall it runs up
// to frameCatchUp frames and skips the rest. The loop of a client follows Client.Pace: it runs a little faster or slower
// than its rate, so that the ticks of Client.Time are evenly spread over its frames.
type Runner struct {
	World *netecs.World // The world of the systems.
	Group Group         // The source of the systems.

	rate    int
	systems []System
	begun   bool
	ended   bool
	calls   chan func()   // The functions of Do.
	over    chan struct{} // Closed after the last frame.
}

// NewRunner makes a loop of rate frames per second. The network tick rate is separate and usually lower. Add the game's
// systems to the group before. For a program without a world, of messages alone, w is nil: the loop makes an empty world.
// NewRunner panics on a nil group and on a rate below 1.
func NewRunner(w *netecs.World, group Group, rate int) *Runner {
	mustBeThere(there(group), "NewRunner", "the group")
	if rate < 1 {
		panic(fmt.Sprintf("systems: NewRunner: %d frames a second: a loop has 1 or more, 60 for instance", rate))
	}
	if w == nil {
		w = world.New()
	}
	return &Runner{World: w, Group: group, rate: rate, calls: make(chan func()), over: make(chan struct{})}
}

// Do makes the loop call f between two frames, and waits for the call. Other goroutines thus use worlds and ends that
// only the loop may use. It returns false if the loop has ended without the call. Do not call it from the loop itself. It
// panics on nil.
func (r *Runner) Do(f func()) bool {
	mustBeGiven(f != nil, "Do")
	done := make(chan struct{})
	select {
	case r.calls <- func() { defer close(done); f() }:
		<-done
		return true
	case <-r.over:
		return false
	}
}

// doCalls calls the waiting functions of Do, at most callsPerFrame: a function may lead to another Do.
func (r *Runner) doCalls() {
	for range callsPerFrame {
		select {
		case f := <-r.calls:
			f()
		default:
			return
		}
	}
}

// Step runs one frame without waiting. Tests and games with a loop of their own call it.
func (r *Runner) Step() {
	r.begin()
	r.doCalls()
	for _, s := range r.systems {
		s.Update(r.World)
	}
}

// Run runs frames until ctx is done. Then it closes: it tells the other ends and finalises the systems. It returns nil
// unless they could not be told within five seconds. With Interrupt as its context, Ctrl-C is a clean end.
func (r *Runner) Run(ctx context.Context) error {
	r.Loop(ctx)
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	return r.Close(flush)
}

// Loop runs frames until ctx is done, and leaves all connections open: Close follows. Most games call Run, which does both.
func (r *Runner) Loop(ctx context.Context) { r.loop(ctx, func() bool { return false }) }

// Close ends the group's connections. It runs frames until the other ends were told or ctx is done, and finalises the
// systems. It returns ctx's error if ctx was done first. A second call does nothing.
func (r *Runner) Close(ctx context.Context) error {
	if r.ended {
		return nil
	}
	r.Group.Close()
	told := r.loop(ctx, r.Group.Closed)
	r.ended = true
	close(r.over)
	for _, s := range r.systems {
		s.Finalize(r.World)
	}
	if told {
		return nil
	}
	return ctx.Err()
}

// begin initialises the systems before the first frame.
func (r *Runner) begin() {
	if r.begun {
		return
	}
	r.begun = true
	r.systems = r.Group.Systems()
	for _, s := range r.systems {
		s.Initialize(r.World)
	}
}

// loop runs frames at the frame rate until enough returns true. It returns false if ctx is done first.
func (r *Runner) loop(ctx context.Context, enough func() bool) bool {
	r.begin()
	now := WallClock() // Starts at about 0, the zero of the clock's frames.
	clock := tick.NewClock(r.rate, frameCatchUp)
	paced := pacer{group: r.Group}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		for range clock.Advance(paced.advance(now())) {
			r.Step()
			if enough() {
				return true
			}
		}
		timer.Reset(paced.real(r.untilNext(paced.advance(now()))))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return false
}

// Paced is a Group that sets the speed of its loop relative to its rate.
type Paced interface {
	// Pace returns the present speed as num/den, both above 0. It is called several times between two frames.
	Pace() (num, den int64)
}

// pacer converts real time to the loop's time, which counts frames.
type pacer struct {
	group Group
	last  time.Duration
	game  time.Duration
}

// advance returns the loop's time at a moment. Moments never decrease.
func (p *pacer) advance(now time.Duration) time.Duration {
	gone := now - p.last
	p.last = now
	if paced, ok := p.group.(Paced); ok && gone < time.Minute {
		num, den := paced.Pace()
		gone = gone * time.Duration(num) / time.Duration(den)
	}
	p.game += gone
	return p.game
}

// real returns the real duration of a duration of the loop's time, at least a microsecond.
func (p *pacer) real(d time.Duration) time.Duration {
	if paced, ok := p.group.(Paced); ok {
		num, den := paced.Pace()
		d = d * time.Duration(den) / time.Duration(num)
	}
	return max(d, time.Microsecond) // Less would be lost in rounding.
}

// untilNext returns the time from now to the next frame.
func (r *Runner) untilNext(now time.Duration) time.Duration {
	rate := time.Duration(r.rate)
	frames := now * rate / time.Second
	return (frames+1)*time.Second/rate - now
}

// Interrupt returns a context that is done on Ctrl-C or SIGTERM. Call stop when it is no longer needed.
func Interrupt(parent context.Context) (ctx context.Context, stop context.CancelFunc) {
	return signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
}

// WallClock returns a clock that counts from now, for NewServer and NewClient.
func WallClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
