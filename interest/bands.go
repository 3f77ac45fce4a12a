package interest

import (
	"fmt"
	"math"
	"slices"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// BandsConfig configures [Bands]. Schema and Position are required.
type BandsConfig struct {
	// Schema is the protocol's schema. At least one of its components has distance bands (netcode.Bands).
	Schema *snapshot.Schema
	// Position returns the position of an entity. An entity without one is sent in full precision.
	Position Position
	// Keep is the fraction of Band.Beyond below which an entity that comes nearer leaves the band, above 0 and at most 1. It is
	// the hysteresis at the border. Zero means 0.9.
	Keep float32
	// Exact reports whether a client gets an entity in full precision at any distance. Its own entities always are. Exact is
	// called when the distance is measured. nil means no further entities.
	Exact func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) bool
}

// bandsEvery is the number of ticks after which all distances to a client are measured again.
const bandsEvery = 8

// Bands selects the distance bands for the entities of another policy. A client gets components of far entities in coarser steps
// or less often, as the component's option netcode.Bands defines. A distance is measured when an entity comes into sight, when
// its owner changes, and every 8 ticks. A client without a viewpoint gets everything in full precision.
type Bands struct {
	lifetimes
	of     Policy
	config BandsConfig
	levels []level // by ascending distance; the first begins at 0
	store  *snapshot.Store
	owners owners
	places []measured // by index
	looks  perClient[bandsSight]
}

// level is the set of rows, of the components with bands, that clients get beyond a distance.
type level struct {
	beyond float32
	rows   snapshot.Mask
}

// measured is the position of an entity as of a tick.
type measured struct {
	tick    tick.Tick
	at      [3]float64
	nowhere bool
}

// bandsSight is the state of one client.
type bandsSight struct {
	follows wire.NetworkID // entity that the viewpoint follows; zero: none
	at      [3]float64
	looks   bool    // the client has a viewpoint
	fresh   bool    // the viewpoint was set or jumped since the last Refine
	levels  []uint8 // by index: level of each visible entity
}

// NewBands returns a policy that shows the entities of another one. It panics if the schema has no component with bands, or if
// the config is invalid.
func NewBands(of Policy, c BandsConfig) *Bands {
	if c.Keep == 0 {
		c.Keep = 0.9
	}
	switch {
	case c.Schema == nil || c.Position == nil:
		panic("interest: NewBands needs Schema and Position")
	case !(c.Keep > 0 && c.Keep <= 1):
		panic(fmt.Sprintf("interest: NewBands: Keep is above 0 and at most 1, not %v", c.Keep))
	case len(c.Schema.Banded()) == 0:
		panic("interest: NewBands: no component has bands: give netcode.Bands to Replicate")
	}
	return &Bands{of: of, config: c, levels: levelsOf(c.Schema)}
}

// levelsOf returns one level for each distance at which any component has a band.
func levelsOf(schema *snapshot.Schema) (levels []level) {
	begins := []float32{0}
	for _, c := range schema.Banded() {
		for _, band := range c.Bands {
			begins = append(begins, band.Beyond)
		}
	}
	slices.Sort(begins)
	for _, beyond := range slices.Compact(begins) {
		l := level{beyond: beyond}
		for _, c := range schema.Banded() {
			row := c.Row
			for _, band := range c.Bands {
				if band.Beyond <= beyond {
					row = band.Row
				}
			}
			l.rows = l.rows.Union(format.Bit(row))
		}
		levels = append(levels, l)
	}
	return levels
}

// Follow makes an entity the viewpoint of a client. If the entity dies or has no position, the viewpoint stays at its last
// position. The entity may be spawned later.
func (b *Bands) Follow(client wire.ClientID, id wire.NetworkID) {
	v := b.looks.open(client)
	v.follows, v.fresh = id, true
}

// Look makes a point the viewpoint of a client. NaN removes the viewpoint.
func (b *Bands) Look(client wire.ClientID, x, y, z float32) {
	v := b.looks.open(client)
	at := [3]float64{float64(x), float64(y), float64(z)}
	looks := x == x && y == y && z == z
	v.fresh = v.fresh || looks != v.looks || looks && distance(at, v.at) > b.levels[1].beyond
	v.follows, v.looks = wire.NetworkID{}, looks
	if looks {
		v.at = at
	}
}

