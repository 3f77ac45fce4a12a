package collections_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/rig"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// goods is a protocol with a list, a set and a map.
type goods struct {
	*rig.Rig
	protocol *netcode.Protocol
	list     *collections.List[rig.Marked]
	set      *collections.Set[uint16]
	table    *collections.Map[uint8, float32]
}

func newGoods(t testing.TB, config netcode.Config, debug bool) *goods {
	p := rig.Protocol()
	if debug {
		p.Debug()
	}
	g := &goods{
		protocol: p, list: collections.NewList[rig.Marked](p, "list", collections.MaxElements(50)), set: collections.NewSet[uint16](p, "set"),
		table: collections.NewMap[uint8, float32](p, "table"),
	}
	g.Rig = rig.New(t, p, config)
	return g
}

// numbers are the markers of a client's list.
func (g *goods) numbers(end netcode.Endpoint, id wire.NetworkID) (all []uint64) {
	for i, v := range g.list.Of(end, id).All() {
		if at, ok := g.list.Of(end, id).At(i); !ok || at != v {
			panic("At and All differ")
		}
		all = append(all, v.Marker)
	}
	return all
}

func TestCollections(t *testing.T) {
	for _, debug := range []bool{false, true} {
		g := newGoods(t, netcode.Config{}, debug)
		c := g.Joined(g.protocol, netcode.Config{})
		id := g.Spawn(1)
		var heard []collections.ListChange[rig.Marked]
		g.list.OnChange(c.Client, func(change collections.ListChange[rig.Marked]) { heard = append(heard, change) })
		list, set, table := g.list.Of(g.Server.Server, id), g.set.Of(g.Server.Server, id), g.table.Of(g.Server.Server, id)
		require.False(t, list.Arrived())
		for i := range uint64(3) {
			require.NoError(t, list.Append(rig.Marked{Marker: i}))
			require.NoError(t, set.Add(uint16(30-i)))
			require.NoError(t, set.Add(uint16(30-i)), "once more changes nothing")
			require.NoError(t, table.Set(uint8(i), float32(i)))
		}
		require.Equal(t, id, list.Entity())
		require.Equal(t, 3, set.Len())
		g.Until(func() bool { return g.table.Of(c.Client, id).Len() == 3 && g.set.Of(c.Client, id).Len() == 3 })
		require.Equal(t, []uint64{0, 1, 2}, g.numbers(c.Client, id))
		require.Equal(t, []collections.ListChange[rig.Marked]{{Entity: id, What: collections.ChangeWhole}}, heard)
		require.Equal(t, []uint16{28, 29, 30}, slices.Collect(g.set.Of(c.Client, id).All()))
		require.True(t, g.set.Of(c.Client, id).Has(29))
		require.False(t, g.set.Of(c.Client, id).Has(27))
		v, ok := g.table.Of(c.Client, id).Get(2)
		require.True(t, ok)
		require.Equal(t, float32(2), v)
		_, ok = g.table.Of(c.Client, id).Get(3)
		require.False(t, ok)

		heard = heard[:0]
		require.NoError(t, list.Insert(1, rig.Marked{Marker: 7}))
		require.NoError(t, list.Set(0, rig.Marked{Marker: 8, Of: id}))
		require.NoError(t, list.Set(0, rig.Marked{Marker: 8, Of: id}))
		require.NoError(t, list.Remove(3))
		require.NoError(t, set.Remove(29))
		require.NoError(t, set.Remove(29))
		require.NoError(t, table.Set(2, 22))
		require.NoError(t, table.Remove(0))
		require.NoError(t, table.Remove(0))
		g.Until(func() bool { return len(heard) >= 3 })
		require.Equal(t, []collections.ListChange[rig.Marked]{
			{Entity: id, What: collections.ChangeInserted, Index: 1, Value: rig.Marked{Marker: 7}},
			{Entity: id, What: collections.ChangeSet, Value: rig.Marked{Marker: 8, Of: id}, Old: rig.Marked{Marker: 0}},
			{Entity: id, What: collections.ChangeRemoved, Index: 3, Value: rig.Marked{Marker: 2}},
		}, heard)
		require.Equal(t, []uint64{8, 7, 1}, g.numbers(c.Client, id))
		require.Equal(t, []uint16{28, 30}, slices.Collect(g.set.Of(c.Client, id).All()))
		keys := []uint8{}
		for key := range g.table.Of(c.Client, id).All() {
			keys = append(keys, key)
		}
		require.Equal(t, []uint8{1, 2}, keys)
		require.NoError(t, list.Clear())
		g.Until(func() bool { return len(heard) == 4 })
		require.Equal(t, collections.ChangeCleared, heard[3].What)
		g.Change(func(store *snapshot.Store) { store.Despawn(id) })
		g.Until(func() bool { return len(heard) == 5 })
		require.Equal(t, collections.ChangeGone, heard[4].What)
		require.False(t, g.set.Of(c.Client, id).Arrived())
		require.ErrorIs(t, set.Add(1), errs.ErrNotVisible)
	}
}

