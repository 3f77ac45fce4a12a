package netcode

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// heavyBody is 40 bytes of exact fields: 1000 of them that change at random fill 36 packets.
type heavyBody struct{ A, B, C, D, E, F, G, H, I, J float32 }

// packetsPair is a server of 1000 bodies and a client, whose packets of one tick are at hand one by one.
type packetsPair struct {
	server   *Server
	client   *Client
	now      time.Duration
	from, to transport.Addr
	packets  [][]byte // to the client, of the newest tick
	back     []byte   // to the server, one behind the other
	sizes    []int    // of those
	in       []peer.Incoming
	content  []endpoint.Contents
	lanes    []uint32
	random   *rand.Rand
	ids      []NetworkID
}

func newPacketsPair(t testing.TB) *packetsPair {
	p := NewProtocol()
	Replicate[heavyBody](p)
	config := Config{TickRate: 60, SendBudget: -1, Entities: 1000, Random: rand.NewChaCha8([32]byte{1})}
	k := &packetsPair{from: transport.MustParseAddr("10.0.0.1:1"), to: transport.MustParseAddr("10.0.0.2:2"),
		random: rand.New(rand.NewPCG(1, 2)), lanes: make([]uint32, 10), now: time.Second}
	var err error
	k.server, err = NewServer(p, config)
	require.NoError(t, err)
	config.Random = rand.NewChaCha8([32]byte{2})
	k.client, err = NewClient(p, config)
	require.NoError(t, err)
	steps.OfClient(k.client).BeginFrame(k.now)
	require.NoError(t, k.client.Connect(k.from))
	for range 400 { // Until it is connected, has the world, and every history went round.
		k.serve()
		steps.OfClient(k.client).BeginFrame(k.now)
		for _, packet := range k.packets {
			steps.OfClient(k.client).Receive(k.from, packet)
		}
		k.end()
	}
	require.Equal(t, Connected, k.client.State())
	require.Equal(t, 1000, k.client.Replica().Len())
	return k
}

// serve is a tick of the server.
func (k *packetsPair) serve() {
	k.now += time.Second / 60
	steps.OfServer(k.server).BeginFrame(k.now)
	for back := k.back; len(k.sizes) > 0; k.sizes = k.sizes[1:] {
		steps.OfServer(k.server).Receive(k.to, back[:k.sizes[0]])
		back = back[k.sizes[0]:]
	}
	k.back = k.back[:0]
	for stage := range tick.Stage(tick.NumStages) {
		steps.OfServer(k.server).Dispatch(stage)
	}
	if store := k.server.Store(); k.server.TickDue() && k.server.Tick() > store.Tick() {
		k.play(store)
	}
	k.packets = k.packets[:0]
	steps.OfServer(k.server).Send()
	steps.OfServer(k.server).Drain(func(_ transport.Addr, packet []byte) { k.packets = append(k.packets, slices.Clone(packet)) })
}

func (k *packetsPair) play(store *snapshot.Store) {
	store.Begin(k.server.Tick())
	for len(k.ids) < 1000 {
		k.ids = append(k.ids, store.Spawn())
	}
	for _, id := range k.ids {
		for i := range k.lanes {
			k.lanes[i] = k.random.Uint32() &^ (1 << 30) // A finite number.
		}
		store.Set(id, 0, k.lanes)
	}
	store.Commit()
}

// open reads and judges the tick's packets, up to the rows.
func (k *packetsPair) open(t testing.TB) {
	c := k.client
	steps.OfClient(c).BeginFrame(k.now)
	k.in, k.content = k.in[:0], k.content[:0]
	for _, packet := range k.packets {
		in, err := c.link.Read(packet)
		found, reason := c.core.Judge(&c.link, &in)
		if err != nil || reason != nil { // require would take longer than what is measured
			t.Fatal(err, reason)
		}
		k.in, k.content = append(k.in, in), append(k.content, found)
	}
}

// rows reads the rows.
func (k *packetsPair) rows(t testing.TB) {
	for i := range k.content {
		require.True(t, k.content[i].Snapshot != nil && k.client.readSnapshot(k.content[i].Snapshot, k.in[i].Sequence))
	}
}

// close does with each packet what comes behind its rows.
func (k *packetsPair) close() {
	c := k.client
	for i := range k.in {
		c.link.ReceivedAt = c.frame.Now
		c.noteServerTick(&k.in[i], &k.content[i])
		c.link.Conn.Accept(k.in[i], c.frame.Now)
		if c.link.Conn.AckNow() {
			c.link.SendAck()
		}
	}
}

// end is the rest of the client's frame.
func (k *packetsPair) end() {
	c := k.client
	for stage := range tick.Stage(tick.NumStages) {
		steps.OfClient(c).Dispatch(stage)
	}
	if c.Replica() != nil {
		c.Replica().ClearChanged()
	}
	steps.OfClient(c).Send()
	steps.OfClient(c).Drain(func(_ transport.Addr, packet []byte) {
		k.back = append(k.back, packet...)
		k.sizes = append(k.sizes, len(packet))
	})
}

// BenchmarkClientOf36PacketsATick measures the work of a client for 36 packets a tick beside reading their rows: checksums, the clock,
// acknowledgements. The metric is that of the fastest tick, since a tick is short and other processes disturb it.
func BenchmarkClientOf36PacketsATick(b *testing.B) {
	k := newPacketsPair(b)
	parts, packets, all := [3]time.Duration{}, 0, time.Duration(0)
	fastest := time.Hour
	for b.Loop() {
		k.serve()
		packets += len(k.packets)
		start := time.Now()
		k.open(b)
		opened := time.Now()
		k.rows(b)
		read := time.Now()
		k.close()
		closed := time.Now()
		k.end()
		ended := time.Now()
		took := opened.Sub(start) + ended.Sub(read)
		all += took
		if took < fastest && len(k.packets) >= 36 {
			fastest, parts = took, [3]time.Duration{opened.Sub(start), closed.Sub(read), ended.Sub(closed)}
		}
	}
	b.ReportMetric(float64(packets)/float64(b.N), "packets/tick")
	b.ReportMetric(float64(all.Nanoseconds())/float64(b.N), "ns-mean/tick")
	b.ReportMetric(float64(fastest.Nanoseconds()), "ns-fastest/tick")
	for i, name := range []string{"ns-open", "ns-close", "ns-send"} {
		b.ReportMetric(float64(parts[i].Nanoseconds()), name)
	}
}
