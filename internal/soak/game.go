package main

import (
	"math/rand/v2"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transfer"
)

// The components, with one or more fields of every kind.
type (
	spot struct {
		X, Y float32 `net:"min=-512,max=512,step=0.25"`
	}
	turn struct {
		Q    [4]float32 `net:"quat,bits=9"`
		Yaw  float32    `net:"angle,bits=10"`
		On   bool
		Axis float32 `net:"axis"`
	}
	exact struct {
		F float32
		D float64
		N int64
		U uint32
		B uint8
		H float32 `net:"half"`
	}
	names struct {
		E ecs.Entity `net:"entity"`
		N int16
	}
	stamp  struct{ V uint32 } // equal in all entities of a group
	tag    struct{}
	slow   struct{ V int32 }
	first  struct{ V int32 }
	mine   struct{ By, V uint32 } // written by the owner, with its own client ID
	secret struct{ Of uint32 }    // visible to the owner only: the owner's client ID
	body   struct {
		X float32 `net:"min=-64,max=64,step=0.01"`
		V float32 `net:"min=-8,max=8,step=0.01"`
	} // predicted by its owner
	control struct {
		Push int8
		Fire bool `net:"event"`
	}
	word struct{ N uint32 } // numbered, sent in order
)

func protocol(hear func(*netcode.Context, *word)) (*netcode.Protocol, *collections.List[uint32]) {
	p := netcode.NewProtocol()
	netcode.Replicate[spot](p)
	netcode.Replicate[turn](p)
	netcode.Replicate[exact](p)
	netcode.Replicate[names](p)
	netcode.Replicate[stamp](p)
	netcode.Replicate[tag](p)
	netcode.Replicate[slow](p, netcode.Every(3))
	netcode.Replicate[first](p, netcode.Once())
	netcode.Replicate[mine](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[secret](p)
	netcode.Replicate[body](p)
	netcode.Replicate[components.Group](p)
	netcode.Replicate[components.Owner](p)
	predict.Register[body](p)
	input.Register[control](p)
	netcode.Handle(p, hear, netcode.Over(netcode.ReliableOrdered))
	transfer.Register(p, transfer.Config{FromClient: mostBytes})
	return p, collections.NewList[uint32](p, "list", collections.MaxElements(20))
}

// push is the simulation of both sides.
type push struct {
	bodies *generic.Filter2[components.Simulate, body]
}

// Step implements predict.System.
func (m *push) Step(s *predict.Step) {
	if m.bodies == nil {
		m.bodies = generic.NewFilter2[components.Simulate, body]()
	}
	query := m.bodies.Query(s.World)
	for query.Next() {
		_, b := query.Get()
		c, _ := predict.Input[control](s, s.Owner(query.Entity()))
		b.V = min(max(b.V/2+float32(c.Push)/64, -8), 8)
		b.X = min(max(b.X+b.V, -64), 64)
	}
}

// thing is an entity of the server's world.
type thing struct {
	ecs.Entity
	id    netcode.NetworkID
	room  interest.Room
	group uint32
	owner uint32 // as last seen by game or writes
	wrote mine   // the newest value at the server
}

// world is the server's game.
type world struct {
	*ecs.World
	s      *soak
	r      *rand.Rand
	all    []*thing
	stamps map[uint32]uint32
	next   uint32
	shapes [shapes]int // sets of components, as bits

	spots   generic.Map1[spot]
	turns   generic.Map1[turn]
	exacts  generic.Map1[exact]
	named   generic.Map1[names]
	stamped generic.Map1[stamp]
	tags    generic.Map1[tag]
	slows   generic.Map1[slow]
	mines   generic.Map1[mine]
	secrets generic.Map1[secret]
	owners  generic.Map1[components.Owner]
	groups  generic.Map1[components.Group]
	firsts  generic.Map1[first]
	born    generic.Map1[components.Replicated]
}

func newWorld(s *soak, w *ecs.World) *world {
	g := &world{
		World: w, s: s, r: rand.New(rand.NewPCG(s.o.Seed, 0x3041D)), stamps: map[uint32]uint32{},
		spots: generic.NewMap1[spot](w), turns: generic.NewMap1[turn](w), exacts: generic.NewMap1[exact](w), named: generic.NewMap1[names](w),
		stamped: generic.NewMap1[stamp](w), tags: generic.NewMap1[tag](w), slows: generic.NewMap1[slow](w), mines: generic.NewMap1[mine](w),
		secrets: generic.NewMap1[secret](w), owners: generic.NewMap1[components.Owner](w), groups: generic.NewMap1[components.Group](w),
		firsts: generic.NewMap1[first](w), born: generic.NewMap1[components.Replicated](w),
	}
	for i := range g.shapes {
		g.shapes[i] = g.r.IntN(1 << 9)
	}
	return g
}

// shapes is the number of random sets of components in a run. Arche keeps memory for each set that ever existed.
const shapes = 8

const rooms = 3

// play runs the game for one tick.
func (w *world) play() {
	for len(w.all) < w.s.o.Entities {
		w.birth()
	}
	if w.r.IntN(10) == 0 {
		i := w.r.IntN(len(w.all))
		w.RemoveEntity(w.all[i].Entity)
		w.all = slices.Delete(w.all, i, i+1)
	}
	for range 1 + len(w.all)/8 {
		w.change(w.all[w.r.IntN(len(w.all))])
	}
	if w.r.IntN(4) == 0 {
		w.press()
	}
}

func (w *world) birth() {
	e := w.born.NewWith(&components.Replicated{})
	t := &thing{Entity: e, room: interest.Room(1 + w.r.IntN(rooms))}
	kinds := w.shapes[w.r.IntN(shapes)]
	for bit, add := range []func(){
		func() { w.spots.Assign(e, &spot{X: float32(w.r.IntN(400)) / 4}) },
		func() { w.turns.Assign(e, &turn{Q: [4]float32{0, 0, 0, 1}}) },
		func() { w.exacts.Assign(e, &exact{F: w.r.Float32(), N: w.r.Int64(), U: w.r.Uint32()}) },
		func() { w.named.Assign(e, &names{E: w.whom()}) },
		func() { w.tags.Assign(e, &tag{}) },
		func() { w.slows.Assign(e, &slow{w.r.Int32()}) },
		func() { w.firsts.Assign(e, &first{w.r.Int32()}) },
		func() { w.mines.Assign(e, &mine{}) },
		func() { w.secrets.Assign(e, &secret{}) },
	} {
		if kinds>>bit&1 != 0 {
			add()
		}
	}
	w.stamped.Assign(e, &stamp{})
	if group := 1 + w.r.Uint32N(12); w.r.IntN(3) == 0 && w.members(group) < 4 && kinds>>5&1 == 0 {
		t.group = group
		w.groups.Assign(e, &components.Group{ID: group})
		w.stamped.Get(e).V = w.stamps[group]
		t.room = interest.Room(1 + group%rooms)
	}
	w.all = append(w.all, t)
}

func (w *world) members(group uint32) (n int) {
	for _, t := range w.all {
		if t.group == group {
			n++
		}
	}
	return n
}

// whom returns an entity for a reference, sometimes none.
func (w *world) whom() ecs.Entity {
	if len(w.all) == 0 || w.r.IntN(6) == 0 {
		return ecs.Entity{}
	}
	return w.all[w.r.IntN(len(w.all))].Entity
}

// change changes something of an entity.
func (w *world) change(t *thing) {
	e := t.Entity
	switch w.r.IntN(12) {
	case 0:
		if has[exact](w, e) {
			w.exacts.Remove(e)
		} else {
			w.exacts.Assign(e, &exact{D: w.r.Float64(), B: 3, H: 1.5})
		}
	case 1:
		w.own(t)
	case 2:
		if t.group == 0 && !t.id.IsZero() {
			w.s.rooms.Remove(t.id, t.room)
			t.room = interest.Room(1 + w.r.IntN(rooms))
			w.s.rooms.Add(t.id, t.room)
		}
	case 3:
		if has[tag](w, e) {
			w.tags.Remove(e)
		} else {
			w.tags.Assign(e, &tag{})
		}
	case 4:
		if !t.id.IsZero() {
			_ = w.s.list.Of(w.s.net.Server.Server, t.id).Append(w.r.Uint32()) // fails if the list is full
		}
	default:
		w.values(e)
	}
}

// values changes values of an entity.
func (w *world) values(e ecs.Entity) {
	if has[spot](w, e) {
		s := w.spots.Get(e)
		s.X, s.Y = s.X+.25*float32(w.r.IntN(4)), s.Y-.25
	}
	if has[turn](w, e) {
		s := w.turns.Get(e)
		s.Q[w.r.IntN(4)] += .05
		s.Yaw, s.On, s.Axis = w.r.Float32(), !s.On, w.r.Float32()*2-1
	}
	if has[exact](w, e) {
		s := w.exacts.Get(e)
		s.F, s.D, s.N, s.U, s.B, s.H = w.r.Float32(), w.r.Float64(), w.r.Int64(), w.r.Uint32(), uint8(w.r.IntN(256)), float32(w.r.IntN(64))/4
	}
	if has[names](w, e) {
		*w.named.Get(e) = names{E: w.whom(), N: int16(w.r.IntN(100))}
	}
	if has[slow](w, e) {
		w.slows.Get(e).V++
	}
}

// own gives an entity to an honest client or to nobody. The new owner may see its secret.
func (w *world) own(t *thing) {
	id := w.s.someone(w.r)
	if !has[components.Owner](w, t.Entity) {
		w.owners.Assign(t.Entity, &components.Owner{})
	}
	w.owners.Get(t.Entity).Client = id
	t.owner = uint32(id) // The client may write and leave before writes runs again.
	if has[secret](w, t.Entity) {
		w.secrets.Get(t.Entity).Of = uint32(id)
	}
}

// press gives a group a new stamp. Clients must always see the same stamp in all its entities.
func (w *world) press() {
	group := 1 + w.r.Uint32N(12)
	w.next++
	w.stamps[group] = w.next
	for _, t := range w.all {
		if t.group == group {
			w.stamped.Get(t.Entity).V = w.next
		}
	}
}

// ownerOf returns the owner of an entity, 0 for none.
func (w *world) ownerOf(t *thing) uint32 {
	if !has[components.Owner](w, t.Entity) {
		return 0
	}
	return uint32(w.owners.Get(t.Entity).Client)
}

// targets returns some entities with a component written by clients, for liars that may not write it.
func (w *world) targets(count int) (ids []netcode.NetworkID) {
	for range 4 * count {
		if t := w.all[w.r.IntN(len(w.all))]; len(ids) < count && !t.id.IsZero() && has[mine](w, t.Entity) {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// avatar spawns the body of a client.
func (w *world) avatar(id netcode.ClientID) ecs.Entity {
	e := w.born.NewWith(&components.Replicated{})
	bodies := generic.NewMap2[components.Owner, body](w.World)
	bodies.Assign(e, &components.Owner{Client: id}, &body{})
	return e
}

func has[T any](w *world, e ecs.Entity) bool { return ecs.Has(w.World, e, ecs.ComponentID[T](w.World)) }