func TestCollectionChangesOfSetsAndMaps(t *testing.T) {
	g := newGoods(t, netcode.Config{}, false)
	c := g.Joined(g.protocol, netcode.Config{})
	id := g.Spawn(1)
	var sets []collections.SetChange[uint16]
	var maps []collections.MapChange[uint8, float32]
	g.set.OnChange(c.Client, func(change collections.SetChange[uint16]) { sets = append(sets, change) })
	g.table.OnChange(c.Client, func(change collections.MapChange[uint8, float32]) { maps = append(maps, change) })
	set, table := g.set.Of(g.Server.Server, id), g.table.Of(g.Server.Server, id)
	require.NoError(t, set.Clear())
	require.NoError(t, table.Set(5, 1))
	g.Until(func() bool { return len(sets) == 1 && len(maps) == 1 })
	require.NoError(t, set.Add(4))
	require.NoError(t, set.Remove(4))
	require.NoError(t, table.Set(5, 2))
	require.NoError(t, table.Set(6, 3))
	require.NoError(t, table.Remove(5))
	g.Until(func() bool { return len(sets) == 3 && len(maps) == 4 })
	require.Equal(t, []collections.SetChange[uint16]{
		{Entity: id, What: collections.ChangeWhole}, {Entity: id, What: collections.ChangeInserted, Value: 4},
		{Entity: id, What: collections.ChangeRemoved, Value: 4},
	}, sets)
	require.Equal(t, []collections.MapChange[uint8, float32]{
		{Entity: id, What: collections.ChangeWhole}, {Entity: id, What: collections.ChangeSet, Key: 5, Value: 2, Old: 1},
		{Entity: id, What: collections.ChangeInserted, Key: 6, Value: 3},
		{Entity: id, What: collections.ChangeRemoved, Key: 5, Value: 2},
	}, maps)
}

