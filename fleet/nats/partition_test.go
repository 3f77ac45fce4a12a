package nats_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/fleet/nats"
	"github.com/arche-netcode/netcode/systems"
	"github.com/stretchr/testify/require"
)

// line is a TCP line that can be cut: nothing passes, and nobody is told.
type line struct {
	to string

	mu    sync.Mutex
	cond  *sync.Cond
	cut   bool
	conns []net.Conn
}

// lineTo returns a line, and the URL at its near end.
func lineTo(t *testing.T, url string) (l *line, near string) {
	t.Helper()
	l = &line{to: strings.TrimPrefix(url, "nats://")}
	l.cond = sync.NewCond(&l.mu)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = listener.Close()
		l.set(false)
	})
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.serve(c)
		}
	}()
	return l, "nats://" + listener.Addr().String()
}

func (l *line) serve(near net.Conn) {
	l.wait()
	far, err := net.Dial("tcp", l.to)
	if err != nil {
		_ = near.Close()
		return
	}
	l.mu.Lock()
	l.conns = append(l.conns, near, far)
	l.mu.Unlock()
	go l.copy(near, far)
	l.copy(far, near)
}

func (l *line) copy(to, from net.Conn) {
	defer func() {
		_ = to.Close()
		_ = from.Close()
	}()
	b := make([]byte, 16<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		l.wait()
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

func (l *line) wait() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.cut {
		l.cond.Wait()
	}
}

// set cuts the line, or mends it: then old connections end.
func (l *line) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if !cut {
		for _, c := range l.conns {
			_ = c.Close()
		}
		l.conns = nil
	}
	l.cond.Broadcast()
}

// step runs frames until a condition holds.
func (h *hall) step(t *testing.T, what string, f func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		h.loop.Step()
		return f()
	})
}

// A process that is cut off stops to simulate, and nobody else begins before that. When the line is back and nobody has taken its match, play goes on
// where it was.
func TestWhoHasNoLeaseStopsSimulating(t *testing.T) {
	t.Parallel()
	here := start(t, nats.Config{Server: "here", Lease: time.Second, Embed: nats.Embed{Listen: "127.0.0.1:0"}})
	l, url := lineTo(t, here.NATS())
	there := start(t, nats.Config{Server: "there", Lease: time.Second, URL: url})
	h, err := open(t.Context(), there, systems.Offline{}, nats.MatchConfig{ID: "m"}, nil)
	require.NoError(t, err)
	h.step(t, "it simulates", func() bool { return h.ticks > 10 })
	fence := there.Fence()
	l.set(true)
	h.step(t, "it stops", h.match.Hold)
	ticks := h.ticks
	eventually(t, "its lease is buried", func() bool { return here.Stats().Buried > 0 })
	for range 50 {
		h.loop.Step()
		time.Sleep(time.Millisecond)
	}
	require.Equal(t, ticks, h.ticks, "not a tick without a lease")
	require.Positive(t, there.Stats().Held)
	require.Zero(t, there.Fence())
	l.set(false)
	h.step(t, "it goes on", func() bool { return h.ticks > ticks+10 })
	require.Greater(t, there.Fence(), fence, "under a new lease")
	require.Zero(t, there.Stats().Lost)
	eventually(t, "the directory has it under that", func() bool {
		m, ok := here.Match("m")
		return ok && m.Server == "there"
	})
}

