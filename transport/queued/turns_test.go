package queued_test

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/queued"
)

// sending is a pipe whose other end sends a datagram of one byte after each pause, and reads nothing.
type sending struct {
	what   byte
	pause  time.Duration
	closed chan struct{}
	once   sync.Once
}

func newSending(what byte, pause time.Duration) *sending {
	return &sending{what: what, pause: pause, closed: make(chan struct{})}
}

func (s *sending) Write([]byte) error { return nil }

func (s *sending) Read(buf []byte) (int, error) {
	select {
	case <-time.After(s.pause):
		buf[0] = s.what
		return 1, nil
	case <-s.closed:
		return 0, errEnd
	}
}

func (s *sending) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

const (
	honest = 1
	junk   = 2
	player = 3 // An honest one with a session.
)

// goodput plays a server of 60 ticks a second beside connections, and returns the share of the datagrams of a kind that it received in time.
func goodput(t *testing.T, c *queued.Conn, kind byte, pause time.Duration) float64 {
	const seconds = 1
	buf, got, took := make([]byte, 10), 0, 0
	for range 60 * seconds {
		time.Sleep(time.Second / 60)
		synctest.Wait()
		for range 8192 {
			n, _, err := c.Receive(buf)
			require.NoError(t, err)
			if n == 0 {
				break
			}
			took++
			c.Rank(buf[0] == player)
			if buf[0] == kind {
				got++
				require.Less(t, c.Waited(), 2*time.Second/60, "no later than the next frame but one")
			}
		}
	}
	t.Logf("%d datagrams taken, %d of them good; %+v", took, got, c.Stats())
	return float64(got) / float64(time.Duration(seconds)*time.Second/pause)
}

// 64 connections that send without pause take nothing from an honest one: hosts take turns, and of one host those with a session come
// first. Together the 64 send twice what the queue holds, in each frame.
func TestAFloodTakesNothingFromOthers(t *testing.T) {
	const floods, pause = 64, time.Second / 33
	address := func(host byte) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, host, 9}), 4000)
	}
	for name, row := range map[string]struct {
		flood func(i int) netip.AddrPort
		who   byte
		from  netip.AddrPort
	}{
		"of one host":                           {func(int) netip.AddrPort { return address(1) }, honest, address(2)},
		"of 64 hosts":                           {func(i int) netip.AddrPort { return address(byte(100 + i)) }, honest, address(2)},
		"of 64 hosts, beside a session":         {func(i int) netip.AddrPort { return address(byte(100 + i)) }, player, address(2)},
		"of the host of a session":              {func(int) netip.AddrPort { return address(2) }, player, address(2)},
		"of this machine, all behind one proxy": {func(int) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:80") }, honest, netip.MustParseAddrPort("127.0.0.1:80")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := queued.New(transport.Addr{}, queued.Config{PerIP: floods + 1})
				defer c.Close()
				for i := range floods {
					_, err := c.Add(row.flood(i), newSending(junk, time.Second/2000))
					require.NoError(t, err)
				}
				_, err := c.Add(row.from, newSending(row.who, pause))
				require.NoError(t, err)
				require.GreaterOrEqual(t, goodput(t, c, row.who, pause), 0.95)
			})
		})
	}
}
