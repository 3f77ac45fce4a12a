package snapshot

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type (
	versionPlace struct {
		X, Y float32 `net:"min=-512,max=512,step=0.1"`
	}
	versionSpeed struct{ X, Y float32 }
	versionTag   struct{}
)

// versionPlans returns the rows of the newer build of the test. The older one lacks some of them.
func versionPlans(t require.TestingT) (plans []*quantize.Plan) {
	for name, of := range []reflect.Type{reflect.TypeFor[versionPlace](), reflect.TypeFor[versionSpeed](), reflect.TypeFor[versionTag](), reflect.TypeFor[versionSpeed](), reflect.TypeFor[versionPlace]()} {
		p, err := quantize.Compile(of, string(rune('a'+name)))
		require.NoError(t, err)
		plans = append(plans, p)
	}
	return plans
}

// olderServer is two servers that play the same game: one of the newer build and one of the older.
type olderServer struct {
	t       require.TestingT
	unknown Mask
	now     *Store
	old     *Store
	ids     []wire.NetworkID
	random  *rand.Rand
}

// play makes random changes of the world in both stores. Rows that the older build lacks change in the newer one alone.
func (o *olderServer) play(s tick.Tick) {
	o.now.Begin(s)
	o.old.Begin(s)
	for range o.random.IntN(12) {
		if len(o.ids) < 150 && o.random.IntN(3) == 0 {
			id := o.now.Spawn()
			require.Equal(o.t, id, o.old.Spawn())
			o.ids = append(o.ids, id)
		}
		if len(o.ids) > 0 && o.random.IntN(10) == 0 {
			i := o.random.IntN(len(o.ids))
			o.now.Despawn(o.ids[i])
			o.old.Despawn(o.ids[i])
			o.ids = append(o.ids[:i], o.ids[i+1:]...)
		}
	}
	for _, id := range o.ids {
		for row := range o.now.schema.Rows() {
			switch n := o.random.IntN(12); {
			case n < 4:
				lanes := make([]uint32, o.now.schema.Plan(row).Lanes())
				for i := range lanes {
					lanes[i] = o.random.Uint32N(10000)
				}
				o.set(id, row, lanes)
			case n == 4:
				o.now.Remove(id, row)
				if !o.unknown.Has(row) {
					o.old.Remove(id, o.oldRow(row))
				}
			}
		}
	}
	o.now.Commit()
	o.old.Commit()
}

func (o *olderServer) set(id wire.NetworkID, row int, lanes []uint32) {
	o.now.Set(id, row, lanes)
	if !o.unknown.Has(row) {
		o.old.Set(id, o.oldRow(row), lanes)
	}
}

// oldRow is the number of a row in the older build.
func (o *olderServer) oldRow(row int) int { return format.Bit(row).Squeeze(o.unknown).Lowest() }

