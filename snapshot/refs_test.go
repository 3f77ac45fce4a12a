package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// follows names the entity that another one follows, and has a number of its own.
type follows struct {
	Whom  wire.NetworkID `net:"entity"`
	Speed uint8
}

const rowFollows = 0

func newFollowers(t *testing.T) *duo {
	schema := format.NewSchema([]*quantize.Plan{compile[follows](t)})
	d := newDuoOf(t, schema, Config{Window: 16, SentPackets: 32})
	return d
}

func (d *duo) follow(who, whom wire.NetworkID, speed uint32) {
	d.store.Set(who, rowFollows, []uint32{whom.Index, whom.Generation, speed})
}

// follows returns the entity that an entity follows at the client.
func (d *duo) follows(who wire.NetworkID) wire.NetworkID {
	return refAt(d.replica.Row(who.Index, rowFollows), 0)
}

func TestReferenceToAHiddenEntityIsNil(t *testing.T) {
	d := newFollowers(t)
	var who, whom wire.NetworkID
	d.store.Begin(1)
	whom, who = d.store.Spawn(), d.store.Spawn()
	d.follow(who, whom, 3)
	d.store.Commit()
	d.view.Observe()
	d.view.Hide(whom)
	d.ack(d.write())
	require.Zero(t, d.follows(who))
	require.Equal(t, uint32(3), d.replica.Row(who.Index, rowFollows)[2])

	d.view.Show(whom)
	d.ack(d.at(2, nil))
	require.Equal(t, whom, d.follows(who), "its coming into sight is a change of who names it")
	require.True(t, d.view.Synced())

	d.view.Hide(whom)
	d.ack(d.at(3, nil))
	require.Zero(t, d.follows(who))
	d.ack(d.at(4, func() { d.follow(who, whom, 4) }))
	require.Zero(t, d.follows(who), "nor when something else changes, long after")
	require.Equal(t, uint32(4), d.replica.Row(who.Index, rowFollows)[2])

	d.view.Show(whom)
	d.ack(d.at(5, func() { d.store.Despawn(whom) }))
	require.Zero(t, d.follows(who), "the dead are not seen")
	require.True(t, d.view.Synced())
}

// A target that is shown after this tick's first packets is not there at this
// tick: naming it would be a record of a state that never was.
func TestReferenceToAnEntityShownTooLateWaits(t *testing.T) {
	d := newFollowers(t)
	var who, whom, other wire.NetworkID
	d.store.Begin(1)
	whom, who, other = d.store.Spawn(), d.store.Spawn(), d.store.Spawn()
	d.follow(who, whom, 3)
	d.store.Commit()
	d.view.Observe()
	d.view.Hide(whom)
	d.view.page(who.Index).unsent &^= bitOf(who.Index) // a small packet: who goes into the second
	d.ack(d.write())
	require.True(t, d.replica.Entity(other.Index).Alive)
	d.view.wait(who.Index)
	d.view.Show(whom) // from tick 2 on
	d.ack(d.write())
	require.True(t, d.replica.Entity(who.Index).Alive)
	require.Zero(t, d.follows(who))
	d.ack(d.at(2, nil))
	require.Equal(t, whom, d.follows(who))
	require.True(t, d.view.Synced())
}

// Whom the client does not see it is not told of: that one of them died, or that another is named
// now, is no change to it, neither now nor when what is under way is lost.
func TestHiddenReferenceIsNoChange(t *testing.T) {
	d := newFollowers(t)
	var who, first, second, seen wire.NetworkID
	d.store.Begin(1)
	who, first, second, seen = d.store.Spawn(), d.store.Spawn(), d.store.Spawn(), d.store.Spawn()
	d.follow(who, wire.NetworkID{}, 3)
	d.store.Commit()
	d.view.Observe()
	d.view.Hide(first)
	d.view.Hide(second)
	d.ack(d.write())
	silent := func(s tick.Tick, game func()) {
		t.Helper()
		require.Nil(t, d.at(s, game))
		require.True(t, d.view.Synced())
	}
	silent(2, func() { d.follow(who, first, 3) })
	silent(3, func() { d.follow(who, second, 3) })
	silent(4, func() { d.follow(who, seen, 3); d.follow(who, first, 3) })
	require.Equal(t, []wire.NetworkID{who}, slices.Collect(d.store.Changes), "what happened to the world is another matter")
	silent(5, func() { d.follow(who, wire.NetworkID{}, 3); d.store.Despawn(first) })
	silent(6, func() { d.follow(who, second, 3) })

	d.view.Show(second)
	p := d.at(7, nil)
	d.view.Lost(p.seq)
	d.ack(d.at(8, nil))
	require.Equal(t, second, d.follows(who), "who comes into sight is named")
	require.True(t, d.view.Synced())

	d.view.Hide(second)
	d.ack(d.at(9, nil))
	p = d.at(10, func() { d.follow(who, wire.NetworkID{}, 4) })
	silentStill := d.at(11, func() { d.store.Despawn(second) })
	require.Nil(t, silentStill)
	d.ack(p)
	require.True(t, d.view.Synced(), "the newest is what it has")
	d.ack(d.at(12, func() { d.follow(who, seen, 4) }))
	require.Equal(t, seen, d.follows(who))
	d.ack(d.at(13, func() { d.follow(who, wire.NetworkID{}, 4); d.store.Despawn(seen) }))
	require.Zero(t, d.follows(who))
	require.True(t, d.view.Synced())
}

