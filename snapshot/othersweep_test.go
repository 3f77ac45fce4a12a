package snapshot

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// othersGame plays a game in which, in the end, some entities that rested move again behind one
// that is born, and returns that tick's payload.
func othersGame(t *testing.T, apart bool) (payload []byte, s *Store) {
	cfg := Config{Window: 64, Payload: 1200}
	s = NewStore(runSchema(t), cfg)
	s.desk.apart = apart
	v := NewView(s, cfg)
	v.cohorts.least = 1
	var ids []wire.NetworkID
	seq := uint64(0)
	play := func(begin func()) []byte {
		s.Begin(s.Tick() + 1)
		begin()
		s.Commit()
		v.Observe()
		buf := make([]byte, 1200)
		seq++
		n := v.Write(buf, seq)
		v.Acked(seq)
		return buf[:n]
	}
	move := func(from, to int) {
		for i := from; i < to; i++ {
			place := math.Float32bits(float32(int(s.Tick()) * (i + 1)))
			s.Set(ids[i], 0, []uint32{place, math.Float32bits(float32(i)), 0})
		}
	}
	for range 24 { // as many as a list that nobody shares may not be kept, and more
		play(func() {
			for len(ids) < 40 {
				ids = append(ids, s.Spawn())
			}
			move(0, 40)
		})
	}
	for k := range 4 {
		play(func() {
			if move(0, 10); k == 0 {
				s.Despawn(ids[20])
			}
		})
	}
	require.True(t, v.cohorts.any.has(21), "who rested is in no cohort: the test shows nothing")
	payload = play(func() {
		ids[20] = s.Spawn()
		require.EqualValues(t, 20, ids[20].Index)
		move(0, 10)
		move(20, 30)
	})
	return payload, s
}

// TestOthersAreSweptBehindARun: a record against nothing, of exact floats, may begin a run, whose
// end is still to be written where others follow.
func TestOthersAreSweptBehindARun(t *testing.T) {
	want, _ := othersGame(t, true)
	got, s := othersGame(t, false)
	require.EqualValues(t, 8, s.desk.sweptOthers, "the first of the nine ends the run")
	require.Equal(t, want, got)
}

// TestWhatIsLostInItsOwnTickWaitsForTheNext: an entity has one record a tick (rule 1), also where it would be swept.
func TestWhatIsLostInItsOwnTickWaitsForTheNext(t *testing.T) {
	cfg := Config{Window: 64, Payload: 1200}
	s := NewStore(runSchema(t), cfg)
	v := NewView(s, cfg)
	v.cohorts.least = 1
	var ids []wire.NetworkID
	buf := make([]byte, 1200)
	for seq := uint64(1); seq < 40; seq++ {
		s.Begin(s.Tick() + 1)
		for len(ids) < 40 {
			ids = append(ids, s.Spawn())
		}
		for i, id := range ids {
			if seq < 25 || i < 10 || seq == 39 && i < 30 {
				s.Set(id, 0, []uint32{math.Float32bits(float32(int(seq) * (i + 1))), math.Float32bits(float32(i)), 0})
			}
		}
		s.Commit()
		v.Observe()
		require.NotZero(t, v.Write(buf, seq))
		if seq < 39 {
			v.Acked(seq)
		}
	}
	require.NotZero(t, s.desk.sweptOthers, "the test shows nothing")
	v.Lost(39)
	require.True(t, v.Pending())
	require.Zero(t, v.Write(buf, 40), "all of it went out in this tick")
}

// TestOthersThatFitNoPacketAreSteppedOver: a record whose body another client has got already may be too large for an empty
// packet of this one, and then nothing waits behind it.
func TestOthersThatFitNoPacketAreSteppedOver(t *testing.T) {
	type wide struct{ Words [32]uint32 }
	cfg := Config{Window: 64, Payload: 1200}
	s := NewStore(NewSchema([]*wire.Plan{compile[wide](t)}), cfg)
	v, other := NewView(s, cfg), NewView(s, cfg)
	v.cohorts.least, other.cohorts.least = 1, 1
	var ids []wire.NetworkID
	buf, seq := make([]byte, 1200), uint64(0)
	words := make([]uint32, 32)
	write := func(v *View, dst []byte) {
		for {
			seq++
			if v.Write(dst, seq) == 0 {
				return
			}
			v.Acked(seq)
		}
	}
	play := func(from, to int) {
		s.Begin(s.Tick() + 1)
		for len(ids) < 20 {
			ids = append(ids, s.Spawn())
		}
		for i := from; i < to; i++ {
			for k := range words {
				words[k] += uint32(s.Tick()*0x9E3779B1) >> (k & 7) * uint32(i+1)
			}
			s.Set(ids[i], 0, words)
		}
		s.Commit()
		other.Observe()
		v.Observe()
		write(other, buf)
	}
	for k := range 28 {
		to := 20
		if k >= 24 {
			to = 4
		}
		play(0, to)
		write(v, buf)
	}
	play(10, 12)
	require.True(t, v.cohorts.any.has(10), "who rested is in no cohort: the test shows nothing")
	require.NotNil(t, s.desk.bodies.find(10, s.rows.masks[10], v.base(10), s.leant(v.slot(10, new(slot)), v.base(3), 1)), "no body was made: the test shows nothing")
	v.payload = MinPayload
	require.Zero(t, v.Write(buf[:MinPayload], seq+1))
	require.EqualValues(t, 2, v.stats.Oversize)
	require.False(t, v.Pending())
}
