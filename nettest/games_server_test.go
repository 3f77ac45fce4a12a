package nettest_test

import (
	"slices"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
)

// gameEntity is an entity of the server's game.
type gameEntity struct {
	ecs.Entity
	id    netcode.NetworkID // zero until the first capture
	group uint32
	paced bool         // it has or had a Rate: it is sent more rarely than it changes
	from  netcode.Tick // it is a copy, made then
	said  *gameValue   // what it is, if it is in no world
	gameThings
}

// gameDeeds are the changes that the server's game makes to an entity, and how often.
func gameDeeds() []gameDeed {
	return []gameDeed{
		{2, "births", func(g *match, _ *gameEntity) { g.birth() }},
		{1, "deaths", (*match).death},
		{3, "components", (*match).changeParts},
		{3, "values", (*match).changeValue},
		{3, "names", (*match).changeNames},
		{3, "relations", (*match).changeRelation},
		{3, "groups", (*match).changeGroup},
		{3, "stamps", (*match).changeStamp},
		{4, "sights", (*match).changeSight},
		{2, "owners", (*match).changeOwner},
		{1, "priorities", (*match).changePriority},
		{1, "rates", (*match).changeRate},
		{1, "copies", (*match).copyEntity},
		{1, "given back", (*match).renew},
		{1, "batches", (*match).batch},
		{1, "permutations", (*match).permute},
		{2, "entities of no world", (*match).sayOne},
		{4, "collections", (*match).changeThings},
		{3, "words", (*match).speak},
	}
}

// gameDeed is one of them; its weight against the others' says how often it is done.
type gameDeed struct {
	weight int
	name   string
	do     func(*match, *gameEntity)
}

// tick is the server's game in a network tick.
func (g *match) tick() {
	g.move()
	for range g.r.IntN(7) {
		n := g.r.IntN(g.weights)
		for _, deed := range g.deeds {
			if n -= deed.weight; n >= 0 {
				continue
			}
			e := g.some()
			if e == nil {
				g.birth()
			} else {
				g.met[deed.name]++
				deed.do(g, e)
			}
			break
		}
	}
}

// some is an entity of the game, nil while there is none.
func (g *match) some() *gameEntity {
	if len(g.all) == 0 {
		return nil
	}
	return g.all[g.r.IntN(len(g.all))]
}

// whom is somebody to name, at times nobody.
func (g *match) whom() ecs.Entity {
	if e := g.some(); e != nil && g.r.IntN(6) > 0 {
		return e.Entity
	}
	return ecs.Entity{}
}

// move moves all for a while, and then a few.
func (g *match) move() {
	w := g.world
	all := int(g.net.Server.Tick())/40%2 == 0
	for _, e := range g.all {
		if !all && g.r.IntN(10) > 0 {
			continue
		}
		if w.Has(e.Entity, w.id[partSpot]) {
			at := gameAt[gameSpot](w, e.Entity, w.id[partSpot])
			at.X, at.Y = at.X+0.25*float32(g.r.IntN(4)), at.Y-0.25
		}
		if w.Has(e.Entity, w.id[partTurn]) {
			turn := gameAt[gameTurn](w, e.Entity, w.id[partTurn])
			turn.Q[g.r.IntN(4)] += 0.05
			turn.HP++
		}
	}
}

func (g *match) birth() {
	w, r := g.world, g.r
	if len(g.all) >= g.most {
		return
	}
	ids := []ecs.ID{w.replicated, w.id[partSpot], w.id[partStamp]}
	for _, part := range []int{partTurn, partExact, partNames, partTag, partSlow, partFirst, partMine} {
		if r.IntN(2) == 0 {
			ids = append(ids, w.id[part])
		}
	}
	whom := g.whom()
	e := &gameEntity{Entity: w.NewEntity(ids...)}
	*gameAt[gameSpot](w, e.Entity, w.id[partSpot]) = gameSpot{X: float32(r.IntN(400)) / 4}
	if w.Has(e.Entity, w.id[partTurn]) {
		*gameAt[gameTurn](w, e.Entity, w.id[partTurn]) = gameTurn{Q: [4]float32{0, 0, 0, 1}, HP: 100}
	}
	if w.Has(e.Entity, w.id[partNames]) {
		gameAt[gameNames](w, e.Entity, w.id[partNames]).E = whom
	}
	if w.Has(e.Entity, w.id[partFirst]) {
		gameAt[gameFirst](w, e.Entity, w.id[partFirst]).V = r.Int32()
	}
	g.all = append(g.all, e)
	g.met["born"]++
}

