package nettest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

var (
	// Any number of games: go test ./nettest -run TestNothingHiddenChangesADatagram -leaks 1000
	leaks = flag.Int("leaks", 10, "random games of TestNothingHiddenChangesADatagram")
	// One that failed, again: go test ./nettest -run TestNothingHiddenChangesADatagram -leaks 1 -leak-seed N
	leakSeed = flag.Uint64("leak-seed", 1, "seed of the first game; the next has the next number")
)

// TestNothingHiddenChangesADatagram is TestNothingHiddenChangesAByte of package snapshot for all of it: a server and its world,
// a client under test, another one that sees everything, and at times one that joins. Each random game is played twice. The first client's sight is the
// same both times; what it may not is another each time: the components and the births and deaths of hidden entities, whom they
// name, their groups, parents and collections, what is said about them and to whom, and which of them a visible entity, a message or an
// element of a collection names. Every datagram to that client has to be the same, byte by byte and at the same time, and so has all
// that it can ask of its own end, and all that the server says about it.
//
// Two things may show all the same, and so they are the same both times. Network indexes are handed out in order: hidden entities are
// born and die at the same times as long as visible ones are born after. Some figures count all clients together: Stats of the
// server, its limits (SECURITY.md). ClientStats.Waiting counts messages about entities that are still to come in the form in which they
// were sent; no client is told of it. The entities that these messages name are taken out when the messages leave.
func TestNothingHiddenChangesADatagram(t *testing.T) {
	met := leakMet{}
	count := *leaks
	if testing.Short() {
		count = min(count, 3)
	}
	for n := range uint64(count) {
		seed := *leakSeed + n
		one, other := playLeak(t, seed, 0, -1, met), playLeak(t, seed, 1, -1, met)
		if at := one.differs(other); at >= 0 {
			a, b := playLeak(t, seed, 0, at, leakMet{}), playLeak(t, seed, 1, at, leakMet{})
			t.Fatalf("-leaks 1 -leak-seed %d: number %d of %d and %d is\n%s\nand\n%s\n%s", seed, at, len(one.told), len(other.told),
				a.shown, b.shown, strings.Join(a.trace, "\n"))
		}
		met["datagrams"] += len(one.told)
	}
	t.Log(met)
	if testing.Short() {
		return
	}
	if *leaks >= 10 {
		for _, what := range []string{"births", "hidden births", "hidden deaths", "own writes", "answers", "refusals", "messages", "hidden messages",
			"collections", "hidden collections", "blind aims", "hidden components", "hides", "shows", "lost", "others that join", "hidden inputs"} {
			require.NotZero(t, met[what], "no game met: %s", what)
		}
	}
}

// leakMet counts what games met.
type leakMet map[string]int

// leakTold is all that a client was told and could ask, as hashes, and one of these in full.
type leakTold struct {
	told  []uint64
	shown string
	trace []string
}

// tell notes one thing; at is the number of the one that is to be shown.
func (l *leakTold) tell(at int, what string, show func() string) {
	if len(l.told) == at {
		l.shown = what + "\n" + show()
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(what))
	l.told = append(l.told, hash.Sum64())
}

// differs is the number of the first thing that differs, -1 where nothing does.
func (l *leakTold) differs(m *leakTold) int {
	for i := range min(len(l.told), len(m.told)) {
		if l.told[i] != m.told[i] {
			return i
		}
	}
	if len(l.told) != len(m.told) {
		return min(len(l.told), len(m.told))
	}
	return -1
}

// playLeak plays one of the two games of a seed.
func playLeak(t *testing.T, seed, which uint64, show int, met leakMet) *leakTold {
	g := newLeakGame(t, seed, which, met)
	told := &leakTold{}
	n := g.net
	n.OnSend(func(_, to transport.Addr, datagram []byte) {
		if to == g.address() {
			told.tell(show, fmt.Sprintf("at %v: %x", n.Now(), datagram), func() string { return string(inspect.AppendClientDump(nil, n.Clients[0].Client, datagram)) })
		}
	})
	for range 60 {
		n.Step()
	}
	require.True(t, n.RunUntil(5*time.Second, n.Connected))
	n.SetLinks(n.Clients[0], g.down, g.up)
	n.SetLinks(n.Clients[1], bad(g.secret.Float64()/2), bad(g.secret.Float64()/2))
	g.began = n.Frame() + 1
	third := g.began + g.secret.IntN(2*g.frames)
	for n.Frame() < g.began+g.frames {
		if n.Step(); n.Frame() == third {
			n.Join()
			met["others that join"]++
		}
		if n.Frame()%4 == 0 {
			told.tell(show, g.known(n.Clients[0]), func() string { return "" })
		}
	}
	met["lost"] += int(n.Clients[0].Stats().Packets.Lost)
	told.trace = g.trace
	return told
}

