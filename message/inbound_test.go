package message

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestNewInboundNeedsAFrozenRegistry(t *testing.T) {
	require.Panics(t, func() { NewInbound(Config{}) })
	require.Panics(t, func() { NewInbound(Config{Registry: &Registry{}}) })
}

func TestStageOfTheEnd(t *testing.T) {
	var registry Registry
	registry.Freeze()
	in := NewInbound(Config{Registry: &registry})
	require.Equal(t, tick.Update, in.Stage(), "before the first frame")
	in.Begin(0, 1)
	require.Equal(t, tick.Initialization, in.Stage())
	in.Drain(tick.PreUpdate)
	require.Equal(t, tick.PreUpdate, in.Stage())
	require.Zero(t, in.Drain(tick.NumStages))
	require.Equal(t, tick.PreUpdate, in.Stage())
	require.Zero(t, in.Waiting(200))
}

func TestNoSuchStage(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	r.From(source, 1, 0)
	require.ErrorIs(t, r.push(tick.NumStages, 1), ErrStage)
	require.ErrorIs(t, r.Push(&Message{Stage: 200, Channel: wire.NewChannel(wire.Reliable, 0)}, nil), ErrStage)
	require.ErrorIs(t, source.Fault(), ErrStage)
	require.Equal(t, uint64(2), r.Stats().BadStage)
}

func TestContextOfMessages(t *testing.T) {
	r := newRig(t, Config{Local: 8, End: end{}})
	r.SetLocal(9)
	require.Equal(t, wire.ClientID(9), r.Local().ID())
	var seen []Context
	r.onOrder = func(ctx *Context, _ *order) {
		c := *ctx
		c.scratch = nil
		seen = append(seen, c)
	}
	full := Context{End: end{}, Local: 9, Sender: 2, Tick: 30, Received: 4, NotBefore: 1, Entity: wire.NetworkID{Index: 1, Generation: 2},
		Type: r.order.ID(), Stage: tick.Update, Channel: wire.NewChannel(wire.UnreliableSequenced, 3)}
	plain := Context{End: end{}, Local: 9, Sender: 2, Tick: 30, Received: 4, Type: r.order.ID(), Stage: tick.Update}
	other := plain
	other.Sender, other.Tick = 3, 31
	push := func(c Context) {
		require.NoError(t, r.Push(&Message{Type: c.Type, Stage: c.Stage, Channel: c.Channel, NotBefore: c.NotBefore, Entity: c.Entity}, r.body(1)))
	}
	r.From(NewSource(2), 30, 4)
	push(plain)
	push(full)
	push(plain)
	r.From(NewSource(3), 31, 4)
	push(other)
	r.Drain(tick.Update)
	require.Equal(t, []Context{plain, full, plain, other}, seen, "nothing of one message is seen by the next")
	require.False(t, seen[0].Loopback())
}

// Payloads within the result of Keep are not copied again; all others are.
func TestKeep(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{Bytes: 64}})
	seen := r.serials()
	packet := append(append([]byte("head"), r.body(1)...), r.body(2)...)
	r.From(NewSource(1), 1, 0)
	kept := r.Keep(packet)
	require.Equal(t, packet, kept)
	clear(packet)
	require.NoError(t, r.PushPlain(r.order.ID(), tick.Update, kept[4:20]))
	require.NoError(t, r.PushPlain(r.order.ID(), tick.Update, kept[20:36:36]), "one whose capacity hides where it lies")
	require.Len(t, r.cur.bytes, 36+16)
	require.Same(t, &packet[0], &r.Keep(packet)[0], "no room: what was given")
	require.ErrorIs(t, r.push(tick.Update, 3), ErrFull)
	require.NoError(t, r.PushPlain(r.order.ID(), tick.Update, kept[4:20]))
	require.Equal(t, 3, r.Drain(tick.Update))
	require.Equal(t, []uint64{1, 2, 1}, *seen)
	require.NoError(t, r.push(tick.Update, 4), "everything was handled, so the room is there again")
	require.Empty(t, r.Keep(nil))
}

// A source's quota also bounds the bytes copied by Keep: packets without contents do not use up the frame.
func TestKeepIsBoundedBySource(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{SenderBytes: 2000, Bytes: 6400, Sources: 2}})
	flooder, honest := NewSource(1), NewSource(2)
	packet := make([]byte, 1200)
	for range 1000 {
		r.From(flooder, 1, 0)
		kept := r.Keep(packet)
		_ = r.PushPlain(r.order.ID(), tick.Update, kept[:16])
	}
	require.LessOrEqual(t, len(r.cur.bytes), 4000)
	r.From(honest, 1, 0)
	require.NoError(t, r.push(tick.Update, 1))
	r.Begin(2*time.Second, 2)
	r.From(flooder, 2, 0)
	require.NotSame(t, &packet[0], &r.Keep(packet)[0], "in the next frame its packets are kept again")
}

