package nettest_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/wire"
)

// The components of the games. Values are rounded on their way to numbers that float32 holds exactly, so that values can be
// compared as they are; but for rotations, see samePart.
type (
	gameSpot struct {
		X, Y float32 `net:"min=-512,max=512,step=0.25"`
	}
	gameTurn struct {
		Q    [4]float32 `net:"quat,bits=9"`
		HP   int16
		On   bool
		Note uint8 `net:"-"`
	}
	gameExact struct {
		F    float32
		N    int64
		Name wire.Text[[12]byte]
		Bag  wire.List[gameItem, [4]gameItem]
	}
	gameItem struct {
		Kind  uint8 `net:"min=0,max=9"`
		Label wire.Text[[4]byte]
	}
	gameNames struct {
		E ecs.Entity `net:"entity"`
		N int32
	}
	gameStamp struct{ V uint32 } // Alike in all entities of a group.
	gameTag   struct{}
	gameChild generic.Tie
	gameJoint generic.KTie
	gameSlow  struct{ V int32 }
	gameFirst struct{ V int32 }
	gameMine  struct { // A client writes it in half of the games, the owner or one that is named.
		V int32
		X float32 `net:"half"`
		T wire.Text[[12]byte]
	}
)

// The parts of an entity, by which the games know its components: the model's rows.
const (
	partSpot = iota
	partTurn
	partExact
	partNames
	partStamp
	partTag
	partChild
	partJoint
	partSlow
	partFirst
	partMine
	partGroup
	gameParts
)

type (
	// gameValue is all components of an entity as plain values, nil where it has none.
	gameValue [gameParts]any
	// partMask is parts as bits.
	partMask uint16
	// gameAim is a relation and to whom it leads.
	gameAim struct {
		K  int32
		To ecs.Entity
	}
)

const (
	allParts = partMask(1)<<gameParts - 1
	// pacedParts travel more rarely than they change.
	pacedParts = partMask(1)<<partSlow | 1<<partFirst
	// namingParts are those whose value depends on who else is there.
	namingParts = partMask(1)<<partNames | 1<<partChild | 1<<partJoint
)

// drawExact draws a value with texts and a list that differ in parts from the one before.
func drawExact(r *rand.Rand, was gameExact) gameExact {
	was.F, was.N = r.Float32(), r.Int64()
	switch texts := []string{"", "Ann", "Anna", "Änne", "a long name!"}; r.IntN(3) {
	case 0:
		was.Name.Set(texts[r.IntN(len(texts))])
	case 1:
		item := gameItem{Kind: uint8(r.IntN(10))}
		item.Label.Set(texts[r.IntN(4)])
		if n := was.Bag.Len(); !was.Bag.Append(item) {
			was.Bag.Truncate(r.IntN(n))
		}
	default:
		if n := was.Bag.Len(); n > 0 {
			was.Bag.At(r.IntN(n)).Kind = uint8(r.IntN(10))
			was.Bag.Remove(r.IntN(n))
		}
	}
	return was
}

// drawMine draws a value of gameMine.
func drawMine(r *rand.Rand) (v gameMine) {
	v.V, v.X = r.Int32(), float32(r.IntN(100))/2
	v.T.Set([]string{"", "mine", "my own text"}[r.IntN(3)])
	return v
}

func (m partMask) has(part int) bool { return m>>part&1 != 0 }

func (v *gameValue) parts() (m partMask) {
	for i := range v {
		if v[i] != nil {
			m |= 1 << i
		}
	}
	return m
}

// differing is the parts that two values have both and that are not the same.
func (v *gameValue) differing(w *gameValue) (m partMask) {
	for i := range v {
		if v[i] != nil && w[i] != nil && v[i] != w[i] {
			m |= 1 << i
		}
	}
	return m
}

// samePart reports whether a part of the server's has come to be one of a client's. Rotations are rounded, to less than a degree.
func samePart(part int, server, client any) bool {
	if part != partTurn || server == nil || client == nil {
		return server == client
	}
	a, b := server.(gameTurn), client.(gameTurn)
	dot := float32(0)
	for i := range a.Q {
		dot += a.Q[i] * b.Q[i]
	}
	return a.HP == b.HP && a.On == b.On && dot*dot > 0.999
}