// known is all that a client can ask of its end, and what the server says about it.
func (g *leakGame) known(c *nettest.Client) string {
	var b strings.Builder
	fmt.Fprintf(&b, "frame %d: %+v\n", g.net.Frame(), c.Stats())
	for e := range c.Replica().All {
		fmt.Fprintf(&b, "%+v", e)
		for row := range c.Replica().Schema().Rows() {
			at, ok := c.Replica().RowAt(e.ID.Index, row, e.Tick)
			before, okBefore := c.Replica().RowAt(e.ID.Index, row, e.Tick-5)
			fmt.Fprintf(&b, " %v %v %v %v %v", c.Replica().Row(e.ID.Index, row), at, ok, before, okBefore)
		}
		fmt.Fprintf(&b, " %v %v\n", elements(g.list.Of(c.Client, e.ID)), g.set.Of(c.Client, e.ID).Len())
	}
	stats, ok := g.net.Server.ClientStats(c.ID())
	stats.Waiting = 0
	fmt.Fprintf(&b, "%v %+v\n%v", ok, stats, g.heard)
	return b.String()
}

// leakDeliveries is all modes in which messages are sent.
var leakDeliveries = [...]wire.Delivery{netcode.Unreliable, netcode.UnreliableSequenced, netcode.Reliable, netcode.ReliableOrdered}

func leakHow(r *rand.Rand) []netcode.Option {
	return []netcode.Option{netcode.Over(leakDeliveries[r.IntN(len(leakDeliveries))]), netcode.OnChannel(r.IntN(3))}
}

// nobody is an id that the client reads as nobody: that of one whom it never sees, or none.
func (g *leakGame) nobody() (id netcode.NetworkID) {
	if e := g.some(g.secret, isSecret); e != nil && g.secret.IntN(3) > 0 {
		return e.id
	}
	return id
}

// say sends messages that the client gets, and changes collections that it sees: of those that name somebody some name one whom the
// client does not see, another one in each game.
func (g *leakGame) say() {
	s, e := g.net.Server.Server, g.some(g.open, func(e *leakEntity) bool { return isOpen(e) && isSeen(e) })
	if e == nil {
		return
	}
	of, blind := e.id, g.open.IntN(2) == 0
	if blind {
		of = g.nobody()
	}
	how := leakHow(g.open)
	if g.open.IntN(2) == 0 {
		how = append(how, netcode.About(e.id))
	}
	to := []netcode.Recipient{netcode.To(1), netcode.ToAll(), netcode.ToSeers(e.id)}[g.open.IntN(3)]
	if netcode.Send(s, to, &leakWord{Number: g.open.Uint32(), Of: of}, how...) == nil {
		g.met["messages"]++
	}
	list, marks := g.list.Of(s, e.id), g.set.Of(s, e.id)
	switch g.open.IntN(5) {
	case 0:
		_ = list.Clear()
	case 1:
		if list.Len() > 0 {
			_ = list.Remove(g.open.IntN(list.Len()))
		}
	case 2:
		_ = marks.Add(g.open.Uint32N(20))
	default:
		if list.Append(thing{Kind: uint16(g.open.IntN(100)), Of: of}) == nil {
			g.met["collections"]++
		}
	}
}

// saySecretly says and changes what the client is not to know of.
func (g *leakGame) saySecretly() {
	s, r := g.net.Server.Server, g.secret
	e := g.some(r, isSecret)
	if e == nil || e.id.IsZero() {
		return
	}
	word := &leakWord{Number: r.Uint32(), Of: e.id}
	switch r.IntN(6) {
	case 0:
		_ = netcode.Send(s, netcode.To(1), word, append(leakHow(r), netcode.About(e.id))...)
	case 1:
		_ = netcode.Send(s, netcode.ToAll(), word, append(leakHow(r), netcode.About(e.id))...)
	case 2:
		_ = netcode.Send(s, netcode.ToSeers(e.id), word, leakHow(r)...)
	case 3:
		_ = netcode.Send(s, netcode.To(2), word, leakHow(r)...)
	case 4:
		_ = netcode.Send(s, netcode.ToOwner(e.id), word, append(leakHow(r), netcode.About(e.id))...)
	case 5:
		list := g.list.Of(s, e.id)
		if list.Append(thing{Kind: uint16(r.IntN(100)), Of: e.id}) == nil {
			g.met["hidden collections"]++
		}
		if r.IntN(4) == 0 {
			_ = list.Clear()
		}
	}
	g.met["hidden messages"]++
}

