package message

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/tick"
)

// TestPushPlainsIsPushPlain gives two queues with narrow limits the same packets, one of them whole and one by the message:
// what is handled, what waits, what is refused and what is counted is the same.
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
					batches[i] = 0xEE // nothing of a packet is kept
				}
			}
			last := tick.Stage(rapid.IntRange(0, tick.NumStages-1).Draw(t, "last stage")) // what comes after waits
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
		got.Grown, want.Grown = 0, 0 // memory: one copies batches, one payloads
		require.Equal(t, want, got)
	})
}

// quietTB lets a rig be made within a property: its codecs never fail.
type quietTB struct{ testing.TB }

func (quietTB) Helper()                   {}
func (quietTB) Errorf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (quietTB) FailNow()                  { panic("failed") }

// drawPlains draws the batches of a packet and where messages are in them; something else may lie between.
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

// A payload is legal by its length alone if nothing in it can be wrong.
func TestAlwaysLegal(t *testing.T) {
	require.EqualValues(t, 16, codec[order](t, "order", nil).AlwaysLegal())
	require.EqualValues(t, NoSize, codec[shot](t, "shot", nil).AlwaysLegal(), "floats may be infinite")
	require.EqualValues(t, NoSize, codec[chat](t, "chat", nil).AlwaysLegal(), "packed")
	require.EqualValues(t, NoSize, codec[note](t, "note", nil).AlwaysLegal())
	c := codec[order](t, "order", nil)
	c.Debug()
	require.EqualValues(t, NoSize, c.AlwaysLegal(), "without packing all goes by the plan")
}

// Copy writes what Encode does, also where sign bits are turned.
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
