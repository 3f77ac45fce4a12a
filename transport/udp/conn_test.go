package udp

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/internal/turns"
)

// hang is the longest time that a test waits for an event; it is no limit of speed.
const hang = 60 * time.Second

func listen(t testing.TB, addr string, config Config) *Conn {
	t.Helper()
	c, err := Listen(addr, config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !done(); time.Sleep(50 * time.Microsecond) {
		if time.Now().After(end) {
			require.FailNow(t, "never: "+what)
		}
	}
}

func receive(t testing.TB, c *Conn, buf []byte) (int, transport.Addr) {
	t.Helper()
	var n int
	var from transport.Addr
	eventually(t, "datagram", func() bool {
		var err error
		n, from, err = c.Receive(buf)
		require.NoError(t, err)
		return n > 0
	})
	return n, from
}

// A datagram that waited for Receive tells so: at least from when it was surely in the queue, at most from when it was sent.
func TestWaited(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{})
	before := time.Now()
	require.NoError(t, a.Send(b.LocalAddr(), []byte{1}))
	eventually(t, "datagram", func() bool { return b.Stats().Received == 1 })
	came := time.Now()
	time.Sleep(20 * time.Millisecond)
	least := time.Since(came)
	n, _ := receive(t, b, make([]byte, 10))
	require.Equal(t, 1, n)
	require.GreaterOrEqual(t, b.Waited(), least)
	require.LessOrEqual(t, b.Waited(), time.Since(before))
}

func TestBurstArrivesWholeAndInOrder(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{})
	buf := make([]byte, 2048)
	// Smaller than the least receive buffer of a kernel: nothing may be lost on the way.
	const rounds, burst, size = 40, 50, 1200
	for round := range rounds {
		for i := range burst {
			require.NoError(t, a.Send(b.LocalAddr(), bytes.Repeat([]byte{byte(round), byte(i)}, size/2)))
		}
		for i := range burst {
			n, from := receive(t, b, buf)
			require.Equal(t, bytes.Repeat([]byte{byte(round), byte(i)}, size/2), buf[:n])
			require.Equal(t, a.LocalAddr(), from)
		}
	}
	require.Equal(t, uint64(rounds*burst), a.Stats().Sent)
	require.Equal(t, uint64(rounds*burst*size), a.Stats().BytesSent)
	require.Equal(t, uint64(rounds*burst), b.Stats().Received)
	require.Equal(t, uint64(rounds*burst*size), b.Stats().BytesReceived)
	require.Zero(t, b.Stats().Overflowed)
}

func TestFamilies(t *testing.T) {
	tests := []struct {
		name, server, client string
		target               string // the IP that the client sends to
		from                 string // the IP that the server sees
	}{
		{"IPv4", "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1", "127.0.0.1"},
		{"IPv4 by mapped address", "127.0.0.1:0", "127.0.0.1:0", "::ffff:127.0.0.1", "127.0.0.1"},
		{"IPv6", "[::1]:0", "[::1]:0", "::1", "::1"},
		{"IPv4 client of a socket for all", ":0", "127.0.0.1:0", "127.0.0.1", "127.0.0.1"},
		{"IPv4 sent by a socket for all", "127.0.0.1:0", ":0", "127.0.0.1", "127.0.0.1"},
		{"IPv6 client of a socket for all", ":0", "[::1]:0", "::1", "::1"},
		{"IPv6 with a zone", "[::1]:0", "[::1]:0", "::1%1", "::1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if strings.Contains(test.server+test.client+test.target, "::1") {
				probe, err := net.ListenPacket("udp6", "[::1]:0")
				if err != nil {
					t.Skip("no IPv6 here: " + err.Error())
				}
				require.NoError(t, probe.Close())
			}
			server, client := listen(t, test.server, Config{}), listen(t, test.client, Config{})
			buf := make([]byte, 64)
			to := transport.AddrOf(netip.AddrPortFrom(netip.MustParseAddr(test.target), server.LocalAddr().IP.Port()))
			require.NoError(t, client.Send(to, []byte("ping")))
			n, from := receive(t, server, buf)
			require.Equal(t, "ping", string(buf[:n]))
			require.Equal(t, netip.MustParseAddr(test.from), from.IP.Addr())
			require.Equal(t, client.LocalAddr().IP.Port(), from.IP.Port())

			require.NoError(t, server.Send(from, []byte("pong")))
			n, _ = receive(t, client, buf)
			require.Equal(t, "pong", string(buf[:n]))
		})
	}
}

