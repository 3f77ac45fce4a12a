package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/fleet"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

func TestMain(m *testing.M) {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // The goroutine of package signal starts outside of any bubble.
	os.Exit(m.Run())
}

// witness is a Lifecycle that notes its calls, with the time since the start in seconds.
type witness struct {
	mu     sync.Mutex
	start  time.Time
	calls  []string
	times  []time.Duration
	status fleet.Status
	fails  func(call string, since time.Duration) error
	events chan fleet.Event
}

func (w *witness) note(call string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	since := time.Since(w.start)
	w.calls, w.times = append(w.calls, call), append(w.times, since)
	if w.fails != nil {
		return w.fails(call, since)
	}
	return nil
}

func (w *witness) at(call string) (times []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, c := range w.calls {
		if c == call {
			times = append(times, w.times[i])
		}
	}
	return times
}

func (w *witness) newest() fleet.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

func (w *witness) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

func (w *witness) fail(f func(call string, since time.Duration) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fails = f
}

func (w *witness) Ready(context.Context) error    { return w.note("ready") }
func (w *witness) Health(context.Context) error   { return w.note("health") }
func (w *witness) Shutdown(context.Context) error { return w.note("shutdown") }
func (w *witness) Events() <-chan fleet.Event     { return w.events }
func (w *witness) Report(_ context.Context, s fleet.Status) error {
	w.mu.Lock()
	w.status = s
	w.mu.Unlock()
	return w.note("report")
}

func (w *witness) Schema(_ context.Context, lock []byte) error {
	if !bytes.Contains(lock, []byte("place")) {
		return errors.New("that is no schema of it")
	}
	return w.note("schema")
}

// server is a server with a loop of 60 frames, in a bubble of synctest.
type served struct {
	*fleet.Member
	frames atomic.Int64
	stall  chan struct{} // A frame waits for it while it is not nil.
	do     func(f func()) bool
}

func serve(t *testing.T, life fleet.Lifecycle, config fleet.Config) *served {
	socket, err := memory.NewNetwork().Listen(transport.MustParseAddr("127.0.0.1:1"))
	require.NoError(t, err)
	server, err := netcode.NewServer(protocol(), netcode.Config{})
	require.NoError(t, err)
	world := ecs.New()
	group := systems.NewServer(server, socket, systems.WallClock())
	s := &served{}
	group.Add(tick.Update, systems.Func(func(w *netecs.World) {
		if s.frames.Add(1) == 1 {
			build := generic.NewMap2[components.Replicated, place](w)
			build.New()
		}
		if s.stall != nil {
			<-s.stall
			s.stall = nil
		}
	}))
	loop := systems.NewRunner(world, group, 60)
	config.Logger = slog.New(slog.DiscardHandler)
	s.do, s.Member = loop.Do, fleet.Attach(loop, server, life, config)
	return s
}

// The fleet hears of a server after its first frame, of its health while ticks run, and of its end.
func TestTheFleetHearsOfAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{start: time.Now(), events: make(chan fleet.Event)}
		file := filepath.Join(t.TempDir(), "game.saved")
		s := serve(t, w, fleet.Config{Checkpoint: fleet.File(file)})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(10 * time.Second)
		require.Equal(t, 1, len(w.at("ready")))
		require.Equal(t, []string{"report", "schema", "ready"}, slices.DeleteFunc(w.all(), func(c string) bool { return c == "health" })[:3])
		healthy := len(w.at("health"))
		require.GreaterOrEqual(t, healthy, 4)

		release := make(chan struct{})
		require.True(t, s.do(func() { s.stall = release })) // The loop stands still for a minute.
		time.Sleep(time.Minute)
		stalled := len(w.at("health"))
		require.LessOrEqual(t, stalled, healthy+2)
		require.Greater(t, s.Stats().Stalled, uint64(20))
		close(release)
		time.Sleep(10 * time.Second)
		require.Greater(t, len(w.at("health")), stalled+2)

		w.events <- fleet.Event{Kind: fleet.Allocated, Match: fleet.Match{ID: "one"}}
		time.Sleep(time.Second)
		require.Equal(t, []fleet.Match{{ID: "one"}}, w.newest().Matches)
		time.Sleep(time.Minute)
		require.Empty(t, w.newest().Matches, "over")
		require.Equal(t, 2, len(w.at("ready")), "and ready for the next")
		stop()
		require.NoError(t, <-done)
		require.Equal(t, "shutdown", w.all()[len(w.all())-1])
		require.True(t, s.Draining())
		saved, err := os.ReadFile(file)
		require.NoError(t, err)
		state, err := record.ReadSaved(bytes.NewReader(saved), protocol().Schema())
		require.NoError(t, err)
		require.Equal(t, 1, state.Len())
	})
}

