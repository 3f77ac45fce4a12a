package message

import (
	"fmt"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// serialsOf returns the serials of a frame's orders, those of waiting ones as negative numbers.
func serialsOf(f *Frame) (serials []int) {
	f.Each(func(m *Record) bool {
		serial := int(m.Payload[8])
		if !m.Handled {
			serial = -serial
		}
		serials = append(serials, serial)
		return true
	})
	return serials
}

func TestPastFrames(t *testing.T) {
	r := newRig(t, Config{History: 2})
	source := NewSource(1)
	require.Equal(t, uint64(2), r.Past(0).Number(), "the rig has begun a frame")
	for frame := 3; frame <= 7; frame++ {
		r.Begin(time.Duration(frame)*time.Second, tick.Tick(frame))
		r.From(source, tick.Tick(frame), 0)
		require.NoError(t, r.push(tick.Update, uint64(frame)))
		require.NoError(t, r.push(tick.PreUpdate, uint64(10*frame)))
		r.Drain(tick.Update)
		if frame%2 == 0 {
			r.Drain(tick.PreUpdate)
		}
	}
	require.Equal(t, []int{7, -70}, serialsOf(r.Past(0)))
	require.Equal(t, []int{6, 50, 60}, serialsOf(r.Past(1)), "what frame 5 did not come to is in frame 6")
	require.Equal(t, []int{5, -50}, serialsOf(r.Past(2)))
	require.Equal(t, 3, r.Past(1).Len())
	require.Nil(t, r.Past(3))
	require.Nil(t, r.Past(-1))
	one := 0
	r.Past(1).Each(func(*Record) bool { one++; return false })
	require.Equal(t, 1, one)
	one = 0
	r.Past(0).Each(func(m *Record) bool { one++; return m.Handled })
	require.Equal(t, 2, one)

	fresh := NewInbound(Config{Registry: &r.registry, History: 2})
	require.NotNil(t, fresh.Past(0))
	require.Nil(t, fresh.Past(1), "there was none before the first")
	none := newRig(t, Config{})
	require.Nil(t, none.Past(1))
	none.From(source, 1, 0)
	require.NoError(t, none.push(tick.Update, 1))
	require.NoError(t, none.push(tick.PreUpdate, 2))
	none.Drain(tick.Update)
	require.Equal(t, []int{-2}, serialsOf(none.Past(0)), "without a history, what waits")
}

func TestRedeliver(t *testing.T) {
	r := newRig(t, Config{History: 1, Exists: func(wire.NetworkID) Existence { return Exists }, Special: func(*Context, []byte) {}})
	var seen []string
	r.onOrder = func(ctx *Context, m *order) {
		seen = append(seen, fmt.Sprint(ctx.Sender, ctx.Tick, ctx.Stage, ctx.Channel, ctx.Entity, ctx.NotBefore, m.Serial, r.Stage()))
	}
	r.From(NewSource(1), 5, time.Second)
	require.NoError(t, r.push(tick.Update, 1))
	m := Message{Type: r.order.ID(), Stage: tick.PreUpdate, Channel: wire.NewChannel(wire.ReliableOrdered, 1), Cost: 40,
		Entity: wire.NetworkID{Index: 3, Generation: 1}}
	require.NoError(t, r.Push(&m, r.body(2)))
	call := Message{Type: r.order.ID(), Stage: tick.PreUpdate, HasCall: true, Call: 7}
	require.NoError(t, r.Push(&call, r.body(3)))
	late := Message{Type: r.order.ID(), Stage: tick.Update, NotBefore: 2}
	require.NoError(t, r.Push(&late, r.body(4)))
	r.Drain(tick.Update)
	r.Drain(tick.PreUpdate)
	before := append([]string(nil), seen...)
	seen = nil
	require.Equal(t, 2, r.Redeliver(0), "without the call, and what is deferred")
	require.Equal(t, before, seen)
	require.Equal(t, tick.PreUpdate, r.Stage())

	r.Begin(2*time.Second, 2)
	r.Drain(tick.Update)
	seen = nil
	require.Equal(t, 1, r.Redeliver(0), "what was deferred belongs to the frame that handled it")
	require.Len(t, seen, 1)
	require.Equal(t, 2, r.Redeliver(1))
	require.Equal(t, before, seen[1:])
	require.Zero(t, r.Redeliver(2))
	require.Equal(t, 1, r.Past(0).Len(), "nothing is added")
}

// Calls and messages of unknown types are passed to Special.
func TestSpecial(t *testing.T) {
	var seen []string
	r := newRig(t, Config{Special: func(ctx *Context, payload []byte) {
		seen = append(seen, fmt.Sprint(ctx.Type, ctx.HasCall, ctx.Call, len(payload)))
	}})
	r.onOrder = func(*Context, *order) { t.Fatal("calls are not for the handler of the type") }
	r.From(NewSource(1), 1, 0)
	require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update, HasCall: true, Call: 9}, r.body(1)))
	require.NoError(t, r.Push(&Message{Type: 7, Stage: tick.Update, HasCall: true, Call: 9}, []byte("no")))
	require.NoError(t, r.Push(&Message{Type: 7, Stage: tick.Update}, nil))
	require.NoError(t, r.Push(&Message{Type: 200, Stage: tick.Update}, nil))
	require.NoError(t, r.Push(&Message{Type: r.order.ID(), Stage: tick.Update}, []byte{1}))
	require.Equal(t, 5, r.Drain(tick.Update))
	require.Equal(t, []string{fmt.Sprint(r.order.ID(), true, 9, 16), "7 true 9 2", "7 false 0 0"}, seen)
	require.Equal(t, uint64(2), r.Stats().Illegal, "an unknown type, and a payload that nobody checked")
	require.NoError(t, r.post(Message{Stage: tick.Update, HasCall: true, Call: 3}, 1))
	require.Equal(t, 1, r.Drain(tick.Update), "a call to oneself is queued")
	require.Len(t, seen, 4)
	silent := newRig(t, Config{})
	silent.From(NewSource(1), 1, 0)
	require.NoError(t, silent.Push(&Message{Type: 7, Stage: tick.Update}, nil))
	require.Equal(t, 1, silent.Drain(tick.Update))
}