func TestSendRefuses(t *testing.T) {
	c := listen(t, "127.0.0.1:0", Config{MaxDatagram: 100})
	self := c.LocalAddr()
	require.ErrorIs(t, c.Send(self, make([]byte, 101)), transport.ErrTooLarge)
	require.ErrorIs(t, c.Send(transport.Addr{}, []byte{1}), transport.ErrAddress)
	require.ErrorIs(t, c.Send(transport.AddrOf(netip.AddrPortFrom(self.IP.Addr(), 0)), []byte{1}), transport.ErrAddress)
	require.Equal(t, uint64(3), c.Stats().SendErrors)
	require.Error(t, c.Send(transport.AddrOf(netip.AddrPortFrom(netip.IPv6Loopback(), 9)), []byte{1}), "IPv6 from an IPv4 socket")
	require.NoError(t, c.Send(self, nil), "an empty datagram is not sent")
	require.Zero(t, c.Stats().Sent)
	n, _, err := c.Receive(make([]byte, 100))
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestOversizeForTheNetworkIsAnErrorOfThatDatagramOnly(t *testing.T) {
	c := listen(t, "127.0.0.1:0", Config{MaxDatagram: transport.MaxDatagram, Queue: 4})
	require.ErrorIs(t, c.Send(c.LocalAddr(), make([]byte, transport.MaxDatagram+1)), transport.ErrTooLarge)
	require.NoError(t, c.Send(c.LocalAddr(), []byte{7}))
	n, _ := receive(t, c, make([]byte, 10))
	require.Equal(t, 1, n)
}

func TestReceiveDropsTooLargeDatagrams(t *testing.T) {
	c := listen(t, "127.0.0.1:0", Config{MaxDatagram: 100})
	stranger, err := net.Dial("udp", c.LocalAddr().String())
	require.NoError(t, err)
	defer stranger.Close()
	for _, size := range []int{101, 2000, 0, 100, 3} {
		_, err = stranger.Write(bytes.Repeat([]byte{byte(size)}, size))
		require.NoError(t, err)
	}
	buf := make([]byte, 100)
	n, _ := receive(t, c, buf)
	require.Equal(t, 100, n, "exactly the largest fits")
	eventually(t, "too large for the buffer", func() bool {
		n, _, err := c.Receive(buf[:2])
		require.Zero(t, n)
		return errors.Is(err, transport.ErrTooLarge)
	})
	require.Equal(t, uint64(3), c.Stats().TooLarge)
	require.Equal(t, uint64(1), c.Stats().Empty)
}

func TestFullQueueDropsTheNewestAndCounts(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{Queue: 4})
	for i := range 20 {
		require.NoError(t, a.Send(b.LocalAddr(), []byte{byte(i)}))
	}
	eventually(t, "all read", func() bool { return b.Stats().Received+b.Stats().Overflowed == 20 })
	require.Equal(t, uint64(16), b.Stats().Overflowed)
	buf := make([]byte, 8)
	for i := range 4 {
		receive(t, b, buf)
		require.Equal(t, byte(i), buf[0])
	}
}

func TestUnreachablePeerDoesNotDeafen(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{})
	dead, err := Listen("127.0.0.1:0", Config{})
	require.NoError(t, err)
	require.NoError(t, dead.Close())
	for range 100 {
		_ = a.Send(dead.LocalAddr(), []byte{1})
	}
	require.NoError(t, b.Send(a.LocalAddr(), []byte{2}))
	eventually(t, "datagram of the living", func() bool {
		n, _, _ := a.Receive(make([]byte, 8))
		return n > 0
	})
}

