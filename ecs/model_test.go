package netecs_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/wire"
)

// dumb is the state that a replicated entity of the server should have: its components by
// row, and the id it was given.
type dumb struct {
	rows map[int]any
	id   wire.NetworkID
}

// machine drives a pair and a map side by side.
type machine struct {
	*pair
	t       *rapid.T
	model   map[ecs.Entity]*dumb
	all     []ecs.Entity // keys of the model, in the order of their making
	targets []ecs.Entity // living entities that do not replicate
	dead    []ecs.Entity // handles of entities that are gone, or do not replicate any more
}

func (m *machine) draw(n int, label string) int { return rapid.IntRange(0, n-1).Draw(m.t, label) }

func (m *machine) pick() (ecs.Entity, *dumb) {
	if len(m.all) == 0 {
		return ecs.Entity{}, nil
	}
	e := m.all[m.draw(len(m.all), "entity")]
	return e, m.model[e]
}

func (m *machine) ids() []ecs.ID {
	s := m.server
	return []ecs.ID{s.child, s.frozen, s.health, s.pos, s.rot, s.vel, s.seeker}
}

// set writes a component of the server's world and of the model.
func (m *machine) set(e ecs.Entity, d *dumb, row int) {
	n := float32(m.draw(50, "value"))
	s := m.server
	switch row {
	case rowChildOf:
		c := get[childOf](s, e, s.child)
		c.Joint = int32(n)
		d.rows[row] = *c
	case rowFrozen:
		d.rows[row] = frozen{}
	case rowHealth:
		*get[health](s, e, s.health) = health{HP: int16(n), Note: int32(n), Big: uint64(n) << 50}
		d.rows[row] = health{HP: int16(n), Big: uint64(n) << 50}
	case rowPosition:
		p := s.position(e)
		p.X += n
		if p.X > 400 {
			p.X = -400
		}
		d.rows[row] = *p
	case rowRotation:
		*get[rotation](s, e, s.rot) = rotation{[4]float32{n / 50, 0, 0, 1}}
		d.rows[row] = rotation{[4]float32{n / 50, 0, 0, 1}}
	case rowVelocity:
		*get[velocity](s, e, s.vel) = velocity{n, -n, 1 / (n + 1)}
		d.rows[row] = velocity{n, -n, 1 / (n + 1)}
	case rowSeeker:
		k := get[seeker](s, e, s.seeker)
		k.Target, k.Seen[m.draw(2, "place")], k.Doubt = m.anybody(), m.anybody(), uint8(n)
		d.rows[row] = *k
	}
}

// anybody is a handle that game code may hold: of an entity that replicates or
// does not, or of none any more.
func (m *machine) anybody() ecs.Entity {
	switch list := m.draw(5, "who"); {
	case list == 0:
	case list == 1 && len(m.dead) > 0:
		return m.dead[m.draw(len(m.dead), "dead")]
	case list == 2 && len(m.targets) > 0:
		return m.targets[m.draw(len(m.targets), "local")]
	default:
		e, _ := m.pick()
		return e
	}
	return ecs.Entity{}
}

func (m *machine) spawn() {
	e := ecs.Spawn(m.server.world, nil, m.server.rep)
	d := &dumb{rows: map[int]any{}}
	for row, id := range m.ids() {
		if rapid.Bool().Draw(m.t, "has") {
			ecs.Exchange(m.server.world, e, []ecs.ID{id}, nil, nil)
			m.set(e, d, row)
		}
	}
	m.model[e] = d
	m.all = append(m.all, e)
}

// spawnMany makes a table of more than a block.
func (m *machine) spawnMany() {
	for range 40 + m.draw(60, "many") {
		e := ecs.Spawn(m.server.world, nil, m.server.rep, m.server.pos)
		m.model[e] = &dumb{rows: map[int]any{rowPosition: position{}}}
		m.all = append(m.all, e)
	}
}

func (m *machine) forget(e ecs.Entity) {
	delete(m.model, e)
	m.dead = append(m.dead, e)
	m.all = slices.DeleteFunc(m.all, func(x ecs.Entity) bool { return x == e })
}

func (m *machine) remove() {
	if e, d := m.pick(); d != nil {
		m.server.world.RemoveEntity(e)
		m.forget(e)
	}
}

