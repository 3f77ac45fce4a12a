package netcode_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

type (
	aegis  struct{ Left uint8 }        // Its row is before all others.
	cargo  struct{ Bytes [2000]uint8 } // It travels in pieces.
	alarm  struct{ Level uint8 }       // Its type is before all others.
	asking struct{ A uint8 }           // A question of the newer build,
	told   struct{ A uint8 }           // and its answer.
	seat   struct{ Number uint8 }      // Written by clients.
	farm   struct{ X, Y float32 }      // Another component,
	acre   struct{ X float32 }         // and with a field less.
	crate  struct{ Left uint16 }       // A component,
	stock  struct {                    // and with more fields, under its name.
		Left  uint16
		Price uint32
		Of    wire.NetworkID `net:"entity"`
	}
	lever struct {
		Up bool `net:"event"`
	} // An input.
)

// meeting is the builds of a test, and what their handlers got.
type meeting struct {
	chats, alarms, bulks []uint32
}

// first registers what players have.
func (m *meeting) first() *netcode.Protocol {
	p := m.build()
	netcode.Replicate[crate](p)
	return p
}

// build registers what all builds have.
func (m *meeting) build() *netcode.Protocol {
	p := protocol()
	netcode.Handle(p, func(_ *netcode.Context, c *chat) { m.chats = append(m.chats, c.Number) }, netcode.Over(netcode.ReliableOrdered))
	netcode.Handle(p, func(_ *netcode.Context, b *cargo) { m.bulks = append(m.bulks, uint32(b.Bytes[1999])) }, netcode.Over(netcode.Reliable))
	return p
}

// second registers the build after it, which has more.
func (m *meeting) second() *netcode.Protocol {
	p := m.build()
	netcode.Replicate[stock](p, netcode.Named("crate"))
	netcode.Replicate[aegis](p)
	netcode.Handle(p, func(_ *netcode.Context, a *alarm) { m.alarms = append(m.alarms, uint32(a.Level)) }, netcode.Over(netcode.ReliableOrdered))
	netcode.Answer(p, func(_ *netcode.Context, q *asking, r *told) error { r.A = q.A; return nil })
	return p
}

// supporting registers the second build, which supports the first.
func (m *meeting) supporting() *netcode.Protocol {
	p := m.second()
	p.Support((&meeting{}).first().Description())
	return p
}

func TestBuildsMeet(t *testing.T) {
	for name, newerServer := range map[string]bool{"newer server": true, "newer client": false} {
		t.Run(name, func(t *testing.T) {
			at, of := &meeting{}, &meeting{}
			there, here := at.supporting(), of.first()
			if !newerServer {
				there, here = at.first(), of.supporting()
			}
			r := rig.New(t, there, netcode.Config{})
			c := r.Joined(here, netcode.Config{})
			older := (&meeting{}).first()
			require.Equal(t, older.Hash(), extend.OfServer(r.Server).Session(1).Protocol())

			// State, whose rows have other numbers at the two ends.
			var id wire.NetworkID
			rows := there.Schema()
			r.Change(func(store *snapshot.Store) {
				id = store.Spawn()
				for row := range rows.Rows() {
					if lanes := make([]uint32, rows.Plan(row).Lanes()); !rows.Older.Has(row) {
						lanes[0] = 7
						store.Set(id, row, lanes)
					}
				}
			})
			r.Run(200 * time.Millisecond)
			for row := range here.Schema().Rows() {
				if here.Schema().Older.Has(row) {
					continue
				}
				want := []uint32(nil)
				if here.Schema().Plan(row).Name() != "aegis" {
					want = make([]uint32, here.Schema().Plan(row).Lanes())
					want[0] = 7
				}
				require.Equal(t, want, c.Replica().Row(id.Index, row), here.Schema().Plan(row).Name())
			}

			// Messages, whole and in pieces, to one and to all. Those that the older build lacks are left out.
			send := func(end netcode.Endpoint, to netcode.Recipient, newer bool) {
				require.NoError(t, netcode.Send(end, to, &chat{1}))
				if newer {
					require.NoError(t, netcode.Send(end, to, &alarm{9}))
					require.NoError(t, netcode.Send(end, to, &alarm{8}, netcode.Over(netcode.Unreliable)))
				}
				large := &cargo{}
				large.Bytes[1999] = 5
				require.NoError(t, netcode.Send(end, to, large))
				require.NoError(t, netcode.Send(end, to, &chat{2}))
			}
			send(r.Server, netcode.ToAll(), newerServer)
			send(r.Server, netcode.To(1), newerServer)
			send(c, netcode.ToServer(), !newerServer)
			r.Run(time.Second)
			require.Equal(t, []uint32{1, 2, 1, 2}, of.chats)
			require.Equal(t, []uint32{1, 2}, at.chats)
			require.Equal(t, []uint32{5, 5}, of.bulks)
			require.Equal(t, []uint32{5}, at.bulks)
			newer := netcode.Endpoint(c)
			stats := c.Stats()
			if newerServer {
				newer, stats = r.Server, r.Server.Stats()
			}
			require.Positive(t, stats.LeftOut)
			err := netcode.Call(context.Background(), newer, map[bool]netcode.ClientID{true: 1, false: 0}[newerServer], &asking{1}, func(*told, error) { t.Error("it was called") })
			require.ErrorIs(t, err, errs.ErrLeftOut)
			require.ErrorContains(t, err, "asking")
			require.Zero(t, r.Server.Stats().UnknownTypes+c.Stats().UnknownTypes+r.Server.Stats().Malformed+c.Stats().Malformed)

			// The session moves with its client.
			rebind(r, c, transport.MustParseAddr("203.0.113.77:5"))
			r.Run(2 * time.Second)
			require.NoError(t, netcode.Send(r.Server, netcode.ToAll(), &chat{3}))
			r.Run(time.Second)
			require.Equal(t, []uint32{1, 2, 1, 2, 3}, of.chats)
			require.Len(t, r.Server.Log, 1)
		})
	}
}