func TestDumpOfAFrame(t *testing.T) {
	r := newRig(t, Config{History: 1, Exists: func(wire.NetworkID) Existence { return NotYet }})
	r.From(NewSource(3), 40, 0)
	of, c := TypeOf[shot](&r.registry)
	require.NoError(t, r.Push(&Message{Type: of.ID(), Stage: tick.Update}, encode(t, c, shot{1, 2})))
	r.Drain(tick.Update)
	m := Message{Type: r.order.ID(), Stage: tick.FixedUpdate, Channel: wire.NewChannel(wire.ReliableOrdered, 1), NotBefore: 44,
		Entity: wire.NetworkID{Index: 7, Generation: 1}, HasCall: true, Call: 5}
	require.NoError(t, r.Push(&m, r.body(6)))
	require.NoError(t, r.Push(&Message{Type: 200, Stage: tick.PreLateUpdate}, []byte{0xAB}))
	require.Equal(t, `frame 2, 3 messages
 handled  3 at tick 40: shot on Unreliable 0, stage Update: X=1 Y=2
 waiting  3 at tick 40: order on ReliableOrdered 1, stage FixedUpdate, not before 44, about 7v1, call 5: Unit=0 Target=0 Serial=6
 waiting  3 at tick 40: type 200 on Unreliable 0, stage PreLateUpdate: ab
`, string(r.Past(0).AppendDump(nil, &r.registry)))
}

// The outbound history equals a list.
func TestOutbound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.IntRange(1, 3).Draw(t, "frames")
		limit := rapid.IntRange(10, 400).Draw(t, "bytes")
		o := NewOutbound(frames, Limits{Bytes: limit})
		model, used, lost := [][]Record{nil}, 0, uint64(0)
		now := time.Duration(0)
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(*rapid.T) {
				now++
				o.Begin(now, tick.Tick(now))
				model, used = append(model, nil), 0
			},
			"record": func(t *rapid.T) {
				m := Message{Type: wire.MessageType(rapid.IntRange(16, 254).Draw(t, "type")), Stage: tick.Stage(rapid.IntRange(0, 6).Draw(t, "stage")),
					Channel: wire.Channel(rapid.Byte().Draw(t, "channel")), NotBefore: tick.Tick(rapid.IntRange(0, 3).Draw(t, "tick"))}
				payload := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "payload")
				to := wire.ClientID(rapid.IntRange(0, 3).Draw(t, "to"))
				o.Record(to, &m, payload)
				if used+len(payload) > limit {
					lost++
					return
				}
				used += len(payload)
				last := len(model) - 1
				model[last] = append(model[last], Record{to, m, tick.Tick(now), now, true, append([]byte{}, payload...)})
			},
			"": func(t *rapid.T) {
				require.Equal(t, lost, o.Lost())
				for past := range 5 {
					f := o.Past(past)
					if past > frames || past >= len(model) {
						require.Nil(t, f)
						continue
					}
					var got []Record
					f.Each(func(m *Record) bool {
						kept := *m
						kept.Payload = append([]byte{}, m.Payload...)
						got = append(got, kept)
						return true
					})
					require.Equal(t, model[len(model)-1-past], got)
				}
			},
		})
	})
}

