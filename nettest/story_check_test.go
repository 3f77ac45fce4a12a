package nettest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/ecs/event"
	"github.com/mlange-42/arche/generic"
	"github.com/mlange-42/arche/listener"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// tape is the recording of a story, and what should be on it.
type tape struct {
	file  bytes.Buffer
	stop  func() error
	ticks map[tick.Tick]map[netcode.NetworkID]string
}

func lanesOf(store *snapshot.Store) map[netcode.NetworkID]string {
	all := map[netcode.NetworkID]string{}
	for id := range store.All {
		text := ""
		for row := range store.Schema().Rows() {
			if lanes := store.Row(id, row); lanes != nil {
				text += fmt.Sprint(row, lanes, " ")
			}
		}
		all[id] = text
	}
	return all
}

// take notes what is in the store after a frame.
func (tp *tape) take(g *story) {
	if tp.ticks == nil {
		tp.ticks = map[tick.Tick]map[netcode.NetworkID]string{}
	}
	if now := g.net.Server.Store().Tick(); tp.ticks[now] == nil && now > 0 {
		tp.ticks[now] = lanesOf(g.net.Server.Store())
	}
}

// check plays the tape.
func (tp *tape) check(g *story) error {
	if err := tp.stop(); err != nil {
		return err
	}
	reader, err := record.NewReader(bytes.NewReader(tp.file.Bytes()))
	if err != nil {
		return err
	}
	seen := 0
	for {
		now, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		want := tp.ticks[now]
		if want == nil {
			continue
		}
		seen++
		for id, text := range want {
			generation, mask := reader.Entity(id.Index)
			got := ""
			for row := range g.protocol.Schema().Rows() {
				if mask&(1<<row) != 0 {
					lanes := reader.Row(id.Index, row)
					if lanes == nil {
						lanes = []uint32{}
					}
					got += fmt.Sprint(row, lanes, " ")
				}
			}
			if generation != id.Generation || got != text {
				return fmt.Errorf("tape: tick %d, %v: %d %s, want %s", now, id, generation, got, text)
			}
		}
	}
	if seen < len(tp.ticks)*9/10 {
		return fmt.Errorf("tape: %d ticks of %d", seen, len(tp.ticks))
	}
	g.met["tape ticks"] += seen
	return nil
}

// sightOf is a client's world by network id and component, as text.
type sightOf map[netcode.NetworkID]map[int]string

// eyes see what a client's world is after each Apply, and what Changes says of it.
type eyes struct {
	g        *story
	c        *systems.ClientSystems
	client   *nettest.Client
	last     sightOf
	spawned  map[netcode.NetworkID]bool
	held     map[netcode.NetworkID]ecs.Entity
	heard    map[ecs.Entity]bool // by the listener
	random   *rand.Rand
	err      error
	tampered map[netcode.NetworkID]map[int]bool
	id       netcode.ClientID
	draws    bool
}

func (g *story) setUpClient(i int, c *systems.ClientSystems, w *ecs.World) {
	e := &eyes{g: g, c: c, spawned: map[netcode.NetworkID]bool{}, held: map[netcode.NetworkID]ecs.Entity{}, last: sightOf{}, heard: map[ecs.Entity]bool{},
		random: rand.New(rand.NewPCG(uint64(i), 5)), tampered: map[netcode.NetworkID]map[int]bool{}}
	g.eyes = append(g.eyes, e)
	if e.draws = g.draws && i != 1; !e.draws {
		c.Interpolate = nil
	}
	call := listener.NewCallback(func(_ *ecs.World, ev ecs.EntityEvent) {
		if ev.Contains(event.EntityCreated) {
			e.heard[ev.Entity] = true
		}
		if ev.Contains(event.EntityRemoved) {
			delete(e.heard, ev.Entity)
		}
	}, event.EntityCreated|event.EntityRemoved)
	w.SetListener(&call)
	c.OnSpawn(func(at ecs.Entity, id netcode.NetworkID) {
		if _, twice := e.held[id]; twice {
			e.fail("spawned twice: %v", id)
		}
		if !w.Alive(at) || !e.heard[at] {
			e.fail("spawned and not there, or the listener has not heard: %v", id)
		}
		e.held[id] = at
	})
	c.OnDespawn(func(at ecs.Entity, id netcode.NetworkID) {
		if e.held[id] != at {
			e.fail("despawned without being there: %v", id)
		}
		delete(e.held, id)
	})
	c.Add(netcode.StageEarlyUpdate, e)
}

func (e *eyes) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf("frame %d, client %d: "+format, append([]any{e.g.net.Frame(), e.c.Client.ID()}, args...)...)
	}
}

func (e *eyes) Initialize(*ecs.World) {}
func (e *eyes) Finalize(*ecs.World)   {}

func rowText[T any](w *ecs.World, e ecs.Entity, text map[int]string, row int) {
	if w.Has(e, ecs.ComponentID[T](w)) {
		m := generic.NewMap[T](w)
		text[row] = fmt.Sprintf("%+v", *m.Get(e))
	}
}

