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
		require.Equal(t, leaving == Keep, v.Keeps(id))
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
	require.Len(t, w.applied.clients, 1)
	w.leave(1)
	require.Empty(t, w.applied.clients)
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

// asked counts the questions about each entity.
type asked struct {
	Policy
	calls int
}

func (a *asked) Sees(client wire.ClientID, id wire.NetworkID, was snapshot.Mask) (snapshot.Mask, uint16) {
	a.calls++
	return a.Policy.Sees(client, id, was)
}

// TestAWorldAtRestCostsNoQuestion: a policy is asked about what may have changed alone, whatever the size of the world.
func TestAWorldAtRestCostsNoQuestion(t *testing.T) {
	grid := NewGrid(GridConfig{Position: positions(), Enter: 10})
	policy := &asked{Policy: NewRows(Any(grid, NewExplicit(), NewRooms(), NewOwnerOnly(OwnerConfig{})), OwnerRows(format.FromWords(2)))}
	w := newWorld(t, policy, Despawn)
	w.join(1)
	grid.Look(1, 0, 0, 0)
	w.step(func() {
		for i := range 1000 {
			w.spawnAt(float32(i), 0, 0)
		}
	})
	require.Equal(t, 1000, policy.calls, "a client that is new")
	w.step(nil)
	w.step(nil)
	policy.calls = 0
	w.step(nil)
	w.judge() // the same tick once more
	require.Zero(t, policy.calls)
	w.step(func() {
		for _, id := range w.living[100:] {
			w.move(id, 500, 0, 0)
		}
		w.move(w.living[5], 6, 0, 0)
	})
	require.Zero(t, policy.calls, "nobody crosses the border of sight")
	w.step(func() { w.move(w.living[5], 50, 0, 0); w.move(w.living[500], 5, 0, 0); w.spawn() })
	require.Equal(t, 3, policy.calls)
	w.store.SetOwner(w.living[700], 1)
	policy.calls = 0
	w.step(nil)
	require.Equal(t, 3, policy.calls, "the owner's; those of the tick before once more")
	w.requireSees(1, append(append([]wire.NetworkID{}, w.living[:5]...), append(append([]wire.NetworkID{}, w.living[6:11]...), w.living[500], w.living[700])...)...)
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

var _ snapshot.Interest = (*Interest)(nil)

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
	views   map[wire.ClientID]*snapshot.View
	clients []wire.ClientID
	living  []wire.NetworkID
	lanes   [4]uint32
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
	w := &world{t: t, views: map[wire.ClientID]*snapshot.View{}}
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
		w.applied.Update(client, v)
	}
}

// step is a capture and what follows it.
func (w *world) step(change func()) {
	w.t.Helper()
	w.capture(change)
	w.judge()
}

func (w *world) join(client wire.ClientID) *snapshot.View {
	w.views[client] = snapshot.NewView(w.store, w.config)
	w.clients = append(w.clients, client)
	slices.Sort(w.clients)
	return w.views[client]
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

// A frame of several ticks is one capture: it asks a policy about nothing that has not changed, so what Hide of the view took away stays away.
// A capture that Prepare has not seen is caught up with.
func TestAFrameOfSeveralTicksAsksNothingAnew(t *testing.T) {
	w := newWorld(t, All(), Despawn)
	v := w.join(1)
	var a, b wire.NetworkID
	w.step(func() { a = w.spawn() })
	w.step(nil)
	v.Hide(a)
	w.tick += 3
	w.step(nil)
	require.Empty(t, w.sees(1))
	w.capture(func() { b = w.spawn() })
	w.step(nil)
	require.Contains(t, w.sees(1), b)
}
