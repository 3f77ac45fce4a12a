package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Which way an entity of a list goes changes no bit, so how many are gone through at once is held by itself: of 128 that all move all,
// and where one is not as the others all but those that are fetched with it. A sweep of so few that it is not worth it is none.
func TestHowManyAreSwept(t *testing.T) {
	const many = 128
	for name, c := range map[string]struct {
		entities, swept int
		alter           func(s *Store, v *View, ids []wire.NetworkID)
	}{
		"all alike":               {many, many, nil},
		"the list ends in a four": {many + 2, many + 2, nil},
		"few":                     {leastAtOnce, leastAtOnce, nil},
		"too few":                 {leastAtOnce - 1, 0, nil},
		"one rests":               {many, many, func(s *Store, _ *View, ids []wire.NetworkID) { s.Set(ids[40], rowPosition, []uint32{41, 1}) }},
		"one is dead":             {many, many, func(s *Store, _ *View, ids []wire.NetworkID) { s.Despawn(ids[40]) }},
		"one is hidden":           {many, many, func(_ *Store, v *View, ids []wire.NetworkID) { v.Hide(ids[40]) }},
		"one has other rows":      {many, many - ahead, func(s *Store, _ *View, ids []wire.NetworkID) { s.Set(ids[40], rowFrozen, nil) }},
		"one shows other rows":    {many, many - ahead, func(_ *Store, v *View, ids []wire.NetworkID) { v.SetRows(ids[40], bit(rowPosition)) }},
		"one is in a group":       {many, many - ahead, func(s *Store, _ *View, ids []wire.NetworkID) { s.SetGroup(ids[40], 3) }},
		"the fifth of a sweep":    {2 * ahead, ahead, func(s *Store, _ *View, ids []wire.NetworkID) { s.Set(ids[36], rowFrozen, nil) }},
		"the first of a sweep":    {many, many - ahead, func(s *Store, _ *View, ids []wire.NetworkID) { s.Set(ids[32], rowFrozen, nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Window: 16, SentPackets: 64}
			s := NewStore(simSchema(t), cfg)
			v := NewView(s, cfg)
			var ids []wire.NetworkID
			buf := make([]byte, 1<<14)
			for now := tick.Tick(1); now <= 8; now++ {
				s.Begin(now)
				for i := range c.entities {
					if now == 1 {
						ids = append(ids, s.Spawn())
						s.Set(ids[i], rowHealth, []uint32{1})
					}
					s.Set(ids[i], rowPosition, []uint32{uint32(now)%8 + uint32(i), uint32(i & 3)})
				}
				if now == 8 && c.alter != nil {
					c.alter(s, v, ids)
				}
				s.Commit()
				v.Observe()
				before := s.desk.swept
				require.NotZero(t, v.Write(buf, uint64(now)))
				require.EqualValues(t, s.desk.bodies.arenas[0].made, s.desk.bodies.any.count(), "what is known of the tick's bodies by words")
				require.False(t, v.Pending() && c.alter == nil)
				v.Acked(uint64(now))
				if c.entities == many && c.alter == nil {
					require.Zero(t, s.desk.sheaf.soon)
					if now > 2 {
						require.Equal(t, ids[many-ahead].Index, s.desk.sheaf.next[0])
					}
				}
				if now == 8 {
					require.EqualValues(t, c.swept, s.desk.swept-before)
				} else if now > 2 && c.entities >= leastAtOnce {
					require.EqualValues(t, c.entities, s.desk.swept-before, "tick %d", now)
				}
			}
		})
	}
}

// Fours of which nothing is said are told of when one follows of which something is, however many sweeps lie between.
func TestAListGoesOnBehindManyThatRest(t *testing.T) {
	const many = 800
	play := func(apart bool) (payloads [][]byte, swept uint64) {
		cfg := Config{Window: 16, SentPackets: 64}
		s := NewStore(simSchema(t), cfg)
		s.desk.apart = apart
		v := NewView(s, cfg)
		v.cohorts.least = 1
		var ids []wire.NetworkID
		for now := tick.Tick(1); now <= 40; now++ {
			s.Begin(now)
			for i := range many {
				if now == 1 {
					ids = append(ids, s.Spawn())
				}
				if rests := int(now) % 9 * 80; now < 4 || i >= rests || now%2 == 0 {
					s.Set(ids[i], rowPosition, []uint32{uint32(now)%8 + uint32(i), uint32(i & 3)})
				}
			}
			s.Commit()
			v.Observe()
			buf := make([]byte, 1<<14)
			payloads = append(payloads, buf[:v.Write(buf, uint64(now))])
			v.Acked(uint64(now))
		}
		return payloads, s.desk.swept
	}
	want, none := play(true)
	got, swept := play(false)
	require.Zero(t, none)
	require.NotZero(t, swept)
	require.Equal(t, want, got)
}