// look is the world as it is now.
func (e *eyes) look(w *ecs.World) sightOf {
	schema := e.g.protocol.Schema()
	all := sightOf{}
	for at, id := range netecs.Entities(w) {
		text := map[int]string{}
		rowText[position](w, at, text, interest.RowOf[position](schema))
		rowText[health](w, at, text, interest.RowOf[health](schema))
		rowText[frozen](w, at, text, interest.RowOf[frozen](schema))
		rowText[storyExact](w, at, text, interest.RowOf[storyExact](schema))
		rowText[storySpin](w, at, text, interest.RowOf[storySpin](schema))
		rowText[storyBorn](w, at, text, interest.RowOf[storyBorn](schema))
		rowText[storySlow](w, at, text, interest.RowOf[storySlow](schema))
		rowText[storyMark](w, at, text, interest.RowOf[storyMark](schema))
		rowText[storyVerse](w, at, text, interest.RowOf[storyVerse](schema))
		rowText[storyMine](w, at, text, interest.RowOf[storyMine](schema))
		rowText[storyAim](w, at, text, interest.RowOf[storyAim](schema))
		rowText[storyFall](w, at, text, interest.RowOf[storyFall](schema))
		rowText[components.Kind](w, at, text, interest.RowOf[components.Kind](schema))
		rowText[components.Owner](w, at, text, interest.RowOf[components.Owner](schema))
		if child := ecs.ComponentID[storyChild](w); w.Has(at, child) {
			text[interest.RowOf[storyChild](schema)] = fmt.Sprint(w.Relations().Get(at, child))
		}
		all[id] = text
	}
	return all
}

// Update runs right after Apply.
func (e *eyes) Update(w *ecs.World) {
	if e.id != e.c.Client.ID() { // another session
		e.id, e.last = e.c.Client.ID(), sightOf{}
		e.held = map[netcode.NetworkID]ecs.Entity{}
		for at, id := range netecs.Entities(w) {
			e.held[id] = at
		}
		e.last = e.look(w)
		return
	}
	now := e.look(w)
	said := map[netcode.NetworkID]netecs.Change{}
	if e.c.Apply.Applied() {
		for c := range e.c.Changes {
			if _, twice := said[c.ID]; twice {
				e.fail("a change is said twice: %v", c.ID)
			}
			said[c.ID] = c
		}
	}
	e.compare(now, said)
	e.choirs(w)
	if len(e.held) != len(now) && !(e.draws && e.g.net.Frame() < e.g.rest+100) {
		e.fail("%d entities, hooks say %d", len(now), len(e.held))
	}
	e.last = now
	e.meddle(w)
}

// compare holds what is said to have changed against what did.
func (e *eyes) compare(now sightOf, said map[netcode.NetworkID]netecs.Change) {
	for id, rows := range now {
		was, old := e.last[id]
		c := said[id]
		if c.Spawned == old {
			e.fail("%v: spawned %v, was there %v", id, c.Spawned, old)
		}
		for row := range e.g.protocol.Schema().Rows() {
			bit := snapshot.Mask(1) << row
			a, had := was[row]
			b, has := rows[row]
			if (has && !had) != (c.Added&bit != 0) || (had && !has) != (c.Removed&bit != 0) {
				e.fail("%v row %d: had %v has %v, said %+v", id, row, had, has, c)
			}
			differs := has && (a != b || !had)
			if differs != (c.Rows&bit != 0) && !e.tampered[id][row] {
				e.fail("%v row %d (%s): %s became %s, said %+v", id, row, e.g.protocol.Schema().Plan(row).Name(), a, b, c)
			}
			if differs {
				e.g.met["changes seen"]++
			}
		}
	}
	for id := range said {
		if _, ok := now[id]; !ok {
			e.fail("a change of who is not there: %v", id)
		}
	}
	clear(e.tampered)
}

// choirs sing together.
func (e *eyes) choirs(w *ecs.World) {
	if e.g.keep || e.draws {
		return
	}
	said := map[int]uint32{}
	query := generic.NewFilter1[storyVerse]().Query(w)
	for query.Next() {
		id, _ := e.c.ID(query.Entity())
		for i, members := range e.g.choirsByID() {
			if slices.Contains(members, id) {
				if n, ok := said[i]; ok && n != query.Get().N {
					e.fail("choir %d sings %d and %d", i, n, query.Get().N)
				}
				said[i] = query.Get().N
				e.g.met["voices"]++
			}
		}
	}
}

func (g *story) choirsByID() [][]netcode.NetworkID {
	var all [][]netcode.NetworkID
	for _, c := range g.choirs {
		var ids []netcode.NetworkID
		for _, e := range c {
			ids = append(ids, g.byEntity[e])
		}
		all = append(all, ids)
	}
	return all
}

