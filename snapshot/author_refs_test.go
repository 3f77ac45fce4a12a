package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// ownWriteBeside plays a client that writes one row of an entity in each tick, beside which the server changes whom another
// row of it names, with ObserveBut, as in package authority: the server's change has to come through.
func ownWriteBeside(t *testing.T, newborn bool) {
	t.Helper()
	schema := format.NewSchema([]*quantize.Plan{compile[authorRow](t), compile[follows](t)})
	cfg := Config{Payload: 600}
	s, r := NewStore(schema, cfg), replica.New(schema, cfg, 1)
	v := NewView(s, cfg)
	pos, ref := 0, 1
	if schema.Refs.Has(0) {
		pos, ref = 1, 0
	}
	var e, x wire.NetworkID
	seq := uint64(0)
	frame := func(now tick.Tick, change func()) {
		s.Begin(now)
		change()
		s.Commit()
		if now > 1 {
			if c := v.ChangedRows(e); !c.IsZero() && c.Within(Mask{}.With(pos)) {
				v.ObserveBut([]wire.NetworkID{e})
			}
		}
		v.Observe()
		b := make([]byte, 600)
		for v.Pending() {
			seq++
			n := v.Write(b, seq)
			require.Positive(t, n)
			require.NoError(t, r.Read(b[:n]))
			v.Acked(seq)
		}
	}
	frame(1, func() {
		e = s.Spawn()
		if !newborn {
			x = s.Spawn()
			s.Set(x, pos, []uint32{9, 9})
		}
		s.Set(e, pos, []uint32{1, 1})
		s.Set(e, ref, []uint32{x.Index, x.Generation, 3})
	})
	frame(2, func() {
		s.Set(e, pos, []uint32{2, 2}) // the client's write
		if newborn {
			x = s.Spawn()
			s.Set(x, pos, []uint32{5, 5})
			s.Set(e, ref, []uint32{x.Index, x.Generation, 3}) // the server's, in the same tick
		} else {
			s.Despawn(x) // the row that names it now reads as nobody
		}
	})
	want := x
	if !newborn {
		want = wire.NetworkID{}
	}
	for now := tick.Tick(3); now < 200; now++ {
		frame(now, func() { s.Set(e, pos, []uint32{uint32(now), 2}) }) // it goes on writing
	}
	require.True(t, v.Synced())
	require.Equal(t, want, refAt(r.Row(e.Index, ref), 0))
}

func TestOwnWriteBesideNewTarget(t *testing.T)  { ownWriteBeside(t, true) }
func TestOwnWriteBesideDeadTarget(t *testing.T) { ownWriteBeside(t, false) }
