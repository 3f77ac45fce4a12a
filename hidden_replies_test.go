package netcode_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// prying is what a server answers to a client that asks about one entity in every way there is.
type prying struct {
	packets  []string // to the client: when, and the bytes
	in, out  int      // bytes, once it is connected
	handled  int      // messages and questions about the entity
	asked    int      // times that the game was asked for authority
	log      []string
	stats    netcode.Stats
	answered int // answers and refusals to the client
}

// Whom a client asks about. In each world there is one of each.
const (
	pryVisible = iota
	pryHidden
	pryDead // It was hidden, too.
	pryUnborn
)

// pry plays the same world and the same client, which asks about another entity each time.
func pry(t *testing.T, whom int) (got prying) {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p, authority.WrittenBy(authority.NamedWrites))
	netcode.Handle(p, func(*netcode.Context, *chat) { got.handled++ })
	netcode.Answer(p, func(_ *netcode.Context, q *ping, a *cost) error {
		got.handled++
		if a.Gold = q.Nonce; q.Nonce%2 == 0 {
			return fmt.Errorf("even")
		}
		return nil
	})
	const typeChat, typeWish, typePing = wire.FirstUserMessage, wire.FirstUserMessage + 3, wire.FirstUserMessage + 4 // By name.
	r := newRig(t, p, netcode.Config{Strikes: 1 << 20})
	authority.OnAsk(r.server.Server, func(netcode.ClientID, netcode.NetworkID) bool { got.asked++; return true })
	th := newThief(t, r, p)
	ids := make([]wire.NetworkID, 4)
	for i := range ids[:3] {
		i := i
		r.change(func(store *snapshot.Store) {
			ids[i] = store.Spawn()
			store.Set(ids[i], 0, []uint32{0, 0})
			if i != pryVisible {
				require.True(t, r.server.Hide(1, ids[i]))
			}
		})
	}
	r.change(func(store *snapshot.Store) { store.Despawn(ids[pryDead]) })
	ids[pryUnborn] = wire.NetworkID{Index: 77, Generation: 1}
	r.run(time.Second)
	id := ids[whom]
	began := r.now
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == th.address {
			got.packets = append(got.packets, fmt.Sprintf("%v %x", r.now-began, packet))
			got.out += len(packet)
		}
		return packet
	}
	for i := range 120 {
		wish := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, id.Index), id.Generation)
		body := binary.LittleEndian.AppendUint32(nil, uint32(i))
		about := peer.Post{Stage: tick.Update, Flags: wire.FlagEntity, Entity: id}
		out := peer.NewOutgoing(peer.OutgoingConfig{}, peer.NewPool(1200))
		chatting, asking, wishing := about, about, peer.Post{Type: typeWish}
		chatting.Type, asking.Type = typeChat, typePing
		asking.Flags |= wire.FlagCall
		asking.Call = uint16(i)
		require.NoError(t, out.Push(&chatting, body))
		require.NoError(t, out.Push(&asking, body))
		require.NoError(t, out.Push(&wishing, append(wish, byte(i&1))))
		b := th.conn.Begin(make([]byte, 1200))
		out.Fill(&b, 600)
		give := func() {
			packet := th.conn.Finish(&b, 1, th.now)
			got.in += len(packet)
			r.server.Receive(th.address, packet)
		}
		give()
		b = th.conn.Begin(make([]byte, 1200)) // A packet with writes that are not its to make has no effect at all.
		state := forged(p, r.server.Tick(), []wire.NetworkID{id}, func(s *snapshot.Store, id wire.NetworkID) { s.Set(id, 0, []uint32{uint32(i), 0}) })
		b.Add(wire.MessageSnapshot, tick.Initialization, copy(b.Payload(), state))
		give()
		r.step()
		th.listen(&got)
	}
	got.log, got.stats = r.server.log, r.server.Stats()
	return got
}

// listen reads what came, so that the next packet acknowledges it, and counts answers.
func (th *thief) listen(got *prying) {
	for {
		n, _, err := th.socket.Receive(th.buf[:])
		require.NoError(th.t, err)
		if n == 0 {
			return
		}
		in, err := th.conn.Read(th.buf[:n], th.now, ignore{})
		if err != nil {
			continue
		}
		m := in.Messages()
		for m.Next() {
			if m.Header.Type == wire.MessageRefusal || m.Header.Type >= wire.FirstUserMessage {
				got.answered++
			}
		}
		th.conn.Accept(in, th.now)
	}
}

// ignore is an Outcome for whom nothing comes of packets.
type ignore struct{}

func (ignore) Acked(uint64, tick.Tick) {}
func (ignore) Lost(uint64)             {}

// Catalogue case 46, error replies. A client asks about an entity by messages, questions, wishes for authority and writes. About
// a hidden one, one that died hidden and one that never was it gets the same bytes at the same times: no answer, no refusal, and
// less than it sent. That it gets answers, and refusals, where it may see the entity shows that it asked well.
func TestCase46RepliesTellNothing(t *testing.T) {
	visible, hidden := pry(t, pryVisible), pry(t, pryHidden)
	require.Equal(t, 240, visible.handled)
	require.Equal(t, 60, visible.asked)
	require.Greater(t, visible.answered, 120)
	for _, whom := range []int{pryDead, pryUnborn} {
		other := pry(t, whom)
		require.Equal(t, hidden.packets, other.packets, "entity %d", whom)
		require.Equal(t, hidden.log, other.log)
		require.Equal(t, hidden.stats.NotVisible, other.stats.NotVisible)
		require.Equal(t, hidden.stats.NotAllowed, other.stats.NotAllowed)
		require.Zero(t, other.handled+other.asked+other.answered)
	}
	require.Zero(t, hidden.handled)
	require.Zero(t, hidden.asked)
	require.Zero(t, hidden.answered)
	require.EqualValues(t, 3*120, hidden.stats.NotVisible)
	require.EqualValues(t, 120, hidden.stats.NotAllowed)
	require.Less(t, hidden.out, hidden.in/2, "bytes out, bytes in")
	require.Less(t, visible.out, visible.in, "where there are replies, too")
	require.Equal(t, []string{"connect 1"}, hidden.log)
}