// gameProtocol is the protocol of a game.
type gameProtocol struct {
	*netcode.Protocol
	list   *collections.List[uint32]
	set    *collections.Set[uint16]
	table  *collections.Map[uint8, int32]
	rows   [gameParts]int // of the schema
	writes bool           // clients write gameMine
	lent   bool           // those that are named for it do, and not the owners
	smooth bool           // spots and turns are interpolated
}

func newGameProtocol(writes, lent, smooth, debug bool, hear func(*netcode.Context, *gameWord)) *gameProtocol {
	p := &gameProtocol{Protocol: netcode.NewProtocol(), writes: writes, lent: writes && lent, smooth: smooth}
	if smooth {
		interpolate.Register[gameSpot](p.Protocol)
		interpolate.Register[gameTurn](p.Protocol)
	}
	netcode.Replicate[gameSpot](p.Protocol)
	netcode.Replicate[gameTurn](p.Protocol)
	netcode.Replicate[gameExact](p.Protocol)
	netcode.Replicate[gameNames](p.Protocol)
	netcode.Replicate[gameStamp](p.Protocol)
	netcode.Replicate[gameTag](p.Protocol)
	netcode.Replicate[gameChild](p.Protocol)
	netcode.Replicate[gameJoint](p.Protocol)
	netcode.Replicate[gameSlow](p.Protocol, netcode.Every(3))
	netcode.Replicate[gameFirst](p.Protocol, netcode.Once())
	netcode.Replicate[components.Group](p.Protocol)
	writer := authority.ServerWrites
	switch {
	case p.lent:
		writer = authority.NamedWrites
	case writes:
		writer = authority.OwnerWrites
	}
	netcode.Replicate[gameMine](p.Protocol, authority.WrittenBy(writer))
	p.list = collections.NewList[uint32](p.Protocol, "gameList", collections.MaxElements(100))
	p.set = collections.NewSet[uint16](p.Protocol, "gameSet")
	p.table = collections.NewMap[uint8, int32](p.Protocol, "gameTable")
	netcode.Handle(p.Protocol, hear)
	if debug {
		p.Debug()
	}
	s := p.Schema()
	p.rows = [gameParts]int{
		interest.RowOf[gameSpot](s), interest.RowOf[gameTurn](s), interest.RowOf[gameExact](s), interest.RowOf[gameNames](s),
		interest.RowOf[gameStamp](s), interest.RowOf[gameTag](s), interest.RowOf[gameChild](s), interest.RowOf[gameJoint](s),
		interest.RowOf[gameSlow](s), interest.RowOf[gameFirst](s), interest.RowOf[gameMine](s), interest.RowOf[components.Group](s),
	}
	return p
}

// parts is rows of the schema as parts.
func (p *gameProtocol) parts(rows snapshot.Mask) (m partMask) {
	for part, row := range p.rows {
		if rows.Has(row) {
			m |= 1 << part
		}
	}
	return m
}

// gameWay is a game's kind of interest policy.
type gameWay int

const (
	wayHide  gameWay = iota // everything, but for what the server hides
	wayShow                 // what is shown
	wayKeep                 // likewise, and what leaves sight stays as it was
	wayRows                 // what is shown, and of it what components are
	wayRooms                // Entities of the same room, less the components that only their owners see, and own entities.
	gameWays
)

const (
	gameIDs   = 30 // Clients from 1 to here are shown something at birth: there are no more connections than that.
	gameRooms = 3
)

// ownersParts are for the owner's eyes in rooms.
const ownersParts = partMask(1)<<partExact | 1<<partJoint

// gameSight is the model of an interest policy, in plain maps.
type gameSight struct {
	way      gameWay
	server   *netcode.Server
	protocol *gameProtocol
	explicit *interest.Explicit
	refresh  func(netcode.NetworkID)
	rooms    *interest.Rooms
	shown    map[netcode.ClientID]map[netcode.NetworkID]bool // or, with wayHide, what is hidden
	masks    map[netcode.ClientID]map[netcode.NetworkID]partMask
	inRoom   map[netcode.NetworkID][gameRooms]bool
	visits   map[netcode.ClientID][gameRooms]bool
}

func newGameSight(way gameWay, p *gameProtocol) *gameSight {
	return &gameSight{
		way: way, protocol: p, explicit: interest.NewExplicit(), rooms: interest.NewRooms(),
		shown: map[netcode.ClientID]map[netcode.NetworkID]bool{}, masks: map[netcode.ClientID]map[netcode.NetworkID]partMask{},
		inRoom: map[netcode.NetworkID][gameRooms]bool{}, visits: map[netcode.ClientID][gameRooms]bool{},
	}
}

