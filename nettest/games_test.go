package nettest_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/errs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

var (
	// Any number of games: go test ./nettest -run TestGames -games 1000
	games = flag.Int("games", 16, "random games of TestGames")
	// One that failed, again: go test ./nettest -run TestGames -games 1 -game-seed N
	gameSeed = flag.Uint64("game-seed", 1, "seed of the first game; the next has the next number")
)

// TestGames plays whole random games through the public API: a server and clients with worlds of their own, over bad links, that join, leave,
// sleep and connect anew, with all that entities can be and all that can be done to them. Beside them goes a dumb model of what each
// client must see. At all times each entity at a client is what it was at the server in the tick as of which it is known, as far as it
// was visible; what observers and hooks tell is exactly what is another in the client's world than in the frame before; what changes
// together in a group is seen together; messages come once, and in order where that was promised; where nothing bounds what is sent, what
// changed is known soon; and the account of all bytes adds up. When links have healed and nothing changes any more, each client's world,
// collections and messages are what they must be, and a recording plays what was. The same seed sends the same bytes.
func TestGames(t *testing.T) {
	met := map[string]int{}
	count := *games
	if testing.Short() {
		count = min(count, 4)
	}
	play := func(seed uint64, met map[string]int) (hash uint64) {
		ok := t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { hash = playMatch(t, seed, met) }) // Its end frees the game.
		require.True(t, ok)
		return hash
	}
	for n := range uint64(count) {
		seed := *gameSeed + n
		hash := play(seed, met)
		if n == 0 || *games > 16 && n%8 == 0 {
			require.Equal(t, hash, play(seed, map[string]int{}), "-games 1 -game-seed %d: the same seed sends other bytes", seed)
		}
	}
	t.Log(met)
	if count < 16 {
		return
	}
	for _, deed := range gameDeeds() {
		require.NotZero(t, met[deed.name], "no game met: %s", deed.name)
	}
	for _, what := range []string{
		"spawn hooks", "despawn hooks", "changes", "groups", "own writes", "corrections", "rights taken for a tick", "rights lent", "rights asked for", "rights released", "scribbles", "meddling", "words heard", "fresh", "ticks replayed",
		"values as of a tick", "joins", "new connections", "closes", "sleeps", "blackouts", "kills",
	} {
		require.NotZero(t, met[what], "no game met: %s", what)
	}
	require.Equal(t, ecs.SeveralRelations, met["two relations"] > 0, ecs.Name)
}

// match is a game.
type match struct {
	t         *testing.T
	seed      uint64
	r         *rand.Rand
	rights    *rand.Rand // of changeRights: the rest of a game is as without it
	met       map[string]int
	net       *nettest.Net
	protocol  *gameProtocol
	world     *gameWorld // the server's
	sight     *gameSight
	players   []*gamePlayer
	all       []*gameEntity
	worldless []*gameEntity
	past      map[netcode.Tick]*gamePast
	kept      map[netcode.NetworkID]*gameKept
	tape      gameTape
	talks     gameTalks
	stamps    map[uint32]uint32 // by group
	stamp     uint32
	deeds     []gameDeed
	weights   int
	most      int  // entities
	rates     bool // some travel more rarely
	meddling  bool // clients do to their worlds what they like
	playing   bool
	oversize  bool          // some group was larger than a packet
	prompt    bool          // nothing bounds what is sent
	calm      time.Duration // when something befell the links last
}

// hold fails the game unless what must be so is.
func (g *match) hold(ok bool, what ...any) {
	if !ok {
		g.t.Helper()
		require.FailNow(g.t, fmt.Sprintf("-games 1 -game-seed %d: tick %d: %s", g.seed, g.net.Server.Tick(), fmt.Sprintln(what...)))
	}
}

