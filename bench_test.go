package netcode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/tick"
)

// shot is 16 bytes of exact fields.
type shot struct{ A, B, C, D uint32 }

// rpcRig is 64 clients that send a server so many messages a frame over 4 stages, and get as many.
func rpcRig(t testing.TB, total int) (r *rig.Rig, frame func(), heard *int) {
	p := netcode.NewProtocol()
	heard = new(int)
	netcode.Handle(p, func(_ *netcode.Context, m *shot) {
		*heard++
		m.A += m.B
	})
	config := netcode.Config{SendBudget: -1, OutboxBytes: 1 << 20, TickRate: 60, SentPackets: 4096}
	r = rig.New(t, p, config)
	config.Entities = 1
	for range 64 {
		r.Joined(p, config)
	}
	each := total / 64
	stages := []tick.Stage{tick.EarlyUpdate, tick.FixedUpdate, tick.Update, tick.PostLateUpdate}
	frame = func() {
		for i, c := range r.Clients {
			for n := range each {
				m := shot{uint32(i), uint32(n), 3, 4}
				if netcode.Send(c.Client, netcode.ToServer(), &m, netcode.AtStage(stages[n&3])) != nil ||
					netcode.Send(r.Server.Server, netcode.To(c.ID()), &m, netcode.AtStage(stages[n&3])) != nil {
					t.Fatal("not sent")
				}
			}
		}
		r.Step()
	}
	return r, frame, heard
}

// A frame in which 64 clients and a server send each other messages allocates nothing, with every delivery mode among them.
func TestFrameOfMessagesAllocatesNothing(t *testing.T) {
	r, frame, heard := rpcRig(t, 1280)
	many := []netcode.ClientID{2, 3, 5}
	step := func() {
		frame()
		for _, c := range r.Clients[:8] {
			for mode := netcode.Unreliable; mode <= netcode.ReliableOrdered; mode++ {
				m := shot{1, 2, 3, 4}
				if netcode.Send(c.Client, netcode.ToServer(), &m, netcode.Over(mode), netcode.OnChannel(1)) != nil ||
					netcode.Send(r.Server.Server, netcode.ToMany(many), &m, netcode.Over(mode)) != nil {
					t.Fatal("not sent")
				}
			}
		}
	}
	for range 400 {
		step()
	}
	alloctest.Zero(t, 50, step)
	r.Run(100 * time.Millisecond)
	require.Equal(t, (400+51)*(2*1280+8*4+8*4*3), *heard)
}

func BenchmarkFrameOf30000MessagesEachWay(b *testing.B) {
	_, frame, heard := rpcRig(b, 30000)
	for range 100 {
		frame()
	}
	*heard = 0
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		frame()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(*heard), "ns/message")
}