func (m *machine) strip() {
	if e, d := m.pick(); d != nil {
		ecs.Exchange(m.server.world, e, nil, []ecs.ID{m.server.rep}, nil)
		m.forget(e)
	}
}

func (m *machine) mutate() {
	if e, d := m.pick(); d != nil {
		for row := range m.ids() {
			if _, has := d.rows[row]; has && rapid.Bool().Draw(m.t, "write") {
				m.set(e, d, row)
			}
		}
	}
}

func (m *machine) exchange() {
	e, d := m.pick()
	if d == nil {
		return
	}
	row := m.draw(len(m.ids()), "row")
	if _, has := d.rows[row]; has {
		ecs.Exchange(m.server.world, e, nil, []ecs.ID{m.ids()[row]}, nil)
		delete(d.rows, row)
		return
	}
	ecs.Exchange(m.server.world, e, []ecs.ID{m.ids()[row]}, nil, nil)
	m.set(e, d, row)
}

func (m *machine) aside() {
	e, d := m.pick()
	if d == nil {
		return
	}
	if ecs.Has(m.server.world, e, m.server.local) {
		ecs.Exchange(m.server.world, e, nil, []ecs.ID{m.server.local}, nil)
	} else {
		ecs.Exchange(m.server.world, e, []ecs.ID{m.server.local}, nil, nil)
	}
}

func (m *machine) retarget() {
	e, d := m.pick()
	if d == nil || d.rows[rowChildOf] == nil {
		return
	}
	target := ecs.Entity{}
	switch m.draw(3, "target") {
	case 0:
		// Arche panics when an entity that is its own target is removed.
		if other, _ := m.pick(); other != e {
			target = other
		}
	case 1:
		target = ecs.Spawn(m.server.world, nil, m.server.pos)
		m.targets = append(m.targets, target)
	}
	ecs.SetTarget(m.server.world, e, m.server.child, target)
}

func (m *machine) removeTarget() {
	if len(m.targets) > 0 {
		m.server.world.RemoveEntity(m.targets[0])
		m.dead = append(m.dead, m.targets[0])
		m.targets = m.targets[1:]
	}
}

// adopt makes an entity replicate that others may have named for long.
func (m *machine) adopt() {
	if len(m.targets) == 0 {
		return
	}
	e := m.targets[0]
	m.targets = m.targets[1:]
	ecs.Exchange(m.server.world, e, []ecs.ID{m.server.rep}, nil, nil)
	m.model[e] = &dumb{rows: map[int]any{rowPosition: position{}}}
	m.all = append(m.all, e)
}

// copyReplicated copies it to a new entity, or onto one that has its own.
func (m *machine) copyReplicated() {
	e, d := m.pick()
	if d == nil || d.id.IsZero() {
		return
	}
	if other, _ := m.pick(); rapid.Bool().Draw(m.t, "onto") {
		*m.server.replicated(other) = *m.server.replicated(e)
		m.check()
		return
	}
	r := *m.server.replicated(e)
	copied := ecs.Spawn(m.server.world, nil, m.server.rep, m.server.pos)
	*m.server.replicated(copied) = r
	m.model[copied] = &dumb{rows: map[int]any{rowPosition: position{}}}
	m.all = append(m.all, copied)
}

func (m *machine) scribble() {
	if e, d := m.pick(); d != nil {
		*m.server.replicated(e) = components.Replicated{}
	}
}

func (m *machine) resetServer() {
	if m.draw(8, "reset") == 0 {
		m.server.world.Reset()
		m.model, m.all, m.targets, m.dead = map[ecs.Entity]*dumb{}, nil, nil, nil
	}
}

// meddle is a client that does what it should not, and what it may.
func (m *machine) meddle() {
	_, d := m.pick()
	if d == nil {
		return
	}
	shown, ok := m.apply.Entity(d.id)
	if !ok {
		return
	}
	c := m.client
	switch m.draw(4, "meddle") {
	case 0:
		if ecs.Has(c.world, shown, c.pos) {
			c.position(shown).Z = 77
		}
	case 1:
		if ecs.Has(c.world, shown, c.local) {
			ecs.Exchange(c.world, shown, nil, []ecs.ID{c.local}, nil)
		} else {
			ecs.Exchange(c.world, shown, []ecs.ID{c.local}, nil, nil)
		}
	case 2: // an entity of its own, which may change the order of rows
		c.world.RemoveEntity(ecs.Spawn(c.world, nil, c.rep, c.pos))
	case 3:
		c.replicated(shown).ID.Generation += 3
	}
}