// play is the server's game in a frame.
func (g *leakGame) play(w *ecs.World, frame int) {
	if g.began == 0 {
		return
	}
	g.births(w, frame-g.began)
	for g.open.IntN(3) > 0 {
		if e := g.some(g.open, isOpen); e != nil {
			g.change(w, e)
		}
	}
	if g.open.IntN(4) == 0 {
		g.say()
	}
	for g.secret.IntN(4) > 0 {
		if e := g.some(g.secret, isSecret); e != nil {
			g.changeSecret(w, e)
		}
		if e := g.some(g.secret, isOpen); e != nil {
			g.blindly(w, e)
		}
		if g.secret.IntN(3) == 0 {
			g.saySecretly()
		}
	}
}

// births has entities born and die: hidden ones at the same times in both games, until no visible one is born any more.
func (g *leakGame) births(w *ecs.World, frame int) {
	alone := frame > g.alone
	if frame > g.alone+4 && frame%2 == 1 {
		switch g.secret.IntN(6) {
		case 0:
			g.birth(w, true, g.secret)
		case 1:
			g.death(w, g.some(g.secret, isSecret))
		}
		return
	}
	if frame%4 != 0 { // so that each capture has one at most
		return
	}
	switch what := g.open.IntN(8); {
	case !alone && (what < 2 || frame < 40):
		g.birth(w, g.open.IntN(3) == 0, g.open)
	case what == 3:
		g.death(w, g.some(g.open, isOpen))
	case what == 4 && !alone:
		g.death(w, g.some(g.open, isSecret))
	}
}

func (g *leakGame) birth(w *ecs.World, secret bool, r *rand.Rand) {
	if len(g.all) > 24 && r == g.open || len(g.all) > 34 {
		return
	}
	bodies := generic.NewMap2[components.Replicated, position](w)
	e := &leakEntity{Entity: bodies.New(), secret: secret, hidden: secret}
	g.byEntity[e.Entity] = e
	g.all = append(g.all, e)
	g.note("birth of %v, secret %v", e.Entity, secret)
	if secret {
		g.met["hidden births"]++
		g.changeSecret(w, e)
		return
	}
	g.met["births"]++
	set(w, e.Entity, position{X: g.open.Float32()})
	if g.open.IntN(3) == 0 {
		set(w, e.Entity, components.Rate{Every: 3})
		e.rated = true
	}
	if g.open.IntN(2) == 0 {
		set(w, e.Entity, components.Owner{Client: netcode.ClientID(1 + g.open.IntN(2))})
		set(w, e.Entity, leakMine{})
	}
}

func (g *leakGame) death(w *ecs.World, e *leakEntity) {
	if e == nil || e.id.IsZero() {
		return
	}
	if e.secret {
		g.met["hidden deaths"]++
	}
	g.note("death of %v", e.id)
	g.all = slices.DeleteFunc(g.all, func(f *leakEntity) bool { return f == e })
	delete(g.byEntity, e.Entity)
	w.RemoveEntity(e.Entity)
}

// change does to an entity what the client may see, or might if it saw the entity.
func (g *leakGame) change(w *ecs.World, e *leakEntity) {
	what := g.open.IntN(14)
	g.note("%v is changed %d", e.id, what)
	switch what {
	case 0:
		if e.hidden = !e.hidden; e.hidden {
			g.met["hides"]++
		} else {
			g.met["shows"]++
		}
		g.note("%v hidden %v", e.id, e.hidden)
		g.sight(e)
	case 1:
		set(w, e.Entity, frozen{})
	case 2:
		lose[frozen](w, e.Entity)
	case 3, 4:
		set(w, e.Entity, grouping(g.open.IntN(4)))
	case 5:
		set(w, e.Entity, components.Priority{Weight: float32(1 + g.open.IntN(3))})
	case 6, 7:
		if e.blind = g.open.IntN(2) == 0; e.blind {
			g.aim(w, e, nil)
			return
		}
		g.aim(w, e, g.some(g.open, isOpen))
	case 8:
		hang(w, e.Entity, ecs.Entity{})
	case 9:
		lose[health](w, e.Entity)
	case 10, 11:
		set(w, e.Entity, health{Points: int32(g.open.IntN(100))})
	default:
		set(w, e.Entity, position{X: g.open.Float32() * 60, Y: g.open.Float32() * 60})
	}
}

