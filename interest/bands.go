package interest

import (
	"fmt"
	"math"

	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// BandsConfig configures [Bands]. Schema and Grid are required.
type BandsConfig struct {
	// Schema is the protocol's schema. At least one of its components has distance bands (netcode.Bands).
	Schema *snapshot.Schema
	// Grid knows the positions of entities and the viewpoints of clients. It may also be a part of the policy, or show nothing.
	// An entity without a position, and a client without a viewpoint, gets full precision.
	Grid *Grid
	// Keep is the fraction of Band.Beyond below which an entity that comes nearer leaves the band, above 0 and at most 1. It is
	// the hysteresis at the border. Zero means 0.9.
	Keep float32
	// Exact reports whether a client gets an entity in full precision at any distance. Its own entities always are. Exact is
	// called when the distance is measured. nil means no further entities.
	Exact func(s *snapshot.Store, client wire.ClientID, id wire.NetworkID) bool
}

// measureEvery is the number of ticks after which all distances to a client are measured again.
const measureEvery = 8

// isTurn reports whether all distances to a client are measured in a tick.
func isTurn(t tick.Tick, client wire.ClientID) bool { return (t+tick.Tick(client))%measureEvery == 0 }

// Bands selects the distance bands for the entities of another policy. A client gets components of far entities in coarser steps
// or less often, as the component's option netcode.Bands defines. A distance is measured when an entity comes into sight, when
// its owner changes, every 8 ticks, and when a viewpoint jumps farther than the nearest band.
type Bands struct {
	parts  // the other policy, and the grid
	config BandsConfig
	jump   float32
	from   map[wire.ClientID]*measured
}

// viewpoint is a point from which distances are measured.
type viewpoint struct {
	at    [3]float32
	looks bool // there is one
}

// measured is the newest measurement of all distances to a client.
type measured struct {
	from viewpoint
	at   tick.Tick
}

// NewBands returns a policy that shows the entities of another one. It panics if the schema has no component with bands, or if
// the config is invalid.
func NewBands(of Policy, c BandsConfig) *Bands {
	if c.Keep == 0 {
		c.Keep = 0.9
	}
	switch {
	case c.Schema == nil || c.Grid == nil:
		panic("interest: NewBands needs Schema and Grid")
	case !(c.Keep > 0 && c.Keep <= 1):
		panic(fmt.Sprintf("interest: NewBands: Keep is above 0 and at most 1, not %v", c.Keep))
	case len(c.Schema.Banded()) == 0:
		panic("interest: NewBands: no component has bands: give netcode.Bands to Replicate")
	}
	b := &Bands{parts: parts{of, c.Grid}, config: c, jump: math.MaxFloat32, from: map[wire.ClientID]*measured{}}
	for _, family := range c.Schema.Banded() {
		b.jump = min(b.jump, family.Bands[0].Beyond)
	}
	return b
}

func (b *Bands) partsOf() []Policy { return b.parts[:1] }

// distance returns the distance of two points. The conversions keep compilers from fusing multiplication and addition, which
// rounds differently on other machines.
func distance(a, b [3]float32) float32 {
	x, y, z := float64(a[0])-float64(b[0]), float64(a[1])-float64(b[1]), float64(a[2])-float64(b[2])
	return float32(math.Sqrt(float64(x*x) + float64(y*y) + float64(z*z)))
}

// Changed implements [Policy].
func (b *Bands) Changed(client wire.ClientID, again *Again) {
	b.parts[0].Changed(client, again)
	again.banded = true
	was, from, now := b.from[client], b.config.Grid.viewpoint(client), b.config.Grid.tick
	if was == nil {
		was = &measured{}
		b.from[client] = was
	}
	if isTurn(now, client) || was.from.looks != from.looks || from.looks && distance(was.from.at, from.at) > b.jump {
		*was = measured{from, now}
	}
	if was.at == now { // [Teams] asks once for each mate.
		again.Seen(client)
	}
}

// Sees implements [Policy].
func (b *Bands) Sees(client wire.ClientID, id wire.NetworkID, was snapshot.Mask) (rows snapshot.Mask, weight uint16) {
	grid := b.config.Grid
	rows, weight = b.parts[0].Sees(client, id, was)
	from, at := grid.viewpoint(client), grid.place(id.Index)
	if rows.IsZero() || !from.looks || at == nil || grid.store.Owner(id) == client || b.config.Exact != nil && b.config.Exact(grid.store, client, id) {
		return rows, weight
	}
	far := distance(at.exact, from.at)
	for _, c := range b.config.Schema.Banded() {
		finer := format.Bit(c.Row)
		for _, band := range c.Bands {
			begins := band.Beyond
			if sent := was.Intersect(c.Family); !sent.IsZero() && !sent.Overlaps(finer) {
				begins *= b.config.Keep
			}
			if !(far > begins) {
				break
			}
			rows, finer = rows.Minus(finer), finer.With(band.Row)
		}
	}
	return rows, weight
}

// Leave implements [Policy].
func (b *Bands) Leave(client wire.ClientID) {
	delete(b.from, client)
	b.parts.Leave(client)
}