// setUp tells the server.
func (s *gameSight) setUp(server *systems.ServerSystems) {
	s.server = server.Server
	switch s.way {
	case wayHide:
	case wayShow:
		s.server.SetInterest(interest.New(s.explicit, interest.Despawn))
	case wayKeep:
		s.server.SetInterest(interest.New(s.explicit, interest.Keep))
	case wayRows:
		rows := interest.NewRows(s.explicit, func(_ *snapshot.Store, c netcode.ClientID, id netcode.NetworkID) snapshot.Mask {
			return s.protocol.schemaRows(s.partsOf(c, id))
		})
		sight := interest.New(rows, interest.Despawn)
		s.refresh = sight.Refresh
		s.server.SetInterest(sight)
	case wayRooms:
		own := interest.NewOwnerOnly(interest.OwnerConfig{})
		private := interest.OwnerRows(s.protocol.schemaRows(ownersParts))
		s.server.SetInterest(interest.New(interest.NewRows(interest.Any(s.rooms, own), private), interest.Despawn))
	}
}

// schemaRows is parts as rows of the schema.
func (p *gameProtocol) schemaRows(parts partMask) (m snapshot.Mask) {
	for part, row := range p.rows {
		if parts.has(part) {
			m = m.With(row)
		}
	}
	return m
}

// partsOf returns the components of an entity that are shown with wayRows.
func (s *gameSight) partsOf(c netcode.ClientID, id netcode.NetworkID) partMask {
	if m, told := s.masks[c][id]; told {
		return m
	}
	return allParts
}

// born tells who sees an entity from its first tick on.
func (s *gameSight) born(id netcode.NetworkID, r *rand.Rand) {
	if s.way == wayRooms {
		for room := range gameRooms {
			if r.IntN(2) == 0 {
				s.turnRoom(id, room)
			}
		}
		return
	}
	for c := netcode.ClientID(1); c <= gameIDs; c++ {
		if (r.IntN(4) == 0) == (s.way == wayHide) {
			s.turn(c, id)
		}
	}
}

// turn shows a client what it does not see, or hides what it does. With wayHide it is about clients that are there only.
func (s *gameSight) turn(c netcode.ClientID, id netcode.NetworkID) {
	if s.shown[c] == nil {
		s.shown[c] = map[netcode.NetworkID]bool{}
	}
	is := s.shown[c][id]
	switch {
	case s.way == wayHide && is:
		s.server.Show(c, id)
	case s.way == wayHide:
		if !s.server.Hide(c, id) {
			return // no such client
		}
	case is:
		s.explicit.Hide(c, id)
	default:
		s.explicit.Show(c, id)
	}
	s.shown[c][id] = !is
}

func (s *gameSight) turnRoom(id netcode.NetworkID, room int) {
	in := s.inRoom[id]
	if in[room] {
		s.rooms.Remove(id, interest.Room(room))
	} else {
		s.rooms.Add(id, interest.Room(room))
	}
	in[room] = !in[room]
	s.inRoom[id] = in
}

func (s *gameSight) turnVisit(c netcode.ClientID, room int) {
	in := s.visits[c]
	if in[room] {
		s.rooms.Exit(c, interest.Room(room))
	} else {
		s.rooms.Enter(c, interest.Room(room))
	}
	in[room] = !in[room]
	s.visits[c] = in
}

// change has a client see another thing than before.
func (s *gameSight) change(c netcode.ClientID, id netcode.NetworkID, r *rand.Rand) {
	switch {
	case s.way == wayRooms && r.IntN(2) == 0:
		s.turnRoom(id, r.IntN(gameRooms))
	case s.way == wayRooms:
		s.turnVisit(c, r.IntN(gameRooms))
	case s.way == wayRows && r.IntN(2) == 0:
		if s.masks[c] == nil {
			s.masks[c] = map[netcode.NetworkID]partMask{}
		}
		s.masks[c][id] = partMask(r.Uint32()|r.Uint32()) & allParts
		s.refresh(id)
	default:
		s.turn(c, id)
	}
}

