package nettest_test

import (
	"math/rand/v2"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/snapshot"
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
	gameChild struct{ ecs.Relation }
	gameJoint struct {
		ecs.Relation
		K int32
	}
	gameSlow  struct{ V int32 }
	gameFirst struct{ V int32 }
	gameMine  struct { // Its owner writes it, in half of the games.
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
	writes bool           // owners write gameMine
	smooth bool           // spots and turns are interpolated
}

func newGameProtocol(writes, smooth, debug bool, hear func(*netcode.Context, *gameWord)) *gameProtocol {
	p := &gameProtocol{Protocol: netcode.NewProtocol(), writes: writes, smooth: smooth}
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
	if writes {
		netcode.Replicate[gameMine](p.Protocol, authority.WrittenBy(authority.OwnerWrites))
	} else {
		netcode.Replicate[gameMine](p.Protocol)
	}
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
