package transport_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever the link, the same seed gives the same trace, nothing comes from nowhere, and the counters add up.
func TestSameSeedSameTrace(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		probability := func(name string) float64 { return rapid.Float64Range(0, 0.5).Draw(t, name) }
		link := transport.Link{
			Delay:     time.Duration(rapid.IntRange(0, 200).Draw(t, "delay ms")) * time.Millisecond,
			Jitter:    time.Duration(rapid.IntRange(0, 50).Draw(t, "jitter ms")) * time.Millisecond,
			Loss:      probability("loss"),
			BurstLoss: transport.GilbertElliott{Enter: probability("enter"), Length: rapid.Float64Range(0, 10).Draw(t, "length")},
			Duplicate: probability("duplicate"),
			Reorder:   probability("reorder"),
			Corrupt:   probability("corrupt"),
			Rate:      rapid.SampledFrom([]int{0, 50_000}).Draw(t, "rate"),
		}
		seed := rapid.Uint64().Draw(t, "seed")
		var first uint64
		for range 2 {
			r := newRig(outer, link, seed)
			arrivals := r.run(80, 60)
			s := r.receiver.Stats()
			require.Equal(t, s.Received-s.Lost-s.BlackedOut-s.Overflowed+s.Duplicated, s.Delivered)
			require.Equal(t, uint64(len(arrivals)), s.Delivered)
			if first == 0 {
				first = traceOf(arrivals)
			}
			require.Equal(t, first, traceOf(arrivals))
		}
	})
}

func TestAnotherSeedAnotherTrace(t *testing.T) {
	link := transport.Link{Delay: 40 * time.Millisecond, Jitter: 10 * time.Millisecond, Loss: 0.05}
	require.NotEqual(t, traceOf(newRig(t, link, 1).run(100, 60)), traceOf(newRig(t, link, 2).run(100, 60)))
}

// The luck of one datagram does not hang on settings that have nothing to do with it.
func TestLossDoesNotDependOnOtherSettings(t *testing.T) {
	numbers := func(link transport.Link) map[int]bool {
		seen := map[int]bool{}
		for _, a := range newRig(t, link, 14).run(1000, 60) {
			seen[a.number] = true
		}
		return seen
	}
	require.Equal(t,
		numbers(transport.Link{Loss: 0.3}),
		numbers(transport.Link{Loss: 0.3, Delay: time.Second, Jitter: time.Second, Duplicate: 0.5, Reorder: 0.5}))
}

// Nor does it hang on what other senders do, and one sender alone can be cut off.
func TestSendersAreIndependent(t *testing.T) {
	numbers := func(others int, cut bool) (from []int) {
		r := newRig(t, transport.Link{Loss: 0.3, BurstLoss: transport.GilbertElliott{Enter: 0.1, Length: 4}}, 15)
		r.send(16)
		r.collect(nil) // the first sender to appear in both runs
		var noise []*memory.Conn
		for range others {
			c, err := r.network.Listen(transport.Addr{})
			require.NoError(t, err)
			noise = append(noise, c)
			if cut {
				r.receiver.SetLinkFrom(c.LocalAddr(), transport.Link{Down: true})
			}
		}
		for i := range 500 {
			for _, c := range noise {
				require.NoError(t, c.Send(r.receiver.LocalAddr(), numbered(i, 16)))
			}
			r.send(16)
			for {
				n, sender, err := r.receiver.Receive(r.buf)
				require.NoError(t, err)
				if n == 0 {
					break
				}
				if sender == r.sender.LocalAddr() {
					from = append(from, int(binary.LittleEndian.Uint32(r.buf)))
				} else {
					require.False(t, cut)
				}
			}
		}
		return from
	}
	alone := numbers(0, false)
	require.Equal(t, alone, numbers(3, false))
	require.Equal(t, alone, numbers(3, true))
}

// A flood from invented addresses is remembered only up to a bound.
func TestManySenders(t *testing.T) {
	network := memory.NewNetwork()
	inner, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	receiver := transport.Condition(inner, transport.Link{}, 1, func() time.Duration { return 0 })
	var last transport.Addr
	for range 5000 {
		c, err := network.Listen(transport.Addr{})
		require.NoError(t, err)
		last = c.LocalAddr()
		require.NoError(t, c.Send(inner.LocalAddr(), []byte{1}))
		n, from, err := receiver.Receive(make([]byte, 8))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, last, from)
		require.NoError(t, c.Close())
	}
	receiver.SetLinkFrom(last, transport.Link{Down: true}) // no effect, no harm
	receiver.SetLink(transport.Link{})
}