func (g *match) death(e *gameEntity) {
	if len(g.all) > 3 {
		g.all = slices.DeleteFunc(g.all, func(f *gameEntity) bool { return f == e })
		g.world.RemoveEntity(e.Entity)
	}
}

func (g *match) changeParts(e *gameEntity) {
	w := g.world
	part := []int{partSpot, partTurn, partExact, partNames, partTag, partSlow, partMine}[g.r.IntN(7)]
	w.toggle(e.Entity, w.id[part])
	if part == partTurn && w.Has(e.Entity, w.id[part]) {
		*gameAt[gameTurn](w, e.Entity, w.id[part]) = gameTurn{Q: [4]float32{0, 0, 0, 1}, HP: 1}
	}
}

func (g *match) changeValue(e *gameEntity) {
	w := g.world
	if w.Has(e.Entity, w.id[partExact]) {
		exact := gameAt[gameExact](w, e.Entity, w.id[partExact])
		*exact = drawExact(g.r, *exact)
	}
	if w.Has(e.Entity, w.id[partSlow]) {
		gameAt[gameSlow](w, e.Entity, w.id[partSlow]).V++
	}
	if w.Has(e.Entity, w.id[partMine]) && !g.protocol.writes {
		*gameAt[gameMine](w, e.Entity, w.id[partMine]) = drawMine(g.r)
	}
	if w.Has(e.Entity, w.id[partTurn]) {
		gameAt[gameTurn](w, e.Entity, w.id[partTurn]).On = g.r.IntN(2) == 0
	}
}

func (g *match) changeNames(e *gameEntity) {
	if w := g.world; w.Has(e.Entity, w.id[partNames]) {
		names := gameAt[gameNames](w, e.Entity, w.id[partNames])
		names.E, names.N = g.whom(), names.N+int32(g.r.IntN(2))
	}
}

// changeRelation hangs an entity on another one, or takes it off. Circles are not for it.
func (g *match) changeRelation(e *gameEntity) {
	w := g.world
	part := partChild + g.r.IntN(2)
	for _, has := range []int{partChild, partJoint} { // Arche allows one relation for each entity
		if w.Has(e.Entity, w.id[has]) {
			part = has
		}
	}
	to, id := g.whom(), w.id[part]
	switch {
	case w.Has(e.Entity, id) && g.r.IntN(3) == 0:
		w.Remove(e.Entity, id)
		return
	case g.leads(to, e.Entity):
	case w.Has(e.Entity, id):
		w.Relations().Set(e.Entity, id, to)
	default:
		w.Relations().Exchange(e.Entity, []ecs.ID{id}, nil, id, to)
	}
	if w.Has(e.Entity, w.id[partJoint]) {
		gameAt[gameJoint](w, e.Entity, w.id[partJoint]).K++
	}
}

// leads reports whether relations lead from one entity to another.
func (g *match) leads(from, to ecs.Entity) bool {
	w := g.world
	for !from.IsZero() && from != to && w.Alive(from) {
		switch {
		case w.Has(from, w.id[partChild]):
			from = w.Relations().Get(from, w.id[partChild])
		case w.Has(from, w.id[partJoint]):
			from = w.Relations().Get(from, w.id[partJoint])
		default:
			return false
		}
	}
	return from == to
}

// changeGroup puts an entity into a group of four at most, or takes it out.
func (g *match) changeGroup(e *gameEntity) {
	w := g.world
	stamp := gameAt[gameStamp](w, e.Entity, w.id[partStamp])
	if e.group != 0 {
		e.group, stamp.V = 0, 0
		w.Remove(e.Entity, w.id[partGroup])
		return
	}
	group, members := 1+g.r.Uint32N(3), 0
	for _, f := range g.all {
		if f.group == group {
			members++
		}
	}
	if members < 4 && !e.paced { // if one member is sent less often, the whole group is
		e.group, stamp.V = group, g.stamps[group]
		w.Add(e.Entity, w.id[partGroup])
		gameAt[components.Group](w, e.Entity, w.id[partGroup]).ID = group
	}
}

// changeStamp changes something in all of a group in one tick: they are seen together, so it is the same in all of them at all times.
func (g *match) changeStamp(e *gameEntity) {
	if e.group == 0 {
		return
	}
	g.stamp++
	g.stamps[e.group] = g.stamp
	for _, f := range g.all {
		if f.group == e.group {
			gameAt[gameStamp](g.world, f.Entity, g.world.id[partStamp]).V = g.stamp
		}
	}
}

func (g *match) changeSight(e *gameEntity) {
	if c := g.someClient(); c != 0 && !e.id.IsZero() {
		g.sight.change(c, e.id, g.r)
	}
}