// A client that played with an older server plays with one of its own build afterwards, and leaves nothing out.
func TestAnOlderSessionLeavesNothingBehind(t *testing.T) {
	m := &meeting{}
	p := m.supporting()
	r := rig.New(t, (&meeting{}).first(), netcode.Config{})
	c := r.Joined(p, netcode.Config{})
	at := &meeting{}
	restart(r, at.supporting(), netcode.Config{Random: rig.Random(9)})
	require.NoError(t, c.Connect(r.Server.Conn.LocalAddr()))
	r.Until(func() bool { return c.State() == netcode.Connected && extend.OfServer(r.Server).Session(1) != nil })
	require.Equal(t, p.Hash(), extend.OfServer(r.Server).Session(1).Protocol())
	require.NoError(t, netcode.Send(c, netcode.ToServer(), &alarm{4}))
	r.Run(time.Second)
	require.Equal(t, []uint32{4}, at.alarms)
}

// Equal builds send the same bytes whether they support others or not.
func TestSupportCostsEqualBuildsNothing(t *testing.T) {
	var traces [2][]byte
	for i, support := range []bool{false, true} {
		m := &meeting{}
		build := m.second
		if support {
			build = m.supporting
		}
		r := rig.New(t, build(), netcode.Config{})
		r.Tamper = func(_, _ transport.Addr, packet []byte) []byte {
			traces[i] = fmt.Appendf(traces[i], "%x\n", packet)
			return packet
		}
		c := r.Joined(build(), netcode.Config{})
		var id wire.NetworkID
		r.Change(func(store *snapshot.Store) { id = store.Spawn() })
		place, crates := rowIn[position](r.Server.Protocol()), rowIn[stock](r.Server.Protocol())
		for n := range uint32(20) {
			r.Change(func(store *snapshot.Store) {
				store.Set(id, place, []uint32{n, n})
				store.Set(id, crates, []uint32{n, n / 2, 0, 0})
			})
			require.NoError(t, netcode.Send(c, netcode.ToServer(), &alarm{uint8(n)}))
			require.NoError(t, netcode.Send(r.Server, netcode.ToAll(), &chat{n}))
			r.Run(50 * time.Millisecond)
		}
		require.Len(t, m.alarms, 20, "the newer types travel")
	}
	require.Greater(t, bytes.Count(traces[0], []byte("\n")), 60)
	require.Equal(t, traces[0], traces[1])
}

// rowIn returns the row of a component.
func rowIn[T any](p *netcode.Protocol) int { return p.Schema().RowOf(reflect.TypeFor[T]()) }