// distance returns the distance of two points. The conversions keep compilers from fusing multiplication and addition, which
// rounds differently on other machines.
func distance(a, b [3]float64) float32 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return float32(math.Sqrt(float64(x*x) + float64(y*y) + float64(z*z)))
}

// Prepare implements [Policy].
func (b *Bands) Prepare(s *snapshot.Store) {
	b.of.Prepare(s)
	if !b.follow(s) {
		return
	}
	b.store = s
	b.owners.follow(s, &b.lifetimes)
}

// Sees implements [Policy].
func (b *Bands) Sees(client wire.ClientID) Set { return b.of.Sees(client) }

// Leave implements [Policy].
func (b *Bands) Leave(client wire.ClientID) {
	b.looks.drop(client)
	b.of.Leave(client)
}

// bandView is a [View] that supports distance bands.
type bandView interface {
	SetBands(id wire.NetworkID, rows snapshot.Mask)
}

// Refine implements [Policy].
func (b *Bands) Refine(client wire.ClientID, view View, sees, shown Set) {
	b.of.Refine(client, view, sees, shown)
	to, ok := view.(bandView)
	if !ok {
		return
	}
	v := b.looks.open(client)
	if b.is(v.follows) {
		if p := b.place(v.follows.Index); !p.nowhere {
			v.at, v.looks = p.at, true
		}
	}
	whole := uint64(0)
	if v.fresh || (b.tick+tick.Tick(client))%bandsEvery == 0 {
		v.fresh, whole = false, ^whole
	}
	if len(v.levels) < len(b.generations) {
		v.levels = append(v.levels, make([]uint8, len(b.generations)-len(v.levels))...)
	}
	for w, word := range sees {
		for word &= shown.word(w) | b.owners.changed.word(w) | whole; word != 0; word &= word - 1 {
			index := indexOf(w, word)
			if shown.Has(index) {
				v.levels[index] = 0
			}
			id := b.id(index)
			v.levels[index] = b.levelOf(client, v, id)
			to.SetBands(id, b.levels[v.levels[index]].rows)
		}
	}
}

// levelOf returns the level of an entity for a client, with hysteresis.
func (b *Bands) levelOf(client wire.ClientID, v *bandsSight, id wire.NetworkID) uint8 {
	if !v.looks || b.store.Owner(id) == client || b.config.Exact != nil && b.config.Exact(b.store, client, id) {
		return 0
	}
	p := b.place(id.Index)
	if p.nowhere {
		return 0
	}
	far, now := distance(p.at, v.at), int(v.levels[id.Index])
	for l := len(b.levels) - 1; l > 0; l-- {
		begins := b.levels[l].beyond
		if l <= now {
			begins *= b.config.Keep
		}
		if far > begins {
			return uint8(l)
		}
	}
	return 0
}

// place returns the position of an entity in this tick, measured once for all clients.
func (b *Bands) place(index uint32) *measured {
	if len(b.places) < len(b.generations) {
		b.places = append(b.places, make([]measured, len(b.generations)-len(b.places))...)
	}
	p := &b.places[index]
	if p.tick != b.tick {
		x, y, z, ok := b.config.Position(b.store, b.id(index))
		p.tick, p.nowhere = b.tick, !ok || x != x || y != y || z != z
		p.at = [3]float64{float64(x), float64(y), float64(z)}
	}
	return p
}

// RefreshAll makes the next update measure all distances again.
func (b *Bands) RefreshAll() {
	refreshAll(b.of)
	for _, v := range b.looks.of {
		v.fresh = true
	}
}

// RefreshClient makes the next update measure the distances to a client again.
func (b *Bands) RefreshClient(client wire.ClientID) {
	refreshClient(b.of, client)
	b.looks.open(client).fresh = true
}

// Blind reports whether the inner policy shows a client nothing because it has no viewpoint.
func (b *Bands) Blind(client wire.ClientID) bool { return isBlind(b.of, client) }
