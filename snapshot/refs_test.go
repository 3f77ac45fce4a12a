package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

// follows names the entity that another one follows, and has a number of its own.
type follows struct {
	Whom  wire.NetworkID `net:"entity"`
	Speed uint8
}

const rowFollows = 0

func newFollowers(t *testing.T) *duo {
	schema := NewSchema([]*wire.Plan{compile[follows](t)})
	cfg := Config{Window: 16, SentPackets: 32}
	d := &duo{t: t, store: NewStore(schema, cfg)}
	d.view = NewView(d.store, cfg)
	d.replica = NewReplica(schema, cfg, 1)
	return d
}

func (d *duo) follow(who, whom wire.NetworkID, speed uint32) {
	d.store.Set(who, rowFollows, []uint32{whom.Index, whom.Generation, speed})
}

// follows is whom an entity follows at the client.
func (d *duo) follows(who wire.NetworkID) wire.NetworkID {
	return refAt(d.replica.Row(who.Index, rowFollows), 0)
}

func TestAReferenceToWhatIsHiddenNamesNobody(t *testing.T) {
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
func TestAReferenceToWhatIsShownTooLateWaits(t *testing.T) {
	d := newFollowers(t)
	var who, whom, other wire.NetworkID
	d.store.Begin(1)
	whom, who, other = d.store.Spawn(), d.store.Spawn(), d.store.Spawn()
	d.follow(who, whom, 3)
	d.store.Commit()
	d.view.Observe()
	d.view.Hide(whom)
	d.view.unsent.unset(who.Index) // a small packet: who goes into the second
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

func TestReferrersAgainstModel(t *testing.T) {
	plan := compile[follows](t)
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(NewSchema([]*wire.Plan{plan}), Config{Window: 4})
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