func (m *machine) resetClient() {
	if m.draw(8, "reset") == 0 {
		m.client.world.Reset()
	}
}

// idOf is the network id of whatever a handle names, as the model knows it.
func (m *machine) idOf(e ecs.Entity) wire.NetworkID {
	d := m.model[e]
	if d == nil {
		return wire.NetworkID{}
	}
	if d.id.IsZero() { // check has not come to it yet
		d.id, _ = m.capture.ID(e)
	}
	return d.id
}

// putIDs puts network ids into the lanes of a row.
func putIDs(lanes []uint32, refs []int, ids ...wire.NetworkID) {
	for i, lane := range refs {
		lanes[lane], lanes[lane+1] = ids[i].Index, ids[i].Generation
	}
}

// target is the relation's target that the clients should see: nothing,
// where following relations leads back to it.
func (m *machine) target(e ecs.Entity) wire.NetworkID {
	follow := func(e ecs.Entity) (next ecs.Entity) {
		if d := m.model[e]; d != nil && d.rows[rowChildOf] != nil {
			next = ecs.Target(m.server.world, e, m.server.child)
		}
		return next
	}
	target := follow(e)
	at := target
	for range m.all {
		if at == e {
			return wire.NetworkID{}
		}
		at = follow(at)
	}
	return m.idOf(target)
}

// check compares the store with the model, and the client with the store.
func (m *machine) check() {
	m.step()
	// A copy of a Replicated that came to lie exactly where the original lay is recognised when it is asked for, and who
	// names the original learns of it with the capture after that.
	for _, e := range m.all {
		m.capture.Entity(m.server.replicated(e).ID)
	}
	m.follow()
	require.Equal(m.t, len(m.model), m.store.Len())
	for _, e := range m.all {
		d := m.model[e]
		m.capture.Entity(m.server.replicated(e).ID)
		id, ok := m.capture.ID(e)
		require.True(m.t, ok)
		if d.id.IsZero() {
			d.id = id
		}
		require.Equal(m.t, d.id, id, "an entity keeps its id")
		back, ok := m.capture.Entity(id)
		require.True(m.t, ok)
		require.Equal(m.t, e, back)
		require.Equal(m.t, len(d.rows), m.store.Mask(id).Count())
		for row, value := range d.rows {
			boxed := reflect.New(reflect.TypeOf(value))
			boxed.Elem().Set(reflect.ValueOf(value))
			lanes := make([]uint32, m.schema.Plan(row).Lanes())
			m.schema.Plan(row).Quantise(boxed.UnsafePointer(), lanes)
			switch value := value.(type) {
			case childOf:
				putIDs(lanes, m.schema.Plan(row).Refs(), m.target(e))
			case seeker:
				putIDs(lanes, m.schema.Plan(row).Refs(), m.idOf(value.Target), m.idOf(value.Seen[0]), m.idOf(value.Seen[1]))
			}
			require.True(m.t, slices.Equal(lanes, m.store.Row(id, row)), "%s of %s", m.schema.Plan(row).Name(), id)
		}
	}
	require.False(m.t, m.server.world.IsLocked())
	require.False(m.t, m.client.world.IsLocked())
}

func TestCaptureAndApplyAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{pair: newPair(t), t: rt, model: map[ecs.Entity]*dumb{}}
		actions := []func(){
			m.spawn, m.spawn, m.spawn, m.spawnMany, m.remove, m.remove, m.strip, m.mutate, m.mutate, m.mutate,
			m.exchange, m.exchange, m.aside, m.retarget, m.retarget, m.removeTarget, m.adopt, m.copyReplicated, m.scribble,
			m.resetServer, m.meddle, m.meddle, m.resetClient, m.check, m.check, m.check,
		}
		for range 60 {
			actions[m.draw(len(actions), "action")]()
		}
		m.check()
		m.check()
		require.Zero(rt, m.store.Changed())
	})
}