// A component has more fields in the newer build. Its server sends them to clients of its build, and the others to clients of the older
// build, which get nothing while only the new ones change. A newer client reads zero from an older server.
func TestFieldsThatTheOlderBuildLacksAreLeftOut(t *testing.T) {
	p, first := (&meeting{}).supporting(), (&meeting{}).first()
	require.Equal(t, (&meeting{}).second().Description(), p.Description(), "an older build is not in the protocol")
	require.EqualValues(t, 1, p.Schema().Older.Count())
	r := rig.New(t, p, netcode.Config{})
	newer, older := r.Joined(p, netcode.Config{}), r.Joined(first, netcode.Config{})
	there, here := rowIn[stock](p), rowIn[crate](first)
	var id, named wire.NetworkID
	r.Change(func(store *snapshot.Store) {
		id, named = store.Spawn(), store.Spawn()
		store.Set(id, there, []uint32{7, 100, named.Index, named.Generation})
	})
	r.Run(200 * time.Millisecond)
	require.Equal(t, []uint32{7, 100, named.Index, named.Generation}, newer.Replica().Row(id.Index, there))
	require.Equal(t, []uint32{7}, older.Replica().Row(id.Index, here))
	require.Equal(t, older.Replica().Entity(id.Index).Mask.Count(), extend.OfServer(r.Server).Session(2).View().Rows(id).Intersect(r.Server.Store().Mask(id)).Count())
	for client := range netcode.ClientID(2) {
		require.Equal(t, snapshot.Mask{}.With(there), r.Server.VisibleRows(client+1, id).Intersect(r.Server.Store().Mask(id)), "game code knows no older form")
	}
	require.Equal(t, extend.OfServer(r.Server).Session(2).SharedRows().Count(), first.Schema().Rows())
	require.True(t, extend.OfServer(r.Server).Session(2).SharedRows().Has(there), "an extension numbers the component as the older build does")

	records := older.Replica().Stats().Records
	for n := range uint32(10) { // The new fields alone.
		r.Change(func(store *snapshot.Store) { store.Set(id, there, []uint32{7, 200 + n, 0, 0}) })
		r.Run(100 * time.Millisecond)
	}
	require.Equal(t, []uint32{7, 209, 0, 0}, newer.Replica().Row(id.Index, there))
	require.Equal(t, records, older.Replica().Stats().Records)
	for _, rows := range []snapshot.Mask{{}, snapshot.AllRows()} { // Hidden, and shown again.
		extend.OfServer(r.Server).Session(1).View().See(id, rows)
		extend.OfServer(r.Server).Session(2).View().See(id, rows)
		r.Change(func(store *snapshot.Store) { store.Set(id, there, []uint32{8, 1, 0, 0}) })
		r.Run(200 * time.Millisecond)
		if rows.IsZero() {
			require.Nil(t, newer.Replica().Row(id.Index, there))
			require.Nil(t, older.Replica().Row(id.Index, here))
		}
	}
	require.Equal(t, []uint32{8, 1, 0, 0}, newer.Replica().Row(id.Index, there))
	require.Equal(t, []uint32{8}, older.Replica().Row(id.Index, here))

	r = rig.New(t, first, netcode.Config{})
	newer = r.Joined(p, netcode.Config{})
	r.Change(func(store *snapshot.Store) {
		id = store.Spawn()
		store.Set(id, here, []uint32{9})
	})
	r.Run(200 * time.Millisecond)
	require.Equal(t, []uint32{9, 0, 0, 0}, newer.Replica().Row(id.Index, there))
	require.Equal(t, snapshot.Mask{}.With(there), newer.Replica().Entity(id.Index).Mask)
}

// A server that does not speak any protocol of a client refuses it by name, as ever: the difference is that to the client's own build.
func TestNoCommonBuildIsRefusedByName(t *testing.T) {
	p := protocol()
	netcode.Replicate[farm](p)
	r := rig.New(t, p, netcode.Config{})
	c := r.Join((&meeting{}).supporting(), netcode.Config{})
	r.Until(func() bool { return c.Err() != nil })
	require.ErrorIs(t, c.Err(), errs.ReasonWrongProtocol)
	require.Contains(t, c.Err().Error(), `the server does not have component "aegis"`)
	require.EqualValues(t, 2, c.Stats().RefusedProtocol, "its own, and that of the older build")
	require.Empty(t, r.Server.Log)
}

