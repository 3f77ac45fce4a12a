package netcode_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/rewind"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// marked has the secrets of a hidden entity: a number that is used nowhere else, and the id of the entity that it names.
type marked struct {
	Marker uint64
	Of     wire.NetworkID `net:"entity"`
}

// tagged is another such component. It names nobody, and so travels as what differs from before.
type tagged struct{ Marker uint64 }

// markerHead is the upper half and more of every marker; the rest changes all the time.
const markerHead = 0xDEC0ADDE5EC2

const (
	rowMarked = iota
	rowPlace
	rowTagged
)

// hidden is a world of which client 1 sees some entities and never learns anything of the others.
type hidden struct {
	*rig.Rig
	explicit *interest.Explicit
	random   *rand.Rand
	public   []wire.NetworkID // visible to client 1
	secret   []wire.NetworkID
	ever     map[wire.NetworkID]bool // ids that client 1 may know of
	indexes  map[uint32]bool
	secrets  int // how many there are
	names    bool
	aims     bool // whether visible ones name hidden ones, which changes nothing that client 1 may know
	aimed    int
	others   bool // whether other clients see the secrets
}

func newHidden(t *testing.T, debug bool, leaving interest.Leaving, secrets int) *hidden {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[marked](p)
	netcode.Replicate[tagged](p)
	if debug {
		p.Debug()
	}
	h := &hidden{
		Rig: rig.New(t, p, netcode.Config{SendBudget: -1}), explicit: interest.NewExplicit(), random: rand.New(rand.NewPCG(46, 0)),
		ever: map[wire.NetworkID]bool{}, indexes: map[uint32]bool{}, secrets: secrets,
	}
	h.Server.SetInterest(interest.New(h.explicit, leaving))
	h.Server.Game = func(store *snapshot.Store) {
		for range 30 {
			id := store.Spawn()
			h.public = append(h.public, id)
			h.ever[id], h.indexes[id.Index] = true, true
			h.mark(store, id, wire.NetworkID{})
			h.explicit.Show(1, id)
			h.explicit.Show(2, id)
		}
		h.Server.Game = h.play
	}
	return h
}

func (h *hidden) mark(store *snapshot.Store, id, of wire.NetworkID) {
	marker := uint64(0x1111)<<48 | uint64(h.random.Uint32N(1<<16))
	if !h.ever[id] {
		marker = markerHead<<16 | uint64(h.random.Uint32N(1<<16))
	}
	store.Set(id, rowMarked, []uint32{uint32(marker), uint32(marker >> 32), of.Index, of.Generation})
	store.Set(id, rowTagged, []uint32{uint32(marker), uint32(marker >> 32)})
	h.Set(store, id, h.random.Float32())
}

// play lets the visible world move a little, and the hidden one do all there is to do. What the visible one does is the
// same whatever the hidden one does.
func (h *hidden) play(store *snapshot.Store) {
	t := int(store.Tick())
	for i, id := range h.public {
		if (t+i)%3 == 0 {
			h.Set(store, id, float32(t+i))
		}
	}
	if t%20 == 0 && len(h.public) > 10 {
		store.Despawn(h.public[0])
		h.public = h.public[1:]
	}
	for len(h.secret) < h.secrets {
		id := store.Spawn()
		h.secret = append(h.secret, id)
		h.mark(store, id, h.public[t%len(h.public)])
		h.explicit.Show(2, id)
	}
	for i := 0; i < len(h.secret); i++ {
		id := h.secret[i]
		switch what := h.random.IntN(100); {
		case what == 0:
			store.Despawn(id)
			h.aim(store, id, wire.NetworkID{})
			h.secret[i] = h.secret[len(h.secret)-1]
			h.secret = h.secret[:len(h.secret)-1]
		case what == 1:
			store.Remove(id, rowMarked)
		case what < 10:
			h.mark(store, id, h.secret[h.random.IntN(len(h.secret))])
		case what == 10 && h.names:
			store.SetOwner(id, 1)
			store.SetGroup(id, 7)
			store.SetGroup(h.public[t%len(h.public)], 7)
		case what == 11 && h.names:
			h.mark(store, h.public[h.random.IntN(len(h.public))], id) // a visible one names a hidden one
		case what == 12 && h.aims:
			row := store.Row(h.public[h.random.IntN(len(h.public))], rowMarked)
			h.aim(store, wire.NetworkID{Index: row[2], Generation: row[3]}, id)
		}
	}
}

