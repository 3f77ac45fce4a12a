package netecs_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/alloctest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// rows of the paced schema
const (
	pacedFollows = iota
	pacedHealth
	pacedOwner
	pacedPosition
	pacedSeeker
	pacedVelocity
	pacedRows
)

// paced is a pair whose health is sent once, velocity every 3 ticks and seeker every 5.
func paced(t testing.TB) *pair {
	schema := schemaOf(t, follows{}, health{}, components.Owner{}, position{}, seeker{}, velocity{})
	schema.SetOptions(pacedHealth, snapshot.RowOptions{Once: true})
	schema.SetOptions(pacedSeeker, snapshot.RowOptions{Every: 5})
	schema.SetOptions(pacedVelocity, snapshot.RowOptions{Every: 3})
	return newPairOf(t, schema)
}

// turns is whether an entity has its turn in a tick after before and up to now.
func turns(every int, index uint32, before, now tick.Tick) bool {
	for t := before + 1; t <= now; t++ {
		if (int(t)+int(index))%every == 0 {
			return true
		}
	}
	return false
}

// pacer drives a paced server and the rows that its store should have.
type pacer struct {
	*pair
	rt    *rapid.T
	ids   [pacedRows]ecs.ID
	rate  ecs.ID
	model map[ecs.Entity]map[int]any // what was captured last; of follows the target
	all   []ecs.Entity
}

func (m *pacer) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(m.rt, what) }

// now is a component as it is.
func (m *pacer) now(e ecs.Entity, row int) any {
	switch at := ecs.Get(m.server.world, e, m.ids[row]); row {
	case pacedFollows:
		return ecs.Target(m.server.world, e, m.ids[row])
	default:
		return reflect.NewAt(m.schema.Plan(row).Type(), at).Elem().Interface()
	}
}

func (m *pacer) spawn() {
	with := []ecs.ID{m.server.rep}
	for _, id := range append(m.ids[:], m.rate) {
		if m.draw(2, "has") == 1 {
			with = append(with, id)
		}
	}
	e := ecs.Spawn(m.server.world, nil, with...)
	m.model[e] = map[int]any{}
	m.all = append(m.all, e)
	for range 3 {
		m.write(e)
	}
}

func (m *pacer) write(e ecs.Entity) {
	s, n, row := m.server, m.draw(6, "value"), m.draw(pacedRows+1, "row")
	other := m.all[m.draw(len(m.all), "other")]
	if row == pacedRows {
		if ecs.Has(s.world, e, m.rate) {
			get[components.Rate](s, e, m.rate).Every = uint16(n)
		}
		return
	}
	if !ecs.Has(s.world, e, m.ids[row]) {
		return
	}
	switch row {
	case pacedFollows:
		if other == e { // Arche panics when such an entity is removed
			other = ecs.Entity{}
		}
		ecs.SetTarget(s.world, e, m.ids[row], other)
	case pacedHealth:
		get[health](s, e, m.ids[row]).HP = int16(n)
	case pacedOwner:
		get[components.Owner](s, e, m.ids[row]).Client = wire.ClientID(n)
	case pacedPosition:
		s.position(e).X = float32(n)
	case pacedSeeker:
		get[seeker](s, e, m.ids[row]).Seen[n&1] = other
	case pacedVelocity:
		get[velocity](s, e, m.ids[row]).Y = float32(n)
	}
}

func (m *pacer) exchange(e ecs.Entity) {
	ids := append(append([]ecs.ID{}, m.ids[:]...), m.rate, m.server.local)
	id := ids[m.draw(len(ids), "component")]
	if ecs.Has(m.server.world, e, id) {
		ecs.Exchange(m.server.world, e, nil, []ecs.ID{id}, nil)
	} else {
		ecs.Exchange(m.server.world, e, []ecs.ID{id}, nil, nil)
	}
}

func (m *pacer) remove(e ecs.Entity) {
	m.server.world.RemoveEntity(e)
	delete(m.model, e)
	m.all = slices.DeleteFunc(m.all, func(x ecs.Entity) bool { return x == e })
}

