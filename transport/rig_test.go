package transport_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"testing"
	"time"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/stretchr/testify/require"
)

// rig is a sender, a conditioned receiver and a clock set by hand.
type rig struct {
	t        testing.TB
	network  *memory.Network
	sender   *memory.Conn
	receiver *transport.Conditioner
	now      time.Duration
	sent     int
	buf      []byte
}

func newRig(t testing.TB, link transport.Link, seed uint64) *rig {
	t.Helper()
	r := &rig{t: t, network: memory.NewNetwork(), buf: make([]byte, 2048)}
	var err error
	r.sender, err = r.network.Listen(transport.Addr{})
	require.NoError(t, err)
	inner, err := r.network.Listen(transport.Addr{})
	require.NoError(t, err)
	r.receiver = transport.Condition(inner, link, seed, func() time.Duration { return r.now })
	return r
}

// arrival is one datagram that came through: its number, when, and its bytes.
type arrival struct {
	number int
	at     time.Duration
	data   []byte
}

// numbered makes a datagram that says its number.
func numbered(number, size int) []byte {
	datagram := bytes.Repeat([]byte{0xA5}, size)
	binary.LittleEndian.PutUint32(datagram, uint32(number))
	return datagram
}

func (r *rig) send(size int) {
	if err := r.sender.Send(r.receiver.LocalAddr(), numbered(r.sent, size)); err != nil {
		r.t.Fatal(err)
	}
	r.sent++
}

func (r *rig) collect(into []arrival) []arrival {
	for {
		n, from, err := r.receiver.Receive(r.buf)
		if err != nil {
			r.t.Fatal(err)
		}
		if n == 0 {
			return into
		}
		if from != r.sender.LocalAddr() {
			r.t.Fatal("from", from)
		}
		data := bytes.Clone(r.buf[:n])
		number := -1
		if n >= 4 {
			number = int(binary.LittleEndian.Uint32(data))
		}
		into = append(into, arrival{number, r.now, data})
	}
}

// run sends one datagram a millisecond, then waits for the rest.
func (r *rig) run(count, size int) (arrivals []arrival) {
	for range count {
		r.send(size)
		arrivals = r.collect(arrivals)
		r.now += time.Millisecond
	}
	for r.receiver.InFlight() > 0 {
		r.now += time.Millisecond
		arrivals = r.collect(arrivals)
	}
	return arrivals
}

func traceOf(arrivals []arrival) uint64 {
	h := fnv.New64a()
	for _, a := range arrivals {
		fmt.Fprintln(h, a.number, int64(a.at), len(a.data))
		_, _ = h.Write(a.data)
	}
	return h.Sum64()
}