// aim lets the visible ones that name one entity, or nobody, name another one.
func (h *hidden) aim(store *snapshot.Store, from, to wire.NetworkID) {
	for _, id := range h.public {
		if row := store.Row(id, rowMarked); h.aims && row[2] == from.Index && row[3] == from.Generation {
			store.Set(id, rowMarked, []uint32{row[0], row[1], to.Index, to.Generation})
			h.aimed++
		}
	}
}

// holdsMarker looks for the head of a marker in bits, at every offset.
func holdsMarker(packet []byte) bool {
	for at := range len(packet) {
		var window [8]byte
		copy(window[:], packet[at:])
		for shift := range 8 {
			if binary.LittleEndian.Uint64(window[:])>>shift&(1<<48-1) == markerHead && at+6 <= len(packet) {
				return true
			}
		}
	}
	return false
}

// How a dump of a packet names entities: by id, or by index where the receiver knows the generation.
var (
	idPattern    = regexp.MustCompile(`\b(\d+)v(\d+)\b`)
	indexPattern = regexp.MustCompile(`entity at (\d+)`)
)

// leak says what of the hidden world a packet to client 1 tells; empty: nothing.
func (h *hidden) leak(c *rig.ClientEnd, packet []byte) string {
	if holdsMarker(packet) {
		return "a marker"
	}
	dump := string(inspect.AppendClientDump(nil, c.Client, packet))
	for _, m := range idPattern.FindAllStringSubmatch(dump, -1) {
		var id wire.NetworkID
		_, _ = fmt.Sscanf(m[0], "%dv%d", &id.Index, &id.Generation)
		if !h.ever[id] {
			return "id " + m[0] + " in\n" + dump
		}
	}
	for _, m := range indexPattern.FindAllStringSubmatch(dump, -1) {
		var index uint32
		_, _ = fmt.Sscan(m[1], &index)
		if !h.indexes[index] {
			return "index " + m[1] + " in\n" + dump
		}
	}
	return ""
}

// Catalogue case 46. A thousand hidden entities move, are born, die, change shape, name and are named; visible ones share
// groups with them. Neither the packets to a client that may not see them nor what it decodes hold a byte about them. The
// same is looked for at a client that may see them, where it must be found.
func TestCase46HiddenWorld(t *testing.T) {
	for _, debug := range []bool{false, true} {
		for _, leaving := range []interest.Leaving{interest.Despawn, interest.Keep} {
			t.Run(fmt.Sprintf("debug %v leaving %v", debug, leaving), func(t *testing.T) {
				t.Parallel()
				h := newHidden(t, debug, leaving, 1000)
				h.names = true
				blind, seeing := h.Join(h.Server.Protocol(), netcode.Config{}), h.Join(h.Server.Protocol(), netcode.Config{})
				drops := rand.New(rand.NewPCG(1, 1))
				packets, leaks := 0, 0
				h.Tamper = func(_, to transport.Addr, packet []byte) []byte {
					switch to {
					case blind.Conn.LocalAddr():
						packets++
						require.Empty(t, h.leak(blind, packet))
					case seeing.Conn.LocalAddr():
						if h.leak(seeing, packet) != "" {
							leaks++
						}
					}
					if drops.IntN(10) == 0 && h.Server.Tick() < 120 {
						return nil
					}
					return packet
				}
				for range 300 {
					h.Step()
					if blind.State() == netcode.Connected {
						for e := range blind.Replica().All {
							require.True(t, h.ever[e.ID], "it holds %v", e.ID)
						}
					}
				}
				require.Greater(t, packets, 100)
				require.Greater(t, leaks, 100, "the check finds what there is to find")
				casebook.Injected(t, leaks, "packets with marks of hidden entities, to a client that may see them")
				h.Server.Game = nil
				h.Run(2 * time.Second)
				for _, c := range []*rig.ClientEnd{blind, seeing} {
					stats, ok := h.Server.ClientStats(c.ID())
					require.True(t, ok)
					require.True(t, stats.Synced)
				}
				require.Equal(t, len(h.public), blind.Replica().Len())
				require.Equal(t, len(h.public)+len(h.secret), seeing.Replica().Len())
			})
		}
	}
}

