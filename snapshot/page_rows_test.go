package snapshot

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// bothWays plays a game with pages that are written at once, and with pages that are written entity by entity: what is sent has
// to be the same. Every packet arrives, unless the game loses it.
func bothWays(t *testing.T, play func(d *duo) (payloads [][]byte)) {
	var sent [2][][]byte
	for i := range sent {
		d := newDuoOf(t, simSchema(t), Config{Window: 64, SentPackets: 64})
		d.store.cache.plain = i == 0
		sent[i] = play(d)
	}
	require.Equal(t, sent[0], sent[1], "a page that is written at once has other bytes")
}

// next plays a tick in which all that is sent arrives.
func (d *duo) next(game func()) (payloads [][]byte) {
	d.t.Helper()
	d.game(d.store.Tick()+1, game)
	for p := d.packet(1000); p != nil; p = d.packet(1000) {
		payloads = append(payloads, slices.Clone(p.payload))
		d.ack(p)
	}
	return payloads
}

// requireSame compares entities of the client with those of the server.
func (d *duo) requireSame(ids []wire.NetworkID) {
	d.t.Helper()
	for i, id := range ids {
		for row := range 3 {
			require.Equal(d.t, d.store.Row(id, row), d.replica.Row(id.Index, row), "tick %d, entity %d, row %d", d.store.Tick(), i, row)
		}
	}
}

// Rule 2: in a list a record is against R. An entity that got, lost or changed its rows since R, or between N and R, is in none,
// beside others of its page that are.
func TestRule2EntityWithOtherRowsSinceItsListIsUnlisted(t *testing.T) {
	freeze := func(d *duo, id wire.NetworkID) { d.store.Set(id, rowFrozen, nil) }
	thaw := func(d *duo, id wire.NetworkID) { d.store.Remove(id, rowFrozen) }
	ill := func(d *duo, id wire.NetworkID) { d.store.Remove(id, rowHealth) }
	well := func(d *duo, id wire.NetworkID) { d.setHealth(id, 50) }
	rest := func(*duo, wire.NetworkID) {}
	for name, test := range map[string]struct {
		near, between, ref, now func(d *duo, id wire.NetworkID)
	}{
		"a row more":                 {rest, rest, rest, freeze},
		"a row less":                 {rest, rest, rest, ill},
		"one for another":            {rest, rest, rest, func(d *duo, id wire.NetworkID) { freeze(d, id); ill(d, id) }},
		"a row more since N":         {rest, rest, freeze, rest},
		"a row less since N":         {rest, rest, ill, rest},
		"a tag that came and went":   {rest, freeze, thaw, rest},
		"a row that went and came":   {rest, ill, well, rest},
		"a tag that went and came":   {freeze, thaw, freeze, rest},
		"a row that came after R":    {ill, rest, rest, well},
		"and a tag that came and is": {rest, freeze, rest, thaw},
	} {
		t.Run(name, func(t *testing.T) {
			for x := range uint32(16) {
				bothWays(t, func(d *duo) (payloads [][]byte) {
					var ids []wire.NetworkID
					all := func(n uint32, change func(*duo, wire.NetworkID)) func() {
						return func() {
							for i, id := range ids {
								if d.move(id, (n+uint32(i))%16); i%3 == 0 {
									change(d, id)
								}
							}
						}
					}
					d.next(func() {
						for range 9 {
							ids = append(ids, d.spawn(3))
						}
					})
					d.next(all(4, test.near))
					d.game(d.store.Tick()+1, all(5, test.between))
					for d.packet(1000) != nil {
						continue // Lost.
					}
					d.next(all(6, test.ref))
					g := d.view.pages[0]
					require.Equal(t, []tick.Tick{4, 2}, []tick.Tick{g.ref, g.near})
					for n := range uint32(3) {
						payloads = append(payloads, d.next(all(x+n, test.now))...)
						d.requireSame(ids)
					}
					return payloads
				})
			}
		})
	}
}