// aim has an entity name another one, or nobody.
func (g *leakGame) aim(w *ecs.World, e, at *leakEntity) {
	to := ecs.Entity{}
	if at != nil {
		to = at.Entity
	}
	set(w, e.Entity, aim{At: to})
	if g.open.IntN(3) == 0 && to != e.Entity && !e.blind {
		hang(w, e.Entity, ecs.Entity{})
	}
}

// blindly does to an entity that the client may see what it may not see of it.
func (g *leakGame) blindly(w *ecs.World, e *leakEntity) {
	if g.policy != nil {
		g.met["hidden components"]++
		if g.secret.IntN(3) == 0 {
			lose[leakSecret](w, e.Entity)
		} else {
			set(w, e.Entity, leakSecret{Marker: g.secret.Uint32()})
		}
	}
	if !e.blind || !ecs.Has(w, e.Entity, ecs.ComponentID[aim](w)) {
		return
	}
	g.met["blind aims"]++
	to := ecs.Entity{}
	if at := g.some(g.secret, isSecret); at != nil && g.secret.IntN(4) > 0 {
		to = at.Entity
	}
	g.note("  secret %v names %v", e.id, to)
	set(w, e.Entity, aim{At: to})
	if ecs.Has(w, e.Entity, ecs.ComponentID[leakChild](w)) {
		ecs.SetTarget(w, e.Entity, ecs.ComponentID[leakChild](w), to)
	}
}

// changeSecret does to an entity that the client never sees all that there is to do.
func (g *leakGame) changeSecret(w *ecs.World, e *leakEntity) {
	r := g.secret
	switch r.IntN(12) {
	case 0:
		set(w, e.Entity, frozen{})
	case 1:
		lose[frozen](w, e.Entity)
	case 2, 3:
		set(w, e.Entity, grouping(r.IntN(4)))
	case 4:
		set(w, e.Entity, components.Priority{Weight: float32(1 + r.IntN(3))})
		set(w, e.Entity, components.Rate{Every: uint16(r.IntN(4))})
	case 5:
		set(w, e.Entity, components.Owner{Client: netcode.ClientID(r.IntN(4))}) // 3 is the one who joins
		set(w, e.Entity, leakMine{Course: r.Int32()})
	case 6:
		if at := g.some(r, func(*leakEntity) bool { return true }); at != nil {
			set(w, e.Entity, aim{At: at.Entity})
		}
	case 7:
		if at := g.some(r, isOpen); at != nil {
			hang(w, e.Entity, at.Entity)
		}
	case 8:
		lose[health](w, e.Entity)
	default:
		set(w, e.Entity, health{Points: r.Int32()})
		set(w, e.Entity, position{X: r.Float32() * 60})
	}
}

// The components and messages of the game beside those of other tests.
type (
	leakSecret struct{ Marker uint32 } // The client under test may not see it of anybody.
	leakMine   struct{ Course int32 }  // Its owner writes it.
	leakChild  generic.Tie
	leakStick  struct{ X, Y int16 } // What a player does who has hidden entities alone.
	leakWord   struct {
		Number uint32
		Of     netcode.NetworkID `net:"entity"`
	}
	leakQuery struct {
		Number uint32
		Of     netcode.NetworkID `net:"entity"`
	}
	leakReply struct {
		Number uint32
		Of     netcode.NetworkID `net:"entity"`
	}
)

// leakEntity is an entity of the game.
type leakEntity struct {
	ecs.Entity
	id     netcode.NetworkID // zero until the first capture
	secret bool              // the client under test never sees it
	hidden bool              // the client does not see it now
	rated  bool
	blind  bool // it names somebody whom the client does not see, or nobody
}

