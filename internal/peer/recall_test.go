package peer

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// forgetful is a talker that recalls messages now and then. Of which it may have been taken back it notes, of which the rest
// was blanked it notes the other body.
type forgetful struct {
	*talker
	gone    uint32 // entities with an index that is this, modulo 4, are
	blanked int
	amended int
}

func (f *forgetful) Gone(id wire.NetworkID) bool { return id.Index%4 == f.gone }

func (f *forgetful) Blank(_ wire.MessageType, body []byte) {
	f.blanked++
	for i := 8; i < len(body); i++ {
		body[i] = 0xBB
	}
}

func (f *forgetful) Amend(_ wire.MessageType, body []byte) int {
	id := binary.LittleEndian.Uint64(body)
	s, ok := f.sent[id]
	require.True(f.t, ok && s.post.Entity.Index%4 != f.gone, "it waits, and is not gone")
	require.Equal(f.t, s.body, body)
	f.amended++
	s.body = s.body[:max(8, len(body)-int(id%3))]
	f.sent[id] = s
	return len(s.body)
}

// recall recalls on one channel.
func (f *forgetful) recall(ch wire.Channel) {
	f.gone = f.random.Uint32N(4)
	for id, s := range f.sent {
		if s.post.Channel == ch && s.post.Flags&wire.FlagEntity != 0 && f.Gone(s.post.Entity) {
			s.recalled = true
			f.sent[id] = s
		}
	}
	f.out.Recall(ch, f)
	taken := f.out.Stats().Recalled
	f.out.Recall(ch, f)
	require.Equal(f.t, taken, f.out.Stats().Recalled, "once more takes nothing back")
	f.checkMemory()
}

// A recalled message never arrives. If it was sent before, only its blank form is sent again. Every other message arrives exactly once, in
// order where promised, whatever the link does: the messages behind those taken back close the gap.
func TestRecallAgainstModel(t *testing.T) {
	total, blanked, amended := uint64(0), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := weather{
			loss: rapid.Float64Range(0, 0.5).Draw(t, "loss"), burst: rapid.SampledFrom([]float64{0, 0.9}).Draw(t, "burst"),
			duplicate: 0.1, delay: rapid.IntRange(0, 8).Draw(t, "delay"), jitter: rapid.SampledFrom([]int{0, 8}).Draw(t, "jitter"),
		}
		cfg := OutgoingConfig{
			PacketSize:    rapid.SampledFrom([]int{64, 100, 300, 1200}).Draw(t, "packet"),
			ReliableBytes: rapid.SampledFrom([]int{1, 20000, 256 << 10}).Draw(t, "reliable"), SentPackets: 64,
		}
		channels := []wire.Channel{
			wire.NewChannel(wire.ReliableOrdered, 0), wire.NewChannel(wire.ReliableOrdered, 63), wire.NewChannel(wire.Reliable, 3), 0,
		}
		first := rapid.SampledFrom(startSequences()).Draw(t, "first")
		a, b := newTalkers(t, rapid.Uint64().Draw(t, "seed"), first, cfg, w, channels)
		a.large, b.large = 2000, 2000
		f := &forgetful{talker: a}
		often := rapid.IntRange(1, 20).Draw(t, "often")
		a.before = func() {
			if a.random.IntN(often) == 0 {
				f.recall(channels[a.random.IntN(3)])
			}
		}
		talk(t, a, b, 60, rapid.SampledFrom([]int{1, 5, 30}).Draw(t, "rate"), rapid.IntRange(1, 4).Draw(t, "packets"))
		missing := a.skipped
		for _, s := range a.sent {
			if s.post.Channel.Delivery().Reliable() {
				missing++
			}
		}
		require.Equal(t, a.out.Stats().Recalled, missing, "what is missing was taken back, and the other way round")
		total += missing
		blanked += f.blanked
		amended += f.amended
	})
	if !testing.Short() { // then there are too few cases to say
		require.Greater(t, total, uint64(100))
		require.Greater(t, blanked, 100)
		require.Greater(t, amended, 100)
	}
}

// nobody is a Recaller that looks at everything and changes nothing.
type nobody struct{ looked int }

func (n *nobody) Gone(wire.NetworkID) bool { n.looked++; return false }

func (n *nobody) Blank(wire.MessageType, []byte) {}

func (n *nobody) Amend(_ wire.MessageType, body []byte) int { return len(body) }

// A recall allocates nothing, and looks at its own channel alone.
func TestRecallAllocatesNothing(t *testing.T) {
	out := NewOutgoing(OutgoingConfig{}, NewPool(DefaultPacketSize))
	ch, random := wire.NewChannel(wire.ReliableOrdered, 63), rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		p := Post{Channel: ch, Type: wire.FirstUserMessage, Stage: tick.Update, Flags: wire.FlagEntity,
			Entity: wire.NetworkID{Index: uint32(i), Generation: 1}}
		require.NoError(t, out.Push(&p, make([]byte, 1+random.IntN(2000))))
	}
	n := &nobody{}
	out.Recall(wire.NewChannel(wire.ReliableOrdered, 62), n)
	require.Zero(t, n.looked)
	alloctest.Zero(t, 10, func() { out.Recall(ch, n) })
	require.Equal(t, 11*200, n.looked)
}