// meddle writes what is the client's own, and what is not.
func (e *eyes) meddle(w *ecs.World) {
	if e.g.net.Frame() > e.g.rest-20 {
		return
	}
	note := func(at ecs.Entity, row int) {
		id, _ := e.c.ID(at)
		if e.tampered[id] == nil {
			e.tampered[id] = map[int]bool{}
		}
		e.tampered[id][row] = true
	}
	schema := e.g.protocol.Schema()
	mine := generic.NewFilter1[storyMine]().Query(w)
	for mine.Next() {
		if id, ok := e.c.ID(mine.Entity()); ok && netcode.MayWrite[storyMine](e.c.Client, id) && e.random.IntN(3) == 0 {
			mine.Get().Course = int16(e.random.IntN(1000))
			note(mine.Entity(), interest.RowOf[storyMine](schema))
			e.g.met["own writes"]++
		}
	}
	if !e.g.tamper || e.random.IntN(5) > 0 {
		return
	}
	query := generic.NewFilter1[health]().Query(w)
	for query.Next() {
		if e.random.IntN(4) == 0 {
			query.Get().Points = 12345
			note(query.Entity(), interest.RowOf[health](schema))
			e.g.met["tampered"]++
		}
	}
}

// TestStories plays random games of all that replicates: components of every kind, lives, groups, relations, references, rates, marks,
// entities in no world, collections, who sees what, who writes what, clients that come, go and come again, over bad links with
// budgets and limits at random. In every frame each client's world is held against what its observers and hooks say of it, and members of a
// choir sing alike; at the end everybody has what the server shows them, the recording holds every tick, the bits add up, and
// with an Executor the same bytes were sent.
func TestStories(t *testing.T) {
	met := map[string]int{}
	count := *stories
	if testing.Short() {
		count = min(count, 1)
	}
	for n := range uint64(count) {
		seed := *storySeed + n
		hash := playStory(t, seed, false, met)
		if n%4 == 0 {
			require.Equal(t, hash, playStory(t, seed, true, map[string]int{}), "%s: with an executor", storyName(seed))
		}
	}
	t.Log(met)
}

// playStory plays one and returns the hash of all that was sent.
func playStory(t *testing.T, seed uint64, parallel bool, met map[string]int) uint64 {
	g := newStory(t, seed, parallel, met)
	n := g.net
	third := 60 + g.r.IntN(g.rest)
	killed := 60 + g.r.IntN(g.rest)
	account := g.attribute()
	again := 60 + g.r.IntN(g.rest)
	for n.Frame() < g.rest {
		n.Step()
		g.tape.take(g)
		switch n.Frame() {
		case third:
			n.Join()
		case killed:
			if g.r.IntN(2) == 0 {
				n.Kill(n.Clients[1])
			}
		case again:
			if g.r.IntN(2) == 0 {
				_ = n.Clients[0].Connect(n.Address())
			}
		}
		for _, e := range g.eyes {
			require.NoError(t, e.err, "%s config %+v", storyName(seed), g.config)
		}
	}
	n.Heal()
	require.True(t, n.RunUntil(20*time.Second, n.Connected), storyName(seed))
	if g.config.SendBudget == 6000 {
		n.Run(10 * time.Second)
	}
	n.AssertConverge()
	for _, e := range g.eyes {
		require.NoError(t, e.err, "%s config %+v", storyName(seed), g.config)
	}
	g.collections()
	require.NoError(t, g.tape.check(g), storyName(seed))
	require.NotZero(t, account.Bytes, storyName(seed))
	require.Equal(t, 8*account.Bytes, account.Total(), storyName(seed))
	if t.Failed() {
		t.Fatalf("%s config %+v keep %v", storyName(seed), g.config, g.keep)
	}
	return n.TraceHash()
}

// attribute accounts for every bit that is sent to the first client.
func (g *story) attribute() *netcode.Attribution {
	account := g.protocol.NewAttribution()
	g.net.OnSend(func(_, to netip.AddrPort, datagram []byte) {
		c := g.net.Clients[0]
		if stats, ok := g.net.Server.ClientStats(c.ID()); ok && to == stats.Address {
			c.Attribute(account, datagram)
		}
	})
	return account
}

// collections are what the server's are.
func (g *story) collections() {
	for i, c := range g.net.Clients {
		if !c.Running() {
			continue
		}
		for id := range g.net.Server.Store().All {
			if !g.net.Server.Visible(c.ID(), id) {
				if !g.keep {
					require.Zero(g.t, g.list.Of(c.Client, id).Len())
				}
				continue
			}
			a, b := g.list.Of(g.net.Server.Server, id), g.list.Of(c.Client, id)
			require.Equal(g.t, a.Len(), b.Len(), "client %d, %v", i, id)
			require.Equal(g.t, g.set.Of(g.net.Server.Server, id).Len(), g.set.Of(c.Client, id).Len())
			for k := range a.Len() {
				x, _ := a.At(k)
				y, _ := b.At(k)
				require.Equal(g.t, x.Kind, y.Kind)
			}
			g.met["lists"]++
		}
	}
}
