package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// TestWhatIsKnownOfTheNextPayloadIsForgotten asks, tells or reads something between two payloads of which the second goes on where the first ended, in a replica that
// has read the short way and in one that has not: both come to the same, and the short way is not taken where what it leans on is no more.
func TestWhatIsKnownOfTheNextPayloadIsForgotten(t *testing.T) {
	schema := runSchema(t)
	start, payload := sequelOnItsWay(t, schema, 2, false)
	first := start(t)
	next := first.fast.covers.list[first.fast.covers.at].index
	for name, between := range map[string]func(r *Replica){
		"one of those that follow is asked about":   func(r *Replica) { r.Entity(next) },
		"one of those in front is asked about":      func(r *Replica) { r.Entity(next - 1) },
		"a row of one that follows is asked for":    func(r *Replica) { r.Row(next, 0) },
		"a record of one in front is asked for":     func(r *Replica) { r.RecordAt(next-1, r.newest) },
		"all are asked about":                       func(r *Replica) { r.All(func(Entity) bool { return true }) },
		"one in front is looked for with its run":   func(r *Replica) { r.Stretch(0, 5) },
		"the versions in front are put together":    func(r *Replica) { r.past.block(r.newest).settle() },
		"everything is lost":                        (*Replica).Lose,
		"who is asked about each record comes":      func(r *Replica) { r.Guard(func(wire.NetworkID, Mask) bool { return true }) },
		"who refuses each record comes":             func(r *Replica) { r.Guard(func(wire.NetworkID, Mask) bool { return false }) },
		"a payload that is damaged is read":         func(r *Replica) { _ = r.Read(payload[:len(payload)-1]) },
		"the same payload is read the long way":     func(r *Replica) { _ = r.readLong(payload) },
		"those that changed are listed and cleared": func(r *Replica) { r.Changed(); r.ClearChanged() },
	} {
		twins := start(t)
		require.True(t, twins.fast.sequel.known)
		require.False(t, twins.slow.sequel.known)
		twins.long.sequel.forget() // it has read the short way as well
		for _, r := range []*Replica{twins.fast, twins.long, twins.slow} {
			between(r)
		}
		fast, long, slow := twins.fast.Read(payload), twins.long.readLong(payload), twins.slow.Read(payload)
		require.Equal(t, long, fast, name)
		require.Equal(t, slow, fast, name)
		twins.alike(t)
		twins.same(t, sequelEntities)
	}
}