// A Hello that names an older build leaves nothing at the server, nothing is sent that is longer than it, and a Join that is sealed for
// none of the builds makes no session.
func TestOlderBuildsProveThemselvesToo(t *testing.T) {
	r := rig.New(t, (&meeting{}).supporting(), netcode.Config{})
	joins := 0
	r.Tamper = func(from, _ transport.Addr, packet []byte) []byte {
		require.LessOrEqual(t, len(packet), peer.HelloSize)
		if from != r.Server.Conn.LocalAddr() && peer.KindOf(packet) == peer.KindJoin && joins < 3 {
			joins++
			packet = bytes.Clone(packet)
			packet[len(packet)-1] ^= 1
		}
		return packet
	}
	c := r.Join((&meeting{}).first(), netcode.Config{})
	r.Until(func() bool { return joins == 3 })
	r.ServerFrame()
	require.Empty(t, r.Server.Log)
	require.EqualValues(t, 3, r.Server.Stats().BadHandshakes)
	r.Until(func() bool { return c.State() == netcode.Connected })
}

func TestSupportNamesWhatIsNotAdditive(t *testing.T) {
	first := func(more func(p *netcode.Protocol)) []string {
		p := (&meeting{}).first()
		more(p)
		return p.Description()
	}
	for name, c := range map[string]struct {
		older []string
		newer func(p *netcode.Protocol)
		want  string
	}{
		"a component less":  {first(func(p *netcode.Protocol) { netcode.Replicate[farm](p) }), func(*netcode.Protocol) {}, "component farm of the older build is not here: keep it registered"},
		"another component": {first(func(p *netcode.Protocol) { netcode.Replicate[farm](p) }), func(p *netcode.Protocol) { netcode.Replicate[seat](p, netcode.Named("farm")) }, "component farm differs from that of the older build: there it is component farm{X:f32;Y:f32}, here component farm{Number:u8}"},
		"a field less":      {first(func(p *netcode.Protocol) { netcode.Replicate[farm](p) }), func(p *netcode.Protocol) { netcode.Replicate[acre](p, netcode.Named("farm")) }, "component farm differs"},
		"a field more that clients write": {first(func(p *netcode.Protocol) {
			netcode.Replicate[acre](p, netcode.Named("farm"), authority.WrittenBy(authority.OwnerWrites))
		}), func(p *netcode.Protocol) { netcode.Replicate[farm](p, authority.WrittenBy(authority.OwnerWrites)) }, "component farm differs"},
		"a field more, and clients write": {first(func(p *netcode.Protocol) { netcode.Replicate[acre](p, netcode.Named("farm")) }), func(p *netcode.Protocol) { netcode.Replicate[farm](p, authority.WrittenBy(authority.OwnerWrites)) }, "component farm differs"},
		"a field more with bands": {first(func(p *netcode.Protocol) {
			netcode.Replicate[acre](p, netcode.Named("farm"), netcode.Bands(netcode.Band{Beyond: 5, Every: 3}))
		}), func(p *netcode.Protocol) {
			netcode.Replicate[farm](p, netcode.Bands(netcode.Band{Beyond: 5, Every: 3}))
		}, "component farm differs"},
		"another message":    {first(func(p *netcode.Protocol) { netcode.Handle[alarm](p, nil) }), func(p *netcode.Protocol) { netcode.Handle[alarm](p, nil, netcode.FromClient()) }, "message alarm differs"},
		"an input more":      {first(func(*netcode.Protocol) {}), func(p *netcode.Protocol) { input.Register[lever](p) }, "the older build does not have input lever"},
		"an input less":      {first(func(p *netcode.Protocol) { input.Register[lever](p) }), func(*netcode.Protocol) {}, "input lever of the older build is not here"},
		"no packing":         {first((*netcode.Protocol).Debug), func(*netcode.Protocol) {}, "limits netcode differs"},
		"clients that write": {first(func(*netcode.Protocol) {}), func(p *netcode.Protocol) { netcode.Replicate[seat](p, authority.WrittenBy(authority.OwnerWrites)) }, "clients of the older build write no component"},
	} {
		t.Run(name, func(t *testing.T) {
			p := (&meeting{}).first()
			c.newer(p)
			p.Support(c.older)
			defer func() { require.Contains(t, fmt.Sprint(recover()), c.want) }()
			p.Hash()
		})
	}
	p := (&meeting{}).first()
	for range 8 {
		p.Support(firstDescription())
	}
	require.PanicsWithValue(t, "netcode: Support: at most 8 older builds are supported: leave out the oldest", func() { p.Support(nil) })
	require.Equal(t, (&meeting{}).first().Hash(), p.Hash(), "its own description changes nothing")
	require.Panics(t, func() { p.Support(nil) }, "it is frozen")
}

// firstDescription is that of the first build.
func firstDescription() []string { return (&meeting{}).first().Description() }