// A page that rests has records of R that the server does not name: R of its neighbours is an older tick of it. No list of these
// is continued over it, or the client takes the code of the page behind it for its own.
func TestAListEndsBeforeAPageThatHasRecordsOfR(t *testing.T) {
	bothWays(t, func(d *duo) (payloads [][]byte) {
		var pages [3][]wire.NetworkID
		d.next(func() {
			for i := range 3 * format.PageEntities {
				pages[i/format.PageEntities] = append(pages[i/format.PageEntities], d.spawn(1))
			}
		})
		move := func(x tick.Tick, of ...int) func() {
			return func() {
				for _, i := range of {
					d.moveAll(pages[i], x)
				}
			}
		}
		for range 2 {
			d.next(move(3, 0, 1, 2))
			d.next(move(4, 0, 1, 2))
			d.next(move(5, 1))
			refs := []tick.Tick{d.view.pages[0].ref, d.view.pages[1].ref, d.view.pages[2].ref}
			require.Equal(t, []tick.Tick{refs[0], refs[0] + 1, refs[0]}, refs)
			payloads = append(payloads, d.next(move(6, 0, 2))...)
			for _, ids := range pages {
				d.requireSame(ids)
			}
		}
		return payloads
	})
}

// A page that rests has the same R as its neighbours: a list goes on over it, and has a code for it.
func TestAListTellsOfAPageThatRests(t *testing.T) {
	bothWays(t, func(d *duo) (payloads [][]byte) {
		var ids []wire.NetworkID
		d.next(func() {
			for range 4 * format.PageEntities {
				ids = append(ids, d.spawn(1))
			}
		})
		d.next(func() { d.moveAll(ids, 3) })
		d.next(func() { d.moveAll(ids, 4) })
		for i := range 4 {
			require.EqualValues(t, 3, d.view.pages[i].ref)
		}
		payloads = d.next(func() {
			d.moveAll(ids[:format.PageEntities], 5)
			d.moveAll(ids[3*format.PageEntities:], 5)
		})
		require.Len(t, payloads, 1, "one list has them all")
		d.requireSame(ids)
		return payloads
	})
}

// Rule 1: a packet ends within a page and is lost before the rest of the page is written: the rest alone is sent in this tick.
func TestRule1LostPartOfACutPageWaits(t *testing.T) {
	bothWays(t, func(d *duo) (payloads [][]byte) {
		var ids []wire.NetworkID
		d.next(func() {
			for range format.PageEntities {
				ids = append(ids, d.spawn(1))
			}
		})
		for x := range tick.Tick(5) {
			d.next(func() { d.moveAll(ids, 3*x) })
		}
		d.game(d.store.Tick()+1, func() {
			for i, id := range ids {
				d.move(id, uint32(i*7)%12)
			}
		})
		lost := d.packet(MinPayload)
		first := d.view.sent.get(d.seq).records
		require.True(t, 0 < first && first < format.PageEntities, "%d records: the page is not cut, and the test shows nothing", first)
		d.view.Lost(lost.seq)
		rest := 0
		for p := d.packet(1000); p != nil; p = d.packet(1000) {
			rest += d.view.sent.get(d.seq).records
			payloads = append(payloads, p.payload)
			d.ack(p)
		}
		require.Equal(t, format.PageEntities-first, rest, "records beside the %d that were sent in this tick", first)
		payloads = append(payloads, d.next(func() {})...)
		d.requireSame(ids)
		return payloads
	})
}

// Two clients have the same R and no N, but their records of R were coded against different ticks: they need different texts.
func TestRule3PagesOfDifferentSecondVersionsShareNoText(t *testing.T) {
	needsFastPaths(t)
	cfg := Config{Window: 64, SentPackets: 64}
	store := NewStore(simSchema(t), cfg)
	var d [2]*duo
	var ids []wire.NetworkID
	for i := range d {
		d[i] = &duo{t: t, store: store, view: NewView(store, cfg), replica: replica.New(store.schema, cfg, 1)}
	}
	step := func(s tick.Tick, of ...*duo) {
		store.Begin(s)
		for len(ids) < format.PageEntities/2 {
			ids = append(ids, d[0].spawn(1))
		}
		for i, id := range ids {
			d[0].move(id, uint32(int(s)*(i+3))%16)
		}
		store.Commit()
		for _, c := range d {
			c.view.Observe()
		}
		for _, c := range of {
			c.flush(1000, nil)
			c.requireSame(ids)
		}
	}
	step(1, d[0])
	step(3, d[1])
	step(25, d[0], d[1])
	for i, span := range []uint16{24, 22} {
		g := d[i].view.pages[0]
		require.Equal(t, []tick.Tick{25, tick.None}, []tick.Tick{g.ref, g.near})
		require.Equal(t, span, g.span)
	}
	require.Zero(t, store.PagesShared())
	step(26, d[0], d[1])
	require.Zero(t, store.PagesShared())
	require.Len(t, store.cache.pages.texts, 2, "one each: else the test shows nothing")
}