// Calls that fail are repeated with pauses that grow, and nothing of the loop waits for them.
func TestCallsAreRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{start: time.Now(), fails: func(call string, since time.Duration) error {
			if since < 30*time.Second && call != "health" {
				return errors.New("gone")
			}
			return nil
		}}
		s := serve(t, w, fleet.Config{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(29 * time.Second)
		require.Less(t, len(w.at("report")), 40)
		require.GreaterOrEqual(t, len(w.at("health")), 13, "health does not wait for the others")
		require.GreaterOrEqual(t, s.frames.Load(), int64(29*60-10))
		time.Sleep(8 * time.Second)
		require.Equal(t, 1, len(slices.DeleteFunc(w.at("ready"), func(d time.Duration) bool { return d < 30*time.Second })))
		w.fail(func(string, time.Duration) error { return errors.New("gone") })
		stop()
		require.NoError(t, <-done, "a fleet that is gone keeps no server from its end")
	})
}

// slow is a Lifecycle whose calls wait for their contexts.
type slow struct{ fleet.Lifecycle }

func (slow) Ready(ctx context.Context) error                  { <-ctx.Done(); return ctx.Err() }
func (slow) Health(ctx context.Context) error                 { <-ctx.Done(); return ctx.Err() }
func (slow) Report(ctx context.Context, _ fleet.Status) error { <-ctx.Done(); return ctx.Err() }
func (slow) Shutdown(ctx context.Context) error               { <-ctx.Done(); return ctx.Err() }

// A Lifecycle that never answers holds up neither the loop nor its end.
func TestASlowFleetHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow{fleet.None()}, fleet.Config{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(20 * time.Second)
		require.GreaterOrEqual(t, s.frames.Load(), int64(20*60-10))
		start := time.Now()
		stop()
		require.NoError(t, <-done)
		require.LessOrEqual(t, time.Since(start), 10*time.Second)
	})
}

// A server that lost its lease runs no further frame, saves nothing and says so.
func TestAServerWithoutItsLeaseStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &witness{start: time.Now(), events: make(chan fleet.Event)}
		s := serve(t, w, fleet.Config{Checkpoint: func([]fleet.Match, []byte) error { return errors.New("it saved") }})
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		time.Sleep(5*time.Second + 5*time.Millisecond) // Between two frames.
		partition := errors.New("no quorum")
		frames := s.frames.Load()
		w.events <- fleet.Event{Kind: fleet.Lost, Err: partition}
		err := <-done
		require.ErrorIs(t, err, fleet.ErrLost)
		require.ErrorIs(t, err, partition)
		require.Equal(t, frames+1, s.frames.Load(), "the frame in which it hears of it is the last")
		require.Empty(t, w.at("shutdown"), "its place in the fleet may be another's")
	})
}

// A checkpoint that fails is an error of Run: the program exits with it.
func TestACheckpointThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("no room")
		w := &witness{start: time.Now(), events: make(chan fleet.Event)}
		s := serve(t, w, fleet.Config{Checkpoint: func([]fleet.Match, []byte) error { return full }})
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		time.Sleep(time.Second)
		w.events <- fleet.Event{Kind: fleet.Drain}
		require.ErrorIs(t, <-done, full)
		require.Len(t, w.at("shutdown"), 1)
	})
	file := fleet.File(filepath.Join(t.TempDir(), "no such folder", "x"))
	require.Error(t, file(nil, nil))
}
