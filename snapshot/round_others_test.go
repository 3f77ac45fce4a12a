package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Where a tick is cut short again and again by a full ring, what is due first does not hold up what comes behind it, nor despawns.
func TestRoundsDoNotStarveWhatIsDueLast(t *testing.T) {
	cfg := Config{Whole: true, Payload: 1181, SentPackets: 32, Entities: 1000}
	s, ids := roundStore(t, cfg, 1000)
	v, r := NewView(s, cfg), NewReplica(s.Schema(), cfg, 1)
	var acks [][]uint64 // of what was sent so many ticks ago
	buf, seq := make([]byte, 1181), uint64(0)
	for k := range 300 {
		if len(acks) == 3 {
			for _, n := range acks[0] {
				v.Acked(n)
			}
			acks = acks[1:]
		}
		s.Begin(s.Tick() + 1)
		for i, id := range ids {
			if s.Alive(id) {
				moveBody(s, id, uint32(i+k*7))
			}
		}
		if k == 20 {
			s.Despawn(ids[3])
		}
		s.Commit()
		v.Observe()
		v.Plan(-1)
		var sent []uint64
		for v.Pending() {
			n := v.Write(buf, seq+1)
			if n == 0 {
				break
			}
			seq++
			require.NoError(t, r.Read(buf[:n]))
			sent = append(sent, seq)
		}
		acks = append(acks, sent)
	}
	require.NotZero(t, v.Stats().RingFull, "no tick was cut short: the test shows nothing")
	require.Nil(t, r.Row(ids[3].Index, 0), "the despawn was never told")
	for _, id := range ids {
		if s.Alive(id) {
			require.NotNil(t, r.Row(id.Index, 0), "entity %d was never sent", id.Index)
		}
	}
}

// An entity that others named and that died long ago does not take a client out of rounds for good.
func TestRoundsGoOnAfterAReferenceWasRenamed(t *testing.T) {
	schema := NewSchema([]*wire.Plan{compile[authorRow](t), compile[follows](t)})
	cfg := Config{Payload: 600, Whole: true}
	s := NewStore(schema, cfg)
	pos, ref := 0, 1
	if schema.refs.Has(0) {
		pos, ref = 1, 0
	}
	views := []*View{NewView(s, cfg), NewView(s, cfg)}
	var seq [2]uint64
	var ids []wire.NetworkID
	was := uint64(0)
	for now := tick.Tick(1); now < 100; now++ {
		s.Begin(now)
		for len(ids) < 20 {
			ids = append(ids, s.Spawn())
		}
		for i := 2; i < 20; i++ {
			s.Set(ids[i], pos, []uint32{uint32(i), uint32(now)})
		}
		switch now {
		case 1:
			s.Set(ids[0], ref, []uint32{ids[1].Index, ids[1].Generation, 3})
		case 10:
			s.Despawn(ids[1])
			s.Set(ids[0], ref, []uint32{0, 0, 3})
		case 50:
			was = s.roundsShared()
		}
		s.Commit()
		for i, v := range views {
			v.Observe()
			for b := make([]byte, 600); v.Pending(); {
				seq[i]++
				require.Positive(t, v.Write(b, seq[i]))
				v.Acked(seq[i])
			}
		}
	}
	require.Greater(t, s.roundsShared(), was, "40 ticks after the death nothing is copied any more")
}
