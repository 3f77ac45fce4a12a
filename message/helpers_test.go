package message

import (
	"testing"
	"time"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
	"github.com/stretchr/testify/require"
)

// chat is packed, and has an unsent field.
type chat struct {
	From  uint32
	Heat  float32 `net:"min=0,max=1,step=0.01"`
	Local int     `net:"-"`
}

// shot has exact fields, so it is copied.
type shot struct{ X, Y float32 }

// order is 16 bytes without a float: the message of the benchmarks.
type order struct {
	Unit, Target uint32
	Serial       uint64
}

// note has a Serialize method and a bound that may be false.
type note struct {
	Text string
	Bits []uint32
	Lie  int // bytes missing in the bound
}

func (n *note) Serialize(s *wire.Serializer) {
	s.String(&n.Text, 64)
	wire.SerializeSlice(s, &n.Bits, 16)
}

func (n *note) SizeUpperBound() int { return 2 + len(n.Text) + 4*len(n.Bits) - n.Lie }

// measured has a Serialize method and no bound.
type measured struct{ Text string }

func (m *measured) Serialize(s *wire.Serializer) { s.String(&m.Text, 40) }

func codec[T any](t testing.TB, name string, handle func(ctx *Context, m *T)) *CodecOf[T] {
	t.Helper()
	c, err := NewCodec(name, handle)
	require.NoError(t, err)
	return c
}

// encode returns the payload of a message.
func encode[T any](t testing.TB, c *CodecOf[T], m T) []byte {
	t.Helper()
	var s Scratch
	bound, err := c.SizeBound(&s, &m)
	require.NoError(t, err)
	room := make([]byte, bound)
	n, err := c.Encode(&s, room, &m)
	require.NoError(t, err)
	return room[:n]
}

// rig is an Inbound with a few types; the test sets their handlers.
type rig struct {
	*Inbound
	registry Registry
	order    *Type
	onOrder  func(ctx *Context, m *order)
	onNote   func(ctx *Context, m *note)
	onShot   func(ctx *Context, m *shot)
	payload  []byte
}

func newRig(t testing.TB, c Config) *rig {
	t.Helper()
	r := &rig{payload: make([]byte, 16)}
	r.registry.Add(Type{Name: "note", Codec: codec(t, "note", func(ctx *Context, m *note) {
		if r.onNote != nil {
			r.onNote(ctx, m)
		}
	})})
	r.order = r.registry.Add(Type{Name: "order", Codec: codec(t, "order", func(ctx *Context, m *order) {
		if r.onOrder != nil {
			r.onOrder(ctx, m)
		}
	})})
	r.registry.Add(Type{Name: "shot", Codec: codec(t, "shot", func(ctx *Context, m *shot) {
		if r.onShot != nil {
			r.onShot(ctx, m)
		}
	})})
	r.registry.Freeze()
	c.Registry = &r.registry
	r.Inbound = NewInbound(c)
	r.Begin(time.Second, 1)
	return r
}

// body returns the payload of an order with this serial.
func (r *rig) body(serial uint64) []byte {
	_, c := TypeOf[order](&r.registry)
	n, err := c.Encode(r.Scratch(), r.payload, &order{Serial: serial})
	if err != nil {
		panic(err)
	}
	return r.payload[:n]
}

// push pushes an order on channel 0 of Unreliable from the source of From.
func (r *rig) push(stage tick.Stage, serial uint64) error {
	return r.Push(&Message{Type: r.order.ID(), Stage: stage}, r.body(serial))
}

// post posts an order to the end itself.
func (r *rig) post(m Message, serial uint64) error {
	m.Type = r.order.ID()
	return r.PushLocal(r.Local(), &m, r.body(serial))
}
