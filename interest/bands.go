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

// BandsConfig tells how [Bands] measures. Schema and Position are needed.
type BandsConfig struct {
	// Schema is the protocol's. One of its components at least has distance bands: netcode.Bands.
	Schema *snapshot.Schema
	// Position tells where an entity is. An entity that is nowhere is sent as it is.
	Position Position
	// Keep is the part of Band.Beyond below which an entity that comes nearer leaves the band, above 0 and up to 1, so that nothing changes to
	// and fro at the border. Zero means 0.9.
	Keep float32
	// Exact tells which entities a client gets as they are at any distance, beside those that belong to it. Nil: no others. It is asked
	// when the distance is measured.
	Exact func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) bool
}

// bandsEvery is the number of ticks after which the distances from a client are measured again.
const bandsEvery = 8

// Bands chooses the distance bands of the entities of another policy: a client gets the components of an entity that is far from its
// viewpoint in coarser steps, or less often, by the option netcode.Bands of the component. Distances are measured when an entity comes into sight, when
// its owner changes, and every 8 ticks. A client without a viewpoint gets everything as it is.
type Bands struct {
	lifetimes
	of     Policy
	config BandsConfig
	levels []level // by ascending distance, the first begins at 0
	store  *snapshot.Store
	owners owners
	places []measured // by index
	looks  perClient[bandsSight]
}

// level is the rows that clients get from a distance on, of the components with bands.
type level struct {
	beyond float32
	rows   snapshot.Mask
}

// measured is the place of an entity at a tick.
type measured struct {
	tick    tick.Tick
	at      [3]float64
	nowhere bool
}

// bandsSight is one client's.
type bandsSight struct {
	follows wire.NetworkID // whom the viewpoint goes with; zero: nobody
	at      [3]float64
	looks   bool    // there is a viewpoint
	fresh   bool    // it was set since the last look
	levels  []uint8 // by index, of what the client sees
}

// NewBands returns a policy that shows the entities of another one. It panics if the schema has no component with bands, and on an
// illegal config.
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

// levelsOf lists the rows of a client for each distance at which any component has a band.
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

// Follow makes an entity a client's viewpoint. When it is gone, or nowhere, the viewpoint stays where it was last. The entity need not be
// there yet.
func (b *Bands) Follow(client wire.ClientID, id wire.NetworkID) {
	v := b.looks.open(client)
	v.follows, v.fresh = id, true
}

// Look makes a point a client's viewpoint. A NaN takes the viewpoint away.
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

// distance is the distance of two places. The conversions keep compilers from fusing products and sums, which would round otherwise on other
// machines.
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

// bandView is a [View] that has distance bands.
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

// levelOf returns the level of an entity for a client.
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

// place returns where an entity is in this tick.
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

// RefreshAll makes the distances from all clients be measured in the next update.
func (b *Bands) RefreshAll() {
	refreshAll(b.of)
	for _, v := range b.looks.of {
		v.fresh = true
	}
}

// RefreshClient makes the distances from a client be measured in the next update.
func (b *Bands) RefreshClient(client wire.ClientID) {
	refreshClient(b.of, client)
	b.looks.open(client).fresh = true
}

// Blind reports whether the policy of entities shows a client nothing for want of a viewpoint.
func (b *Bands) Blind(client wire.ClientID) bool { return isBlind(b.of, client) }