// sees returns the components of an entity that a client may see.
func (s *gameSight) sees(c netcode.ClientID, w *gameWorld, e ecs.Entity, id netcode.NetworkID) (parts partMask, visible bool) {
	switch s.way {
	case wayHide:
		return allParts, !s.shown[c][id]
	case wayRooms:
		if !e.IsZero() && ecs.Has(w.World, e, w.owner) && gameAt[components.Owner](w, e, w.owner).Client == c {
			return allParts, true
		}
		in, visits := s.inRoom[id], s.visits[c]
		for room := range gameRooms {
			visible = visible || in[room] && visits[room]
		}
		return allParts &^ ownersParts, visible
	case wayRows:
		return s.partsOf(c, id), s.shown[c][id]
	}
	return allParts, s.shown[c][id]
}

// gameTape is a recording of a game, and what it must say.
type gameTape struct {
	file bytes.Buffer
	stop func() error                              // nil: nothing is recorded
	rows map[netcode.Tick]map[uint32]gameTapedRows // by tick and index
}

// gameTapedRows is an entity on tape: its life and a sum of its rows.
type gameTapedRows struct {
	generation uint32
	mask       snapshot.Mask
	sum        uint64
}

func sumOfRows(mask snapshot.Mask, row func(row int) []uint32) uint64 {
	sum := fnv.New64a()
	for m := mask; !m.IsZero(); m = m.Rest() {
		n := m.Lowest()
		_, _ = fmt.Fprint(sum, n, row(n))
	}
	return sum.Sum64()
}

// start begins to record.
func (t *gameTape) start(g *match) {
	stop, err := record.Start(g.net.Server.Server, &t.file)
	g.hold(err == nil, "Record:", err)
	t.stop, t.rows = stop, map[netcode.Tick]map[uint32]gameTapedRows{}
}

// remember takes in what the server has captured, each few ticks.
func (t *gameTape) remember(s *netcode.Server) {
	store := s.Store()
	if t.stop == nil || store.Tick()%5 != 0 {
		return
	}
	rows := map[uint32]gameTapedRows{}
	for id := range store.All {
		rows[id.Index] = gameTapedRows{id.Generation, store.Mask(id), sumOfRows(store.Mask(id), func(n int) []uint32 { return store.Row(id, n) })}
	}
	t.rows[store.Tick()] = rows
}

// replay reads the recording from its beginning to its end, and from places in it, and compares.
func (t *gameTape) replay(g *match) {
	if t.stop == nil {
		return
	}
	err := t.stop()
	g.hold(err == nil, "the recording ends:", err)
	t.stop = nil
	r, err := record.NewReader(bytes.NewReader(t.file.Bytes()))
	g.hold(err == nil, "the recording begins:", err)
	played := 0
	for {
		tick, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		g.hold(err == nil, "the recording goes on:", err)
		if rows, ok := t.rows[tick]; ok {
			t.compare(g, r, tick, rows)
			played++
		}
	}
	g.hold(played >= len(t.rows)-1, "of", len(t.rows), "ticks", played, "were played")
	ticks := slices.Sorted(maps.Keys(t.rows))
	for range 3 {
		tick := ticks[g.r.IntN(len(ticks)-1)]
		r, err := record.NewReader(bytes.NewReader(t.file.Bytes())) // it goes forward only
		g.hold(err == nil, "the recording begins:", err)
		err = r.Seek(tick)
		g.hold(err == nil, "seek", tick, err)
		for at := netcode.Tick(0); at != tick; { // Seek goes to the chunk that has it
			at, err = r.Next()
			g.hold(err == nil && at <= tick, "after the seek to", tick, "comes", at, err)
		}
		t.compare(g, r, tick, t.rows[tick])
	}
	g.met["ticks replayed"] += played
}

// compare holds the world of the recording to the server's.
func (t *gameTape) compare(g *match, r *record.Reader, tick netcode.Tick, want map[uint32]gameTapedRows) {
	for index := range uint32(g.indexes()) {
		generation, mask := r.Entity(index)
		is := gameTapedRows{generation: generation, mask: mask}
		if generation != 0 {
			is.sum = sumOfRows(mask, func(n int) []uint32 { return r.Row(index, n) })
		}
		was, alive := want[index]
		g.hold(is == was || !alive && generation == 0, "the recording has at index", index, "at tick", tick, is, "and it was", was)
	}
}

// gameThings are the contents of an entity's collections, in plain Go.
type gameThings struct {
	list  []uint32
	set   map[uint16]bool
	table map[uint8]int32
}