// A client of an older build gets from a newer server the bytes that a server of its own build would have sent. And a client of the
// newer build reads from such bytes what the older server has.
func TestOlderClientsGetTheBytesOfTheirBuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plans := versionPlans(t)
		unknown := format.FromWords(rapid.Uint64Range(0, 1<<len(plans)-1).Draw(t, "unknown"))
		var older []*quantize.Plan
		for row, p := range plans {
			if !unknown.Has(row) {
				older = append(older, p)
			}
		}
		cfg := Config{Window: 64, SentPackets: 128}
		known := cfg
		known.Unknown = unknown
		o := &olderServer{t: t, unknown: unknown, now: NewStore(format.NewSchema(plans), cfg), old: NewStore(format.NewSchema(older), cfg),
			random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))}
		const clients = 3
		var there, here [clients]*View // Of the older server, and of the newer one.
		for i := range clients {
			there[i], here[i] = NewView(o.old, cfg), NewView(o.now, known)
		}
		same := NewView(o.now, cfg)
		client, reader := replica.New(o.old.schema, cfg, 1), replica.New(o.now.schema, known, 1)
		var seq uint64
		lost := rapid.IntRange(0, 2).Draw(t, "lost of ten")
		for s := tick.Tick(1); s < 60; s++ {
			o.play(s)
			same.Observe()
			seq++
			if same.Write(make([]byte, 9000), seq) > 0 {
				same.Acked(seq)
			}
			gone := o.random.IntN(10) < lost
			for i := range clients {
				there[i].Observe()
				here[i].Observe()
				want, got := make([]byte, 9000), make([]byte, 9000)
				n := there[i].Write(want, seq)
				require.Equal(t, want[:n], got[:here[i].Write(got, seq)], "tick %d, client %d", s, i)
				switch {
				case n == 0:
				case gone && i > 0:
					there[i].Lost(seq)
					here[i].Lost(seq)
				default:
					if i == 0 {
						account := replica.NewBits(o.now.schema)
						reader.AddBits(account, want[:n])
						require.Zero(t, account.Unknown, "each bit is somebody's")
						require.NoError(t, client.Read(want[:n]))
						require.NoError(t, reader.Read(want[:n]))
					}
					there[i].Acked(seq)
					here[i].Acked(seq)
				}
			}
			o.check(client, reader)
		}
	})
}

// check compares a client of each build with the server.
func (o *olderServer) check(client, reader *replica.Replica) {
	require.Equal(o.t, len(o.ids), client.Len())
	require.Equal(o.t, len(o.ids), reader.Len())
	for _, id := range o.ids {
		for row := range o.now.schema.Rows() {
			var want []uint32
			if !o.unknown.Has(row) {
				if o.now.rows.masks[id.Index].Has(row) {
					want = o.now.rows.row(id.Index, row)
				}
				require.Equal(o.t, want, client.Row(id.Index, o.oldRow(row)))
			}
			require.Equal(o.t, want, reader.Row(id.Index, row))
		}
	}
}

// Clients of one older build share the texts of pages, as clients of the server's own build do beside them.
func TestOlderClientsSharePages(t *testing.T) {
	needsFastPaths(t)
	cfg := Config{Window: 64, SentPackets: 128}
	s := NewStore(format.NewSchema(versionPlans(t)), cfg)
	older := cfg
	older.Unknown = format.Bit(1)
	var views []*View
	for i := range 8 {
		if i%2 == 0 {
			views = append(views, NewView(s, cfg))
		} else {
			views = append(views, NewView(s, older))
		}
	}
	var ids []wire.NetworkID
	for now := tick.Tick(1); now < 10; now++ {
		s.Begin(now)
		for i := range 64 {
			if now == 1 {
				ids = append(ids, s.Spawn())
			}
			s.Set(ids[i], 0, []uint32{uint32(now) * 7, uint32(i)})
			s.Set(ids[i], 1, []uint32{uint32(now) * 7, uint32(i)})
		}
		s.Commit()
		var first [2][]byte
		for i, v := range views {
			v.Observe()
			packet := make([]byte, 9000)
			packet = packet[:v.Write(packet, uint64(now))]
			if i < 2 {
				first[i] = packet
			}
			require.Equal(t, first[i%2], packet)
			v.Acked(uint64(now))
		}
		require.Less(t, len(first[1]), len(first[0]))
	}
	require.GreaterOrEqual(t, s.PagesShared(), uint64(40))
}

func TestRowsAreNumberedAsTheOtherEndDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unknown := format.FromWords(rapid.Uint64().Draw(t, "unknown"))
		m := format.FromWords(rapid.Uint64().Draw(t, "rows")).Minus(unknown)
		want, place := Mask{}, 0
		for row := range format.MaxRows {
			if unknown.Has(row) {
				continue
			}
			if m.Has(row) {
				want = want.With(place)
			}
			place++
		}
		require.Equal(t, want, m.Squeeze(unknown))
		require.Equal(t, m, want.Spread(unknown))
	})
}
