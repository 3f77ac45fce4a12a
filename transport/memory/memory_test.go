package memory

import (
	"testing"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func pair(t testing.TB) (*Conn, *Conn) {
	t.Helper()
	network := NewNetwork()
	a, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	b, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	return a, b
}

func TestListenAssignsAndRefuses(t *testing.T) {
	network := NewNetwork()
	a, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:49152", a.LocalAddr().String())
	_, err = network.Listen(a.LocalAddr())
	require.ErrorIs(t, err, ErrAddressInUse)
	_, err = network.Listen(transport.MustParseAddr("[::ffff:127.0.0.1]:49152"))
	require.ErrorIs(t, err, ErrAddressInUse, "the same address in other words")
	b, err := network.Listen(transport.MustParseAddr("[2001:db8::1]:0"))
	require.NoError(t, err)
	require.Equal(t, "[2001:db8::1]:49153", b.LocalAddr().String())

	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	again, err := network.Listen(a.LocalAddr())
	require.NoError(t, err)
	require.NoError(t, a.Close(), "must not close its successor")
	require.NoError(t, b.Send(again.LocalAddr(), []byte{1}))
	n, _, err := again.Receive(make([]byte, 1))
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestListenWhenEveryPortIsTaken(t *testing.T) {
	network := NewNetwork()
	for range numPorts {
		_, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
	}
	_, err := network.Listen(transport.Addr{})
	require.ErrorIs(t, err, ErrAddressInUse)
}

func TestEdges(t *testing.T) {
	a, b := pair(t)
	require.ErrorIs(t, a.Send(b.LocalAddr(), make([]byte, transport.MaxDatagram+1)), transport.ErrTooLarge)
	require.ErrorIs(t, a.Send(transport.Addr{}, []byte{1}), transport.ErrAddress)
	require.NoError(t, a.Send(b.LocalAddr(), nil), "an empty datagram is not sent")
	require.NoError(t, a.Send(transport.MustParseAddr("10.0.0.1:1"), []byte{1}), "nobody there")
	require.Equal(t, Stats{Sent: 1, Unreachable: 1}, a.Stats())

	large := make([]byte, transport.MaxDatagram)
	require.NoError(t, a.Send(b.LocalAddr(), large))
	require.NoError(t, a.Send(b.LocalAddr(), []byte{1, 2, 3}))
	n, from, err := b.Receive(make([]byte, transport.MaxDatagram))
	require.NoError(t, err)
	require.Equal(t, transport.MaxDatagram, n)
	require.Equal(t, a.LocalAddr(), from)
	_, _, err = b.Receive(make([]byte, 2))
	require.ErrorIs(t, err, transport.ErrTooLarge)
	n, _, err = b.Receive(make([]byte, 2))
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, Stats{Received: 1, TooLarge: 1}, b.Stats())

	require.NoError(t, b.Close())
	require.ErrorIs(t, b.Send(a.LocalAddr(), []byte{1}), transport.ErrClosed)
	_, _, err = b.Receive(nil)
	require.ErrorIs(t, err, transport.ErrClosed)
}

func TestQueueIsBounded(t *testing.T) {
	a, b := pair(t)
	for i := range QueueSize + 10 {
		require.NoError(t, a.Send(b.LocalAddr(), []byte{byte(i), byte(i >> 8)}))
	}
	require.Equal(t, uint64(10), b.Stats().Overflowed)
	buf := make([]byte, 2)
	for i := range QueueSize {
		n, _, err := b.Receive(buf)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.Equal(t, i, int(buf[0])|int(buf[1])<<8)
	}
}

// TestAnEmptyQueueBeginsAgain: datagrams that are taken one by one all use the memory of one slot.
func TestAnEmptyQueueBeginsAgain(t *testing.T) {
	a, b := pair(t)
	buf := make([]byte, 1)
	for i := range 100 {
		require.NoError(t, a.Send(b.LocalAddr(), []byte{byte(i)}))
		n, _, err := b.Receive(buf)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, byte(i), buf[0])
	}
	used := 0
	for _, s := range b.slots {
		if s.data != nil {
			used++
		}
	}
	require.Equal(t, 1, used)
}

// The model is a Go slice.
func TestQueueAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		network := NewNetwork()
		a, _ := network.Listen(transport.Addr{})
		b, _ := network.Listen(transport.Addr{})
		var model [][]byte
		buf := make([]byte, 64)
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "count") {
					data := rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "data")
					require.NoError(t, a.Send(b.LocalAddr(), data))
					model = append(model, data)
				}
			},
			"receive": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "count") {
					n, _, err := b.Receive(buf)
					require.NoError(t, err)
					if len(model) == 0 {
						require.Zero(t, n)
						continue
					}
					require.Equal(t, model[0], buf[:n])
					model = model[1:]
				}
			},
		})
	})
}

func TestNoAllocations(t *testing.T) {
	a, b := pair(t)
	datagram, buf := make([]byte, 1200), make([]byte, 1500)
	turn := func() {
		for range 100 {
			_ = a.Send(b.LocalAddr(), datagram)
		}
		for range 100 {
			_, _, _ = b.Receive(buf)
		}
	}
	turn()
	turn()
	alloctest.Zero(t, 50, turn)
}

func BenchmarkSendReceive(b *testing.B) {
	sender, receiver := pair(b)
	datagram, buf := make([]byte, 1200), make([]byte, 1500)
	b.ReportAllocs()
	for b.Loop() {
		_ = sender.Send(receiver.LocalAddr(), datagram)
		_, _, _ = receiver.Receive(buf)
	}
}

func TestReserve(t *testing.T) {
	n := NewNetwork()
	a, err := n.Listen(transport.Addr{})
	require.NoError(t, err)
	b, err := n.Listen(transport.Addr{})
	require.NoError(t, err)
	require.NoError(t, a.Send(b.LocalAddr(), []byte{7}))
	transport.Condition(b, transport.Link{}, 1, nil).Reserve(100) // and in b
	buf := make([]byte, 8)
	alloctest.Zero(t, 10, func() {
		for range 99 {
			_ = a.Send(b.LocalAddr(), buf)
		}
		for range 99 {
			_, _, _ = b.Receive(buf)
		}
	})
}
