package udp

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/internal/turns"
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

// A host that floods fills the queue with its own datagrams, and takes no place of others: the queue is that of the reader, which never waits.
func TestAHostThatFloodsTakesNothingFromOthers(t *testing.T) {
	c := &Conn{queue: turns.New(1024, 2048, 1024), largest: 2048}
	at := func(ip string, port uint16) transport.Addr {
		return transport.Addr{IP: netip.AddrPortFrom(netip.MustParseAddr(ip), port)}
	}
	for i := range 100_000 {
		c.came(at("203.0.113.9", uint16(1+i%60_000)), netip.Addr{}, []byte{1}, 0)
	}
	honest := at("198.51.100.7", 4000)
	for range 200 {
		c.came(honest, netip.Addr{}, []byte{2}, 0)
	}
	require.EqualValues(t, 100_200-1024, c.stats.overflowed.Load())
	got, buf := 0, make([]byte, 10)
	for range 400 {
		_, from, err := c.Receive(buf)
		require.NoError(t, err)
		if from == honest {
			got++
		}
	}
	require.Equal(t, 200, got)
}
