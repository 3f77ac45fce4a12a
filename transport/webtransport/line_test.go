package webtransport

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/testutils/simnet"
	"github.com/quic-go/webtransport-go"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport/queued"
)

const (
	lineRate  = 48 << 10 // Bytes a second to the client.
	lineDelay = 20 * time.Millisecond
	lineQueue = 400 * time.Millisecond
)

// line is a narrow, lossy line between a server and one client, in memory.
type line struct {
	simnet.PerfectRouter
	server, client *simnet.SimConn

	mu     sync.Mutex
	random *rand.Rand
	loss   float64
	free   time.Time       // When the bottleneck has sent all that waits.
	waits  []time.Duration // In the queue, of each datagram that passed.
	lost   int             // At the end of the queue.
}

func newLine(loss float64) *line {
	l := &line{random: rand.New(rand.NewPCG(1, 2)), loss: loss}
	l.server = simnet.NewBlockingSimConn(&net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 443}, l)
	l.client = simnet.NewBlockingSimConn(&net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 4000}, l)
	return l
}

// SendPacket implements simnet.Router.
func (l *line) SendPacket(p simnet.Packet) error {
	delay := lineDelay
	if p.From == l.server.LocalAddr() {
		wait, ok := l.enter(len(p.Data))
		if !ok {
			return nil
		}
		delay += wait
	}
	time.AfterFunc(delay, func() { _ = l.PerfectRouter.SendPacket(p) })
	return nil
}

// enter puts a datagram into the queue and returns the time until it has left, or false if it is lost before or at the end of the queue.
func (l *line) enter(n int) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.random.Float64() < l.loss {
		return 0, false
	}
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

// connect makes a server and a client of the two ends of the line.
func (l *line) connect(t *testing.T) (*Server, *Conn) {
	certificate, hash, err := NewCertificate(time.Now(), "10.0.0.1")
	require.NoError(t, err)
	s, err := serve(l.server, Config{TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}})
	require.NoError(t, err)
	socket := &quic.Transport{Conn: l.client}
	over := &webtransport.Transport{
		TLSClientConfig: Pin(hash),
		DialAddr: func(ctx context.Context, _ string, trust *tls.Config, config *quic.Config) (*quic.Conn, error) {
			return socket.DialEarly(ctx, l.server.LocalAddr(), trust, config)
		},
	}
	c, err := dialOver(t.Context(), over, "https://10.0.0.1/netcode", queued.Config{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.NoError(t, s.Close())
		require.NoError(t, socket.Close())
		require.NoError(t, l.client.Close())
	})
	return s, c
}

type place struct {
	X, Y, Z float32 `net:"min=-512,max=512,step=0.002"`
}

// A server with more to send than a narrow, lossy line takes does not fill its queue: netcode's congestion control measures the wait above
// QUIC, so the ring and QUIC's own queue of 32 datagrams stay short too. Without it, QUIC alone fills the queue. Time is virtual.
func TestAQueueStaysShortOnANarrowLine(t *testing.T) {
	for _, loss := range []float64{0, 0.02, 0.1} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wait, lost := playOverLine(t, loss, 1<<20)
				require.Less(t, wait, lineQueue/2)
				require.Less(t, lost, 0.01)
			})
		})
	}
	t.Run("without control", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			wait, _ := playOverLine(t, 0, -1)
			require.Greater(t, wait, lineQueue/2)
		})
	})
}

// playOverLine plays a game that always has more to send than the line takes. It returns the wait in the line's queue that 95 % of
// the datagrams stay below, and the share that is lost at its end.
func playOverLine(t *testing.T, loss float64, budget int) (wait time.Duration, lost float64) {
	l := newLine(loss)
	s, c := l.connect(t)
	protocol := netcode.NewProtocol()
	netcode.Replicate[place](protocol)
	server, err := netcode.NewServer(protocol, netcode.Config{SendBudget: budget})
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
	group.Add(tick.Update, systems.Func(func(w *ecs.World) {
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
	time.Sleep(30 * time.Second)
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
	n := len(l.waits)
	wait, lost = l.waits[n*95/100], float64(l.lost)/float64(n+l.lost)
	t.Logf("%d datagrams in 30 s, wait in the line's queue: median %v, 95 %% %v; %d lost at its end; ring: %d overtaken; netcode's line %+v; QUIC lets %d bytes/s through",
		n, l.waits[n/2], wait, l.lost, s.Stats().Overtaken, stats.Line, rate)
	return wait, lost
}