// leakGame is one of two games that are the same to client 0.
type leakGame struct {
	*shelf
	t         *testing.T
	met       leakMet
	net       *nettest.Net
	which     uint64
	open      *rand.Rand // the same in both
	secret    *rand.Rand // another in each
	policy    *interest.Explicit
	down, up  transport.Link
	began     int
	frames    int
	alone     int // from this frame on no visible entity is born
	all       []*leakEntity
	heard     []string
	trace     []string
	byEntity  map[ecs.Entity]*leakEntity
	last      int // frame of the last birth or death: one for each capture, so that indexes are handed out alike
	questions uint32
}

func newLeakGame(t *testing.T, seed, which uint64, met leakMet) *leakGame {
	g := &leakGame{
		shelf: newShelf(), t: t, met: met, which: which, byEntity: map[ecs.Entity]*leakEntity{},
		open: rand.New(rand.NewPCG(seed, 1)), secret: rand.New(rand.NewPCG(seed, 2+which)), frames: 240,
	}
	p := g.protocol
	netcode.Replicate[aim](p)
	netcode.Replicate[leakSecret](p)
	netcode.Replicate[leakChild](p)
	netcode.Replicate[leakMine](p, authority.WrittenBy(authority.OwnerWrites))
	netcode.Handle(p, func(ctx *netcode.Context, m *leakWord) {
		if ctx.Local == 1 {
			g.heard = append(g.heard, fmt.Sprint(*m, ctx.Entity))
		}
	})
	netcode.Answer(p, func(ctx *netcode.Context, q *leakQuery, r *leakReply) error {
		r.Number, r.Of = q.Number, q.Of
		if q.Of.IsZero() || !g.net.Server.Visible(ctx.Sender, q.Of) {
			return errors.New("nobody")
		}
		return nil
	}, netcode.FromClient())
	input.Register[leakStick](p)
	input.Relay[leakStick](p)
	g.alone = g.frames/3 + g.open.IntN(g.frames/3)
	g.link()
	config := netcode.Config{SendBudget: []int{-1, -1, 3000}[g.open.IntN(3)]}
	if g.open.IntN(3) > 0 {
		g.policy = interest.NewExplicit()
	}
	g.net = nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: seed, Server: config, Game: g.play, Setup: g.setUp,
		SetupClient: func(i int, c *systems.ClientSystems, w *ecs.World) {
			if i == 0 {
				c.Add(tick.Update, &leakPlayer{g: g, c: c, random: rand.New(rand.NewPCG(seed, 9))})
			}
			if i >= 2 {
				c.Add(tick.Update, call(func() { g.actSecretly(c.Client) }))
			}
		},
	})
	return g
}

// link chooses what the network does to the client under test.
func (g *leakGame) link() {
	of := func() transport.Link {
		return transport.Link{
			Delay: []time.Duration{0, 30, 90}[g.open.IntN(3)] * time.Millisecond, Jitter: 20 * time.Millisecond,
			Loss: []float64{0, .1, .4}[g.open.IntN(3)], Duplicate: .1, Reorder: .1,
		}
	}
	g.down, g.up = of(), of()
}

func (g *leakGame) address() transport.Addr {
	stats, _ := g.net.Server.ClientStats(1)
	return stats.Address
}

// setUp hides what is to be hidden: by a policy, or as soon as it is born.
func (g *leakGame) setUp(s *systems.ServerSystems, _ *ecs.World) {
	if g.policy != nil {
		hidden := interest.MaskOf[leakSecret](g.protocol.Schema())
		s.Server.SetInterest(interest.New(interest.NewRows(g.policy, func(_ *snapshot.Store, client netcode.ClientID, _ netcode.NetworkID) snapshot.Mask {
			if client == 1 {
				return hidden.Not()
			}
			return snapshot.AllRows()
		}), interest.Despawn))
	}
	s.OnSpawn(func(e ecs.Entity, id netcode.NetworkID) {
		at := g.byEntity[e]
		at.id = id
		if g.policy != nil {
			g.policy.Show(2, id)
		}
		g.sight(at)
	})
}

// actSecretly has a player of hidden entities act.
func (g *leakGame) actSecretly(c *netcode.Client) {
	if c.State() != netcode.Connected || g.began == 0 {
		return
	}
	_ = input.Set(c, &leakStick{int16(g.secret.Uint32()), int16(g.secret.Uint32())})
	for _, e := range g.all {
		if e.secret && g.net.Server.Owner(e.id) == c.ID() {
			g.met["hidden inputs"]++
			return
		}
	}
}