// capture captures a tick, lets the model do the same, and compares.
func (m *pacer) capturing() {
	before := m.tick
	m.tick += tick.Tick(1 + m.draw(3, "skip")/2)
	m.pair.capture.Run(m.tick)
	for _, e := range m.all {
		m.captured(e, m.id(e).Index, before)
	}
	require.Equal(m.rt, len(m.all), m.store.Len())
	for _, e := range m.all {
		id, rows := m.id(e), m.model[e]
		require.Equal(m.rt, len(rows), m.store.Mask(id).Count())
		for row, value := range rows {
			require.Equal(m.rt, m.lanes(e, row, value), m.store.Row(id, row), "%s of %s at %d", m.schema.Plan(row).Name(), id, m.tick)
		}
		if ecs.Has(m.server.world, e, m.ids[pacedOwner]) {
			require.Equal(m.rt, get[components.Owner](m.server, e, m.ids[pacedOwner]).Client, m.store.Owner(id), "at once")
		}
	}
}

func (m *pacer) captured(e ecs.Entity, index uint32, before tick.Tick) {
	rate := 1
	if ecs.Has(m.server.world, e, m.rate) {
		rate = max(1, int(get[components.Rate](m.server, e, m.rate).Every))
	}
	for row, id := range m.ids {
		_, had := m.model[e][row]
		every := max(rate, m.schema.Options(row).Every)
		if row == pacedOwner { // controls do not wait
			every = 1
		}
		switch {
		case !ecs.Has(m.server.world, e, id):
			delete(m.model[e], row)
		case !had || !m.schema.Options(row).Once && turns(every, index, before, m.tick):
			m.model[e][row] = m.now(e, row)
		}
	}
}

// lanes is a row as it should be in the store.
func (m *pacer) lanes(e ecs.Entity, row int, value any) []uint32 {
	plan := m.schema.Plan(row)
	lanes := make([]uint32, plan.Lanes())
	switch value := value.(type) {
	case ecs.Entity:
		putIDs(lanes, plan.Refs(), m.target(e, value))
		return lanes
	case seeker:
		lanes[6] = uint32(value.Doubt)
		putIDs(lanes, plan.Refs(), m.living(value.Target), m.living(value.Seen[0]), m.living(value.Seen[1]))
		return lanes
	}
	boxed := reflect.New(plan.Type())
	boxed.Elem().Set(reflect.ValueOf(value))
	plan.Quantise(boxed.UnsafePointer(), lanes)
	return lanes
}

func (m *pacer) living(e ecs.Entity) wire.NetworkID {
	if m.model[e] == nil {
		return wire.NetworkID{}
	}
	return m.id(e)
}

// target returns the captured target of a relation, none on a circle.
func (m *pacer) target(e, target ecs.Entity) wire.NetworkID {
	at := target
	for range m.all {
		if at == e {
			return wire.NetworkID{}
		}
		at, _ = m.model[at][pacedFollows].(ecs.Entity)
	}
	return m.living(target)
}

// Nothing comes before its turn or is lost, and structure does not wait: rates of entities and of components, once-only
// components, table changes, references and skipped ticks in any order.
func TestPaceAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &pacer{pair: paced(t), rt: rt, model: map[ecs.Entity]map[int]any{}}
		s := m.server
		owner := ecs.ComponentID[components.Owner](s.world)
		m.ids = [pacedRows]ecs.ID{s.follows, s.health, owner, s.pos, s.seeker, s.vel}
		m.rate = ecs.ComponentID[components.Rate](s.world)
		m.spawn()
		for range 80 {
			switch action := m.draw(12, "action"); {
			case action == 0 || len(m.all) < 2:
				m.spawn()
			case action == 1:
				m.remove(m.all[m.draw(len(m.all), "entity")])
			case action < 4:
				m.exchange(m.all[m.draw(len(m.all), "entity")])
			case action < 8:
				m.write(m.all[m.draw(len(m.all), "entity")])
			default:
				m.capturing()
			}
		}
		for range 6 { // whatever waits has its turn
			m.capturing()
		}
		m.capturing()
	})
}

// The first rate of a world counts in the tick that it was written in.
func TestTheFirstRateCountsAtOnce(t *testing.T) {
	p := newPair(t)
	s, rate := p.server, controlsOf(p.server).rate
	e := ecs.Spawn(s.world, nil, s.rep, s.pos, rate)
	p.step()
	get[components.Rate](s, e, rate).Every = 100
	s.position(e).X++
	p.step()
	require.Zero(t, p.store.Changed(), "it is not its turn")
}

