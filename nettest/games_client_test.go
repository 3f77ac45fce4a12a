package nettest_test

import (
	"math/rand/v2"
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
)

// gamePlayer is the game at a client, and what it has seen.
type gamePlayer struct {
	g     *match
	i     int // its place in Net.Clients
	c     *systems.ClientSystems
	w     *gameWorld
	r     *rand.Rand
	sums  *inspect.Attribution
	bytes uint64
	sleep int           // frames that it is still suspended for
	calm  time.Duration // when something befell it last
	torn  bool          // some group was sent in parts, since that did not fit a packet

	alive  map[ecs.Entity]netcode.NetworkID // by the hooks
	left   map[netcode.NetworkID]ecs.Entity // by the hooks of this frame
	sprite int64
	seen   map[netcode.NetworkID]*gameSeen
	notes  map[netcode.NetworkID]uint8 // its own field of gameTurn
	lists  map[netcode.NetworkID][]uint32
}

// gameSeen is an entity as the client's game last saw it.
type gameSeen struct {
	ecs.Entity
	v     gameValue
	wrote gameValue // what the game wrote without a right to, and was not put back yet
}

func newGamePlayer(g *match, i int, c *systems.ClientSystems, w *ecs.World) *gamePlayer {
	p := &gamePlayer{
		g: g, i: i, c: c, w: newGameWorld(w), r: rand.New(rand.NewPCG(g.seed, 100+uint64(i))), sums: inspect.New(g.protocol.Protocol),
		alive: map[ecs.Entity]netcode.NetworkID{}, left: map[netcode.NetworkID]ecs.Entity{},
		seen: map[netcode.NetworkID]*gameSeen{}, notes: map[netcode.NetworkID]uint8{}, lists: map[netcode.NetworkID][]uint32{},
	}
	c.OnSpawn(p.spawned)
	c.OnDespawn(p.despawned)
	p.hearThings()
	c.Add(netcode.StageUpdate, p)
	return p
}

// end is the client among those of the net.
func (p *gamePlayer) end() *nettest.Client { return p.g.net.Clients[p.i] }

func (p *gamePlayer) connected() bool { return p.c.Client.State() == netcode.Connected }

// ID is that of the connection.
func (p *gamePlayer) ID() netcode.ClientID { return p.c.Client.ID() }

// spawned gives an entity a component that is the client's own, as a game gives it a picture.
func (p *gamePlayer) spawned(e ecs.Entity, id netcode.NetworkID) {
	_, here := p.alive[e]
	p.g.hold(!here && p.w.Alive(e), "client", p.i, "is told of the spawn of", id, "as", e, "which is there:", here)
	p.alive[e] = id
	p.sprite++
	p.w.Add(e, p.w.sprite)
	*gameAt[gameSprite](p.w, e, p.w.sprite) = gameSprite{id, p.sprite}
	p.g.met["spawn hooks"]++
}

func (p *gamePlayer) despawned(e ecs.Entity, id netcode.NetworkID) {
	p.g.hold(p.alive[e] == id && p.w.Alive(e), "client", p.i, "is told of the despawn of", id, e, "which is", p.alive[e])
	p.g.hold(p.w.Has(e, p.w.sprite) && gameAt[gameSprite](p.w, e, p.w.sprite).ID == id, "client", p.i, id, "has lost what is the client's")
	delete(p.alive, e)
	delete(p.notes, id)
	p.left[id] = e
	p.g.met["despawn hooks"]++
}

// Initialize implements systems.System.
func (p *gamePlayer) Initialize(*ecs.World) {}

// Finalize implements systems.System.
func (p *gamePlayer) Finalize(*ecs.World) {}

// Update looks at what came, and then plays.
func (p *gamePlayer) Update(*ecs.World) {
	if !p.g.protocol.smooth { // else what left is still drawn for a while
		p.observe()
	}
	if p.connected() && p.g.net.Frame()%3 == 0 {
		p.asOf()
	}
	clear(p.left)
	if !p.connected() || !p.g.playing {
		return
	}
	if p.g.protocol.writes {
		p.write()
	}
	if p.g.meddling && p.r.IntN(3) == 0 {
		p.meddle()
	}
	if p.r.IntN(20) == 0 {
		p.speak()
	}
}

// write writes what is the client's to write.
func (p *gamePlayer) write() {
	for id, e := range p.sorted {
		if p.w.Has(e, p.w.id[partMine]) && authority.MayWrite[gameMine](p.c.Client, id) && p.r.IntN(4) == 0 {
			*gameAt[gameMine](p.w, e, p.w.id[partMine]) = drawMine(p.r)
			p.g.met["own writes"]++
		}
	}
}

// sorted yields the entities of the client that are sent, in the order of its world, in which it may be changed.
func (p *gamePlayer) sorted(yield func(netcode.NetworkID, ecs.Entity) bool) {
	type one struct {
		id netcode.NetworkID
		e  ecs.Entity
	}
	var all []one
	p.w.each(func(e ecs.Entity, id netcode.NetworkID) { all = append(all, one{id, e}) })
	for _, at := range all {
		if !yield(at.id, at.e) {
			return
		}
	}
}

// meddle makes changes that the game of a client may make to its world: components of its own come and go, so that tables are permuted, and it writes
// what is not its to write, and what is not sent.
func (p *gamePlayer) meddle() {
	w, r := p.w, p.r
	for id, e := range p.sorted {
		if r.IntN(8) > 0 {
			continue
		}
		p.g.met["meddling"]++
		switch r.IntN(6) {
		case 0:
			w.toggle(e, w.hurt)
		case 1:
			w.toggle(e, w.hurt)
			w.toggle(e, w.hurt)
		case 2:
			w.NewEntity(w.id[partSpot], w.id[partStamp])
			w.Batch().RemoveEntities(&ecs.MaskFilter{Include: ecs.All(w.id[partSpot]), Exclude: ecs.All(w.replicated)})
		case 3:
			if w.Has(e, w.id[partTurn]) {
				p.notes[id] = uint8(r.IntN(256))
				gameAt[gameTurn](w, e, w.id[partTurn]).Note = p.notes[id]
			}
		default:
			p.scribble(id, e)
		}
	}
}

// scribble writes what is not the client's to write.
func (p *gamePlayer) scribble(id netcode.NetworkID, e ecs.Entity) {
	w, seen := p.w, p.seen[id]
	if seen == nil {
		return
	}
	part := []int{partSpot, partExact, partNames}[p.r.IntN(3)]
	if !w.Has(e, w.id[part]) {
		return
	}
	switch part {
	case partSpot:
		gameAt[gameSpot](w, e, w.id[part]).X = 77
	case partExact:
		gameAt[gameExact](w, e, w.id[part]).N = 77
	case partNames:
		gameAt[gameNames](w, e, w.id[part]).E = e
	}
	seen.wrote[part] = w.part(e, part)
	p.g.met["scribbles"]++
}