// sight has the client see an entity, or not.
func (g *leakGame) sight(e *leakEntity) {
	switch {
	case e.id.IsZero():
	case g.policy == nil && e.hidden:
		g.net.Server.Hide(1, e.id)
	case g.policy == nil:
		g.net.Server.Show(1, e.id)
	case e.hidden:
		g.policy.Hide(1, e.id)
	default:
		g.policy.Show(1, e.id)
	}
}

func (g *leakGame) note(format string, args ...any) {
	g.trace = append(g.trace, fmt.Sprintf("frame %d ", g.net.Frame())+fmt.Sprintf(format, args...))
}

// some chooses an entity with a property, nil where there is none.
func (g *leakGame) some(r *rand.Rand, of func(e *leakEntity) bool) *leakEntity {
	all := slices.DeleteFunc(slices.Clone(g.all), func(e *leakEntity) bool { return !of(e) })
	if len(all) == 0 {
		return nil
	}
	return all[r.IntN(len(all))]
}

func isSecret(e *leakEntity) bool { return e.secret }
func isOpen(e *leakEntity) bool   { return !e.secret }
func isSeen(e *leakEntity) bool   { return !e.hidden && !e.id.IsZero() }

// leakPlayer is the game at the client under test: it goes by what it sees alone.
type leakPlayer struct {
	g      *leakGame
	c      *systems.ClientSystems
	random *rand.Rand
}

func (p *leakPlayer) Initialize(*ecs.World) {}
func (p *leakPlayer) Finalize(*ecs.World)   {}

// Update writes what is its own, and asks about anybody, also by ids that it guesses.
func (p *leakPlayer) Update(w *ecs.World) {
	g, client := p.g, p.c.Client
	if client.State() != netcode.Connected || g.began == 0 {
		return
	}
	mine := generic.NewFilter1[leakMine]().Query(w)
	for mine.Next() {
		if id, ok := p.c.ID(mine.Entity()); ok && authority.MayWrite[leakMine](client, id) && p.random.IntN(3) == 0 {
			mine.Get().Course = int32(p.random.IntN(1000))
			g.met["own writes"]++
		}
	}
	if p.random.IntN(6) > 0 {
		return
	}
	g.questions++
	id := netcode.NetworkID{Index: uint32(p.random.IntN(30)), Generation: 1 + uint32(p.random.IntN(2))}
	var how []netcode.Option
	if p.random.IntN(3) == 0 {
		how = append(how, netcode.About(id))
	}
	number := g.questions
	err := netcode.Call(context.Background(), client, 0, &leakQuery{Number: number, Of: id}, func(r *leakReply, err error) {
		if err == nil {
			g.met["answers"]++
			g.heard = append(g.heard, fmt.Sprint(number, *r))
			return
		}
		g.met["refusals"]++
		g.heard = append(g.heard, fmt.Sprint(number, err))
	}, how...)
	if err != nil {
		g.heard = append(g.heard, fmt.Sprint(number, err))
	}
	_ = netcode.Send(client, netcode.ToServer(), &leakWord{Number: number, Of: id}, how...)
	_ = authority.Ask(client, id)
}

// set gives an entity a component, which it may have already.
func set[T any](w *ecs.World, e ecs.Entity, value T) {
	m := generic.NewMap1[T](w)
	if !ecs.Has(w, e, ecs.ComponentID[T](w)) {
		m.Assign(e, &value)
		return
	}
	*m.Get(e) = value
}

// lose takes a component from an entity, if it has it.
func lose[T any](w *ecs.World, e ecs.Entity) {
	if ecs.Has(w, e, ecs.ComponentID[T](w)) {
		m := generic.NewMap1[T](w)
		m.Remove(e)
	}
}

// hang makes an entity the child of another one, or of nobody.
func hang(w *ecs.World, e, parent ecs.Entity) { hangBy[leakChild](w, e, parent) }

// hangBy is hang with a relation of any type.
func hangBy[T any](w *ecs.World, e, parent ecs.Entity) {
	id := ecs.ComponentID[T](w)
	if !ecs.Has(w, e, id) {
		ecs.Exchange(w, e, []ecs.ID{id}, nil, nil)
	}
	ecs.SetTarget(w, e, id, parent)
}

// grouping puts an entity into a group.
func grouping(id int) components.Group { return components.Group{ID: uint32(id)} }