// The turns of entities with one rate are spread over the ticks.
func TestRatesAreSpread(t *testing.T) {
	p := newPair(t)
	s, rate := p.server, controlsOf(p.server).rate
	var all []ecs.Entity
	for range 1000 {
		e := ecs.Spawn(s.world, nil, s.rep, s.pos, rate)
		get[components.Rate](s, e, rate).Every = 10
		all = append(all, e)
	}
	p.step()
	require.Equal(t, 1000, p.store.Changed(), "the first tick has everything")
	for range 30 {
		for _, e := range all {
			s.position(e).X++
		}
		p.step()
		require.Equal(t, 100, p.store.Changed())
	}
	for range 10 {
		p.step()
	}
	p.same()
	for _, e := range all {
		require.InDelta(t, s.position(e).X, p.client.position(p.atClient(e)).X, 0.002, "the last value before rest")
	}
	p.step()
	require.Zero(t, p.store.Changed())
}

// Members of a group that are captured equally often are captured in the same ticks, wherever they lie and whatever says
// how often.
func TestMembersOfAGroupHaveTheirTurnsTogether(t *testing.T) {
	p := paced(t)
	s := p.server
	group, rate := ecs.ComponentID[components.Group](s.world), ecs.ComponentID[components.Rate](s.world)
	var all []ecs.Entity
	for n := range 8 { // half of them in another table, none of them beside the next
		with := []ecs.ID{s.rep, s.pos, s.vel, group, rate}
		if n%2 == 1 {
			with = append(with, s.local)
		}
		e := ecs.Spawn(s.world, nil, with...)
		*get[components.Group](s, e, group) = components.Group{ID: 5}
		*get[components.Rate](s, e, rate) = components.Rate{Every: 4}
		all = append(all, e)
		ecs.Spawn(s.world, nil, s.rep, s.pos)
	}
	last, turns := p.tick, 0
	for n := range 41 {
		for _, e := range all {
			s.position(e).X, get[velocity](s, e, s.vel).Y = float32(n), float32(n)
		}
		p.follow()
		first := p.client.position(p.atClient(all[0])).X
		for _, e := range all {
			require.Equal(t, first, p.client.position(p.atClient(e)).X, "tick %d", p.tick)
			require.Equal(t, first, get[velocity](p.client, p.atClient(e), p.client.vel).Y, "tick %d", p.tick)
		}
		if int(first) == n {
			turns++
		}
	}
	require.EqualValues(t, 40, p.tick-last-1)
	require.Equal(t, 11, turns, "when they were born, and each fourth tick")
}

// controlIDs are the control components of a world.
type controlIDs struct{ owner, group, priority, rate ecs.ID }

func controlsOf(s *side) controlIDs {
	return controlIDs{
		ecs.ComponentID[components.Owner](s.world), ecs.ComponentID[components.Group](s.world),
		ecs.ComponentID[components.Priority](s.world), ecs.ComponentID[components.Rate](s.world),
	}
}