func newMatch(t *testing.T, seed uint64, met map[string]int) *match {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...int) int { return of[r.IntN(len(of))] }
	one := func(in int) bool { return r.IntN(in) == 0 }
	g := &match{
		t: t, seed: seed, r: r, rights: rand.New(rand.NewPCG(seed, 3)), met: met, past: map[netcode.Tick]*gamePast{}, kept: map[netcode.NetworkID]*gameKept{},
		talks: newGameTalks(), stamps: map[uint32]uint32{}, deeds: gameDeeds(), most: pick(6, 12, 24, 40), rates: one(3), meddling: one(3),
	}
	for _, deed := range g.deeds {
		g.weights += deed.weight
	}
	g.protocol = newGameProtocol(one(2), g.rights.IntN(2) == 0, one(5), one(6), g.hear)
	g.sight = newGameSight(gameWay(r.IntN(int(gameWays))), g.protocol)
	_ = one(5) // keeps the draws of older seeds
	server := netcode.Config{
		TickRate: pick(20, 30, 60), Window: pick(64, 64, 128), SentPackets: pick(64, 256, 1024), PacketSize: pick(256, 400, 1200, 1200),
		SendBudget: pick(-1, -1, 6<<10, 64<<10), Entities: pick(1, 16, 1024), NoRepeat: one(4), HistoryBytes: pick(1<<16, 128<<20, 128<<20),
	}
	_ = one(3) // keeps the draws of older seeds
	g.prompt = server.SendBudget < 0 && server.SentPackets > 64 && g.sight.way < wayRows
	g.net = nettest.New(t, nettest.Config{
		Protocol: g.protocol.Protocol, Clients: 2, Seed: seed, Server: server, Client: netcode.Config{SentPackets: server.SentPackets},
		Setup: g.setUp,
		SetupClient: func(i int, c *systems.ClientSystems, w *ecs.World) {
			g.players = append(g.players, newGamePlayer(g, i, c, w))
		},
	})
	g.net.OnSend(g.account)
	return g
}

func (g *match) setUp(s *systems.ServerSystems, w *ecs.World) {
	g.world = newGameWorld(w)
	g.sight.setUp(s)
	s.Server.OnError(func(err error) {
		if _, ok := err.(*errs.GroupError); ok {
			g.oversize = true
		}
	})
	s.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		for _, f := range g.all {
			if f.Entity == e {
				f.id = id
				g.sight.born(id, g.r)
			}
		}
	})
	authority.OnAsk(s.Server, func(netcode.ClientID, netcode.NetworkID) bool { return g.rights.IntN(4) > 0 })
	s.Add(tick.Update, systems.Func(func(*ecs.World) {
		if g.playing && s.Server.TickDue() {
			g.tick()
		}
	}))
	s.Add(tick.PostLateUpdate, systems.Func(func(*ecs.World) { g.remember() }))
}

// account adds up where the bytes of a datagram to a client went.
func (g *match) account(from, to transport.Addr, datagram []byte) {
	if from != g.net.Address() {
		return
	}
	for _, p := range g.players {
		stats, ok := g.net.Server.ClientStats(p.ID())
		if !ok || stats.Address != to {
			continue
		}
		p.sums.Add(p.c.Client, datagram)
		p.bytes += uint64(len(datagram))
		p.hold(p.sums.Bytes == p.bytes && p.sums.Total() == 8*p.bytes, "of", p.bytes, "bytes", p.sums.Bytes, "and", p.sums.Total(), "bits are accounted for")
	}
}

// indexes is beyond every network index that the game has used.
func (g *match) indexes() int {
	most := uint32(0)
	for id := range g.kept {
		most = max(most, id.Index)
	}
	return int(most) + 8
}