// Push gives the same result with Keep and without, at every limit.
func TestPushPlainAtItsBounds(t *testing.T) {
	for name, limits := range map[string]Limits{
		"messages": {PerSender: 3}, "bytes": {SenderBytes: 48}, "stage": {PerStage: 3},
	} {
		t.Run(name, func(t *testing.T) {
			var counts [2][]uint64
			for way := range counts {
				r := newRig(t, Config{Limits: limits})
				seen := r.serials()
				r.From(NewSource(1), 1, 0)
				for serial := range uint64(6) {
					body := r.body(serial)
					if way == 1 {
						body = r.Keep(body)
					}
					_ = r.PushPlain(r.order.ID(), tick.Update, body)
				}
				r.Drain(tick.Update)
				counts[way] = *seen
			}
			require.Len(t, counts[0], 3)
			require.Equal(t, counts[0], counts[1])
		})
	}
}

func TestLocalMessagesHaveNoQuota(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerSender: 1}})
	for i := range uint64(5) {
		require.NoError(t, r.post(Message{Stage: tick.Update}, i))
	}
	r.From(r.Local(), 1, 0)
	for i := range uint64(5) {
		require.NoError(t, r.push(tick.Update, i))
	}
	require.Equal(t, 10, r.Drain(tick.Update))
}

// Messages pushed during the Drain of their stage wait for the next Drain, even if the queue's memory moves.
func TestPushWhileDraining(t *testing.T) {
	r := newRig(t, Config{Limits: Limits{PerStage: 64}})
	source := NewSource(1)
	count := 0
	r.onOrder = func(ctx *Context, m *order) {
		count++
		want := m.Serial
		r.From(source, 1, 0)
		for i := range uint64(40) {
			require.NoError(t, r.push(tick.Update, 1000+i))
		}
		require.Equal(t, want, m.Serial)
	}
	r.From(source, 1, 0)
	for serial := range uint64(3) {
		require.NoError(t, r.push(tick.Update, serial))
	}
	require.Equal(t, 2, r.Drain(tick.Update), "the third made room")
	require.Equal(t, 64, r.Waiting(tick.Update))
	require.Equal(t, 2, count)
}

func TestDeferredUntilTheEntityIsThere(t *testing.T) {
	existence := NotYet
	r := newRig(t, Config{Exists: func(wire.NetworkID) Existence { return existence }})
	seen := r.serials()
	about := Message{Type: r.order.ID(), Stage: tick.Update, Entity: wire.NetworkID{Index: 1, Generation: 1},
		Channel: wire.NewChannel(wire.ReliableOrdered, 0), Cost: 50}
	source := NewSource(1)
	r.From(source, 1, time.Second)
	require.NoError(t, r.Push(&about, r.body(1)))
	plain := about
	plain.Entity = wire.NetworkID{}
	require.NoError(t, r.Push(&plain, r.body(2)), "of the same channel: order is promised")
	plain.Channel = wire.NewChannel(wire.ReliableOrdered, 1)
	require.NoError(t, r.Push(&plain, r.body(3)), "of another")
	require.Equal(t, 1, r.Drain(tick.Update))
	require.Equal(t, []uint64{3}, *seen)
	require.Equal(t, 50, source.TakeFreed())
	existence = Exists
	require.Zero(t, r.Drain(tick.PreUpdate))
	require.Equal(t, 2, r.Drain(tick.Update), "in the same frame, if its stage comes again")
	require.Equal(t, []uint64{3, 1, 2}, *seen)

	existence = NotYet
	require.NoError(t, r.Push(&about, r.body(4)))
	r.Drain(tick.Update)
	existence = Never
	require.Zero(t, r.Drain(tick.Update))
	require.NoError(t, r.Push(&about, r.body(5)))
	require.Zero(t, r.Drain(tick.Update))
	require.NoError(t, source.Fault(), "an entity that is gone is nobody's fault")
	require.Equal(t, uint64(2), r.Stats().Undeliverable)
	require.Equal(t, 4*50, source.TakeFreed())
}

func TestForget(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	r.From(source, 1, time.Second)
	for range 3 {
		require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update, NotBefore: 50}, r.body(1)))
	}
	r.Drain(tick.Update)
	n, bytes := source.Deferred()
	require.Equal(t, [2]int{3, 48}, [2]int{n, bytes})
	r.Forget(source)
	n, bytes = source.Deferred()
	require.Zero(t, n+bytes)
	r.Begin(time.Hour, 60)
	require.Zero(t, r.Drain(tick.Update))
	require.Empty(t, r.waiting)
}