// When another process has taken the match meanwhile, the one that was cut off never simulates it again, and is told so.
func TestAMatchIsNeverSimulatedTwice(t *testing.T) {
	t.Parallel()
	var h *hall
	var wrong atomic.Bool
	orphans := make(chan *nats.Orphan, 1)
	here := start(t, nats.Config{Server: "here", Lease: time.Second, Embed: nats.Embed{Listen: "127.0.0.1:0"}, Orphan: func(o *nats.Orphan) {
		wrong.Store(!h.match.Hold())
		orphans <- o
	}})
	l, url := lineTo(t, here.NATS())
	there := start(t, nats.Config{Server: "there", Lease: time.Second, URL: url})
	lost := 0
	h, err := open(t.Context(), there, systems.Offline{}, nats.MatchConfig{ID: "m", Checkpoint: 100 * time.Millisecond, Lost: func() { lost++ }}, nil)
	require.NoError(t, err)
	_, err = here.Open(t.Context(), nats.MatchConfig{ID: "m", Group: h.group})
	require.ErrorIs(t, err, nats.ErrRunning)
	h.step(t, "it simulates, and is saved", func() bool {
		m, _ := here.Match("m")
		return m.Saved > 10
	})
	l.set(true)
	var o *nats.Orphan
	h.step(t, "another process takes it", func() bool {
		select {
		case o = <-orphans:
			return true
		default:
			return false
		}
	})
	require.False(t, wrong.Load(), "before the former has stopped")
	ticks := h.ticks
	second, err := open(t.Context(), here, systems.Offline{}, nats.MatchConfig{}, o)
	require.NoError(t, err)
	second.step(t, "it goes on from the checkpoint", func() bool { return second.ticks > 10 })
	require.Greater(t, second.server.Tick(), second.server.Config().FirstTick)
	l.set(false)
	h.step(t, "the former is told", func() bool { return lost > 0 })
	require.EqualValues(t, 1, there.Stats().Lost)
	for range 20 {
		h.loop.Step()
	}
	require.Equal(t, 1, lost)
	require.Equal(t, ticks, h.ticks)
	require.NoError(t, h.match.End(t.Context()), "which takes nothing away")
	m, ok := here.Match("m")
	require.True(t, ok)
	require.Equal(t, "here", m.Server)
	require.NoError(t, second.match.End(t.Context()))
	eventually(t, "it is over", func() bool { _, ok := here.Match("m"); return !ok })
}

// A connection whose other end reads nothing stops no loop: what is too much is refused and counted.
func TestPublishNeverBlocks(t *testing.T) {
	t.Parallel()
	messages := func() *nats.Messages {
		p := nats.NewMessages()
		nats.Handle[Shout](p, nil, 0)
		nats.Handle[blob](p, nil, 0)
		return p
	}
	here := start(t, nats.Config{Server: "here", Embed: nats.Embed{Listen: "127.0.0.1:0"}})
	l, url := lineTo(t, here.NATS())
	there := start(t, nats.Config{Server: "there", URL: url, Messages: messages()})
	l.set(true)
	big := &blob{make([]byte, 50_000)}
	var err error
	for range 100_000 {
		if err = nats.Publish(there, nats.ToAll(), big); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, nats.ErrFull)
	require.Positive(t, there.Stats().Unsent)
	l.set(false)
}

// Two processes with one name: the second one does not get it. One that is started again after a crash does.
// A process that finds no NATS, or may not come in, says why while it waits and when it gives up.
func TestAnUnreachableNATSIsTold(t *testing.T) {
	t.Parallel()
	guarded := start(t, nats.Config{Server: "guarded", Secret: "0123456789abcdef", Embed: nats.Embed{Listen: "127.0.0.1:0"}})
	for url, why := range map[string]string{"nats://127.0.0.1:1": "refused", guarded.NATS(): "Authorization"} {
		ctx, stop := context.WithCancel(t.Context())
		told := make(chan error, 64)
		_, err := nats.Start(ctx, nats.Config{Server: "stranger", URL: url, OnError: func(err error) {
			select {
			case told <- err:
			default:
			}
			stop()
		}})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, why)
		require.ErrorContains(t, <-told, why)
	}
}

func TestANameIsOneProcess(t *testing.T) {
	t.Parallel()
	here := start(t, nats.Config{Server: "here", Lease: time.Second, Embed: nats.Embed{Listen: "127.0.0.1:0"}})
	l, url := lineTo(t, here.NATS())
	start(t, nats.Config{Server: "twin", Lease: time.Second, URL: url})
	_, err := nats.Start(t.Context(), nats.Config{Server: "twin", Lease: time.Second, URL: here.NATS()})
	require.ErrorIs(t, err, nats.ErrName)
	l.set(true)
	second := start(t, nats.Config{Server: "twin", Lease: time.Second, URL: here.NATS()})
	require.NotZero(t, second.Fence())
	l.set(false)
}
