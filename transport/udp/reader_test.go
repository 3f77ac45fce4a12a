package udp

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPauseGrowsToItsLimit(t *testing.T) {
	require.Equal(t, minPause, pause(1))
	require.Equal(t, 4*minPause, pause(3))
	require.Equal(t, maxPause, pause(8))
	require.Equal(t, maxPause, pause(1_000_000))
}

func TestRestIsCutShortByClose(t *testing.T) {
	c := &Conn{closing: make(chan struct{})}
	require.True(t, c.rest(time.Nanosecond))
	close(c.closing)
	require.False(t, c.rest(time.Hour))
}

func TestFaultOfTheReaderIsToldOnce(t *testing.T) {
	c := listen(t, "127.0.0.1:0", Config{})
	fault := errors.New("the cable smells")
	c.fault.Store(&fault)
	_, _, err := c.Receive(nil)
	require.Equal(t, fault, err)
	n, _, err := c.Receive(nil)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestQueueAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "slots")
		q := newQueue(size, 8)
		room := len(q.slots)
		require.GreaterOrEqual(t, room, size)
		require.Less(t, room, 2*size+1)
		type entry struct {
			from netip.AddrPort
			data []byte
			at   time.Duration
		}
		var model []entry
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				data := rapid.SliceOfN(rapid.Byte(), 1, 8).Draw(t, "data")
				from := netip.AddrPortFrom(netip.IPv6Loopback(), rapid.Uint16().Draw(t, "port"))
				at := time.Duration(rapid.Int64Min(0).Draw(t, "at"))
				require.Equal(t, len(model) < room, q.put(from, data, at))
				if len(model) < room {
					model = append(model, entry{from, data, at})
				}
			},
			"take": func(t *rapid.T) {
				buf := make([]byte, rapid.IntRange(0, 8).Draw(t, "buf"))
				n, from, at := q.take(buf)
				if len(model) == 0 {
					require.Zero(t, n)
					return
				}
				require.Equal(t, len(model[0].data), n)
				require.Equal(t, model[0].from, from)
				require.Equal(t, model[0].at, at)
				require.Equal(t, model[0].data[:min(n, len(buf))], buf[:min(n, len(buf))])
				model = model[1:]
			},
		})
	})
}

func TestQueueBetweenTwoGoroutines(t *testing.T) {
	const count = 5_000
	q := newQueue(16, 8)
	go func() {
		var data [8]byte
		for i := uint64(1); i <= count; {
			binary.LittleEndian.PutUint64(data[:], i)
			if q.put(netip.AddrPort{}, data[:], 0) {
				i++
			} else {
				runtime.Gosched()
			}
		}
	}()
	var data [8]byte
	for want := uint64(1); want <= count; {
		n, _, _ := q.take(data[:])
		if n == 0 {
			runtime.Gosched()
			continue
		}
		require.Equal(t, want, binary.LittleEndian.Uint64(data[:]))
		want++
	}
}

// A queue takes memory for what it has held, in steps, and none anew once warm.
func TestQueueTakesMemoryAsItIsUsed(t *testing.T) {
	q := newQueue(1024, 2048)
	held := func() (bytes int) {
		for i := range q.slots {
			bytes += cap(q.slots[i].data)
		}
		return bytes
	}
	require.Zero(t, held())
	from, buf := netip.AddrPortFrom(netip.IPv6Loopback(), 1), make([]byte, 2048)
	for range 5000 {
		require.True(t, q.put(from, buf[:100], 0))
		q.take(buf)
	}
	require.Equal(t, 1024*slotStep, held())
	require.True(t, q.put(from, buf, 0))
	n, _, _ := q.take(buf)
	require.Equal(t, 2048, n)
	require.Equal(t, 1023*slotStep+2048, held())
}