func TestDueCountsWaitingMessages(t *testing.T) {
	r := newRig(t, Config{})
	r.From(NewSource(1), 1, time.Second)
	require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update, NotBefore: 50}, r.body(1)))
	require.Zero(t, r.Drain(tick.Update))
	r.Begin(time.Second, 20)
	r.Due(49)
	require.Zero(t, r.Drain(tick.Update))
	r.Due(50)
	r.Begin(time.Second, 21)
	r.Drain(tick.Update)
	require.EqualValues(t, 0, r.Stats().Handled, "until Begin")
	r.Due(50)
	r.Drain(tick.Update)
	require.EqualValues(t, 1, r.Stats().Handled)
}

func TestLimitsHaveDefaults(t *testing.T) {
	require.Equal(t, Limits{32768, 32 << 20, 64, 1024, 256 << 10, 64, 16 << 10, 2 * time.Second, 4096}, Limits{PerStage: -1}.WithDefaults())
	chosen := Limits{1, 2, 3, 4, 5, 6, 7, 8, 9}
	require.Equal(t, chosen, chosen.WithDefaults())
}

// A message that is too large is refused without a trace.
func TestTooLargeForAnItem(t *testing.T) {
	r := newRig(t, Config{})
	source := NewSource(1)
	r.From(source, 1, 0)
	require.ErrorIs(t, r.PushPlain(r.order.ID(), tick.Update, make([]byte, math.MaxUint16+1)), ErrFull)
	require.ErrorIs(t, r.PushPlain(r.order.ID(), tick.Update, r.Keep(make([]byte, math.MaxUint16+1))), ErrFull)
	require.Zero(t, r.Waiting(tick.Update))
}

// TestPushPlainsIsPushPlain gives two queues with narrow limits the same packets, one by PushSimple, one message by
// message. Handled, waiting and refused messages and the counters must be equal.
func TestPushPlainsIsPushPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			PerStage: rapid.IntRange(1, 40).Draw(t, "per stage"), PerSender: rapid.IntRange(1, 60).Draw(t, "per sender"),
			SenderBytes: rapid.IntRange(1, 800).Draw(t, "sender bytes"),
		}
		var logs [2][]string
		var rigs [2]*rig
		var sources [2]*Source
		for i := range rigs {
			rigs[i] = newRig(quietTB{}, Config{Limits: limits})
			rigs[i].onOrder = func(ctx *Context, m *order) {
				logs[i] = append(logs[i], fmt.Sprint(ctx.Stage, ctx.Sender, ctx.Tick, *m))
			}
			rigs[i].onShot = func(ctx *Context, m *shot) { logs[i] = append(logs[i], fmt.Sprint(ctx.Stage, *m)) }
			sources[i] = NewSource(3)
		}
		for frame := range rapid.IntRange(1, 4).Draw(t, "frames") {
			for range rapid.IntRange(0, 5).Draw(t, "packets") {
				batches, list := drawPlains(t, rigs[0])
				for i, r := range rigs {
					r.From(sources[i], tick.Tick(frame), time.Second)
				}
				rigs[0].PushSimple(batches, list)
				for _, p := range list {
					for at := int(p.At); at < int(p.At)+int(p.Count)*(4+int(p.Size)); at += 4 + int(p.Size) {
						_ = rigs[1].PushPlain(p.Type, tick.Stage(batches[at+1]), batches[at+4:at+4+int(p.Size)])
					}
				}
				for i := range batches {
					batches[i] = 0xEE // the queue must not refer to the packet
				}
			}
			last := tick.Stage(rapid.IntRange(0, tick.NumStages-1).Draw(t, "last stage")) // later stages wait
			for _, r := range rigs {
				for stage := range last + 1 {
					r.Drain(stage)
				}
				r.Begin(time.Duration(frame)*time.Second, tick.Tick(frame+2))
			}
			require.Equal(t, logs[1], logs[0])
			require.Equal(t, sources[1].Refused(), sources[0].Refused())
		}
		got, want := rigs[0].Stats(), rigs[1].Stats()
		got.Grown, want.Grown = 0, 0 // memory differs: one copies batches, one payloads
		require.Equal(t, want, got)
	})
}

// quietTB lets a property create a rig, whose codecs never fail.
type quietTB struct{ testing.TB }

func (quietTB) Helper()                   {}
func (quietTB) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (quietTB) FailNow()                  { panic("failed") }

