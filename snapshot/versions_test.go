package snapshot

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/quantize"
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
	versionName  struct {
		Of     wire.NetworkID `net:"entity"`
		Called wire.Text[[8]byte]
	}

	// The same with more fields.
	versionPlaceMore struct {
		Turn uint16
		X, Y float32 `net:"min=-512,max=512,step=0.1"`
	}
	versionSpeedMore struct{ X, Y, Z float32 }
	versionTagMore   struct{ Since uint16 }
	versionNameMore  struct {
		Of     wire.NetworkID `net:"entity"`
		Called wire.Text[[8]byte]
		Uses   uint16
		Home   wire.NetworkID `net:"entity"`
	}
)

// versionPlans returns the components of a test. Those of grown have more fields.
func versionPlans(t require.TestingT, grown Mask) (plans []*quantize.Plan) {
	types := [][2]reflect.Type{
		{reflect.TypeFor[versionPlace](), reflect.TypeFor[versionPlaceMore]()},
		{reflect.TypeFor[versionSpeed](), reflect.TypeFor[versionSpeedMore]()},
		{reflect.TypeFor[versionTag](), reflect.TypeFor[versionTagMore]()},
		{reflect.TypeFor[versionName](), reflect.TypeFor[versionNameMore]()},
		{reflect.TypeFor[versionPlace](), reflect.TypeFor[versionPlaceMore]()},
	}
	for i, of := range types {
		t2 := of[0]
		if grown.Has(i) {
			t2 = of[1]
		}
		p, err := quantize.Compile(t2, string(rune('a'+i)))
		require.NoError(t, err)
		plans = append(plans, p)
	}
	return plans
}

// olderServer is two servers that play the same game: one of the newer build and one of the older, which lacks some components and fields of
// others.
type olderServer struct {
	t      require.TestingT
	rows   []olderRow
	now    *Store
	old    *Store
	ids    []wire.NetworkID
	random *rand.Rand
}

// olderRow is a component.
type olderRow struct {
	row, old int // of the newer and of the older build; -1: the older one lacks it
	shorten  *quantize.Conversion
	extend   *quantize.Conversion // nil: the component is the same in both
	lanes    []uint32
}

// newOlderServer returns the servers, and the configuration of a session between them.
func newOlderServer(t require.TestingT, unknown, grown Mask, cfg Config) (*olderServer, Config) {
	o := &olderServer{t: t}
	var now, older []*quantize.Plan
	before := versionPlans(t, Mask{})
	session := cfg
	var families [][2]int
	for i, p := range versionPlans(t, grown) {
		r := olderRow{row: len(now), old: len(older)}
		now = append(now, p)
		switch {
		case unknown.Has(i):
			session.Unknown, r.old = session.Unknown.With(r.row), -1
		case grown.Has(i):
			_, list, _ := strings.Cut(strings.TrimSuffix(string(before[i].Describe(nil)), "}"), "{")
			form, err := quantize.CompileOlder(p.Type(), p.Name(), strings.FieldsFunc(list, func(r rune) bool { return r == ';' }))
			require.NoError(t, err)
			families = append(families, [2]int{r.row, len(now)})
			session.Unknown, session.Older = session.Unknown.With(r.row), session.Older.With(len(now))
			now = append(now, form)
			to, from := quantize.NewConversion(p, form), quantize.NewConversion(form, p)
			r.shorten, r.extend = &to, &from
		}
		if r.old >= 0 {
			older = append(older, before[i])
		}
		o.rows = append(o.rows, r)
	}
	schema := format.NewSchema(now)
	for _, f := range families {
		schema.SetOlder(f[0], []format.Band{{Row: f[1]}})
	}
	o.now, o.old = NewStore(schema, cfg), NewStore(format.NewSchema(older), cfg)
	return o, session
}

// play makes random changes of the world in both stores. What the older build lacks changes in the newer one alone.
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
		for i := range o.rows {
			r := &o.rows[i]
			switch n := o.random.IntN(12); {
			case n < 4:
				o.set(id, r)
			case n == 4:
				o.now.Remove(id, r.row)
				if r.old >= 0 {
					o.old.Remove(id, r.old)
				}
			}
		}
	}
	o.now.Commit()
	o.old.Commit()
}

