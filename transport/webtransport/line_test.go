package webtransport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
)

const (
	lineRate  = 48 << 10 // Bytes a second to the client.
	lineDelay = 20 * time.Millisecond
	lineQueue = 400 * time.Millisecond
)

// line is a narrow, lossy line in front of a server: a UDP relay for one client.
type line struct {
	inner, outer *net.UDPConn

	mu     sync.Mutex
	client netip.AddrPort
	free   time.Time       // When the bottleneck has sent all that waits.
	waits  []time.Duration // In the queue, of each datagram that passed.
	lost   int             // At the end of the queue.
}

func newLine(t *testing.T, server netip.AddrPort, loss float64) *line {
	inner, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	outer, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(server))
	require.NoError(t, err)
	l := &line{inner: inner, outer: outer}
	t.Cleanup(func() { _, _ = inner.Close(), outer.Close() })
	random := rand.New(rand.NewPCG(1, 2))
	go func() {
		for buf := make([]byte, 2048); ; {
			n, from, err := inner.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			l.mu.Lock()
			l.client = from
			l.mu.Unlock()
			b := slices.Clone(buf[:n])
			time.AfterFunc(lineDelay, func() { _, _ = outer.Write(b) })
		}
	}()
	go func() {
		for buf := make([]byte, 2048); ; {
			n, err := outer.Read(buf)
			if err != nil {
				return
			}
			if random.Float64() < loss {
				continue
			}
			if wait, ok := l.enter(n); ok {
				b, to := slices.Clone(buf[:n]), l.client
				time.AfterFunc(wait+lineDelay, func() { _, _ = inner.WriteToUDPAddrPort(b, to) })
			}
		}
	}()
	return l
}

// enter puts a datagram into the queue, unless that is full, and returns the time until it has left.
func (l *line) enter(n int) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	if l.free.Sub(now) > lineQueue {
		l.lost++
		return 0, false
	}
	l.free = l.free.Add(time.Duration(n+28) * time.Second / lineRate)
	l.waits = append(l.waits, l.free.Sub(now))
	return l.free.Sub(now), true
}

type place struct {
	X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
}

// A server with more to send than a narrow, lossy line takes does not fill its queue: netcode's congestion control measures the wait above
// QUIC, so the ring and QUIC's own queue of 32 datagrams stay short too.
func TestAQueueStaysShortOnANarrowLine(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of real time")
	}
	for _, loss := range []float64{0, 0.02, 0.1} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) { playOverLine(t, loss) })
	}
}

// playOverLine measures the waits of a game that always has more to send than the line takes.
func playOverLine(t *testing.T, loss float64) {
	s, _, pin := listen(t, Config{})
	l := newLine(t, s.LocalAddr().IP, loss)
	c, err := dial(t, "https://"+l.inner.LocalAddr().String()+"/netcode", pin)
	require.NoError(t, err)
	protocol := netcode.NewProtocol()
	netcode.Replicate[place](protocol)
	server, err := netcode.NewServer(protocol, netcode.Config{SendBudget: 1 << 20})
	require.NoError(t, err)
	client, err := netcode.NewClient(protocol, netcode.Config{})
	require.NoError(t, err)
	world, mirror := ecs.NewWorld(), ecs.NewWorld()
	build := generic.NewMap2[components.Replicated, place](&world)
	for range 2000 {
		build.New()
	}
	group := systems.NewServer(server, s, systems.WallClock())
	random, all := rand.New(rand.NewPCG(3, 4)), generic.NewFilter1[place]()
	group.Add(netcode.StageUpdate, systems.Func(func(w *ecs.World) {
		for query := all.Query(w); query.Next(); {
			*query.Get() = place{random.Float32() * 500, random.Float32() * 500, random.Float32() * 500}
		}
	}))
	serving, playing := systems.NewRunner(&world, group, 60), systems.NewRunner(&mirror, systems.NewClient(client, c, systems.WallClock()), 60)
	require.NoError(t, client.Connect(c.Server()))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = serving.Run(ctx) })
	running.Go(func() { _ = playing.Run(ctx) })
	time.Sleep(4 * time.Second)
	l.mu.Lock()
	l.waits, l.lost = nil, 0
	l.mu.Unlock()
	var rtts []time.Duration
	for range 50 {
		time.Sleep(100 * time.Millisecond)
		playing.Do(func() {
			rtt, _ := client.RTT()
			rtts = append(rtts, rtt)
		})
	}
	var stats netcode.ClientStats
	serving.Do(func() {
		for id := range server.Clients {
			stats, _ = server.ClientStats(id)
		}
	})
	rate, _ := s.Rate(stats.Address)
	cancel()
	running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.waits)
	slices.Sort(rtts)
	n, m := len(l.waits), len(rtts)
	t.Logf("%d datagrams in 5 s, wait in the line's queue: median %v, 95 %% %v; %d lost at its end; round trip of netcode: median %v, 95 %% %v (line without queue: %v); ring: %d overtaken; netcode's line %+v; QUIC lets %d bytes/s through",
		n, l.waits[n/2], l.waits[n*95/100], l.lost, rtts[m/2], rtts[m*95/100], 2*lineDelay, s.Stats().Overtaken, stats.Line, rate)
	require.Less(t, l.waits[n*95/100], 100*time.Millisecond)
	require.Less(t, l.lost, n/20+1)
}