// drawPlains draws the batches of a packet and the positions of messages in them, with other bytes in between.
func drawPlains(t *rapid.T, r *rig) (batches []byte, list []Simple) {
	shotID := r.order.ID() + 1
	for i := range rapid.IntRange(1, 15).Draw(t, "rows") {
		batches = append(batches, make([]byte, rapid.SampledFrom([]int{0, 0, 0, 26}).Draw(t, "between"))...)
		p := Simple{At: uint32(len(batches)), Count: uint16(rapid.IntRange(1, 4).Draw(t, "messages")), Size: 16, Type: r.order.ID()}
		if rapid.IntRange(0, 3).Draw(t, "type") == 0 {
			p.Size, p.Type = 8, shotID
		}
		list = append(list, p)
		for k := range p.Count {
			stage := rapid.IntRange(0, tick.NumStages-1).Draw(t, "stage")
			batches = append(batches, byte(p.Type), byte(stage), byte(p.Size), 0)
			batches = append(batches, make([]byte, p.Size)...)
			batches[len(batches)-int(p.Size)] = byte(i<<2 | int(k))
		}
	}
	return batches, list
}

// AlwaysLegal is set for types without illegal values.
func TestAlwaysLegal(t *testing.T) {
	require.EqualValues(t, 16, codec[order](t, "order", nil).AlwaysLegal())
	require.EqualValues(t, NoSize, codec[shot](t, "shot", nil).AlwaysLegal(), "floats may be infinite")
	require.EqualValues(t, NoSize, codec[chat](t, "chat", nil).AlwaysLegal(), "packed")
	require.EqualValues(t, NoSize, codec[note](t, "note", nil).AlwaysLegal())
	c := codec[order](t, "order", nil)
	c.Debug()
	require.EqualValues(t, NoSize, c.AlwaysLegal(), "without packing all goes by the plan")
}

// Copy gives the bytes of Encode, also with inverted sign bits.
func TestCopyIsEncode(t *testing.T) {
	type signed struct {
		A int32
		B uint16
		C [2]int8
	}
	rapid.Check(t, func(t *rapid.T) {
		c, err := NewCodec[signed]("signed", nil)
		require.NoError(t, err)
		m := signed{A: rapid.Int32().Draw(t, "a"), B: rapid.Uint16().Draw(t, "b"), C: [2]int8{rapid.Int8().Draw(t, "c"), -1}}
		want, got := make([]byte, c.Size()), make([]byte, c.AlwaysLegal())
		n, err := c.Encode(&Scratch{}, want, &m)
		require.NoError(t, err)
		c.Copy(got, &m)
		require.Equal(t, want[:n], got)
	})
}

// CountUnhandled counts the reliable messages of the given sources, queued, deferred or carried over. It does not count
// those of other sources.
func TestCountUnhandled(t *testing.T) {
	r := newRig(t, Config{})
	one, two, idle := NewSource(1), NewSource(2), NewSource(3)
	reliable := wire.NewChannel(wire.Reliable, 0)
	push := func(s *Source, ch wire.Channel, stage tick.Stage, before tick.Tick) {
		r.From(s, 1, time.Second)
		m := Message{Type: r.order.ID(), Stage: stage, Channel: ch, NotBefore: before}
		if ch.Delivery().Reliable() {
			m.Cost = 48
		}
		require.NoError(t, r.Push(&m, r.body(1)))
	}
	require.False(t, r.MayHold(one))
	push(one, reliable, tick.Update, 0)
	push(one, reliable, tick.FixedUpdate, 0)
	push(one, reliable, tick.Update, 9)
	push(one, 0, tick.Update, 9)
	push(two, reliable, tick.Update, 9)
	push(two, 0, tick.FixedUpdate, 0)
	count := func() [3]int {
		r.CountUnhandled([]*Source{one, two, idle})
		return [3]int{one.Unhandled(), two.Unhandled(), idle.Unhandled()}
	}
	require.Equal(t, [3]int{3, 1, 0}, count())
	require.Equal(t, [3]int{3, 1, 0}, count(), "each time anew")
	r.Drain(tick.Update)
	require.Equal(t, [3]int{2, 1, 0}, count(), "one is put aside, one waits for its stage")
	r.Begin(2*time.Second, 2)
	require.True(t, r.MayHold(one))
	require.False(t, r.MayHold(idle))
	require.Equal(t, [3]int{2, 1, 0}, count())
	r.Drain(tick.FixedUpdate)
	require.Equal(t, [3]int{1, 1, 0}, count())
	r.Begin(3*time.Second, 9)
	r.Drain(tick.Update)
	require.Equal(t, [3]int{}, count())
	sources := []*Source{one, two, idle}
	alloctest.Zero(t, 100, func() { r.CountUnhandled(sources) })
}