// set gives an entity a component with other values, or with others in the fields of the newer build alone.
func (o *olderServer) set(id wire.NetworkID, r *olderRow) {
	plan := o.now.schema.Plan(r.row)
	lanes := make([]uint32, plan.Lanes())
	if len(plan.Refs()) > 0 {
		anybody := func() wire.NetworkID { return append(o.ids, wire.NetworkID{})[o.random.IntN(len(o.ids)+1)] }
		v := versionNameMore{Of: anybody(), Uses: uint16(o.random.Uint32()), Home: anybody()}
		v.Called.Set("orange"[:o.random.IntN(7)])
		value := reflect.ValueOf(&v).UnsafePointer()
		if plan.Type() == reflect.TypeFor[versionName]() {
			value = reflect.ValueOf(&versionName{v.Of, v.Called}).UnsafePointer()
		}
		plan.Quantise(value, lanes)
	} else {
		for i := range lanes {
			lanes[i] = o.random.Uint32N(10000)
		}
	}
	if was := o.now.Row(id, r.row); was != nil && r.shorten != nil && o.random.IntN(2) == 0 {
		old := o.short(r, was)
		r.extend.Row(old, lanes)
	}
	o.now.Set(id, r.row, lanes)
	if r.old >= 0 {
		o.old.Set(id, r.old, o.short(r, lanes))
	}
}

// short returns a row as the older build has it.
func (o *olderServer) short(r *olderRow, lanes []uint32) []uint32 {
	if r.shorten == nil {
		return lanes
	}
	to := make([]uint32, o.old.schema.Plan(r.old).Lanes())
	r.shorten.Row(lanes, to)
	return to
}

// A client of an older build gets from a newer server the bytes that a server of its own build would have sent. And a client of the
// newer build reads from such bytes what the older server has.
func TestOlderClientsGetTheBytesOfTheirBuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.Uint64Range(0, 1<<5-1)
		cfg := Config{Window: 64, SentPackets: 128}
		o, known := newOlderServer(t, format.FromWords(rows.Draw(t, "unknown")), format.FromWords(rows.Draw(t, "grown")), cfg)
		o.random = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		const clients = 3
		var there, here [clients]*View // Of the older server, and of the newer one.
		for i := range clients {
			there[i], here[i] = NewView(o.old, cfg), NewView(o.now, known)
		}
		same := NewView(o.now, cfg)
		client, reader := replica.New(o.old.schema, cfg, 1), replica.New(o.now.schema, known, 1)
		var seq uint64
		lost := rapid.IntRange(0, 2).Draw(t, "lost of ten")
		for s := tick.Tick(1); s < 30; s++ {
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
						account := format.NewBits(o.now.schema)
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
		for i := range o.rows {
			r := &o.rows[i]
			if r.old < 0 {
				require.Nil(o.t, reader.Row(id.Index, r.row))
				continue
			}
			var want []uint32
			if now := o.now.Row(id, r.row); now != nil {
				want = append([]uint32{}, o.short(r, now)...)
				for _, lane := range o.old.schema.Plan(r.old).Refs() {
					if !o.now.Alive(wire.NetworkID{Index: want[lane], Generation: want[lane+1]}) {
						want[lane], want[lane+1] = 0, 0
					}
				}
			}
			require.Equal(o.t, want, client.Row(id.Index, r.old))
			if r.extend != nil && want != nil {
				long := make([]uint32, o.now.schema.Plan(r.row).Lanes())
				r.extend.Row(want, long)
				want = long
			}
			require.Equal(o.t, want, reader.Row(id.Index, r.row))
		}
	}
}

// Clients of one older build share the texts of pages, as clients of the server's own build do beside them.
func TestOlderClientsSharePages(t *testing.T) {
	needsFastPaths(t)
	cfg := Config{Window: 64, SentPackets: 128}
	o, older := newOlderServer(t, format.Bit(4), format.Bit(1), cfg)
	s := o.now
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
			s.Set(ids[i], 1, []uint32{uint32(now) * 7, uint32(i), uint32(now)})
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