// The strongest form: what is sent to a client is the same, to the bit and at the same times, whether there is a hidden
// world or not. Visible ones name hidden ones: one after the other, and until these die.
func TestCase46HiddenWorldChangesNoByte(t *testing.T) {
	sent := func(secrets int) (packets []uint64, h *hidden) {
		h = newHidden(t, false, interest.Despawn, secrets)
		h.aims = true
		c := h.Join(h.Server.Protocol(), netcode.Config{})
		h.Tamper = func(_, to transport.Addr, packet []byte) []byte {
			if to == c.Conn.LocalAddr() {
				hash := fnv.New64a()
				_, _ = hash.Write(packet)
				packets = append(packets, bits.RotateLeft64(hash.Sum64(), 1)^uint64(h.Now))
			}
			return packet
		}
		h.Run(5 * time.Second)
		return packets, h
	}
	without, _ := sent(0)
	with, h := sent(1000)
	require.Greater(t, len(h.secret), 900)
	require.Greater(t, h.aimed, 1000)
	require.Greater(t, len(without), 100)
	require.Equal(t, without, with)
}

// Catalogue case 46, for components: what is sent to a client is the same, to the bit and at the same times, whether or not
// what it may not see of visible entities changes, goes and comes, and names others: under loss, in groups, and where the budget does not suffice for all.
func TestCase46HiddenComponentsChangeNoByte(t *testing.T) {
	for _, config := range []netcode.Config{{SendBudget: -1}, {SendBudget: 3000}} {
		t.Run(fmt.Sprintf("budget %d", config.SendBudget), func(t *testing.T) {
			t.Parallel()
			calm, _, _ := sentBesideHiddenRows(t, config, false)
			busy, changed, seen := sentBesideHiddenRows(t, config, true)
			require.Greater(t, changed, 1000)
			require.Greater(t, seen, 10, "who may see it is told")
			require.Greater(t, len(calm), 100)
			require.Equal(t, calm, busy)
		})
	}
}

// sentBesideHiddenRows plays a world of whose entities client 1 sees no marks, which change if asked for. It returns what
// was sent to client 1 and when, how often a mark changed, and how many different ones the other client has had of an entity.
func sentBesideHiddenRows(t *testing.T, config netcode.Config, busy bool) (packets []uint64, changed, seen int) {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[marked](p)
	netcode.Replicate[tagged](p)
	r := rig.New(t, p, config)
	r.Server.SetInterest(interest.New(interest.NewRows(interest.All(), func(_ *snapshot.Store, client wire.ClientID, _ wire.NetworkID) snapshot.Mask {
		if client == 1 {
			return snapshot.Mask{}.With(rowPlace)
		}
		return snapshot.AllRows()
	}), interest.Despawn))
	random, drops := rand.New(rand.NewPCG(46, 1)), rand.New(rand.NewPCG(46, 2))
	var ids []wire.NetworkID
	r.Server.Game = func(store *snapshot.Store) {
		for i := 0; len(ids) < 30; i++ {
			ids = append(ids, store.Spawn())
			r.Set(store, ids[i], float32(i))
			store.SetGroup(ids[i], uint32(i%10)) // most are in one with two others
		}
		for i, id := range ids {
			if (int(store.Tick())+i)%5 == 0 {
				r.Set(store, id, float32(int(store.Tick())+i))
			}
		}
		for i := 0; busy && i < 20; i++ {
			id, to := ids[random.IntN(len(ids))], ids[random.IntN(len(ids))]
			switch random.IntN(4) {
			case 0:
				store.Remove(id, rowMarked)
			case 1:
				store.Remove(id, rowTagged)
			case 2:
				store.Set(id, rowMarked, []uint32{random.Uint32(), 0, to.Index, to.Generation})
			case 3:
				store.Set(id, rowTagged, []uint32{random.Uint32(), 0})
			}
			changed++
		}
	}
	blind := r.Joined(p, netcode.Config{}) // It is client 1.
	seeing := r.Join(p, netcode.Config{})
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to != blind.Conn.LocalAddr() {
			return packet
		}
		hash := fnv.New64a()
		_, _ = hash.Write(packet)
		packets = append(packets, bits.RotateLeft64(hash.Sum64(), 1)^uint64(r.Now))
		if drops.IntN(5) == 0 {
			return nil
		}
		return packet
	}
	last := uint32(0)
	for range 300 {
		r.Step()
		if seeing.State() != netcode.Connected || len(ids) == 0 {
			continue
		}
		if row := seeing.Replica().Row(ids[0].Index, rowTagged); row != nil && row[0] != last {
			last = row[0]
			seen++
		}
		if blind.State() == netcode.Connected {
			require.Zero(t, blind.Replica().Entity(ids[0].Index).Mask.Without(rowPlace))
		}
	}
	r.Run(time.Second)
	return packets, changed, seen
}

