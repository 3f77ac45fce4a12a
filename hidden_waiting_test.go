package netcode_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// What was said about an entity and waits for the budget when the entity is hidden never leaves, in any mode; what is about
// another one does.
func TestCase46WaitingMessagesEndWithSight(t *testing.T) {
	const other = secretNumber + 1
	for _, mode := range everyMode {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			k := newTalk(t, netcode.Config{SendBudget: 4 << 10}, 1)
			id, stays := k.spawn(1), k.spawn(2)
			k.run(2 * time.Second)
			s, c := k.server.Server, k.clients[0]
			hidden, after := false, 0
			k.tamper = func(_, to transport.Addr, packet []byte) []byte {
				if hidden && to == c.conn.LocalAddr() {
					after += strings.Count(string(inspect.AppendClientDump(nil, c.Client, packet)), fmt.Sprint(secretNumber))
				}
				return packet
			}
			taken := 0
			k.server.late = func() {
				for i := range 500 {
					m, about := &chat{secretNumber}, id
					if i%100 == 50 {
						m, about = &chat{other}, stays
					}
					if netcode.Send(s, netcode.To(1), m, netcode.About(about), netcode.Via(mode)) == nil {
						taken++
					}
				}
				k.server.late = nil
				require.True(t, s.Hide(1, id))
				hidden = true
			}
			k.run(5 * time.Second)
			require.Greater(t, taken, 400)
			require.Zero(t, after, "on the wire after Hide")
			got := map[string]int{}
			for _, h := range k.heard {
				got[h]++
			}
			require.Equal(t, map[string]int{fmt.Sprintf("1<0:%d", other): 5}, got)
			require.Equal(t, netcode.Connected, c.State())
		})
	}
}

// large is a message with content that must not be taken for that of a collection.
type large struct {
	A, B, C, D uint32
	E          bool
}

// A game may use the channel that collections use: what it says there about an entity that was hidden stays what it is.
func TestMessagesBesideCollectionsAreUnchanged(t *testing.T) {
	p := protocol()
	list := collections.NewList[marked](p, "list")
	said, heard := large{0x11111111, 0x22222222, 0x33333333, 0x44444444, true}, []large(nil)
	netcode.Handle(p, func(_ *message.Context, m *large) { heard = append(heard, *m) })
	r := newRig(t, p, netcode.Config{})
	c := r.joined(p, netcode.Config{})
	id := r.spawn(1)
	require.NoError(t, list.Of(r.server.Server, id).Append(marked{}))
	r.run(2 * time.Second)
	s := r.server.Server
	cut := true
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if cut && to == c.conn.LocalAddr() {
			return nil
		}
		return packet
	}
	require.NoError(t, netcode.Send(s, netcode.To(1), &said, netcode.About(id), netcode.Via(netcode.ReliableOrdered), netcode.Channel(63)))
	r.run(300 * time.Millisecond)
	require.True(t, s.Hide(1, id))
	r.run(100 * time.Millisecond)
	require.True(t, s.Show(1, id))
	r.run(100 * time.Millisecond)
	cut = false
	r.run(5 * time.Second)
	require.Equal(t, netcode.Connected, c.State())
	require.LessOrEqual(t, len(heard), 1)
	for _, m := range heard {
		require.Equal(t, said, m)
	}
}

// boulder does not fit a packet.
type boulder struct{ A [500]uint32 }

// What is about an entity that never comes since it fits no packet does not hold up what is behind it for ever.
func TestMessagesAboutAnOversizeEntityAreGivenUp(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[boulder](p)
	var heard []uint32
	netcode.Handle(p, func(_ *message.Context, m *chat) { heard = append(heard, m.Number) })
	r := newRig(t, p, netcode.Config{})
	r.joined(p, netcode.Config{})
	var id wire.NetworkID
	r.change(func(store *snapshot.Store) {
		id = store.Spawn()
		lanes := make([]uint32, 500)
		for i := range lanes {
			lanes[i] = uint32(i) * 0x9e3779b9
		}
		store.Set(id, 0, lanes)
	})
	s := r.server.Server
	require.NoError(t, netcode.Send(s, netcode.To(1), &chat{1}, netcode.About(id), netcode.Via(netcode.ReliableOrdered)))
	require.NoError(t, netcode.Send(s, netcode.To(1), &chat{2}, netcode.Via(netcode.ReliableOrdered)))
	r.run(time.Second)
	require.Empty(t, heard)
	r.run(2 * time.Second)
	require.Equal(t, []uint32{2}, heard)
	require.EqualValues(t, 1, s.Stats().DelayedDropped)
}

// A server that nobody drains does not grow for ever, with an Executor either.
func TestOutputIsBoundedWithAnExecutor(t *testing.T) {
	r := newRig(t, protocol(), netcode.Config{SendBudget: -1, Clients: 64, SentPackets: 4096, Executor: newPool(t, 2)})
	for range 24 {
		r.joined(r.server.Protocol(), netcode.Config{})
	}
	turn := 0
	r.server.game = func(store *snapshot.Store) {
		if turn == 0 {
			for range 4000 {
				store.Spawn()
			}
		}
		turn++
		for id := range store.All {
			r.set(store, id, float32(turn)*1.37+float32(id.Index))
		}
	}
	for range 50 {
		r.now += frameTime
		s := r.server
		s.BeginFrame(r.now)
		if s.TickDue() && s.Tick() > s.Store().Tick() {
			s.Store().Begin(s.Tick())
			s.game(s.Store())
			s.Store().Commit()
		}
		s.Send()
	}
	waiting := 0
	r.server.Drain(func(_ transport.Addr, p []byte) { waiting += len(p) })
	require.LessOrEqual(t, waiting, 16<<20)
	require.Positive(t, r.server.Stats().OutputFull)
}
