package netcode_test

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

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
	r := newRig(t, p, config)
	r.server.SetInterest(interest.New(interest.NewRows(interest.All(), func(_ *snapshot.Store, client wire.ClientID, _ wire.NetworkID) snapshot.Mask {
		if client == 1 {
			return snapshot.Mask{}.With(rowPlace)
		}
		return snapshot.AllRows()
	}), interest.Despawn))
	random, drops := rand.New(rand.NewPCG(46, 1)), rand.New(rand.NewPCG(46, 2))
	var ids []wire.NetworkID
	r.server.game = func(store *snapshot.Store) {
		for i := 0; len(ids) < 30; i++ {
			ids = append(ids, store.Spawn())
			r.set(store, ids[i], float32(i))
			store.SetGroup(ids[i], uint32(i%10)) // most are in one with two others
		}
		for i, id := range ids {
			if (int(store.Tick())+i)%5 == 0 {
				r.set(store, id, float32(int(store.Tick())+i))
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
	blind := r.joined(p, netcode.Config{}) // It is client 1.
	seeing := r.join(p, netcode.Config{})
	r.tamper = func(_, to transport.Addr, packet []byte) []byte {
		if to != blind.conn.LocalAddr() {
			return packet
		}
		hash := fnv.New64a()
		_, _ = hash.Write(packet)
		packets = append(packets, bits.RotateLeft64(hash.Sum64(), 1)^uint64(r.now))
		if drops.IntN(5) == 0 {
			return nil
		}
		return packet
	}
	last := uint32(0)
	for range 300 {
		r.step()
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
	r.run(time.Second)
	return packets, changed, seen
}
