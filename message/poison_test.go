package message

import (
	"math"
	"testing"

	"github.com/arche-netcode/netcode/tick"
	"github.com/stretchr/testify/require"
)

// greedy keeps references that handlers must not keep.
type greedy struct {
	order   *order
	note    *note
	bits    []uint32
	context *Context
}

// A debug build overwrites a kept value after the handler returned. In other builds the next message may overwrite it.
// Copies made by the handler stay.
func TestNothingIsKept(t *testing.T) {
	r := newRig(t, Config{})
	var kept greedy
	var copied order
	var text string
	r.onOrder = func(ctx *Context, m *order) { kept.order, copied, kept.context = m, *m, ctx }
	r.onNote = func(_ *Context, m *note) { kept.note, kept.bits, text = m, m.Bits, m.Text }
	r.From(NewSource(7), 1, 0)
	require.NoError(t, r.push(tick.Update, 5))
	of, c := TypeOf[note](&r.registry)
	require.NoError(t, r.Push(&Message{Type: of.ID(), Stage: tick.Update}, encode(t, c, note{Text: "hello", Bits: []uint32{1, 2}})))
	require.Equal(t, 2, r.Drain(tick.Update))
	require.Equal(t, order{Serial: 5}, copied)
	require.Equal(t, "hello", text)
	if !poisoning {
		require.Equal(t, order{Serial: 5}, *kept.order)
		require.Equal(t, []uint32{1, 2}, kept.bits)
		return
	}
	const nonsense = 0xDBDBDBDB
	require.Equal(t, order{nonsense, nonsense, 0xDBDBDBDBDBDBDBDB}, *kept.order)
	require.Equal(t, []uint32{nonsense, nonsense}, kept.bits)
	require.Contains(t, kept.note.Text, "poisoned")
	require.False(t, kept.context.Stage.Valid())
	require.NotEqual(t, uint32(7), uint32(kept.context.Sender))

	*kept.order = order{}
	require.NoError(t, r.post(Message{Stage: tick.Update}, 6))
	require.Equal(t, order{nonsense, nonsense, 0xDBDBDBDBDBDBDBDB}, *kept.order, "loopback too")
	require.False(t, kept.context.Stage.Valid())
}

func TestPoison(t *testing.T) {
	m := struct {
		A int8
		b int64
		F float64
		G float32
		H bool
		S string
		L []uint16
		K [2]struct{ V uint8 }
		P *int
		M map[int]int
	}{P: new(int), L: []uint16{1}, M: map[int]int{1: 1}}
	poison(&m)
	require.Equal(t, int8(-0x25), m.A)
	require.Equal(t, int64(poisonInt), m.b)
	require.True(t, math.IsNaN(m.F) && math.IsNaN(float64(m.G)))
	require.True(t, m.H)
	require.Contains(t, m.S, "poisoned")
	require.Equal(t, []uint16{0xDBDB}, m.L)
	require.Equal(t, uint8(poisonByte), m.K[1].V)
	require.Nil(t, m.P)
	require.Nil(t, m.M)
}