// changeThings changes the collections of an entity at the server. A full one refuses, and stays as it is.
func (g *match) changeThings(e *gameEntity) {
	if e.id.IsZero() {
		return
	}
	if e.set == nil {
		e.set, e.table = map[uint16]bool{}, map[uint8]int32{}
	}
	s, r := g.net.Server.Server, g.r
	list, n := g.protocol.list.Of(s, e.id), len(e.list)
	switch what, v := r.IntN(8), r.Uint32(); {
	case what < 4:
		if at := r.IntN(n + 1); list.Insert(at, v) == nil {
			e.list = slices.Insert(e.list, at, v)
		}
	case what == 4 && n > 0:
		if at := r.IntN(n); list.Remove(at) == nil {
			e.list = slices.Delete(e.list, at, at+1)
		}
	case what == 5 && n > 0:
		if at := r.IntN(n); list.Set(at, v) == nil {
			e.list[at] = v
		}
	case what == 6 && r.IntN(5) == 0:
		if list.Clear() == nil {
			e.list = nil
		}
	default:
		for k := range uint32(15) {
			if list.Append(v+k) == nil {
				e.list = append(e.list, v+k)
			}
		}
	}
	set, mark := g.protocol.set.Of(s, e.id), uint16(r.IntN(20))
	if r.IntN(2) == 0 {
		if set.Add(mark) == nil {
			e.set[mark] = true
		}
	} else if set.Remove(mark) == nil {
		delete(e.set, mark)
	}
	table, key := g.protocol.table.Of(s, e.id), uint8(r.IntN(20))
	if v := r.Int32(); r.IntN(3) > 0 {
		if table.Set(key, v) == nil {
			e.table[key] = v
		}
	} else if table.Remove(key) == nil {
		delete(e.table, key)
	}
}

// hearThings keeps the lists of a client as it is told of them.
func (p *gamePlayer) hearThings() {
	list := p.g.protocol.list
	list.OnChange(p.c.Client, func(change collections.ListChange[uint32]) {
		was, known := p.lists[change.Entity]
		told := fmt.Sprintf("client %d is told %+v of its list", p.i, change)
		switch change.What {
		case collections.ChangeWhole:
			was = nil
			for _, v := range list.Of(p.c.Client, change.Entity).All() {
				was = append(was, v)
			}
		case collections.ChangeInserted:
			p.g.hold(change.Index <= len(was), told, len(was))
			was = slices.Insert(was, change.Index, change.Value)
		case collections.ChangeSet:
			p.g.hold(change.Index < len(was) && was[change.Index] == change.Old, told, was)
			was[change.Index] = change.Value
		case collections.ChangeRemoved:
			p.g.hold(change.Index < len(was) && was[change.Index] == change.Value, told, was)
			was = slices.Delete(was, change.Index, change.Index+1)
		case collections.ChangeCleared:
			was = nil
		case collections.ChangeGone:
			p.g.hold(known, told, "which never came")
			delete(p.lists, change.Entity)
			return
		}
		p.lists[change.Entity] = was
	})
}

// thingsDiffer tells what of a visible entity's collections a client has otherwise, or was told otherwise.
func (p *gamePlayer) thingsDiffer(e *gameEntity) string {
	list, set, table := []uint32(nil), map[uint16]bool{}, map[uint8]int32{}
	for _, v := range p.g.protocol.list.Of(p.c.Client, e.id).All() {
		list = append(list, v)
	}
	for v := range p.g.protocol.set.Of(p.c.Client, e.id).All() {
		set[v] = true
	}
	for k, v := range p.g.protocol.table.Of(p.c.Client, e.id).All() {
		table[k] = v
	}
	switch {
	case !slices.Equal(list, e.list):
		return fmt.Sprintf("its list is %v and not %v", list, e.list)
	case !slices.Equal(p.lists[e.id], e.list):
		return fmt.Sprintf("its list was told to be %v and not %v", p.lists[e.id], e.list)
	case !maps.Equal(set, e.set):
		return fmt.Sprintf("its set is %v and not %v", set, e.set)
	case !maps.Equal(table, e.table):
		return fmt.Sprintf("its table is %v and not %v", table, e.table)
	}
	return ""
}