func TestCollectionErrors(t *testing.T) {
	g := newGoods(t, netcode.Config{}, false)
	c := g.Joined(g.protocol, netcode.Config{})
	id := g.Spawn(1)
	list, table := g.list.Of(g.Server.Server, id), g.table.Of(g.Server.Server, id)
	other := newGoods(t, netcode.Config{}, false)
	var full *collections.FullError
	var field *errs.FieldError
	for name, is := range map[string]struct{ got, want error }{
		"a client appends":       {g.list.Of(c.Client, id).Append(rig.Marked{}), collections.ErrReadOnly},
		"a client inserts":       {g.list.Of(c.Client, id).Insert(0, rig.Marked{}), collections.ErrReadOnly},
		"a client sets":          {g.list.Of(c.Client, id).Set(0, rig.Marked{}), collections.ErrReadOnly},
		"a client removes":       {g.list.Of(c.Client, id).Remove(0), collections.ErrReadOnly},
		"a client clears":        {g.list.Of(c.Client, id).Clear(), collections.ErrReadOnly},
		"a client adds":          {g.set.Of(c.Client, id).Add(1), collections.ErrReadOnly},
		"a client takes out":     {g.set.Of(c.Client, id).Remove(1), collections.ErrReadOnly},
		"a client writes a key":  {g.table.Of(c.Client, id).Set(1, 1), collections.ErrReadOnly},
		"a client removes a key": {g.table.Of(c.Client, id).Remove(1), collections.ErrReadOnly},
		"no such entity":         {g.list.Of(g.Server.Server, wire.NetworkID{Index: 999, Generation: 1}).Append(rig.Marked{}), errs.ErrNotVisible},
		"set where nothing is":   {list.Set(0, rig.Marked{}), collections.ErrNoElement},
		"insert beyond the end":  {list.Insert(1, rig.Marked{}), collections.ErrNoElement},
		"insert before all":      {list.Insert(-1, rig.Marked{}), collections.ErrNoElement},
		"remove where none is":   {list.Remove(0), collections.ErrNoElement},
		"another protocol's":     {other.list.Of(g.Server.Server, id).Append(rig.Marked{}), errs.ErrNotRegistered},
		"no end":                 {g.list.Of(nil, id).Clear(), errs.ErrNotRegistered},
	} {
		require.ErrorIs(t, is.got, is.want, name)
	}
	require.ErrorAs(t, table.Set(1, float32(math.NaN())), &field)
	require.Equal(t, "Value", field.Field)
	require.Zero(t, table.Len())
	for range 50 {
		require.NoError(t, list.Append(rig.Marked{}))
	}
	require.ErrorAs(t, list.Append(rig.Marked{}), &full)
	require.Equal(t, "netcode: the collection list is full: it holds 50 elements", full.Error())
	require.Equal(t, 50, list.Len())
	require.Zero(t, g.list.Of(nil, id).Len())
	_, ok := list.At(50)
	require.False(t, ok)
	_, ok = list.At(-1)
	require.False(t, ok)
	require.Equal(t, "list", g.list.Name())
	require.Equal(t, "set", g.set.Name())
	require.Equal(t, "table", g.table.Name())
}

func TestCollectionRegistration(t *testing.T) {
	for name, register := range map[string]func(p *netcode.Protocol){
		"takes another collection's name": func(p *netcode.Protocol) { collections.NewSet[int8](p, "taken") },
		"has no name":                     func(p *netcode.Protocol) { collections.NewList[int8](p, "") },
		"has an illegal name":             func(p *netcode.Protocol) { collections.NewList[int8](p, "a b") },
		"is of pointers":                  func(p *netcode.Protocol) { collections.NewList[*int8](p, "x") },
		"holds nothing":                   func(p *netcode.Protocol) { collections.NewList[int8](p, "x", collections.MaxElements(0)) },
		"holds too much":                  func(p *netcode.Protocol) { collections.NewList[int8](p, "x", collections.MaxBytes(1<<21)) },
		"has keys that name":              func(p *netcode.Protocol) { collections.NewMap[rig.Marked, int8](p, "x") },
		"has an event": func(p *netcode.Protocol) {
			collections.NewList[struct {
				Jab bool `net:"event"`
			}](p, "x")
		},
		"is late": func(p *netcode.Protocol) { p.Hash(); collections.NewList[int8](p, "x") },
	} {
		t.Run(name, func(t *testing.T) {
			p := netcode.NewProtocol()
			collections.NewList[int8](p, "taken")
			require.Panics(t, func() { register(p) })
		})
	}
}

// Both ends must have the same collections; their order of registration does not matter.
func TestCollectionsAreInTheHash(t *testing.T) {
	build := func(register ...func(p *netcode.Protocol)) *netcode.Protocol {
		p := rig.Protocol()
		for _, f := range register {
			f(p)
		}
		return p
	}
	a := func(p *netcode.Protocol) { collections.NewList[uint8](p, "a") }
	b := func(p *netcode.Protocol) { collections.NewMap[uint8, uint16](p, "b") }
	require.Equal(t, build(a, b).Hash(), build(b, a).Hash())
	hashes := map[uint64]bool{}
	for _, p := range []*netcode.Protocol{
		build(), build(a), build(b), build(a, b),
		build(func(p *netcode.Protocol) { collections.NewList[uint8](p, "a", collections.MaxElements(9)) }),
		build(func(p *netcode.Protocol) { collections.NewSet[uint8](p, "a") }),
		build(func(p *netcode.Protocol) { collections.NewList[int8](p, "a") }),
	} {
		require.False(t, hashes[p.Hash()])
		hashes[p.Hash()] = true
	}
	r := rig.New(t, build(a, b), netcode.Config{})
	for want, p := range map[string]*netcode.Protocol{
		`the client does not have collection "b"`: build(a),
		`collection "a" differs: the server has the field list, the client set`: build(b,
			func(p *netcode.Protocol) { collections.NewSet[uint8](p, "a") }),
		`the server does not have collection "c"`: build(a, b, func(p *netcode.Protocol) { collections.NewList[uint8](p, "c") }),
	} {
		c := r.Join(p, netcode.Config{})
		r.Until(func() bool { return c.Err() != nil })
		require.True(t, errors.Is(c.Err(), errs.ReasonWrongProtocol))
		require.Contains(t, c.Err().Detail, want)
	}
}