func TestHistoryDoesNotAllocate(t *testing.T) {
	r := newRig(t, Config{History: 2, Limits: Limits{DeferredTime: time.Hour}})
	o := NewOutbound(2, Limits{})
	source := NewSource(1)
	now := tick.Tick(1)
	frame := func() {
		now++
		r.Begin(time.Duration(now), now)
		o.Begin(time.Duration(now), now)
		r.From(source, now, 0)
		m := Message{Type: r.order.ID(), Stage: tick.Update}
		for i := range 100 {
			m.Channel = wire.NewChannel(wire.Delivery(i%4), 0)
			if m.NotBefore = tick.None; i%10 == 0 {
				m.NotBefore = now + 1
			}
			if r.Push(&m, r.body(uint64(i))) != nil {
				panic("push")
			}
			o.Record(3, &m, r.body(uint64(i)))
			if i%20 == 0 && (r.post(Message{Stage: tick.Update}, 5) != nil || r.post(Message{Stage: tick.Initialization}, 5) != nil) {
				panic("post")
			}
		}
		r.Drain(tick.Update)
		r.Redeliver(1)
		count := 0
		o.Past(1).Each(func(*Record) bool { count++; return true })
	}
	for range 6 {
		frame()
	}
	alloctest.Zero(t, 20, frame)
	require.Positive(t, r.Stats().Deferred)
	require.Positive(t, r.Stats().Immediate)
	require.NoError(t, source.Fault())
}

// A message that is handled at once is recorded too, in the order in which handlers started. Redeliver delivers it
// once: its sending handler sends it again.
func TestHistoryHasMessagesThatAreHandledAtOnce(t *testing.T) {
	r := newRig(t, Config{History: 1})
	var seen []uint64
	r.onOrder = func(_ *Context, m *order) {
		if seen = append(seen, m.Serial); m.Serial == 2 || m.Serial == 4 {
			require.NoError(t, r.post(Message{Stage: tick.Update}, m.Serial+1))
		}
	}
	r.From(NewSource(3), 1, 0)
	require.NoError(t, r.push(tick.Update, 4))
	r.Drain(tick.Initialization)
	require.NoError(t, r.post(Message{Stage: tick.Initialization, Channel: wire.NewChannel(wire.ReliableOrdered, 1)}, 1))
	r.Drain(tick.Update)
	require.NoError(t, r.post(Message{Stage: tick.Update}, 2))
	require.Equal(t, []uint64{1, 4, 5, 2, 3}, seen)
	require.Equal(t, []int{1, 4, 5, 2, 3}, serialsOf(r.Past(0)))
	seen = nil
	require.Equal(t, 3, r.Redeliver(0))
	require.Equal(t, []uint64{1, 4, 5, 2, 3}, seen)
	require.Equal(t, []int{1, 4, 5, 2, 3}, serialsOf(r.Past(0)), "nothing is added")
	require.Zero(t, r.Stats().Unrecorded)

	require.Equal(t, 5, r.Past(0).Len())
}

// A stage that runs several times in a frame: the first Drain handles the received messages, the next one those pushed
// or posted since. Each is handled once and in order, including carried and recorded ones.
func TestSubStepsOfAStage(t *testing.T) {
	for _, history := range []int{0, 2} {
		r := newRig(t, Config{History: history})
		step := 0
		var seen []string
		channel := wire.NewChannel(wire.ReliableOrdered, 0)
		r.onOrder = func(_ *Context, m *order) {
			seen = append(seen, fmt.Sprint(step, ":", m.Serial))
			if m.Serial == 1 {
				require.NoError(t, r.post(Message{Stage: tick.FixedUpdate}, 10), "at once")
				require.NoError(t, r.push(tick.FixedUpdate, 11), "in the next step")
				require.NoError(t, r.post(Message{Stage: tick.EarlyUpdate}, 12), "in the next frame")
				require.NoError(t, r.post(Message{Stage: tick.Update}, 13), "later in this one")
			}
		}
		source := NewSource(1)
		r.From(source, 1, time.Second)
		r.on(t, Message{Stage: tick.FixedUpdate}, 1)
		r.on(t, Message{Stage: tick.FixedUpdate, Channel: channel, NotBefore: 2}, 2)
		r.on(t, Message{Stage: tick.FixedUpdate, Channel: channel}, 3)
		for n, steps := range []int{3, 0, 2} {
			if n > 0 {
				r.Begin(time.Second+time.Duration(n), tick.Tick(1+n))
				r.From(source, 1, time.Second)
				r.on(t, Message{Stage: tick.FixedUpdate}, uint64(20+n))
			}
			r.Drain(tick.EarlyUpdate)
			for range steps {
				step++
				r.Drain(tick.FixedUpdate)
				require.Equal(t, tick.FixedUpdate, r.Stage())
			}
			r.Drain(tick.Update)
		}
		want := []string{"1:1", "1:10", "2:11", "3:13", "3:12", "4:2", "4:3", "4:21", "4:22"}
		require.Equal(t, want, seen)
		require.Zero(t, r.Waiting(tick.FixedUpdate))
	}
}
