package snapshot

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// throng is a store of several stripes of which all sorts of things happen to many entities in each tick, in any order.
type throng struct {
	*Store
	random      *rand.Rand
	ids, living []wire.NetworkID
}

func (c *throng) lanes(row int) []uint32 {
	lanes := make([]uint32, c.schema.Plan(row).Lanes())
	for i := range lanes {
		lanes[i] = c.random.Uint32N(4)
	}
	return lanes
}

// replace gives many entities another value of a row, those of each stripe in ascending order or in none.
func (c *throng) replace(row int) {
	n := c.schema.Plan(row).Lanes()
	var some []wire.NetworkID
	for _, id := range c.living {
		if c.Mask(id).Has(row) && c.random.IntN(3) > 0 {
			some = append(some, id)
		}
	}
	if c.random.IntN(2) == 0 {
		c.random.Shuffle(len(some), func(i, k int) { some[i], some[k] = some[k], some[i] })
	}
	now := make([]uint32, 0, n*len(some))
	for range some {
		now = append(now, c.lanes(row)...)
	}
	c.ReplaceRows(some, row, now)
}

func (c *throng) play() {
	c.Begin(c.Tick() + 1 + tick.Tick(c.random.IntN(8)/7*3))
	for range c.random.IntN(12) {
		if c.random.IntN(3) > 0 || len(c.living) < 100 {
			c.living = append(c.living, c.Spawn())
			c.ids = append(c.ids, c.living[len(c.living)-1])
			continue
		}
		i := c.random.IntN(len(c.living))
		c.Despawn(c.living[i])
		c.living = slices.Delete(c.living, i, i+1)
	}
	for row := range c.schema.Rows() {
		if c.random.IntN(4) == 0 {
			c.replace(row)
		}
	}
	for range c.random.IntN(200) {
		id, row := c.living[c.random.IntN(len(c.living))], c.random.IntN(c.schema.Rows())
		if c.random.IntN(9) == 0 {
			c.Remove(id, row)
		} else {
			c.Set(id, row, c.lanes(row))
		}
	}
	for row := range c.schema.Rows() {
		if c.random.IntN(4) == 0 {
			c.replace(row)
		}
	}
	c.Commit()
}

// Whatever of 64 entities changes in a tick, and in which order, each row of each is known as it was, where there is room and where
// there is none.
func TestHistoryOfStripes(t *testing.T) {
	type (
		wide struct{ A, B, C, D, E uint16 }
		tag  struct{}
	)
	schema := format.NewSchema([]*quantize.Plan{compile[benchPosition](t), compile[benchRotation](t), compile[wide](t), compile[tag](t)})
	for seed := range uint64(6) {
		cfg := Config{Window: 8}
		if seed%2 > 0 {
			cfg.HistoryBytes = 100_000
		}
		c := throng{Store: NewStore(schema, cfg), random: rand.New(rand.NewPCG(seed, 5))}
		c.Begin(1)
		for range 200 {
			c.living = append(c.living, c.Spawn())
		}
		c.ids = slices.Clone(c.living)
		c.Commit()
		past := map[tick.Tick]moment{}
		for range 40 {
			c.play()
			past[c.Tick()] = momentOf(c.Store)
			for at := c.Tick(); at > c.Tick()-cfg.Window-2; at-- {
				if was, captured := past[at]; captured {
					requireMoment(t, c.Store, at, was, c.ids, seed%2 > 0 || at < c.Tick()-cfg.Window)
				}
			}
		}
		require.Equal(t, seed%2 > 0, c.HistoryEvicted() > 0, "seed %d", seed)
	}
}