// Nothing of a collection is sent to a client that does not see its entity: not before the entity is shown, and no
// change made after it was hidden.
func TestCollectionsOfHiddenEntities(t *testing.T) {
	g := newGoods(t, netcode.Config{SendBudget: -1}, false)
	blind := g.Joined(g.protocol, netcode.Config{})
	seeing := g.Joined(g.protocol, netcode.Config{})
	id := g.Spawn(1)
	far := wire.NetworkID{}
	g.Change(func(store *snapshot.Store) { far = store.Spawn() })
	g.Server.Hide(blind.ID(), far)
	toldBlind, toldSeeing := 0, 0
	g.Tamper = func(_, to transport.Addr, packet []byte) []byte {
		if rig.HoldsMarker(packet) {
			if to == blind.Conn.LocalAddr() {
				toldBlind++
			} else {
				toldSeeing++
			}
		}
		return packet
	}
	n := uint64(rig.MarkerHead << 16)
	secrets := func(of wire.NetworkID) {
		for range 60 {
			n++
			if g.list.Of(g.Server.Server, of).Append(rig.Marked{Marker: n}) != nil {
				require.NoError(t, g.list.Of(g.Server.Server, of).Clear())
			}
			g.Step()
		}
	}
	secrets(far)
	require.Zero(t, toldBlind)
	require.Greater(t, toldSeeing, 20)
	require.False(t, g.list.Of(blind.Client, far).Arrived())

	require.NoError(t, g.list.Of(g.Server.Server, id).Append(rig.Marked{Marker: 1}))
	g.Until(func() bool { return g.list.Of(blind.Client, id).Len() == 1 })
	g.Server.Hide(blind.ID(), id)
	secrets(id)
	require.Zero(t, toldBlind)
	require.False(t, g.list.Of(blind.Client, id).Arrived(), "gone with its entity")
	require.True(t, g.list.Of(seeing.Client, id).Arrived())

	g.Server.Show(blind.ID(), id)
	g.Until(func() bool { return g.list.Of(blind.Client, id).Arrived() })
	require.Equal(t, g.numbers(g.Server.Server, id), g.numbers(blind.Client, id), "whole when it comes into sight")
	require.Positive(t, toldBlind)
}

// The name of an entity in an element is sent to a client only while the client sees that entity.
func TestElementsThatNameEntities(t *testing.T) {
	g := newGoods(t, netcode.Config{}, false)
	c := g.Joined(g.protocol, netcode.Config{})
	id, named := g.Spawn(1), g.Spawn(2)
	list := g.list.Of(g.Server.Server, id)
	require.NoError(t, list.Append(rig.Marked{Marker: 1, Of: named}))
	at := func() netcode.NetworkID { v, _ := g.list.Of(c.Client, id).At(0); return v.Of }
	g.Until(func() bool { return at() == named })
	g.Server.Hide(c.ID(), named)
	g.Until(func() bool { return at().IsZero() })
	v, _ := list.At(0)
	require.Equal(t, named, v.Of, "the server keeps it")
	g.Server.Show(c.ID(), named)
	g.Until(func() bool { return at() == named })
	g.Change(func(store *snapshot.Store) { store.Despawn(named) })
	g.Until(func() bool { return at().IsZero() })
}

