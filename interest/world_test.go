package interest

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type position struct{ X, Y, Z float32 }

type secret struct{ Number uint32 }

const (
	rowPosition = iota
	rowSecret
)

// world is a store with clients' views, to which an interest is applied each tick.
type world struct {
	t       testing.TB
	store   *snapshot.Store
	config  snapshot.Config
	tick    tick.Tick
	applied *applied
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
	for name, typ := range map[string]reflect.Type{"Position": reflect.TypeFor[position](), "Secret": reflect.TypeFor[secret]()} {
		plan, err := quantize.Compile(typ, name)
		if err != nil {
			panic(err)
		}
		plans = append(plans, plan)
	}
	slices.SortFunc(plans, func(a, b *quantize.Plan) int { return int(a.Name()[0]) - int(b.Name()[0]) })
	return snapshot.NewSchema(plans)
}

func newWorld(t testing.TB, policy Policy, leaving Leaving) *world {
	w := &world{t: t, views: map[wire.ClientID]*spy{}}
	w.store = snapshot.NewStore(testSchema(), w.config)
	w.applied = New(policy, leaving).(*applied)
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