// observe compares a client's world with the frame before: change observers and hooks have told exactly what is another.
func (p *gamePlayer) observe() {
	told := map[netcode.NetworkID]netecs.Change{}
	if p.c.Apply.Applied() {
		for x := range p.c.Changes {
			_, twice := told[x.ID]
			p.hold(!twice, x.ID, "was told of twice")
			told[x.ID] = x
		}
	}
	now := map[netcode.NetworkID]*gameSeen{}
	p.w.each(func(e ecs.Entity, id netcode.NetworkID) {
		p.hold(now[id] == nil, id, "is there twice")
		now[id] = &gameSeen{Entity: e, v: p.w.value(e)}
	})
	for id, is := range now {
		p.hold(p.alive[is.Entity] == id, id, "is there, and was not announced:", p.alive[is.Entity])
		p.hold(gameAt[gameSprite](p.w, is.Entity, p.w.sprite).ID == id, id, "has another's sprite")
		p.compare(id, p.seen[id], is, told)
		if turn, ok := is.v[partTurn].(gameTurn); ok {
			p.hold(p.notes[id] == turn.Note, id, "has another note than the client's:", turn.Note, p.notes[id])
			turn.Note = 0
			is.v[partTurn] = turn
		} else {
			delete(p.notes, id)
		}
	}
	for e, id := range p.alive {
		p.hold(now[id] != nil && now[id].Entity == e, id, "is not there, and its end was not announced")
	}
	for id, was := range p.seen {
		if now[id] == nil || now[id].Entity != was.Entity {
			p.hold(p.left[id] == was.Entity, id, "has gone without a hook")
		}
	}
	for id, x := range told {
		p.hold(now[id] != nil && now[id].Entity == x.Entity, id, "was told of and is not there")
	}
	p.seen = now
	p.groups()
}

// compare holds what was told of an entity to what it is and was.
func (p *gamePlayer) compare(id netcode.NetworkID, was, is *gameSeen, told map[netcode.NetworkID]netecs.Change) {
	x, ok := told[id]
	rows, added, removed := p.g.protocol.parts(x.Rows), p.g.protocol.parts(x.Added), p.g.protocol.parts(x.Removed)
	if was == nil || was.Entity != is.Entity {
		p.hold(ok && x.Spawned && rows == is.v.parts() && added == rows && removed == 0, id, "is new with", is.v.parts(), "and told:", ok, x)
		p.g.met["changes"]++
		return
	}
	before, after := was.v.parts(), is.v.parts()
	p.hold(!x.Spawned, id, "was there and is told as new")
	p.hold(added == after&^before && removed == before&^after, id, "has", after, "and had", before, "told:", x)
	for part := range is.v {
		if is.v[part] == nil || added.has(part) {
			p.hold(rows.has(part) == added.has(part), id, "part", part, "told:", x)
			continue
		}
		v := is.v[part]
		if turn, ok := v.(gameTurn); ok {
			turn.Note = 0
			v = turn
		}
		switch {
		case part == partMine && p.g.protocol.writes:
		case rows.has(part):
			p.hold(v != was.v[part], id, "part", part, "was told of and is as it was:", v)
			p.g.met["changes"]++
		case v == was.v[part]:
		default:
			p.hold(was.wrote[part] == v, id, "part", part, "was not told of and was", was.v[part], "is", v)
			is.v[part], is.wrote[part] = was.v[part], v
		}
	}
}

func (p *gamePlayer) hold(ok bool, what ...any) {
	if !ok {
		p.g.hold(false, append([]any{"client", p.i}, what...)...)
	}
}

// groups holds what changes together in a group to being seen together: where nothing of it is hidden and it is no larger than a packet.
func (p *gamePlayer) groups() {
	stats, known := p.g.net.Server.ClientStats(p.ID())
	if p.torn = p.torn || !known || stats.Snapshot.TornGroups > 0; p.torn || p.g.oversize || p.g.sight.way >= wayKeep {
		return
	}
	stamps := map[uint32]gameStamp{}
	for id, is := range p.seen {
		group, ok := is.v[partGroup].(components.Group)
		if !ok || group.ID == 0 {
			continue
		}
		stamp := is.v[partStamp].(gameStamp)
		if other, ok := stamps[group.ID]; ok {
			if stamp != other {
			}
			p.hold(stamp == other, "group", group.ID, "is torn at", id, stamp, other)
			p.g.met["groups"]++
		}
		stamps[group.ID] = stamp
	}
}
