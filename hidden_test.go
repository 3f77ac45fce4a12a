package netcode_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/internal/casebook"
	"github.com/arche-netcode/netcode/snapshot"
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
	*rig
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
		rig: newRig(t, p, netcode.Config{SendBudget: -1}), explicit: interest.NewExplicit(), random: rand.New(rand.NewPCG(46, 0)),
		ever: map[wire.NetworkID]bool{}, indexes: map[uint32]bool{}, secrets: secrets,
	}
	h.server.SetInterest(interest.New(h.explicit, leaving))
	h.server.game = func(store *snapshot.Store) {
		for range 30 {
			id := store.Spawn()
			h.public = append(h.public, id)
			h.ever[id], h.indexes[id.Index] = true, true
			h.mark(store, id, wire.NetworkID{})
			h.explicit.Show(1, id)
			h.explicit.Show(2, id)
		}
		h.server.game = h.play
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
	h.set(store, id, h.random.Float32())
}

// play lets the visible world move a little, and the hidden one do all there is to do. What the visible one does is the
// same whatever the hidden one does.
func (h *hidden) play(store *snapshot.Store) {
	t := int(store.Tick())
	for i, id := range h.public {
		if (t+i)%3 == 0 {
			h.set(store, id, float32(t+i))
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
func (h *hidden) leak(c *clientEnd, packet []byte) string {
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
				blind, seeing := h.join(h.server.Protocol(), netcode.Config{}), h.join(h.server.Protocol(), netcode.Config{})
				drops := rand.New(rand.NewPCG(1, 1))
				packets, leaks := 0, 0
				h.tamper = func(_, to transport.Addr, packet []byte) []byte {
					switch to {
					case blind.conn.LocalAddr():
						packets++
						require.Empty(t, h.leak(blind, packet))
					case seeing.conn.LocalAddr():
						if h.leak(seeing, packet) != "" {
							leaks++
						}
					}
					if drops.IntN(10) == 0 && h.server.Tick() < 120 {
						return nil
					}
					return packet
				}
				for range 300 {
					h.step()
					if blind.State() == netcode.Connected {
						for e := range blind.Replica().All {
							require.True(t, h.ever[e.ID], "it holds %v", e.ID)
						}
					}
				}
				require.Greater(t, packets, 100)
				require.Greater(t, leaks, 100, "the check finds what there is to find")
				casebook.Injected(t, leaks, "packets with marks of hidden entities, to a client that may see them")
				h.server.game = nil
				h.run(2 * time.Second)
				for _, c := range []*clientEnd{blind, seeing} {
					stats, ok := h.server.ClientStats(c.ID())
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
		c := h.join(h.server.Protocol(), netcode.Config{})
		h.tamper = func(_, to transport.Addr, packet []byte) []byte {
			if to == c.conn.LocalAddr() {
				hash := fnv.New64a()
				_, _ = hash.Write(packet)
				packets = append(packets, bits.RotateLeft64(hash.Sum64(), 1)^uint64(h.now))
			}
			return packet
		}
		h.run(5 * time.Second)
		return packets, h
	}
	without, _ := sent(0)
	with, h := sent(1000)
	require.Greater(t, len(h.secret), 900)
	require.Greater(t, h.aimed, 1000)
	require.Greater(t, len(without), 100)
	require.Equal(t, without, with)
}