func TestCloseWhileReadingEndsTheGoroutine(t *testing.T) {
	for range 20 {
		a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{})
		stop := make(chan struct{})
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					_ = a.Send(b.LocalAddr(), make([]byte, 500))
				}
			}
		}()
		receive(t, b, make([]byte, 500))
		require.NoError(t, b.Close())
		require.NoError(t, b.Close(), "a second Close does nothing")
		require.NoError(t, a.Close(), "while another goroutine sends")
		close(stop)
		<-stopped
		for _, c := range []*Conn{a, b} {
			_, _, err := c.Receive(make([]byte, 500))
			require.ErrorIs(t, err, transport.ErrClosed)
			require.ErrorIs(t, c.Send(a.LocalAddr(), []byte{1}), transport.ErrClosed)
		}
	}
	// A goroutine that has closed its channel may need a moment to be gone.
	eventually(t, "no reader left", func() bool {
		runtime.Gosched()
		var all strings.Builder
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
		return !strings.Contains(all.String(), "udp.(*Conn).read")
	})
}

func TestListenErrors(t *testing.T) {
	c := listen(t, "127.0.0.1:0", Config{})
	_, err := Listen(c.LocalAddr().String(), Config{})
	require.ErrorContains(t, err, "udp: ")
	_, err = Listen("no such address", Config{})
	require.ErrorContains(t, err, "udp: ")
}

func TestConfigBounds(t *testing.T) {
	got := Config{Queue: 1 << 30, MaxDatagram: 1 << 30}.withDefaults()
	require.Equal(t, Config{Queue: maxQueue, MaxDatagram: transport.MaxDatagram, ReadBuffer: defaultBuffer, WriteBuffer: defaultBuffer}, got)
}

func TestNoAllocations(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		t.Run(addr, func(t *testing.T) {
			c, err := Listen(addr, Config{Queue: 32})
			if err != nil {
				t.Skip(err)
			}
			defer c.Close()
			to := c.LocalAddr()
			if to.IP.Addr().IsUnspecified() {
				to = transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), to.IP.Port()))
			}
			datagram, buf := make([]byte, 1200), make([]byte, 1500)
			round := func() {
				if c.Send(to, datagram) != nil {
					panic("send")
				}
				for {
					n, _, err := c.Receive(buf)
					if err != nil {
						panic(err)
					}
					if n > 0 {
						return
					}
					runtime.Gosched()
				}
			}
			for range 64 { // Each slot of the queue has its memory then.
				round()
			}
			alloctest.Zero(t, 20, round)
		})
	}
}

func BenchmarkSend(b *testing.B) {
	a, sink := listen(b, "127.0.0.1:0", Config{}), listen(b, "127.0.0.1:0", Config{Queue: 1})
	datagram := make([]byte, 1200)
	b.ReportAllocs()
	for b.Loop() {
		_ = a.Send(sink.LocalAddr(), datagram)
	}
}

// BenchmarkRuns sends six datagrams to each of 16 sockets, as a server does in a tick: by segments (GSO) in one call, and each
// datagram by a call of its own. The receivers take several datagrams by a read (GRO), or one. It reports the time of a tick's
// sends in relation to that of single calls to receivers of single datagrams, which is measured in turns with it.
func BenchmarkRuns(b *testing.B) {
	const clients, datagrams, size = 16, 6, 1200
	tick := func(segments, single bool) func() {
		a := listen(b, "127.0.0.1:0", Config{})
		a.sender.segments = a.sender.segments && segments
		var to []transport.Addr
		var runs [][]byte
		var sizes []int
		for range clients {
			to = append(to, listen(b, "127.0.0.1:0", Config{single: single}).LocalAddr())
			runs, sizes = append(runs, runOf(datagrams, size, size-100)), append(sizes, size)
		}
		return func() { _, _ = a.SendAll(to, runs, sizes) }
	}
	for _, kind := range []struct {
		name             string
		segments, single bool
	}{{"segments", true, true}, {"segments to GRO", true, false}, {"calls to GRO", false, false}} {
		b.Run(kind.name, func(b *testing.B) {
			together, alone := tick(kind.segments, kind.single), tick(false, true)
			var took, base time.Duration
			for b.Loop() {
				start := time.Now()
				together()
				between := time.Now()
				alone()
				took, base = took+between.Sub(start), base+time.Since(between)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/clients/datagrams, "ns/datagram")
			b.ReportMetric(took.Seconds()/base.Seconds(), "of-single-calls")
		})
	}
}

