package interest

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

func TestAllShowsEverything(t *testing.T) {
	w := newWorld(t, All(), Despawn)
	w.step(func() { w.spawn() })
	w.join(1)
	w.step(func() { w.spawn() })
	w.join(2)
	w.step(func() { w.kill(w.living[0]); w.spawn() })
	w.step(func() { w.spawn() }) // at the index of the one that died
	w.requireSees(1, w.living...)
	w.requireSees(2, w.living...)
}

// A new entity that is not visible was never shown: nothing about it may be said, not even a despawn.
func TestEntityHiddenFromTheStartIsNeverShown(t *testing.T) {
	explicit := NewExplicit()
	for _, leaving := range []Leaving{Despawn, Keep} {
		w := newWorld(t, explicit, leaving)
		w.step(func() { w.spawn() })
		w.join(1)
		w.step(func() { w.spawn() })
		w.step(func() { w.spawn(); w.kill(w.living[0]) })
		w.step(func() { w.kill(w.living[0]) })
		w.requireSees(1)
		require.True(t, w.views[1].Synced())
		require.Zero(t, w.views[1].Write(make([]byte, 1000), 1))
	}
}

func TestLeavingSight(t *testing.T) {
	for _, leaving := range []Leaving{Despawn, Keep} {
		explicit := NewExplicit()
		w := newWorld(t, explicit, leaving)
		v := w.join(1)
		var id wire.NetworkID
		w.step(func() { id = w.spawn(); explicit.Show(1, id) })
		w.requireSees(1, id)
		require.NotZero(t, v.Write(make([]byte, 1000), 1))
		v.Acked(1) // what never arrived would not be kept
		require.True(t, explicit.Hide(1, id))
		w.step(nil)
		w.requireSees(1)
		require.Equal(t, leaving == Keep, v.kept[id])
		require.Equal(t, leaving == Despawn, v.Pending(), "a despawn is owed")
		require.True(t, explicit.Show(1, id))
		w.step(nil)
		w.requireSees(1, id)
		require.True(t, v.Pending(), "full state")
	}
}

// A client that leaves is forgotten: the same number, were it to come again, begins anew.
func TestClientsLeave(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, explicit, Despawn)
	w.join(1)
	w.step(func() { explicit.Show(1, w.spawn()) })
	w.leave(1)
	w.step(func() { w.spawn() })
	w.join(1)
	w.step(nil)
	w.requireSees(1)
	require.Len(t, w.applied.clients.of, 1)
	w.leave(1)
	require.Empty(t, w.applied.clients.of)
}

// A view that is new although its client has not left begins anew as well.
func TestNewViewOfAClient(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, explicit, Despawn)
	w.join(1)
	w.step(func() { explicit.Show(1, w.spawn()); w.spawn() })
	w.clients = nil
	w.join(1)
	w.step(nil)
	w.requireSees(1, w.living[0])
}

// Each call to a view is for a change: a world at rest costs none.
func TestNothingIsToldTwice(t *testing.T) {
	w := newWorld(t, NewRows(All(), OwnerRows(format.FromWords(1))), Despawn)
	v := w.join(1)
	w.step(func() { w.spawn(); w.spawn() })
	require.Equal(t, 4, v.calls, "shown, with their rows")
	w.step(nil)
	w.judge() // the same tick once more
	require.Equal(t, 4, v.calls)
}

// The set of lives equals that of a dumb model, at any rate of prepares to captures.
func TestLivesFollowTheStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t, All(), Despawn)
		var l lifetimes
		before := map[uint32]wire.NetworkID{}
		for range rapid.IntRange(1, 30).Draw(rt, "prepares") {
			for range rapid.IntRange(0, 3).Draw(rt, "captures") {
				w.capture(func() { w.churn(rt) })
			}
			again := w.store.Tick() == l.tick
			require.Equal(rt, !again, l.follow(w.store))
			if again {
				continue
			}
			now := map[uint32]wire.NetworkID{}
			for _, id := range w.living {
				now[id.Index] = id
				require.True(rt, l.is(id))
			}
			require.Equal(rt, len(now), l.alive.Len())
			for index := range uint32(64) {
				require.Equal(rt, now[index] != before[index], l.renewed.Has(index))
			}
			before = now
		}
	})
}

