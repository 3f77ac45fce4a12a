package nettest_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/inspect"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
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
	c.Add(tick.Update, p)
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
	ecs.Exchange(p.w.World, e, []ecs.ID{p.w.sprite}, nil, nil)
	*gameAt[gameSprite](p.w, e, p.w.sprite) = gameSprite{id, p.sprite}
	p.g.met["spawn hooks"]++
}

func (p *gamePlayer) despawned(e ecs.Entity, id netcode.NetworkID) {
	p.g.hold(p.alive[e] == id && p.w.Alive(e), "client", p.i, "is told of the despawn of", id, e, "which is", p.alive[e])
	p.g.hold(ecs.Has(p.w.World, e, p.w.sprite) && gameAt[gameSprite](p.w, e, p.w.sprite).ID == id, "client", p.i, id, "has lost what is the client's")
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

// write writes what is the client's to write, and at times asks for a right or releases one, also in the frame of a write.
func (p *gamePlayer) write() {
	for id, e := range p.sorted {
		if p.g.protocol.lent && p.r.IntN(16) == 0 && !authority.MayWrite[gameMine](p.c.Client, id) {
			p.g.met["rights asked for"]++
			p.g.hold(authority.Ask(p.c.Client, id) == nil, "client", p.i, "cannot ask for", id)
		}
		if p.g.protocol.lent && p.r.IntN(16) == 0 && authority.MayWrite[gameMine](p.c.Client, id) {
			defer func() {
				p.g.met["rights released"]++
				p.g.hold(authority.Release(p.c.Client, id) == nil, "client", p.i, "cannot release", id)
			}()
		}
		if ecs.Has(p.w.World, e, p.w.id[partMine]) && authority.MayWrite[gameMine](p.c.Client, id) && p.r.IntN(4) == 0 {
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
			ecs.Spawn(w.World, nil, w.id[partSpot], w.id[partStamp])
			for _, e := range w.where(ecs.All(w.id[partSpot]).Without(w.replicated)) {
				w.RemoveEntity(e)
			}
		case 3:
			if ecs.Has(w.World, e, w.id[partTurn]) {
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
	if !ecs.Has(w.World, e, w.id[part]) {
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

// gameLink is the behaviour of the network for a while.
type gameLink struct {
	delay, jitter time.Duration
	loss, others  float64
}

func (l gameLink) link() transport.Link {
	return transport.Link{Delay: l.delay, Jitter: l.jitter, Loss: l.loss, Duplicate: l.others, Reorder: l.others}
}

// bound is within what time what changed is known at a client, where nothing bounds what is sent: a way, or with losses what
// nettest gives clients to converge.
func (l gameLink) bound() time.Duration {
	if l.loss == 0 && l.others == 0 {
		return l.delay + l.jitter + 100*time.Millisecond
	}
	return 2*time.Second + 8*l.delay + 4*l.jitter
}

func (g *match) someLink() gameLink {
	l := gameLink{delay: time.Duration(g.r.IntN(120)) * time.Millisecond, jitter: time.Duration(g.r.IntN(60)) * time.Millisecond}
	l.jitter = min(l.jitter, l.delay)
	switch g.r.IntN(4) {
	case 1:
		l.loss, l.others = 0.05, 0.05
	case 2:
		l.loss, l.others = 0.3, 0.2
	case 3:
		l.loss = 0.6
	}
	return l
}

// phase plays for a while over a link of some kind, clients coming and going.
func (g *match) phase() {
	g.playing = true
	link := g.someLink()
	g.net.SetLink(link.link())
	eventful, down := g.r.IntN(3) > 0, false
	g.calm = g.net.Now()
	for range 80 + g.r.IntN(160) {
		g.net.Step()
		g.wake()
		if eventful && g.r.IntN(60) == 0 {
			down = g.event(link) || down
		}
		if down && g.r.IntN(30) == 0 {
			down, g.calm = false, g.net.Now()+gameRecovery
			g.net.SetLink(link.link())
		}
		if g.prompt && !down && link.loss < 0.5 && g.net.Now()-g.calm > link.bound() {
			g.fresh(link.bound())
		}
	}
	g.playing = false
}

// wake lets those go on who have slept.
func (g *match) wake() {
	for _, p := range g.players {
		if p.sleep > 0 {
			if p.sleep--; p.sleep == 0 {
				p.calm = g.net.Now()
				g.net.Wake(p.end())
			}
		}
	}
}

// event is something that befalls clients. It reports whether the links are down from now on.
func (g *match) event(link gameLink) (down bool) {
	p := g.players[g.r.IntN(len(g.players))]
	if !p.end().Running() {
		return false
	}
	p.calm = g.net.Now()
	switch g.r.IntN(8) {
	case 0, 1:
		if len(g.players) < 5 {
			g.met["joins"]++
			g.net.Join()
		}
	case 2:
		g.met["new connections"]++
		_ = p.c.Client.Connect(g.net.Address())
	case 3:
		g.met["sleeps"]++
		p.sleep = 1 + g.r.IntN(80)
		g.net.Suspend(p.end())
	case 4:
		g.met["blackouts"]++
		dark := link.link()
		dark.Down = true
		g.net.SetLink(dark)
		return true
	case 5:
		if p.connected() {
			g.met["resyncs"]++
			p.end().Replica().Lose()
			p.calm += 2 * time.Second // the server resyncs a client once in so long
		}
	case 6:
		g.met["closes"]++
		p.c.Client.Close()
	case 7:
		if len(g.players) > 2 && g.r.IntN(2) == 0 {
			g.met["kills"]++
			g.net.Kill(p.end())
		}
	}
	return false
}

// settle heals the links, has everybody connect, and gives clients time to be what they must be.
func (g *match) settle() {
	g.net.SetLink(gameLink{delay: 30 * time.Millisecond}.link())
	what := ""
	settled := g.net.RunUntil(20*time.Second, func() bool {
		g.wake()
		for _, p := range g.players {
			if p.end().Running() && p.c.Client.State() == netcode.Disconnected {
				_ = p.c.Client.Connect(g.net.Address())
			}
		}
		if g.net.Frame()%10 == 0 {
			what = g.differs()
		}
		return g.net.Frame()%10 == 0 && what == ""
	})
	g.hold(settled, what)
}

// differs tells which client is not yet what it must be.
func (g *match) differs() string {
	for _, p := range g.players {
		if !p.end().Running() {
			continue
		}
		if what := p.differs(); what != "" {
			return fmt.Sprintf("client %d: %s", p.i, what)
		}
	}
	if err := g.net.CheckConverge(); err != nil { // what was captured, to the bit
		return err.Error()
	}
	return ""
}

// gameWorld is a world of a game, at either end, and how its parts are called there.
type gameWorld struct {
	*ecs.World
	id                          [gameParts]ecs.ID
	replicated                  ecs.ID
	owner, priority, rate, hurt ecs.ID // hurt is nobody's but the game's at that end
	sprite                      ecs.ID
}

// where lists the entities that a selection matches.
func (w *gameWorld) where(s ecs.Selection) (list []ecs.Entity) {
	for query := ecs.Select(w.World, &s); query.Next(); {
		list = append(list, query.Entity())
	}
	return list
}

// gameHurt and gameSprite are not sent.
type (
	gameHurt   struct{}
	gameSprite struct {
		ID netcode.NetworkID
		N  int64
	}
)

func newGameWorld(w *ecs.World) *gameWorld {
	return &gameWorld{
		World: w, replicated: ecs.ComponentID[components.Replicated](w), owner: ecs.ComponentID[components.Owner](w),
		priority: ecs.ComponentID[components.Priority](w), rate: ecs.ComponentID[components.Rate](w),
		hurt: ecs.ComponentID[gameHurt](w), sprite: ecs.ComponentID[gameSprite](w),
		id: [gameParts]ecs.ID{
			ecs.ComponentID[gameSpot](w), ecs.ComponentID[gameTurn](w), ecs.ComponentID[gameExact](w), ecs.ComponentID[gameNames](w),
			ecs.ComponentID[gameStamp](w), ecs.ComponentID[gameTag](w), ecs.ComponentID[gameChild](w), ecs.ComponentID[gameJoint](w),
			ecs.ComponentID[gameSlow](w), ecs.ComponentID[gameFirst](w), ecs.ComponentID[gameMine](w), ecs.ComponentID[components.Group](w),
		},
	}
}

// gameAt is a component of an entity that has it.
func gameAt[T any](w *gameWorld, e ecs.Entity, id ecs.ID) *T { return (*T)(ecs.Get(w.World, e, id)) }

// value is the state of an entity.
func (w *gameWorld) value(e ecs.Entity) (v gameValue) {
	mask := ecs.MaskOf(w.World, e)
	for part, id := range w.id {
		if mask.Get(id) {
			v[part] = w.part(e, part)
		}
	}
	return v
}

// part is a component that an entity has.
func (w *gameWorld) part(e ecs.Entity, part int) any {
	id := w.id[part]
	switch part {
	case partSpot:
		return *gameAt[gameSpot](w, e, id)
	case partTurn:
		return *gameAt[gameTurn](w, e, id)
	case partExact:
		return *gameAt[gameExact](w, e, id)
	case partNames:
		return *gameAt[gameNames](w, e, id)
	case partStamp:
		return *gameAt[gameStamp](w, e, id)
	case partTag:
		return gameTag{}
	case partChild:
		return gameAim{To: ecs.Target(w.World, e, id)}
	case partJoint:
		return gameAim{K: gameAt[gameJoint](w, e, id).K, To: ecs.Target(w.World, e, id)}
	case partSlow:
		return *gameAt[gameSlow](w, e, id)
	case partFirst:
		return *gameAt[gameFirst](w, e, id)
	case partMine:
		return *gameAt[gameMine](w, e, id)
	}
	return *gameAt[components.Group](w, e, id)
}

// each calls for every entity of the world that is sent.
func (w *gameWorld) each(call func(e ecs.Entity, id netcode.NetworkID)) {
	query := ecs.Select(w.World, ecs.All(w.replicated))
	for query.Next() {
		call(query.Entity(), (*components.Replicated)(query.Get(w.replicated)).ID)
	}
}

// toggle takes a component from an entity, or gives it one.
func (w *gameWorld) toggle(e ecs.Entity, id ecs.ID) {
	if ecs.Has(w.World, e, id) {
		ecs.Exchange(w.World, e, nil, []ecs.ID{id}, nil)
	} else {
		ecs.Exchange(w.World, e, []ecs.ID{id}, nil, nil)
	}
}

// gamePast is the server's world as of a tick, and who was to see what of it.
type gamePast struct {
	values map[netcode.NetworkID]gameValue
	sight  map[netcode.ClientID]map[netcode.NetworkID]partMask
}

// gameKept is the model's knowledge of an entity since some tick.
type gameKept struct {
	changes []netcode.Tick                    // its birth and when it was another than in the tick before
	seen    map[netcode.ClientID]netcode.Tick // since when a client sees it, without a break
	paced   bool
}

// remember takes in what a tick has captured.
func (g *match) remember() {
	tick := g.net.Server.Store().Tick()
	if g.past[tick] != nil || len(g.all) == 0 {
		return
	}
	now, before := &gamePast{values: map[netcode.NetworkID]gameValue{}, sight: map[netcode.ClientID]map[netcode.NetworkID]partMask{}}, g.past[tick-1]
	for c := range g.net.Server.Clients {
		now.sight[c] = map[netcode.NetworkID]partMask{}
	}
	for _, e := range g.everybody() {
		if e.id.IsZero() {
			continue
		}
		v := g.value(e)
		now.values[e.id] = v
		kept := g.kept[e.id]
		if kept == nil {
			kept = &gameKept{changes: []netcode.Tick{tick}, seen: map[netcode.ClientID]netcode.Tick{}}
			g.kept[e.id] = kept
		}
		kept.paced = kept.paced || e.paced
		if before != nil {
			was, ok := before.values[e.id]
			if other := was.parts() ^ v.parts() | was.differing(&v); ok && other&^(pacedParts|namingParts|1<<partMine) != 0 {
				kept.changes = append(kept.changes, tick)
			}
		}
		for c, sight := range now.sight {
			parts, visible := g.sight.sees(c, g.world, e.Entity, e.id)
			if !visible {
				delete(kept.seen, c)
				continue
			}
			sight[e.id] = parts
			if _, since := kept.seen[c]; !since {
				kept.seen[c] = tick
			}
		}
	}
	g.past[tick] = now
	g.tape.remember(g.net.Server.Server)
}

// asOf compares each entity of a client with the server's entity in the tick that the client knows. The client has all that
// it may see and nothing else. Entities that are named may have come or gone since.
func (p *gamePlayer) asOf() {
	for e := range p.end().Replica().All {
		past := p.g.past[e.Tick]
		local, here := p.c.Entity(e.ID)
		if past == nil || !here || p.g.kept[e.ID].paced {
			continue
		}
		v, born := past.values[e.ID]
		parts, visible := past.sight[p.ID()][e.ID]
		p.hold(born && visible, e.ID, "is known as of", e.Tick, "when it was there:", born, "and visible:", visible)
		is := p.w.value(local)
		p.hold(is.parts() == v.parts()&parts, e.ID, "had as of", e.Tick, "parts", v.parts(), "of which visible", parts, "and has", is.parts())
		skip := pacedParts | namingParts
		if p.g.protocol.writes {
			skip |= 1 << partMine
		}
		for part := range is {
			if is[part] == nil || skip.has(part) {
				continue
			}
			if turn, ok := is[part].(gameTurn); ok {
				turn.Note = 0
				is[part] = turn
			}
			p.hold(samePart(part, v[part], is[part]), e.ID, "part", part, "as of", e.Tick, "was", v[part], "and is", is[part])
			p.g.met["values as of a tick"]++
		}
	}
}

// gameRecovery is the time for a client that slept, came anew or has lost its past.
const gameRecovery = time.Second

// fresh holds clients to knowing what changed some time ago, where nothing bounds what may be sent.
func (g *match) fresh(within time.Duration) {
	now := g.net.Server.Store().Tick()
	ago := netcode.Tick(within/g.net.Server.Interval()) + 3
	if now <= ago || g.past[now-ago] == nil {
		return
	}
	for _, p := range g.players {
		if !p.end().Running() || !p.connected() || p.sleep > 0 || g.net.Now()-p.calm <= within+gameRecovery || g.past[now-ago].sight[p.ID()] == nil {
			continue
		}
		for id := range g.past[now].values {
			kept := g.kept[id]
			since, visible := kept.seen[p.ID()]
			if !visible || since > now-ago || kept.paced {
				continue
			}
			changed := netcode.Tick(0)
			for _, tick := range kept.changes {
				if tick <= now-ago {
					changed = tick
				}
			}
			e := p.end().Replica().Entity(id.Index)
			p.hold(e.ID == id && e.Tick >= changed, id, "changed at", changed, "and is seen since", since, "but known as of", e.Tick, "at", now)
			g.met["fresh"]++
		}
	}
}

// local returns a server's entity as it is at a client.
func (p *gamePlayer) local(e ecs.Entity) ecs.Entity {
	if e.IsZero() || !p.g.world.Alive(e) {
		return ecs.Entity{}
	}
	for _, f := range p.g.all {
		if f.Entity != e {
			continue
		}
		if _, visible := p.g.sight.sees(p.ID(), p.g.world, f.Entity, f.id); visible {
			local, _ := p.c.Entity(f.id)
			return local
		}
	}
	return ecs.Entity{}
}

// gameWord is a message of a game, numbered by its talk.
type gameWord struct {
	Mode   uint8 // of delivery, by gameModes
	ToAll  bool
	Number uint32
}

// gameModes are all modes of delivery.
var gameModes = [...]wire.Delivery{netcode.Unreliable, netcode.UnreliableSequenced, netcode.Reliable, netcode.ReliableOrdered}

// gameTalk has the messages in one direction of a connection and one mode: the client's id is another in each connection.
type gameTalk struct {
	client   netcode.ClientID
	toServer bool
	gameTopic
}

type gameTopic struct {
	mode  uint8
	toAll bool
}

// gameTalks are the sent and the received messages.
type gameTalks struct {
	said  map[gameTalk]uint32
	heard map[gameTalk]map[uint32]bool
	last  map[gameTalk]uint32
	all   [len(gameModes)]uint32 // said to all clients
}

func newGameTalks() gameTalks {
	return gameTalks{said: map[gameTalk]uint32{}, heard: map[gameTalk]map[uint32]bool{}, last: map[gameTalk]uint32{}}
}

// say counts what was sent, and is the next word of a talk.
func (t *gameTalks) say(talk gameTalk, send func(m *gameWord, how ...netcode.Option) error) {
	m := &gameWord{Mode: talk.mode, Number: t.said[talk] + 1}
	if send(m, netcode.Over(gameModes[talk.mode]), netcode.OnChannel(int(talk.mode))) == nil {
		t.said[talk]++
	}
}

// speak has the server say something to a client or to all.
func (g *match) speak(*gameEntity) {
	s, mode := g.net.Server.Server, uint8(g.r.IntN(len(gameModes)))
	c := g.someClient()
	if c == 0 {
		return
	}
	if g.r.IntN(3) == 0 {
		g.talks.all[mode]++
		m := &gameWord{Mode: mode, ToAll: true, Number: g.talks.all[mode]}
		_ = netcode.Send(s, netcode.ToAll(), m, netcode.Over(gameModes[mode]), netcode.OnChannel(int(mode)))
		return
	}
	g.talks.say(gameTalk{c, false, gameTopic{mode, false}}, func(m *gameWord, how ...netcode.Option) error {
		return netcode.Send(s, netcode.To(c), m, how...)
	})
}

// speak has a client say something to the server.
func (p *gamePlayer) speak() {
	talk := gameTalk{p.ID(), true, gameTopic{uint8(p.r.IntN(len(gameModes))), false}}
	p.g.talks.say(talk, func(m *gameWord, how ...netcode.Option) error {
		return netcode.Send(p.c.Client, netcode.ToServer(), m, how...)
	})
}

// hear holds what came to what was promised of its mode: nothing twice, and in order what is in order.
func (g *match) hear(ctx *netcode.Context, m *gameWord) {
	talk := gameTalk{ctx.Local, false, gameTopic{m.Mode, m.ToAll}}
	if ctx.Sender != 0 {
		talk.client, talk.toServer = ctx.Sender, true
	}
	g.hold(ctx.Delivery() == gameModes[m.Mode], talk, m, "of another mode")
	g.heard(talk, m)
}

func (g *match) heard(talk gameTalk, m *gameWord) {
	t := &g.talks
	if t.heard[talk] == nil {
		t.heard[talk] = map[uint32]bool{}
	}
	what := fmt.Sprintf("%+v: number %d after %d", talk, m.Number, t.last[talk])
	g.hold(!t.heard[talk][m.Number], what, "came twice")
	switch gameModes[m.Mode] {
	case netcode.ReliableOrdered:
		g.hold(m.Number == t.last[talk]+1 || m.ToAll && (m.Number > t.last[talk]), what, "out of order")
	case netcode.UnreliableSequenced:
		g.hold(m.Number > t.last[talk], what, "out of order")
	}
	t.heard[talk][m.Number] = true
	t.last[talk] = max(t.last[talk], m.Number)
	g.met["words heard"]++
}

// wordsMissing tells which reliable words to and from a client have not come.
func (p *gamePlayer) wordsMissing() string { return p.g.talks.missing(p.ID()) }

func (t *gameTalks) missing(client netcode.ClientID) string {
	for mode, delivery := range gameModes {
		for _, toServer := range []bool{false, true} {
			talk := gameTalk{client, toServer, gameTopic{uint8(mode), false}}
			if delivery >= netcode.Reliable && len(t.heard[talk]) != int(t.said[talk]) {
				return fmt.Sprintf("of %+v %d were said and %d heard", talk, t.said[talk], len(t.heard[talk]))
			}
		}
	}
	return ""
}