// With interest.Keep, an entity that left the client's sight keeps its last state, and so do its collections.
func TestCollectionsOfKeptEntities(t *testing.T) {
	g := newGoods(t, netcode.Config{}, false)
	c := g.Joined(g.protocol, netcode.Config{})
	id := g.Spawn(1)
	keeping := &keeper{id: id}
	g.Server.SetInterest(keeping)
	list := g.list.Of(g.Server.Server, id)
	require.NoError(t, list.Append(rig.Marked{Marker: 1}))
	g.Until(func() bool { return g.list.Of(c.Client, id).Len() == 1 })
	keeping.keep = true
	g.Run(time.Second / 5)
	require.NoError(t, list.Append(rig.Marked{Marker: 2}))
	g.Run(time.Second)
	require.Equal(t, []uint64{1}, g.numbers(c.Client, id))
	keeping.keep = false
	g.Until(func() bool { return g.list.Of(c.Client, id).Len() == 2 })
}

// keeper is an interest that shows or keeps one entity.
type keeper struct {
	id   wire.NetworkID
	keep bool
}

func (k *keeper) Prepare(*snapshot.Store) {}
func (k *keeper) Update(_ wire.ClientID, v *snapshot.View) {
	if k.keep {
		v.Keep(k.id)
	} else {
		v.Show(k.id)
	}
}
func (k *keeper) Leave(wire.ClientID) {}

// An entity of Server.Spawn may have collections at once; one that was never committed leaves nothing.
func TestCollectionsOfSpawnedEntities(t *testing.T) {
	g := newGoods(t, netcode.Config{}, false)
	c := g.Joined(g.protocol, netcode.Config{})
	id, stillborn := g.Server.Spawn(), g.Server.Spawn()
	require.NoError(t, g.set.Of(g.Server.Server, id).Add(3))
	require.NoError(t, g.set.Of(g.Server.Server, stillborn).Add(4))
	g.Server.Despawn(stillborn)
	g.Server.Game = func(*snapshot.Store) { steps.OfServer(g.Server).Publish() }
	g.Until(func() bool { return g.set.Of(c.Client, id).Has(3) })
	require.False(t, g.set.Of(g.Server.Server, stillborn).Arrived())
	require.ErrorIs(t, g.set.Of(g.Server.Server, stillborn).Add(5), errs.ErrNotVisible)
}

// Illegal operations from the server end the client's connection; harmless ones do not.
func TestForgedCollections(t *testing.T) {
	own := wire.NewChannel(netcode.ReliableOrdered, wire.MaxChannels-1)
	for name, forged := range map[string]struct {
		channel wire.Channel
		nobody  bool
		body    []byte
		good    bool
	}{
		"nothing of the kind":    {own, false, []byte{9, 1}, false},
		"an element too few":     {own, false, []byte{1, 2, 0, 5, 1}, false},
		"what is not there":      {own, false, []byte{1, 1, 4, 9, 0}, false},
		"on another channel":     {wire.NewChannel(netcode.Reliable, 3), false, []byte{1, 1, 6}, false},
		"on the unreliable one":  {0, true, []byte{1, 1, 6}, false},
		"about nobody":           {own, true, []byte{1, 1, 6}, false},
		"what was never begun":   {own, false, []byte{1, 4, 3, 0}, true},
		"a set that is empty":    {own, false, []byte{1, 1, 6}, true},
		"a set with one element": {own, false, []byte{1, 1, 2, 0, 0, 7, 0, 6}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGoods(t, netcode.Config{}, false)
			c := g.Joined(g.protocol, netcode.Config{})
			id := g.Spawn(1)
			g.Sees(c, id, 1)
			about := id
			if forged.nobody {
				about = wire.NetworkID{}
			}
			require.NoError(t, collections.Forge(g.Server.Server, c.ID(), forged.channel, about, forged.body))
			g.Run(time.Second / 2)
			if forged.good {
				require.Equal(t, netcode.Connected, c.State())
				require.Equal(t, strings.HasPrefix(name, "a set"), g.set.Of(c.Client, id).Arrived())
				return
			}
			require.NotEqual(t, netcode.Connected, c.State())
			require.ErrorIs(t, c.Err(), errs.ReasonMalformed)
			require.EqualValues(t, 1, c.Stats().Malformed)
		})
	}
}