// A packet of a tick from before a loss comes once more after it, with records of another page. Lists of that tick name records
// that the client has no more: it asks for all, and takes none of them for another.
func TestAListOfATickFromBeforeALossHasNoBaseline(t *testing.T) {
	d := newDuo(t)
	var ids []wire.NetworkID
	d.game(1, func() {
		for range 2 * format.PageEntities {
			ids = append(ids, d.spawn(1))
		}
	})
	var late *simPacket
	for p := d.packet(200); p != nil; p = d.packet(200) {
		d.ack(p)
		late = p
	}
	sent := d.view.sent.get(late.seq)
	require.EqualValues(t, 1, d.view.sent.group(sent, 0).word, "the last packet has entities of the second page only")
	g := d.view.pages[0]
	require.Equal(t, []tick.Tick{1, tick.None}, []tick.Tick{g.ref, g.near})
	d.replica.Lose()
	require.NoError(t, d.replica.Read(late.payload), "it leans on nothing")
	d.game(2, func() { d.moveAll(ids[:format.PageEntities], 10) })
	d.deliverError(d.packet(200))
}

// An entity has left its group, and has its ack state in common with its page when the packet is acknowledged that has it and the
// group: nothing ties it any more.
func TestAcknowledgedUnitIsLinkedNoMore(t *testing.T) {
	needsFastPaths(t)
	d := newTight(t, 1000)
	var ids []wire.NetworkID
	d.next(func() {
		for range 12 {
			ids = append(ids, d.spawn(1))
			d.store.SetGroup(ids[len(ids)-1], 5)
		}
	})
	before := d.at(2, func() { d.moveAll(ids, 2) })
	d.game(3, func() { d.moveAll(ids, 3); d.store.SetGroup(ids[4], 0) })
	p := d.packet(1000)
	require.Equal(t, 1, d.view.links.n)
	d.ack(before)
	require.NotZero(t, d.view.pages[0].members>>ids[4].Index&1, "it has a state of its own: the test shows nothing")
	require.Equal(t, 1, d.view.links.n)
	d.ack(p)
	require.Zero(t, d.view.links.n)
}

// Clients that may see different rows of a page's entities share deltas of them, and no text of the page.
func TestClientsWithOtherRowsShareNoText(t *testing.T) {
	bothWays(t, func(d *duo) (payloads [][]byte) {
		other := *d
		other.view, other.replica = NewView(d.store, Config{Window: 64, SentPackets: 64}), replica.New(d.store.schema, Config{Window: 64}, 1)
		clients := []*duo{d, &other}
		var ids []wire.NetworkID
		d.game(1, func() {
			for range 48 {
				ids = append(ids, d.spawn(1))
			}
		})
		other.view.Observe()
		for i, id := range ids {
			clients[i%2].view.See(id, d.store.Mask(id).Without(rowHealth))
		}
		for n := range uint32(8) {
			d.game(d.store.Tick()+1, func() {
				for i, id := range ids {
					d.move(id, (3*n+uint32(i)%4)%16)
					d.setHealth(id, 20+n*n)
				}
			})
			other.view.Observe()
			for _, c := range clients {
				for p := c.packet(1000); p != nil; p = c.packet(1000) {
					payloads = append(payloads, slices.Clone(p.payload))
					c.ack(p)
				}
			}
		}
		for i, id := range ids {
			for k, c := range clients {
				require.Equal(t, d.store.Row(id, rowPosition), c.replica.Row(id.Index, rowPosition))
				require.Equal(t, i%2 == k, c.replica.Row(id.Index, rowHealth) == nil)
			}
		}
		require.Zero(t, d.store.PagesShared())
		require.Positive(t, d.view.pages[0].ref)
		return payloads
	})
}