// Catalogue case 46. Between the capture and the packets of a tick game code hides somebody from a client, shows it somebody or only
// asks what it sees, or saw: what the client wrote in that tick is not sent back to it for that, which would tell.
func TestCase46AskingForTheSightOfAClientSendsNothingBack(t *testing.T) {
	for i, ask := range []func(r *rig.Rig, other wire.NetworkID){
		func(*rig.Rig, wire.NetworkID) {},
		func(r *rig.Rig, other wire.NetworkID) { require.True(t, r.Server.Hide(2, other)) },
		func(r *rig.Rig, other wire.NetworkID) { require.False(t, r.Server.Visible(2, other)) },
		func(r *rig.Rig, other wire.NetworkID) { require.Zero(t, r.Server.VisibleRows(2, other)) },
		func(r *rig.Rig, other wire.NetworkID) { require.False(t, r.Server.Keeps(2, other)) },
		func(r *rig.Rig, other wire.NetworkID) {
			require.ErrorIs(t, netcode.Send(r.Server.Server, netcode.To(2), &chat{}, netcode.About(other)), errs.ErrNotVisible)
		},
		func(r *rig.Rig, other wire.NetworkID) {
			require.True(t, rewind.At(r.Server.Server, 2, func(past *rewind.View) { require.False(t, past.Has(other)) }))
		},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			p := netcode.NewProtocol()
			netcode.Replicate[position](p, authority.WrittenBy(authority.OwnerWrites))
			netcode.Replicate[health](p)
			netcode.Handle[chat](p, nil)
			r := rig.New(t, p, netcode.Config{})
			r.Joined(p, netcode.Config{})
			th := rig.NewThief(r, p)
			own, other := r.Spawn(1), r.Spawn(2)
			require.True(t, r.Server.SetOwner(own, 2))
			require.True(t, r.Server.Hide(2, other))
			wrote := map[wire.NetworkID][]uint32{}
			r.Server.Game = func(store *snapshot.Store) {
				for id, lanes := range wrote {
					store.Set(id, 1, lanes)
				}
			}
			r.Run(time.Second)
			var told [2]uint64
			for x := range 40 {
				listen(th, &prying{}) // and what it sends acknowledges that
				th.Send(wire.MessageSnapshot, 0, rig.Forged(p, r.Server.Tick(), []wire.NetworkID{own}, func(s *snapshot.Store, id wire.NetworkID) { r.Set(s, id, float32(x+5)) }))
				authority.Writes(r.Server.Server, func(_ netcode.ClientID, id netcode.NetworkID, _ int, lanes []uint32) {
					wrote[id] = append([]uint32(nil), lanes...)
				})
				r.Run(time.Second / 20)
				stats, ok := r.Server.ClientStats(2)
				require.True(t, ok)
				if told[1] = stats.Snapshot.Updates + stats.Snapshot.Spawns; x == 10 {
					require.Equal(t, 1, stats.Known, "it holds its own")
					told[0] = told[1]
					r.Server.Late = func() { ask(r, other) }
				}
			}
			require.EqualValues(t, 40, authority.StatsOf(r.Server).Writes)
			require.Equal(t, told[0], told[1])
		})
	}
}