// The values of control components reach the store in the same capture. It does not matter how the components came
// or went, or whether they are registered.
func TestControlsAreObeyed(t *testing.T) {
	for name, schema := range map[string]*snapshot.Schema{
		"known to the capture only": newSchema(t),
		"registered": schemaOf(t, components.Group{}, components.Owner{}, components.Priority{},
			components.Rate{}, position{}),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPairOf(t, schema)
			s, w, c := p.server, p.server.world, controlsOf(p.server)
			e := ecs.Spawn(w, nil, s.rep, c.owner)
			get[components.Owner](s, e, c.owner).Client = 3
			is := func(what string, owner wire.ClientID, group uint32, weight uint16) {
				p.tick++
				p.capture.Run(p.tick)
				id := p.id(e)
				require.Equal(t, owner, p.store.Owner(id), what)
				require.Equal(t, group, p.store.Group(id), what)
				require.Equal(t, weight, p.store.Priority(id), what)
			}
			is("born with an owner", 3, 0, 256)
			get[components.Owner](s, e, c.owner).Client = 4
			is("written", 4, 0, 256)
			ecs.Exchange(w, e, []ecs.ID{c.group, c.priority, s.pos}, nil, nil)
			get[components.Group](s, e, c.group).ID = 77
			get[components.Priority](s, e, c.priority).Weight = 2.5
			is("added", 4, 77, 640)
			require.Equal(t, []uint32{p.id(e).Index}, p.store.Members(77))
			p.store.SetOwner(p.id(e), 9)
			is("what was not written stands", 9, 77, 640)
			ecs.Exchange(w, e, nil, []ecs.ID{c.owner, c.group}, nil)
			is("removed", 0, 0, 640)
			require.Empty(t, p.store.Members(77))
			p.store.SetOwner(p.id(e), 8)
			ecs.Exchange(w, e, []ecs.ID{s.local}, nil, nil)
			is("what no component says is left alone", 8, 0, 640)
			ecs.Exchange(w, e, []ecs.ID{c.owner}, []ecs.ID{c.priority}, nil)
			is("exchanged", 0, 0, 256)

			get[components.Owner](s, e, c.owner).Client = 5
			is("again", 5, 0, 256)
			old := p.id(e)
			w.RemoveEntity(e)
			p.tick++
			p.capture.Run(p.tick)
			e = ecs.Spawn(w, nil, s.rep)
			is("another life", 0, 0, 256)
			require.Equal(t, old.Index, p.id(e).Index)
			require.Empty(t, s.kinds())
		})
	}
}

func TestPriorityIsClampedAndReported(t *testing.T) {
	p := newPair(t)
	s, c := p.server, controlsOf(p.server)
	e := ecs.Spawn(s.world, nil, s.rep, c.priority)
	for _, x := range []struct {
		weight float32
		want   uint16
		kind   netecs.ProblemKind
	}{
		{1, 256, 0}, {0, 1, 0}, {1e-9, 1, 0}, {1.0 / 256, 1, 0}, {255, 65280, 0}, {3.999, 1024, 0},
		{255.01, 65280, netecs.OutOfRange}, {-1, 1, netecs.OutOfRange}, {math.MaxFloat32, 65280, netecs.OutOfRange},
		{float32(math.NaN()), 256, netecs.NotFinite}, {float32(math.Inf(1)), 256, netecs.NotFinite},
	} {
		s.world.RemoveEntity(e)
		e = ecs.Spawn(s.world, nil, s.rep, c.priority) // a problem is reported once for each entity
		get[components.Priority](s, e, c.priority).Weight = x.weight
		p.step()
		require.Equal(t, x.want, p.store.Priority(p.id(e)), "%g", x.weight)
		if x.kind == 0 {
			require.Empty(t, s.problems)
			continue
		}
		require.Len(t, s.problems, 1)
		detail := ""
		if x.kind == netecs.OutOfRange {
			detail = "a priority is 0 to 255"
		}
		require.Equal(t, netecs.Problem{Kind: x.kind, Entity: p.id(e), Local: e, Component: "Priority", Field: "Weight", Detail: detail}, s.problems[0])
		get[components.Priority](s, e, c.priority).Weight = x.weight * 2
		p.step()
		require.Len(t, s.kinds(), 1, "once")
	}
}

func TestControlsAllocateNothing(t *testing.T) {
	p := newPair(t)
	s, c := p.server, controlsOf(p.server)
	var all []ecs.Entity
	for range 1000 {
		e := ecs.Spawn(s.world, nil, s.rep, s.pos, c.owner, c.group, c.priority, c.rate)
		get[components.Rate](s, e, c.rate).Every = 2
		all = append(all, e)
	}
	n, changed := 0, 0 // most are in one group, and have their turns in the same ticks
	run := func() {
		n++
		for i, e := range all {
			if i%10 == n%10 {
				s.position(e).X += 0.01
				get[components.Owner](s, e, c.owner).Client++
				get[components.Group](s, e, c.group).ID = uint32(n * 7 % 13)
				get[components.Priority](s, e, c.priority).Weight = float32(n % 9)
			}
		}
		p.tick++
		p.capture.Run(p.tick)
		changed += p.store.Changed()
		p.store.ClearHandovers() // The server takes them each tick.
	}
	for range 500 {
		run()
	}
	alloctest.Zero(t, 200, run)
	require.Positive(t, changed)
}