// A new connection starts without collections and reports that.
func TestCollectionsOfAnotherConnection(t *testing.T) {
	g := newGoods(t, netcode.Config{}, false)
	c := g.Joined(g.protocol, netcode.Config{})
	id, dead := g.Spawn(1), g.Spawn(2)
	require.NoError(t, g.list.Of(g.Server.Server, dead).Append(rig.Marked{Marker: 5}))
	var told []string
	g.set.OnChange(c.Client, func(ch collections.SetChange[uint16]) {
		told = append(told, fmt.Sprint("set ", ch.Entity == id, ch.What))
	})
	g.list.OnChange(c.Client, func(ch collections.ListChange[rig.Marked]) {
		told = append(told, fmt.Sprint("list ", ch.Entity == dead, ch.What))
	})
	require.NoError(t, g.set.Of(g.Server.Server, id).Add(1))
	g.Until(func() bool { return g.set.Of(c.Client, id).Has(1) && g.list.Of(c.Client, dead).Len() == 1 })
	require.True(t, g.Server.Kick(c.ID(), "bye"))
	g.Until(func() bool { return c.State() == netcode.Disconnected })
	require.True(t, g.set.Of(c.Client, id).Has(1), "it stays until another connection begins")
	require.ElementsMatch(t, []string{"set true whole", "list true whole"}, told)
	told = nil
	g.Change(func(store *snapshot.Store) { store.Despawn(dead) })
	require.NoError(t, g.set.Of(g.Server.Server, id).Remove(1))
	require.NoError(t, g.set.Of(g.Server.Server, id).Add(2))
	require.NoError(t, c.Connect(g.Server.Conn.LocalAddr()))
	g.Until(func() bool { return c.State() == netcode.Connected })
	require.False(t, g.set.Of(c.Client, id).Arrived())
	g.Until(func() bool { return g.set.Of(c.Client, id).Has(2) })
	require.Equal(t, 1, g.set.Of(c.Client, id).Len())
	require.Equal(t, []string{"set true gone", "list true gone", "set true whole"}, told)
}

// Changing collections with eight clients allocate nothing once warm; unchanged ones send nothing.
func TestCollectionsAllocateNothing(t *testing.T) {
	g := newGoods(t, netcode.Config{SendBudget: -1}, false)
	id := g.Spawn(1)
	told := 0
	for range 8 {
		c := g.Joined(g.protocol, netcode.Config{SendBudget: -1})
		g.list.OnChange(c.Client, func(collections.ListChange[rig.Marked]) { told++ })
	}
	n := uint64(0)
	list, table := g.list.Of(g.Server.Server, id), g.table.Of(g.Server.Server, id)
	play := func() {
		for range 5 {
			n++
			_ = list.Insert(int(n)%(list.Len()+1), rig.Marked{Marker: n, Of: id})
			_ = list.Set(int(n)%list.Len(), rig.Marked{Marker: n})
			if list.Len() == 40 {
				_ = list.Remove(int(n) % 40)
			}
			_ = table.Set(uint8(n), float32(n))
		}
		g.Step()
	}
	for range 2000 {
		play()
	}
	before := told
	alloctest.Zero(t, 200, play, "allocations of a frame of the server and its 8 clients")
	require.Greater(t, told, before+8*200)
	for _, c := range g.Clients {
		require.Equal(t, netcode.Connected, c.State())
	}

	g.Run(2 * time.Second)
	queued := func() (sum uint64) {
		for _, c := range g.Clients {
			sum += c.Stats().Messages.Queued
		}
		return sum
	}
	bytes, messages := g.Server.Stats().Packets.BytesSent, queued()
	g.Run(5 * time.Second)
	require.Equal(t, messages, queued())
	require.Less(t, g.Server.Stats().Packets.BytesSent-bytes, uint64(8*5*4*24), "a keep-alive each quarter of a second, and acknowledgements")
}

