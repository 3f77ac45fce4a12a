package message

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// The maximum number of messages within the credit, in each kind of wait, costs nothing while none is due, and then one
// check each. Checks are counted, not timed.
func TestWaitingMessagesCostOnlyWhenDue(t *testing.T) {
	const many, far = 3440, 16_000
	reliable, ordered := wire.NewChannel(wire.Reliable, 0), wire.NewChannel(wire.ReliableOrdered, 0)
	here := wire.NetworkID{Index: 1, Generation: 1}
	for name, of := range map[string]func(n int) Message{
		"one tick":           func(int) Message { return Message{Channel: reliable, NotBefore: far} },
		"a tick for each":    func(n int) Message { return Message{Channel: reliable, NotBefore: tick.Tick(far - n)} },
		"behind one":         func(n int) Message { return Message{Channel: ordered, NotBefore: far * tick.Tick(max(1-n, 0))} },
		"about what is here": func(int) Message { return Message{Channel: reliable, NotBefore: far, Entity: here} },
		"in all stages": func(n int) Message {
			return Message{Channel: reliable, NotBefore: far, Stage: tick.Stage(n % tick.NumStages)}
		},
		"on all channels": func(n int) Message {
			return Message{Channel: wire.NewChannel(wire.ReliableOrdered, n%64), NotBefore: far}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Config{Exists: func(wire.NetworkID) Existence { return Exists }})
			seen := r.serials()
			sources := []*Source{NewSource(1), NewSource(2), NewSource(3)}
			for _, s := range sources {
				r.From(s, 1, time.Second)
				for n := range many {
					r.on(t, of(n), uint64(n))
				}
			}
			drain := func() {
				for stage := range tick.Stage(tick.NumStages) {
					r.Drain(stage)
				}
			}
			drain()
			*seen = nil
			before := r.checks
			for frame := range 300 {
				r.Begin(time.Duration(frame)*time.Second, tick.Tick(2+frame))
				r.From(sources[0], 1, time.Second)
				r.on(t, Message{Channel: wire.NewChannel(wire.ReliableOrdered, 63), NotBefore: far * tick.Tick(n63(name)), Stage: tick.Update}, 0)
				drain()
			}
			require.LessOrEqual(t, r.checks-before, 300, "what is not due is not looked at, whatever else comes")
			before = r.checks
			for at := tick.Tick(far - many); at <= far+1; at += 4 {
				r.Begin(time.Hour, at)
				for range tick.NumStages { // an ordered channel needs a stage per message
					drain()
				}
			}
			require.Len(t, *seen, 3*many+300)
			require.LessOrEqual(t, r.checks-before, 2*(3*many+300), "what is due is looked at, and at once again when its turn came late")
			for _, s := range sources {
				require.Empty(t, s.deferred.list)
				require.NoError(t, s.Fault())
			}
		})
	}
}

// n63 skips the channel that a case uses itself.
func n63(name string) int {
	if name == "on all channels" {
		return 1
	}
	return 0
}

// Messages that leave one by one make room for new ones: memory is bounded by the waiting messages, not by all that
// ever waited.
func TestWaitingMemoryIsBounded(t *testing.T) {
	r := newRig(t, Config{})
	r.onOrder = func(*Context, *order) {}
	source := NewSource(1)
	most := 0
	for now := tick.Tick(2); now < 3000; now++ {
		r.Begin(time.Duration(now)*time.Millisecond, now)
		r.From(source, now, time.Duration(now)*time.Millisecond)
		for n := range tick.Tick(4) {
			r.on(t, Message{Stage: tick.Update, Channel: wire.NewChannel(wire.Delivery(n), 0), NotBefore: now + 1 + now*7%10}, 1)
		}
		r.Drain(tick.Update)
		waits, _ := source.Deferred()
		most = max(most, waits)
		require.LessOrEqual(t, len(source.deferred.list), 2*waits+16)
		require.LessOrEqual(t, len(source.deferred.payloads), 16*len(source.deferred.list))
	}
	require.Less(t, most, 80)
	require.LessOrEqual(t, cap(source.deferred.payloads), 16*8*80)
}