// playMatch plays a game and returns a hash of all that was sent.
func playMatch(t *testing.T, seed uint64, met map[string]int) uint64 {
	g := newMatch(t, seed, met)
	g.net.SetLink(gameLink{delay: 20 * time.Millisecond}.link())
	for range 30 {
		g.net.Step()
	}
	if g.r.IntN(3) == 0 {
		g.tape.start(g)
	}
	for range 2 {
		g.phase()
		g.settle()
	}
	g.tape.replay(g)
	return g.net.TraceHash()
}

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
	if g.protocol.writes {
		g.changeRights()
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
		if ecs.Has(w.World, e.Entity, w.id[partSpot]) {
			at := gameAt[gameSpot](w, e.Entity, w.id[partSpot])
			at.X, at.Y = at.X+0.25*float32(g.r.IntN(4)), at.Y-0.25
		}
		if ecs.Has(w.World, e.Entity, w.id[partTurn]) {
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
	e := &gameEntity{Entity: ecs.Spawn(w.World, nil, ids...)}
	*gameAt[gameSpot](w, e.Entity, w.id[partSpot]) = gameSpot{X: float32(r.IntN(400)) / 4}
	if ecs.Has(w.World, e.Entity, w.id[partTurn]) {
		*gameAt[gameTurn](w, e.Entity, w.id[partTurn]) = gameTurn{Q: [4]float32{0, 0, 0, 1}, HP: 100}
	}
	if ecs.Has(w.World, e.Entity, w.id[partNames]) {
		gameAt[gameNames](w, e.Entity, w.id[partNames]).E = whom
	}
	if ecs.Has(w.World, e.Entity, w.id[partFirst]) {
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
	if part == partTurn && ecs.Has(w.World, e.Entity, w.id[part]) {
		*gameAt[gameTurn](w, e.Entity, w.id[part]) = gameTurn{Q: [4]float32{0, 0, 0, 1}, HP: 1}
	}
}

func (g *match) changeValue(e *gameEntity) {
	w := g.world
	if ecs.Has(w.World, e.Entity, w.id[partExact]) {
		exact := gameAt[gameExact](w, e.Entity, w.id[partExact])
		*exact = drawExact(g.r, *exact)
	}
	if ecs.Has(w.World, e.Entity, w.id[partSlow]) {
		gameAt[gameSlow](w, e.Entity, w.id[partSlow]).V++
	}
	if ecs.Has(w.World, e.Entity, w.id[partMine]) && !g.protocol.writes {
		*gameAt[gameMine](w, e.Entity, w.id[partMine]) = drawMine(g.r)
	}
	if ecs.Has(w.World, e.Entity, w.id[partTurn]) {
		gameAt[gameTurn](w, e.Entity, w.id[partTurn]).On = g.r.IntN(2) == 0
	}
}

func (g *match) changeNames(e *gameEntity) {
	if w := g.world; ecs.Has(w.World, e.Entity, w.id[partNames]) {
		names := gameAt[gameNames](w, e.Entity, w.id[partNames])
		names.E, names.N = g.whom(), names.N+int32(g.r.IntN(2))
	}
}

// changeRelation hangs an entity on another one, or takes it off. Circles are not for it.
func (g *match) changeRelation(e *gameEntity) {
	w := g.world
	part, off := partChild+g.r.IntN(2), g.r.IntN(3) == 0
	for _, has := range []int{partChild, partJoint} {
		if !ecs.SeveralRelations && ecs.Has(w.World, e.Entity, w.id[has]) {
			part = has
		}
	}
	to, id := g.whom(), w.id[part]
	switch {
	case off && ecs.Has(w.World, e.Entity, id):
		ecs.Exchange(w.World, e.Entity, nil, []ecs.ID{id}, nil)
		return
	case g.leads(to, e.Entity, id):
	case ecs.Has(w.World, e.Entity, id):
		ecs.SetTarget(w.World, e.Entity, id, to)
	default:
		ecs.Exchange(w.World, e.Entity, []ecs.ID{id}, nil, nil)
		ecs.SetTarget(w.World, e.Entity, id, to)
	}
	if ecs.Has(w.World, e.Entity, w.id[partChild]) && ecs.Has(w.World, e.Entity, w.id[partJoint]) {
		g.met["two relations"]++
	}
	if ecs.Has(w.World, e.Entity, w.id[partJoint]) {
		gameAt[gameJoint](w, e.Entity, w.id[partJoint]).K++
	}
}

// leads reports whether relations of a component lead from one entity to another.
func (g *match) leads(from, to ecs.Entity, relation ecs.ID) bool {
	w := g.world
	for !from.IsZero() && from != to && w.Alive(from) && ecs.Has(w.World, from, relation) {
		from = ecs.Target(w.World, from, relation)
	}
	return from == to
}

// changeGroup puts an entity into a group of four at most, or takes it out.
func (g *match) changeGroup(e *gameEntity) {
	w := g.world
	stamp := gameAt[gameStamp](w, e.Entity, w.id[partStamp])
	if e.group != 0 {
		e.group, stamp.V = 0, 0
		ecs.Exchange(w.World, e.Entity, nil, []ecs.ID{w.id[partGroup]}, nil)
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
		ecs.Exchange(w.World, e.Entity, []ecs.ID{w.id[partGroup]}, nil, nil)
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
	if ecs.Has(w.World, e.Entity, w.owner) && g.r.IntN(3) == 0 {
		ecs.Exchange(w.World, e.Entity, nil, []ecs.ID{w.owner}, nil)
		return
	}
	if !ecs.Has(w.World, e.Entity, w.owner) {
		ecs.Exchange(w.World, e.Entity, []ecs.ID{w.owner}, nil, nil)
	}
	gameAt[components.Owner](w, e.Entity, w.owner).Client = g.someClient()
}

func (g *match) changePriority(e *gameEntity) {
	w := g.world
	w.toggle(e.Entity, w.priority)
	if ecs.Has(w.World, e.Entity, w.priority) {
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
	if ecs.Has(w.World, e.Entity, w.rate) {
		gameAt[components.Rate](w, e.Entity, w.rate).Every = uint16(g.r.IntN(8))
	}
}

// copyEntity has a copy go on in place of an entity, under its id.
func (g *match) copyEntity(e *gameEntity) {
	w := g.world
	if e.id.IsZero() || g.r.IntN(2) == 0 || ecs.Has(w.World, e.Entity, w.id[partChild]) || ecs.Has(w.World, e.Entity, w.id[partJoint]) {
		return
	}
	v, r := w.value(e.Entity), *gameAt[components.Replicated](w, e.Entity, w.replicated)
	if r.ID.IsZero() {
		return // it was given back empty since the last capture: a copy of that is another entity
	}
	f := ecs.Spawn(w.World, nil, w.replicated)
	*gameAt[components.Replicated](w, f, w.replicated) = r
	for part := range v {
		if v[part] != nil {
			ecs.Exchange(w.World, f, []ecs.ID{w.id[part]}, nil, nil)
		}
	}
	w.put(f, &v)
	w.RemoveEntity(e.Entity)
	e.Entity, e.from = f, g.net.Server.Tick()
}

// put writes the parts of a value to an entity that has the same parts. None of them is a relation.
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
	ecs.Exchange(w.World, e.Entity, nil, []ecs.ID{w.replicated}, nil)
	ecs.Exchange(w.World, e.Entity, []ecs.ID{w.replicated}, nil, nil)
	if e.from == g.net.Server.Tick() || g.r.IntN(2) == 0 {
		*gameAt[components.Replicated](w, e.Entity, w.replicated) = was
	}
}

// batch gives many entities a component at once, or takes it.
func (g *match) batch(*gameEntity) {
	w := g.world
	spot, slow := w.id[partSpot], w.id[partSlow]
	if g.r.IntN(2) == 0 {
		for _, e := range w.where(ecs.All(spot, slow).Without()) {
			ecs.Exchange(w.World, e, nil, []ecs.ID{slow}, nil)
		}
	} else {
		for _, e := range w.where(ecs.All(spot).Without(slow)) {
			ecs.Exchange(w.World, e, []ecs.ID{slow}, nil, nil)
		}
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

// differs says in what a client is not yet what it must be once nothing changes and nothing is lost, "" if in nothing.
func (p *gamePlayer) differs() string {
	if !p.connected() {
		return fmt.Sprintf("it is %v: %v", p.c.Client.State(), p.c.Client.Err())
	}
	want := map[netcode.NetworkID]bool{}
	for _, e := range p.g.everybody() {
		parts, visible := p.g.sight.sees(p.ID(), p.g.world, e.Entity, e.id)
		if visible != p.g.net.Server.Visible(p.ID(), e.id) {
			return fmt.Sprintf("the server says that %v is visible: %v", e.id, !visible)
		}
		if !visible {
			want[e.id] = p.g.sight.way == wayKeep
			continue
		}
		want[e.id] = true
		if what := p.entityDiffers(e, parts); what != "" {
			return fmt.Sprintf("%v: %s", e.id, what)
		}
		if what := p.thingsDiffer(e); what != "" {
			return fmt.Sprintf("%v: %s", e.id, what)
		}
	}
	for id := range p.sorted {
		if !want[id] {
			return fmt.Sprintf("%v is there", id)
		}
	}
	for id := range p.lists {
		if !want[id] {
			return fmt.Sprintf("the list of %v is there", id)
		}
	}
	return p.wordsMissing()
}

// entityDiffers says in what an entity that a client may see is another there.
func (p *gamePlayer) entityDiffers(e *gameEntity, parts partMask) string {
	local, here := p.c.Entity(e.id)
	if !here || !p.w.Alive(local) {
		return "it is not there"
	}
	v, is := p.g.value(e), p.w.value(local)
	for part := range v {
		if !parts.has(part) {
			v[part] = nil
		}
		switch x := v[part].(type) {
		case gameNames:
			x.E = p.local(x.E)
			v[part] = x
		case gameAim:
			x.To = p.local(x.To)
			v[part] = x
		}
		if turn, ok := is[part].(gameTurn); ok {
			turn.Note = 0
			is[part] = turn
		}
		if !samePart(part, v[part], is[part]) {
			return fmt.Sprintf("part %d should be %v and is %v", part, v[part], is[part])
		}
	}
	return ""
}

// Entities that are in no world at the server, but only said to it: Spawn, Put, Remove and Despawn.

// value is the state of an entity at the server.
func (g *match) value(e *gameEntity) gameValue {
	if e.said != nil {
		return *e.said
	}
	return g.world.value(e.Entity)
}

// everybody is the entities of the server's world and those of none.
func (g *match) everybody() []*gameEntity { return slices.Concat(g.all, g.worldless) }

// sayOne has an entity of no world born, changed or gone.
func (g *match) sayOne(*gameEntity) {
	s := g.net.Server.Server
	if len(g.worldless) < 4 && g.r.IntN(2) == 0 {
		e := &gameEntity{id: s.Spawn(), said: &gameValue{}}
		e.said[partFirst] = gameFirst{g.r.Int32()}
		g.put(netcode.Put(s, e.id, &gameFirst{e.said[partFirst].(gameFirst).V}))
		g.worldless = append(g.worldless, e)
		g.sight.born(e.id, g.r)
	}
	if len(g.worldless) == 0 {
		return
	}
	i := g.r.IntN(len(g.worldless))
	e := g.worldless[i]
	switch g.r.IntN(8) {
	case 0:
		g.hold(s.Despawn(e.id), e.id, "is not there to despawn")
		g.worldless = slices.Delete(g.worldless, i, i+1)
	case 1:
		if e.said[partExact] != nil {
			g.put(netcode.Remove[gameExact](s, e.id))
			e.said[partExact] = nil
		}
	case 2, 3:
		v := drawExact(g.r, gameExact{})
		g.put(netcode.Put(s, e.id, &v))
		e.said[partExact] = v
	case 4:
		g.changeThings(e)
	case 5:
		if c := g.someClient(); c != 0 {
			g.sight.change(c, e.id, g.r)
		}
	default:
		v := gameSpot{X: float32(g.r.IntN(400)) / 4}
		g.put(netcode.Put(s, e.id, &v))
		e.said[partSpot] = v
	}
}

func (g *match) put(err error) { g.hold(err == nil, "what was said of an entity of no world:", err) }