// churn spawns and despawns a few.
func (w *world) churn(t *rapid.T) {
	for range rapid.IntRange(0, 2).Draw(t, "spawns") {
		w.spawn()
	}
	for range rapid.IntRange(0, 2).Draw(t, "despawns") {
		if len(w.living) > 0 {
			w.kill(rapid.SampledFrom(w.living).Draw(t, "victim"))
		}
	}
}

func TestSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Set
		model := map[uint32]bool{}
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			index := rapid.Uint32Range(0, 200).Draw(t, "index")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				s.add(index)
				model[index] = true
			case 2:
				s.remove(index)
				delete(model, index)
			case 3:
				var other Set
				other.add(index)
				other.add(3)
				if index%2 == 0 {
					s.removeAll(other)
					delete(model, index)
					delete(model, 3)
				} else {
					s.addAll(other)
					model[index], model[3] = true, true
				}
			}
			require.Equal(t, len(model), s.Len())
			last := -1
			for index := range s.All {
				require.True(t, model[index] && s.Has(index) && int(index) > last)
				last = int(index)
			}
			require.False(t, s.Has(100_000))
		}
		s.reset(2)
		require.Zero(t, s.Len())
		require.Len(t, s, 2)
	})
}

var _ snapshot.Interest = (*Interest)(nil)

var _ View = (*snapshot.View)(nil)

// A server may capture more often than it asks. The entity that is at an index now is shown and hidden all the same.
func TestInterestThatMissesCaptures(t *testing.T) {
	explicit := NewExplicit()
	w := newWorld(t, explicit, Despawn)
	w.join(1)
	w.step(func() { explicit.Show(1, w.spawn()); w.spawn() })
	w.requireSees(1, w.living[0])
	w.capture(func() { w.kill(w.living[1]); w.kill(w.living[0]) })
	w.capture(func() { w.spawn(); explicit.Show(1, w.spawn()) })
	w.views[1].Observe()
	w.step(nil)
	require.Zero(t, w.living[1].Index, "the index that was visible before is visible again")
	w.requireSees(1, w.living[1])
}

type position struct{ X, Y, Z float32 }

type secret struct{ Number uint32 }

// tie names other entities.
type tie struct {
	To    wire.NetworkID `net:"entity"`
	Other wire.NetworkID `net:"entity"`
}

const (
	rowPosition = iota
	rowSecret
	rowTie
)

// world is a store with clients' views, to which an interest is applied each tick.
type world struct {
	t       testing.TB
	store   *snapshot.Store
	config  snapshot.Config
	tick    tick.Tick
	applied *Interest
	views   map[wire.ClientID]*spy
	clients []wire.ClientID
	living  []wire.NetworkID
	lanes   [4]uint32
}

// spy is a view that remembers what else it was told.
type spy struct {
	*snapshot.View
	kept    map[wire.NetworkID]bool
	weights map[wire.NetworkID]uint16
	calls   int
}

func (s *spy) Show(id wire.NetworkID) {
	s.calls++
	delete(s.kept, id)
	s.View.Show(id)
}

func (s *spy) Hide(id wire.NetworkID) {
	s.calls++
	delete(s.weights, id)
	s.View.Hide(id)
}

func (s *spy) Keep(id wire.NetworkID) {
	s.calls++
	s.kept[id] = true
	delete(s.weights, id)
	s.View.Keep(id)
}

func (s *spy) SetRows(id wire.NetworkID, rows snapshot.Mask) {
	s.calls++
	s.View.SetRows(id, rows)
}

func (s *spy) SetWeight(id wire.NetworkID, weight uint16) {
	s.calls++
	s.weights[id] = weight
	s.View.SetWeight(id, weight)
}