// someClient is a client that is connected, 0 while there is none.
func (g *match) someClient() netcode.ClientID {
	ids := slices.Sorted(g.net.Server.Clients)
	if len(ids) == 0 {
		return 0
	}
	return ids[g.r.IntN(len(ids))]
}

func (g *match) changeOwner(e *gameEntity) {
	w := g.world
	if w.Has(e.Entity, w.owner) && g.r.IntN(3) == 0 {
		w.Remove(e.Entity, w.owner)
		return
	}
	if !w.Has(e.Entity, w.owner) {
		w.Add(e.Entity, w.owner)
	}
	gameAt[components.Owner](w, e.Entity, w.owner).Client = g.someClient()
}

func (g *match) changePriority(e *gameEntity) {
	w := g.world
	w.toggle(e.Entity, w.priority)
	if w.Has(e.Entity, w.priority) {
		gameAt[components.Priority](w, e.Entity, w.priority).Weight = g.r.Float32() * 8
	}
}

func (g *match) changeRate(e *gameEntity) {
	w := g.world
	if !g.rates || e.group != 0 {
		return
	}
	e.paced = true
	w.toggle(e.Entity, w.rate)
	if w.Has(e.Entity, w.rate) {
		gameAt[components.Rate](w, e.Entity, w.rate).Every = uint16(g.r.IntN(8))
	}
}

// copyEntity has a copy go on in place of an entity, under its id.
func (g *match) copyEntity(e *gameEntity) {
	w := g.world
	if e.id.IsZero() || g.r.IntN(2) == 0 || w.Has(e.Entity, w.id[partChild]) || w.Has(e.Entity, w.id[partJoint]) {
		return
	}
	v, r := w.value(e.Entity), *gameAt[components.Replicated](w, e.Entity, w.replicated)
	if r.ID.IsZero() {
		return // it was given back empty since the last capture: a copy of that is another entity
	}
	f := w.NewEntity(w.replicated)
	*gameAt[components.Replicated](w, f, w.replicated) = r
	for part := range v {
		if v[part] != nil {
			w.Add(f, w.id[part])
		}
	}
	w.put(f, &v)
	w.RemoveEntity(e.Entity)
	e.Entity, e.from = f, g.net.Server.Tick()
}

// put writes what a value has to an entity that has the same parts, none of which is a relation.
func (w *gameWorld) put(e ecs.Entity, v *gameValue) {
	for part := range v {
		switch x := v[part].(type) {
		case gameSpot:
			*gameAt[gameSpot](w, e, w.id[part]) = x
		case gameTurn:
			*gameAt[gameTurn](w, e, w.id[part]) = x
		case gameExact:
			*gameAt[gameExact](w, e, w.id[part]) = x
		case gameNames:
			*gameAt[gameNames](w, e, w.id[part]) = x
		case gameStamp:
			*gameAt[gameStamp](w, e, w.id[part]) = x
		case gameSlow:
			*gameAt[gameSlow](w, e, w.id[part]) = x
		case gameFirst:
			*gameAt[gameFirst](w, e, w.id[part]) = x
		case gameMine:
			*gameAt[gameMine](w, e, w.id[part]) = x
		case components.Group:
			*gameAt[components.Group](w, e, w.id[part]) = x
		}
	}
}

// renew takes Replicated from an entity and gives it back before a capture has seen that: as it was or empty, it has its id. But a copy of
// which no capture knows has it by its Replicated alone.
func (g *match) renew(e *gameEntity) {
	w := g.world
	if e.id.IsZero() {
		return
	}
	was := *gameAt[components.Replicated](w, e.Entity, w.replicated)
	w.Remove(e.Entity, w.replicated)
	w.Add(e.Entity, w.replicated)
	if e.from == g.net.Server.Tick() || g.r.IntN(2) == 0 {
		*gameAt[components.Replicated](w, e.Entity, w.replicated) = was
	}
}

// batch gives many entities a component at once, or takes it.
func (g *match) batch(*gameEntity) {
	w := g.world
	spot, slow := w.id[partSpot], w.id[partSlow]
	if g.r.IntN(2) == 0 {
		w.Batch().Remove(ecs.All(spot, slow), slow)
	} else {
		w.Batch().Add(&ecs.MaskFilter{Include: ecs.All(spot), Exclude: ecs.All(slow)}, slow)
	}
}

// permute has entities change places in the memory of the world.
func (g *match) permute(*gameEntity) {
	for range 1 + g.r.IntN(4) {
		e := g.some().Entity
		g.world.toggle(e, g.world.hurt)
		g.world.toggle(e, g.world.hurt)
	}
}