// The same in bytes: gaps of large messages are no larger than the waiting payloads, even many small ones that wait for
// long.
func TestWaitingBytesAreBounded(t *testing.T) {
	var registry Registry
	handled := 0
	kind := registry.Add(Type{Name: "words", Codec: codec(t, "words", func(_ *Context, m *words) { handled += len(m.Of) })})
	registry.Freeze()
	in := NewInbound(Config{Registry: &registry})
	source := NewSource(1)
	reliable := wire.NewChannel(wire.Reliable, 0)
	push := func(now, before tick.Tick, size int) {
		in.Begin(time.Duration(now)*time.Millisecond, now)
		in.From(source, now, time.Duration(now)*time.Millisecond)
		_, c := TypeOf[words](&registry)
		body := make([]byte, 4+4*size)
		n, err := c.Encode(in.Scratch(), body, &words{Of: make([]uint32, size)})
		require.NoError(t, err)
		require.NoError(t, in.Push(&Message{Type: kind.ID(), Stage: tick.Update, Channel: reliable, NotBefore: before}, body[:n]))
		in.Drain(tick.Update)
	}
	for range 1000 {
		push(1, 16000, 0)
	}
	for now := tick.Tick(2); now < 1000; now++ {
		push(now, now+1, 5000)
	}
	require.Equal(t, 997*5000, handled)
	waits, bytes := source.Deferred()
	require.Equal(t, 1001, waits)
	require.LessOrEqual(t, cap(source.deferred.payloads), 8*bytes)
}

// words is a message of any size.
type words struct{ Of []uint32 }

func (w *words) Serialize(s *wire.Serializer) { wire.SerializeSlice(s, &w.Of, 8192) }

func (w *words) SizeUpperBound() int { return 3 + 4*len(w.Of) }

// The unreliable messages of a source that wait are bounded in number and in bytes. Reliable ones are not: credit bounds them.
func TestDeferredMessagesAreBounded(t *testing.T) {
	reliable := wire.NewChannel(wire.Reliable, 0)
	wait := func(limits Limits, ch wire.Channel) (waits, bytes int, full uint64) {
		r := newRig(t, Config{Limits: limits})
		source := NewSource(1)
		r.Begin(0, 1)
		for range 5 {
			r.From(source, 1, 0)
			r.on(t, Message{Stage: tick.Update, NotBefore: 100, Channel: ch}, 1)
		}
		r.Drain(tick.Update)
		waits, bytes = source.Deferred()
		return waits, bytes, r.Stats().DeferredFull
	}
	_, bytes, _ := wait(Limits{}, 0)
	for _, limits := range []Limits{{Deferred: 3}, {DeferredBytes: bytes*4/5 - 1}} {
		waits, _, full := wait(limits, 0)
		require.Equal(t, 3, waits)
		require.EqualValues(t, 2, full)
		waits, _, full = wait(limits, reliable)
		require.Equal(t, 5, waits)
		require.Zero(t, full)
	}
}

// An unreliable message waits for DeferredTime from its deferral, whatever its place.
func TestUnreliableMessagesExpireOneByOne(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	for n := range 4 {
		r.Begin(time.Duration(n)*time.Second, tick.Tick(n+1))
		r.From(source, 1, time.Duration(n)*time.Second)
		r.on(t, Message{Stage: tick.Stage(n), NotBefore: 100}, 1)
		r.on(t, Message{Stage: tick.Stage(n), NotBefore: 100, Channel: wire.NewChannel(wire.Reliable, 0)}, 1)
		r.Drain(tick.Stage(n))
		require.EqualValues(t, max(n-2, 0), r.Stats().DeferredLate)
	}
	waits, _ := source.Deferred()
	require.Equal(t, 7, waits)
	seen := r.serials()
	r.Begin(4*time.Second, 100)
	for stage := range tick.Stage(4) {
		r.Drain(stage)
	}
	require.Len(t, *seen, 2+4)
	require.EqualValues(t, 2, r.Stats().DeferredLate)
}

func TestWaitHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h waitHeap
		var model []int64
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(h) > 0 && rapid.Bool().Draw(t, "pop") {
				least := slices.Min(model)
				require.Equal(t, waiter{least, int(least) * 2}, h.pop())
				model = slices.Delete(model, slices.Index(model, least), slices.Index(model, least)+1)
			} else {
				key := rapid.Int64Range(-9, 9).Draw(t, "key")
				h.push(waiter{key, int(key) * 2})
				model = append(model, key)
			}
			require.Len(t, h, len(model))
		}
	})
}