func testSchema() *snapshot.Schema {
	var plans []*quantize.Plan
	for name, typ := range map[string]reflect.Type{"Position": reflect.TypeFor[position](), "Secret": reflect.TypeFor[secret](), "Tie": reflect.TypeFor[tie]()} {
		plan, err := quantize.Compile(typ, name)
		if err != nil {
			panic(err)
		}
		plans = append(plans, plan)
	}
	slices.SortFunc(plans, func(a, b *quantize.Plan) int { return int(a.Name()[0]) - int(b.Name()[0]) })
	return format.NewSchema(plans)
}

func newWorld(t testing.TB, policy Policy, leaving Leaving) *world {
	w := &world{t: t, views: map[wire.ClientID]*spy{}}
	w.store = snapshot.NewStore(testSchema(), w.config)
	w.applied = New(policy, leaving)
	return w
}

// capture changes the store as one tick's capture.
func (w *world) capture(change func()) {
	w.tick++
	w.store.Begin(w.tick)
	if change != nil {
		change()
	}
	w.store.Commit()
}

// judge asks the policy about every client.
func (w *world) judge() {
	w.applied.Prepare(w.store)
	for _, client := range w.clients {
		v := w.views[client]
		v.Observe()
		w.applied.update(client, v)
	}
}

// step is a capture and what follows it.
func (w *world) step(change func()) {
	w.t.Helper()
	w.capture(change)
	w.judge()
}

func (w *world) join(client wire.ClientID) *spy {
	v := &spy{
		View: snapshot.NewView(w.store, w.config), kept: map[wire.NetworkID]bool{}, weights: map[wire.NetworkID]uint16{},
	}
	w.views[client] = v
	w.clients = append(w.clients, client)
	slices.Sort(w.clients)
	return v
}

func (w *world) leave(client wire.ClientID) {
	delete(w.views, client)
	w.clients = slices.DeleteFunc(w.clients, func(c wire.ClientID) bool { return c == client })
	w.applied.Leave(client)
}

// The rest is called within a capture.

func (w *world) spawn() wire.NetworkID {
	id := w.store.Spawn()
	w.living = append(w.living, id)
	return id
}

func (w *world) spawnAt(x, y, z float32) wire.NetworkID {
	id := w.spawn()
	w.move(id, x, y, z)
	return id
}

func (w *world) move(id wire.NetworkID, x, y, z float32) {
	at := position{x, y, z}
	w.store.Schema().Plan(rowPosition).Quantise(unsafe.Pointer(&at), w.lanes[:])
	w.store.Set(id, rowPosition, w.lanes[:3])
}

// tie makes an entity a child of another one, by the second field of tie.
func (w *world) tie(id, to wire.NetworkID) {
	w.store.Set(id, rowTie, []uint32{0, 0, to.Index, to.Generation})
}

func (w *world) kill(id wire.NetworkID) {
	w.store.Despawn(id)
	w.living = slices.DeleteFunc(w.living, func(other wire.NetworkID) bool { return other == id })
}

// sees lists what a client may see, in the order of ids.
func (w *world) sees(client wire.ClientID) []wire.NetworkID {
	list := []wire.NetworkID{}
	for id := range w.store.All {
		if w.views[client].Visible(id) {
			list = append(list, id)
		}
	}
	return list
}

// requireSees compares that with what it should be, in any order.
func (w *world) requireSees(client wire.ClientID, want ...wire.NetworkID) {
	w.t.Helper()
	w.requireModel(client, func(id wire.NetworkID) bool { return slices.Contains(want, id) })
}

func (w *world) requireModel(client wire.ClientID, visible func(wire.NetworkID) bool) {
	w.t.Helper()
	want := []wire.NetworkID{}
	for id := range w.store.All {
		if visible(id) {
			want = append(want, id)
		}
	}
	require.Equal(w.t, want, w.sees(client), "client %d at tick %d", client, w.tick)
}

// positions reads the position component.
func positions() Position {
	return PositionOf(testSchema(), func(p *position) (x, y, z float32) { return p.X, p.Y, p.Z })
}