// A client that was shown a row at T, then was not to see it, and is again: what the row names has
// changed since T all the same, and so it has where the row went away in between.
func TestARowThatChangedOutOfSightIsTold(t *testing.T) {
	for _, between := range []func(d *duo, who, whom wire.NetworkID){
		func(d *duo, who, whom wire.NetworkID) {
			d.view.See(who, noComponent)
			d.at(2, func() { d.follow(who, whom, 3) })
			d.view.See(who, AllRows())
		},
		func(d *duo, who, whom wire.NetworkID) {
			d.at(2, func() { d.store.Remove(who, rowFollows); d.follow(who, whom, 3) })
		},
		func(d *duo, who, whom wire.NetworkID) {
			d.at(2, func() { d.store.Remove(who, rowFollows) })
			d.at(3, func() { d.follow(who, whom, 3) })
		},
	} {
		d := newFollowers(t)
		var who, whom wire.NetworkID
		d.ack(d.at(1, func() {
			who, whom = d.store.Spawn(), d.store.Spawn()
			d.follow(who, wire.NetworkID{}, 3)
		}))
		between(d, who, whom)
		d.view.life(who.Index).touchedAt = tick.None // that alone would have everything told that names somebody
		d.view.wait(who.Index)
		d.ack(d.at(4, func() { d.store.SetOwner(who, 1) }))
		require.Equal(t, whom, d.follows(who))
	}
}

// Whom a client itself had a row name is not sent back to it, and what it is not told of takes nothing
// from a change being all its own.
func TestReferenceOfTheClientIsNotSentBack(t *testing.T) {
	d := newFollowers(t)
	var who, whom, hidden wire.NetworkID
	d.store.Begin(1)
	who, whom, hidden = d.store.Spawn(), d.store.Spawn(), d.store.Spawn()
	d.follow(who, wire.NetworkID{}, 3)
	d.store.Commit()
	d.view.Observe()
	d.view.Hide(hidden)
	d.ack(d.write())
	play := func(s tick.Tick, to wire.NetworkID, own bool) {
		d.store.Begin(s)
		d.follow(who, to, 3)
		d.store.Commit()
		require.Equal(t, own, !d.view.ChangedRows(who).IsZero())
		if own {
			d.view.ObserveBut([]wire.NetworkID{who})
		}
		d.view.Observe()
		require.Nil(t, d.write())
		require.True(t, d.view.Synced())
		require.Equal(t, tick.Tick(1), d.view.changedAt(who.Index), "nothing to send again either")
	}
	play(2, whom, true)
	play(3, wire.NetworkID{}, true)
	play(4, hidden, false)
	play(5, whom, true)
}

func TestReferrersAgainstModel(t *testing.T) {
	plan := compile[follows](t)
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(format.NewSchema([]*quantize.Plan{plan}), Config{Window: 4})
		var ids []wire.NetworkID
		for range rapid.IntRange(1, 40).Draw(t, "ticks") {
			s.Begin(s.Tick() + 1)
			for range rapid.IntRange(0, 4).Draw(t, "changes") {
				switch what := rapid.IntRange(0, 5).Draw(t, "what"); {
				case what == 0 || len(ids) == 0:
					ids = append(ids, s.Spawn())
				case what == 1:
					i := rapid.IntRange(0, len(ids)-1).Draw(t, "who")
					s.Despawn(ids[i])
					ids = slices.Delete(ids, i, i+1)
				case what == 2:
					s.Remove(rapid.SampledFrom(ids).Draw(t, "who"), rowFollows)
				default:
					whom := rapid.SampledFrom(append([]wire.NetworkID{{}}, ids...)).Draw(t, "whom")
					s.Set(rapid.SampledFrom(ids).Draw(t, "who"), rowFollows, []uint32{whom.Index, whom.Generation, 0})
				}
			}
			s.Commit()
			want := map[uint32][]uint32{}
			for id := range s.All {
				if row := s.Row(id, rowFollows); row != nil && row[1] != 0 {
					want[row[0]] = append(want[row[0]], id.Index)
				}
			}
			for target := range uint32(40) {
				require.Equal(t, want[target], append([]uint32(nil), s.refs.to(target)...))
			}
		}
	})
}