// A message that waits for the budget when its entity is hidden is never sent, in any mode. A message about another entity is
// sent.
func TestCase46WaitingMessagesEndWithSight(t *testing.T) {
	const other = secretNumber + 1
	for _, mode := range everyMode {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			k := newTalk(t, netcode.Config{SendBudget: 4 << 10}, 1)
			id, stays := k.Spawn(1), k.Spawn(2)
			k.Run(2 * time.Second)
			s, c := k.Server.Server, k.Clients[0]
			hidden, after := false, 0
			k.Tamper = func(_, to transport.Addr, packet []byte) []byte {
				if hidden && to == c.Conn.LocalAddr() {
					after += strings.Count(string(inspect.AppendClientDump(nil, c.Client, packet)), fmt.Sprint(secretNumber))
				}
				return packet
			}
			taken := 0
			k.Server.Late = func() {
				for i := range 500 {
					m, about := &chat{secretNumber}, id
					if i%100 == 50 {
						m, about = &chat{other}, stays
					}
					if netcode.Send(s, netcode.To(1), m, netcode.About(about), netcode.Over(mode)) == nil {
						taken++
					}
				}
				k.Server.Late = nil
				require.True(t, s.Hide(1, id))
				hidden = true
			}
			k.Run(5 * time.Second)
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
	r := rig.New(t, p, netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	id := r.Spawn(1)
	require.NoError(t, list.Of(r.Server.Server, id).Append(marked{}))
	r.Run(2 * time.Second)
	s := r.Server.Server
	cut := true
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if cut && to == c.Conn.LocalAddr() {
			return nil
		}
		return packet
	}
	require.NoError(t, netcode.Send(s, netcode.To(1), &said, netcode.About(id), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(63)))
	r.Run(300 * time.Millisecond)
	require.True(t, s.Hide(1, id))
	r.Run(100 * time.Millisecond)
	require.True(t, s.Show(1, id))
	r.Run(100 * time.Millisecond)
	cut = false
	r.Run(5 * time.Second)
	require.Equal(t, netcode.Connected, c.State())
	require.LessOrEqual(t, len(heard), 1)
	for _, m := range heard {
		require.Equal(t, said, m)
	}
}

// boulder does not fit a packet.
type boulder struct{ A [500]uint32 }

// A message about an entity that never comes, since it fits no packet, does not delay the messages behind it for ever.
func TestMessagesAboutAnOversizeEntityAreGivenUp(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[boulder](p)
	var heard []uint32
	netcode.Handle(p, func(_ *message.Context, m *chat) { heard = append(heard, m.Number) })
	r := rig.New(t, p, netcode.Config{})
	r.Joined(p, netcode.Config{})
	var id wire.NetworkID
	r.Change(func(store *snapshot.Store) {
		id = store.Spawn()
		lanes := make([]uint32, 500)
		for i := range lanes {
			lanes[i] = uint32(i) * 0x9e3779b9
		}
		store.Set(id, 0, lanes)
	})
	s := r.Server.Server
	require.NoError(t, netcode.Send(s, netcode.To(1), &chat{1}, netcode.About(id), netcode.Over(netcode.ReliableOrdered)))
	require.NoError(t, netcode.Send(s, netcode.To(1), &chat{2}, netcode.Over(netcode.ReliableOrdered)))
	r.Run(time.Second)
	require.Empty(t, heard)
	r.Run(2 * time.Second)
	require.Equal(t, []uint32{2}, heard)
	require.EqualValues(t, 1, s.Stats().DelayedDropped)
}

// A server that nobody drains does not grow for ever.
func TestOutputIsBounded(t *testing.T) {
	r := rig.New(t, protocol(), netcode.Config{SendBudget: -1, Clients: 64, SentPackets: 4096})
	for range 24 {
		r.Joined(r.Server.Protocol(), netcode.Config{})
	}
	turn := 0
	r.Server.Game = func(store *snapshot.Store) {
		if turn == 0 {
			for range 4000 {
				store.Spawn()
			}
		}
		turn++
		for id := range store.All {
			r.Set(store, id, float32(turn)*1.37+float32(id.Index))
		}
	}
	for range 50 {
		r.Now += rig.FrameTime
		s := r.Server
		steps.OfServer(s).BeginFrame(r.Now)
		if s.TickDue() && s.Tick() > s.Store().Tick() {
			s.Store().Begin(s.Tick())
			s.Game(s.Store())
			s.Store().Commit()
		}
		steps.OfServer(s).Send()
	}
	waiting := 0
	steps.OfServer(r.Server).Drain(func(_ transport.Addr, p []byte) { waiting += len(p) })
	require.LessOrEqual(t, waiting, 16<<20)
	require.Positive(t, r.Server.Stats().OutputFull)
}

// prying has the answers of a server to a client that asks about one entity in every way there is.
type prying struct {
	packets  []string // to the client: when, and the bytes
	in, out  int      // bytes, once it is connected
	handled  int      // messages and questions about the entity
	asked    int      // times that the game was asked for authority
	log      []string
	stats    netcode.Stats
	answered int // answers and refusals to the client
}

// The entities that a client asks about. In each world there is one of each.
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
	r := rig.New(t, p, netcode.Config{Strikes: 1 << 20})
	authority.OnAsk(r.Server.Server, func(netcode.ClientID, netcode.NetworkID) bool { got.asked++; return true })
	th := rig.NewThief(r, p)
	ids := make([]wire.NetworkID, 4)
	for i := range ids[:3] {
		i := i
		r.Change(func(store *snapshot.Store) {
			ids[i] = store.Spawn()
			store.Set(ids[i], 0, []uint32{0, 0})
			if i != pryVisible {
				require.True(t, r.Server.Hide(1, ids[i]))
			}
		})
	}
	r.Change(func(store *snapshot.Store) { store.Despawn(ids[pryDead]) })
	ids[pryUnborn] = wire.NetworkID{Index: 77, Generation: 1}
	r.Run(time.Second)
	id := ids[whom]
	began := r.Now
	r.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to == th.Address {
			got.packets = append(got.packets, fmt.Sprintf("%v %x", r.Now-began, packet))
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
		require.NoError(t, out.Push(&wishing, append(wish, 0, 0, 0, 0, byte(i&1))))
		b := th.Conn.Begin(make([]byte, 1200))
		out.Fill(&b, 600)
		give := func() {
			packet := th.Conn.Finish(&b, 1, th.Now)
			got.in += len(packet)
			steps.OfServer(r.Server).Receive(th.Address, packet)
		}
		give()
		b = th.Conn.Begin(make([]byte, 1200)) // A packet with writes that are not its to make has no effect at all.
		state := rig.Forged(p, r.Server.Tick(), []wire.NetworkID{id}, func(s *snapshot.Store, id wire.NetworkID) { s.Set(id, 0, []uint32{uint32(i), 0}) })
		b.Add(wire.MessageSnapshot, tick.Initialization, copy(b.Payload(), state))
		give()
		r.Step()
		listen(th, &got)
	}
	got.log, got.stats = r.Server.Log, r.Server.Stats()
	return got
}

// listen reads what came, so that the next packet acknowledges it, and counts answers.
func listen(th *rig.Thief, got *prying) {
	for {
		n, _, err := th.Socket.Receive(th.Buf[:])
		require.NoError(th.T, err)
		if n == 0 {
			return
		}
		in, err := th.Conn.Read(th.Buf[:n], th.Now, ignore{})
		if err != nil {
			continue
		}
		m := in.Messages()
		for m.Next() {
			if m.Header.Type == wire.MessageRefusal || m.Header.Type >= wire.FirstUserMessage {
				got.answered++
			}
		}
		th.Conn.Accept(in, th.Now)
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