// OnChange functions are called within the message that brings a collection, and when an entity is gone.
func TestCase15OnChangePanics(t *testing.T) {
	for _, what := range []collections.ChangeKind{collections.ChangeWhole, collections.ChangeInserted, collections.ChangeGone} {
		g := newGoods(t, netcode.Config{}, false)
		bad, good := g.Joined(g.protocol, netcode.Config{}), g.Joined(g.protocol, netcode.Config{})
		id := g.Spawn(1)
		before, after := 0, 0
		g.list.OnChange(bad.Client, func(change collections.ListChange[rig.Marked]) {
			if before++; change.What == what {
				panic(what)
			}
		})
		g.list.OnChange(bad.Client, func(collections.ListChange[rig.Marked]) { after++ })
		list := g.list.Of(g.Server.Server, id)
		require.NoError(t, list.Append(rig.Marked{Marker: 1}))
		g.Until(func() bool { return g.list.Of(good.Client, id).Arrived() })
		require.NoError(t, list.Append(rig.Marked{Marker: 2}))
		g.Until(func() bool { return g.list.Of(good.Client, id).Len() == 2 })
		g.Change(func(store *snapshot.Store) { store.Despawn(id) })
		g.Until(func() bool { return !g.list.Of(good.Client, id).Arrived() })
		g.Run(time.Second)
		require.ErrorIs(t, bad.Err(), errs.ReasonHandlerPanic)
		require.Equal(t, before, after)
		require.EqualValues(t, 1, bad.Stats().HandlerPanics)
		require.Equal(t, netcode.Connected, good.State())
	}
}

// panicText returns the text of a panic.
func panicText(t *testing.T, f func()) (text string) {
	t.Helper()
	defer func() { text, _ = recover().(string) }()
	f()
	return ""
}

// A map whose key or value cannot be sent: the error names the game's types and none of this package.
func TestErrorsOfMapsNameTheKeyOrTheValue(t *testing.T) {
	type item struct{ Name string }
	for want, f := range map[string]func(){
		`netcode: collections.NewMap[string, int32] "m": the key: wire: string: string holds a pointer: only plain data can travel (kind string); a wire.Text can, such as wire.Text32 for 32 bytes`:   func() { collections.NewMap[string, int32](netcode.NewProtocol(), "m") },
		`netcode: collections.NewMap[wire.Text[[16]uint8], int32] "m": the key: wire.Text[[16]uint8] has a text or a list, whose length differs: use a number that stands for it, or an array`:         func() { collections.NewMap[wire.Text16, int32](netcode.NewProtocol(), "m") },
		`netcode: collections.NewMap[int32, string] "m": the value: wire: string: string holds a pointer: only plain data can travel (kind string); a wire.Text can, such as wire.Text32 for 32 bytes`: func() { collections.NewMap[int32, string](netcode.NewProtocol(), "m") },
		`netcode: collections.NewMap[int32, collections_test.item] "m": the value: wire: item.Name: string holds a pointer: only plain data can travel (kind string); a wire.Text can, such as wire.Text32 for 32 bytes`: func() {
			collections.NewMap[int32, item](netcode.NewProtocol(), "m")
		},
		`netcode: collections.NewMap[struct {}, int32] "m": the key: nothing of struct {} travels`: func() { collections.NewMap[struct{}, int32](netcode.NewProtocol(), "m") },
	} {
		require.Equal(t, want, panicText(t, f))
	}
	frozen := netcode.NewProtocol()
	frozen.Hash()
	require.Contains(t, panicText(t, func() { collections.NewMap[uint8, uint16](frozen, "m") }), "NewMap[uint8, uint16]: the protocol is frozen")
	p := netcode.NewProtocol()
	collections.NewMap[uint8, struct{}](p, "keys")
}

// A nil function is refused by OnChange, not in a later frame, where it would end a connection.
func TestFunctionsThatAreNilAreRefused(t *testing.T) {
	p := rig.Protocol()
	list, set, table := collections.NewList[uint8](p, "list"), collections.NewSet[uint8](p, "set"), collections.NewMap[uint8, uint8](p, "map")
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	for name, call := range map[string]func(){
		"List.OnChange": func() { list.OnChange(c, nil) }, "Set.OnChange": func() { set.OnChange(c, nil) }, "Map.OnChange": func() { table.OnChange(c, nil) },
	} {
		require.Equal(t, "netcode: collections."+name+": the function is nil", panicText(t, call))
	}
}