func BenchmarkReceive(b *testing.B) {
	q := &Conn{queue: turns.New(1024, 2048, 1024)}
	datagram, buf := make([]byte, 1200), make([]byte, 1500)
	from := transport.MustParseAddr("192.0.2.7:9")
	b.ReportAllocs()
	for b.Loop() {
		q.queue.Put(from, netip.Addr{}, datagram, 0)
		_, _, _ = q.Receive(buf)
	}
}

func BenchmarkReceiveNothing(b *testing.B) {
	c := listen(b, "127.0.0.1:0", Config{})
	buf := make([]byte, 1500)
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = c.Receive(buf)
	}
}

// runOf is datagrams of a size, the last of which has so many bytes, each with a number.
func runOf(n, size, last int) (run []byte) {
	for i := range n {
		length := size
		if i == n-1 {
			length = last
		}
		run = append(run, bytes.Repeat([]byte{byte(i + 1)}, length)...)
	}
	return run
}

func TestRunArrivesAsItsDatagrams(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		for kind := range 4 {
			cut, together := kind&1 == 0, kind&2 == 0
			a, b := listen(t, addr, Config{}), listen(t, addr, Config{single: !together})
			if !cut {
				a.sender.segments = false
			}
			if !together {
				require.False(t, b.coalesced)
			}
			buf := make([]byte, 2048)
			for _, run := range []struct{ n, size, last int }{{1, 100, 100}, {2, 1200, 1200}, {3, 1200, 7}, {40, 1200, 1199}, {64, 10, 1}} {
				data := runOf(run.n, run.size, run.last)
				before := a.Stats()
				require.NoError(t, a.sendRun(b.LocalAddr(), data, run.size))
				for i := range run.n {
					n, from := receive(t, b, buf)
					want := run.size
					if i == run.n-1 {
						want = run.last
					}
					require.Equal(t, a.LocalAddr(), from)
					require.Equal(t, bytes.Repeat([]byte{byte(i + 1)}, want), buf[:n], "%v, datagram %d", run, i)
				}
				after := a.Stats()
				require.EqualValues(t, run.n, after.Sent-before.Sent)
				require.EqualValues(t, len(data), after.BytesSent-before.BytesSent)
				if !cut {
					require.Zero(t, after.Runs)
				}
			}
			require.Equal(t, a.sender.segments && b.coalesced, b.Stats().RunsReceived > 0, "within one machine a run stays in one piece")
		}
	}
}

func TestRunThatTheKernelRefusesGoesOneByOne(t *testing.T) {
	a, b := listen(t, "127.0.0.1:0", Config{}), listen(t, "127.0.0.1:0", Config{})
	// More segments than any kernel takes in one call.
	data := runOf(200, 20, 20)
	require.NoError(t, a.sendRun(b.LocalAddr(), data, 20))
	buf := make([]byte, 2048)
	for i := range 200 {
		n, _ := receive(t, b, buf)
		require.Equal(t, bytes.Repeat([]byte{byte(i + 1)}, 20), buf[:n])
	}
}

func TestRunThatCannotBeSent(t *testing.T) {
	a := listen(t, "127.0.0.1:0", Config{MaxDatagram: 100})
	data := runOf(3, 200, 200)
	require.ErrorIs(t, a.sendRun(a.LocalAddr(), data, 200), transport.ErrTooLarge)
	require.ErrorIs(t, a.sendRun(transport.Addr{}, data, 50), transport.ErrAddress)
	require.ErrorIs(t, a.sendRun(transport.MustParseAddr("[::1]:9"), data, 50), transport.ErrAddress)
	require.NoError(t, a.sendRun(a.LocalAddr(), nil, 50))
	require.NoError(t, a.sendRun(a.LocalAddr(), data[:90], 0), "without a size it is one datagram")
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.sendRun(a.LocalAddr(), data, 50), transport.ErrClosed)
}

func TestRunAllocatesNothing(t *testing.T) {
	a := listen(t, "127.0.0.1:0", Config{})
	b, err := net.ListenPacket("udp", "127.0.0.1:0") // A Conn would queue what comes, which is memory.
	require.NoError(t, err)
	defer func() { _ = b.Close() }()
	to, err := transport.ParseAddr(b.LocalAddr().String())
	require.NoError(t, err)
	data := runOf(3, 1200, 500)
	alloctest.Zero(t, 100, func() { _ = a.sendRun(to, data, 1200) })
}
