package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/arche-netcode/netcode"
)

const (
	// callTime bounds one call of the Lifecycle.
	callTime = 3 * time.Second
	// closeTime bounds the frames in which clients are told of the end.
	closeTime = 5 * time.Second
	// firstPause and lastPause bound the pause after a failed call; each is twice as long as the one before.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// movers is the number of destinations that are asked for at the same time.
	movers = 4
)

// news has what the loop tells the goroutine that calls the Lifecycle.
type news struct {
	tick atomic.Uint64
	wake chan struct{}

	mu      sync.Mutex // Guards the rest.
	status  Status
	version uint64
	ready   uint64
}

func (n *news) put(s Status, ready uint64) {
	n.mu.Lock()
	n.status, n.ready = s, ready
	n.version++
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *news) get() (s Status, version, ready uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.status, n.version, n.ready
}

// moveAsk asks for the destination of a player.
type moveAsk struct {
	client netcode.ClientID
	user   string
	match  Match
}

// moveFound is the answer to a moveAsk.
type moveFound struct {
	client netcode.ClientID
	user   string
	token  []byte
	err    error
}

// Run runs the loop until the server has drained: after SIGTERM or Ctrl-C, the end of ctx, an Event, or the last match with Config.Single.
// A second signal ends a drain at once. Then it stores the checkpoint, tells the clients that are left, and calls Shutdown. It returns nil
// after a drain, ErrLost after an Event of that kind, and the errors of the checkpoint and of telling the clients.
func (m *Member) Run(ctx context.Context) error {
	loop, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	m.end = end
	calls, stopCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer stopCalls()
	var background sync.WaitGroup
	background.Go(func() { m.listen(calls, ctx.Done()) })
	background.Go(func() { m.call(calls) })
	for range movers {
		background.Go(func() { m.findDestinations(calls) })
	}
	m.runner.Loop(loop)
	stopCalls() // Calls in flight end; those of the end have a time of their own.
	background.Wait()
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if m.lost != nil {
		cancel() // No further frame: another server may have the matches.
		_ = m.runner.Close(over)
		return m.lost
	}
	err := errors.Join(m.saveError, m.store(), m.runner.Close(over))
	bye, cancelBye := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancelBye()
	if failed := m.lifecycle.Shutdown(bye); failed != nil {
		m.counters.failed.Add(1)
		m.config.Logger.Warn("fleet: Shutdown failed", "error", failed)
	}
	return err
}

// store stores the checkpoint.
func (m *Member) store() error {
	if m.saved == nil {
		return nil
	}
	if err := m.config.Checkpoint(m.matches.list(), m.saved); err != nil {
		return fmt.Errorf("fleet: the checkpoint: %w", err)
	}
	return nil
}

// listen passes signals, the end of Run's context and the events of the Lifecycle to the loop.
func (m *Member) listen(ctx context.Context, asked <-chan struct{}) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	events, drains := m.lifecycle.Events(), 0
	put := func(e Event) {
		select {
		case m.events <- e:
		case <-ctx.Done():
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-signals:
			put(Event{Kind: Drain, Err: fmt.Errorf("%v", s)})
			if drains++; drains > 1 {
				put(Event{Kind: cutDrain})
			}
		case <-asked:
			asked = nil
			put(Event{Kind: Drain, Err: ctx.Err()})
		case e, more := <-events:
			if !more {
				events = nil
				continue
			}
			put(e)
		}
	}
}

// findDestinations asks the Lifecycle for the destinations of players. After an error it waits before the player may be asked for again.
func (m *Member) findDestinations(ctx context.Context) {
	d, ok := m.lifecycle.(Destinations)
	if !ok {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case ask := <-m.moves:
			limited, cancel := context.WithTimeout(ctx, callTime)
			token, err := d.Destination(limited, ask.user, ask.match)
			cancel()
			if err != nil {
				sleep(ctx, firstPause*5)
			}
			select {
			case m.found <- moveFound{ask.client, ask.user, token, err}:
			case <-ctx.Done():
			}
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// caller calls the Lifecycle, one call after the other, and repeats those that failed.
type caller struct {
	*Member
	ready, version uint64 // Of the news that the Lifecycle has.
	tick           uint64 // At the last Health.
	health         time.Time
	pause          time.Duration // After the last call that failed; 0: it did not.
	schema         []byte        // Of a Schemas that does not have it yet.
}

func (c *caller) sendSchema(ctx context.Context) error {
	return c.lifecycle.(Schemas).Schema(ctx, c.schema)
}

func (m *Member) call(ctx context.Context) {
	c := &caller{Member: m, health: time.Now()}
	if _, ok := m.lifecycle.(Schemas); ok {
		var b bytes.Buffer
		if err := m.server.Protocol().WriteSchema(&b); err == nil { // A buffer never fails.
			c.schema = b.Bytes()
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		wait := c.due(ctx)
		timer.Reset(wait)
		wake := m.news.wake
		if c.pause > 0 {
			wake = nil // The pause holds for news too.
		}
		select {
		case <-timer.C:
		case <-wake:
		case <-ctx.Done():
		}
	}
}

// due makes the calls that are due. It returns the time until the next one.
func (c *caller) due(ctx context.Context) time.Duration {
	status, version, ready := c.news.get()
	if ready == 0 {
		return c.config.Health // Before the first frame: news wake it.
	}
	failed := false
	if now := time.Now(); !now.Before(c.health) {
		if tick := c.news.tick.Load(); tick == c.tick {
			c.counters.stalled.Add(1)
		} else if c.try(ctx, "Health", c.lifecycle.Health) {
			c.tick = tick
		} else {
			failed = true
		}
		c.health = now.Add(c.config.Health)
	}
	if c.version != version {
		if c.try(ctx, "Report", func(ctx context.Context) error { return c.lifecycle.Report(ctx, status) }) {
			c.version = version
		} else {
			failed = true
		}
	}
	if c.schema != nil && !failed {
		if c.try(ctx, "Schema", c.sendSchema) {
			c.schema = nil
		} else {
			failed = true
		}
	}
	if c.ready != ready && c.schema == nil && !status.Draining {
		if c.try(ctx, "Ready", c.lifecycle.Ready) {
			c.ready = ready
		} else {
			failed = true
		}
	}
	untilHealth := max(time.Until(c.health), time.Millisecond)
	if !failed {
		c.pause = 0
		return untilHealth
	}
	c.pause = min(max(2*c.pause, firstPause), lastPause)
	return min(c.pause, untilHealth)
}

// try makes one call and counts its result.
func (c *caller) try(ctx context.Context, name string, call func(context.Context) error) bool {
	limited, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := call(limited)
	switch {
	case err == nil:
		c.counters.answered.Add(1)
		return true
	case ctx.Err() != nil:
		return false // The server ends.
	}
	c.counters.failed.Add(1)
	if c.pause == 0 {
		c.config.Logger.Warn("fleet: a call failed and is repeated", "call", name, "error", err)
	}
	return false
}
