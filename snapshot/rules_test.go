package snapshot

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any number of seeds: go test ./snapshot -run TestRulesHold -seeds 1000
var seeds = flag.Int("seeds", 8, "seeds for each network of TestRulesHold")

// TestRulesHold runs the rules of docs/design.md through randomised bad
// networks. Every decoded record is compared with what the server meant, and
// at the end, on a healed link, every client holds exactly what it may see.
func TestRulesHold(t *testing.T) {
	for _, s := range []struct {
		name string
		with func(*simConfig)
	}{
		{"usual", func(*simConfig) {}},
		{"no loss", func(c *simConfig) { c.Loss, c.UpLoss, c.Duplicate, c.Tail, c.Jitter = 0, 0, 0, 0, 0 }},
		{"sixty percent loss, thirty percent duplicates", func(c *simConfig) {
			c.Loss, c.UpLoss, c.Duplicate, c.Tail = .6, .6, .3, .05
		}},
		{"delays far past the window", func(c *simConfig) { c.Tail, c.TailMax = .05, 60 }},
		{"visibility flaps", func(c *simConfig) { c.Flap = .15 }},
		{"short lives", func(c *simConfig) { c.Respawn = .1 }},
		{"components come and go", func(c *simConfig) { c.Reshape = .15 }},
		{"entities that sleep past the window", func(c *simConfig) { c.Slow, c.Mutate, c.Reshape = 60, .5, .002 }},
		{"downlink dead", func(c *simConfig) { c.DownDead = [2]int{200, 300} }},
		{"uplink dead", func(c *simConfig) { c.UpDead = [2]int{200, 300} }},
		{"both dead, lives change meanwhile", func(c *simConfig) {
			c.UpDead, c.DownDead, c.Respawn, c.Flap = [2]int{200, 300}, [2]int{200, 300}, .05, .05
		}},
		{"client loses its past", func(c *simConfig) { c.Lose = .01 }},
		{"a ring of sixteen packets", func(c *simConfig) { c.Ring, c.Delay, c.PacketsPerTick = 16, 6, 4 }},
		{"a packet holds little", func(c *simConfig) { c.Entities, c.Mutate, c.PacketsPerTick = 60, .9, 1 }},
		{"spare budget repeats", func(c *simConfig) { c.Repeat, c.Mutate, c.Loss, c.UpLoss = true, .02, .5, .5 }},
		{"everything at once, and repeats", func(c *simConfig) {
			c.Repeat, c.Loss, c.UpLoss, c.Duplicate, c.Tail, c.TailMax = true, .4, .4, .3, .05, 60
			c.Mutate, c.Respawn, c.Flap, c.Reshape, c.Ring, c.Lose = .03, .02, .02, .02, 16, .002
		}},
		{"everything at once", func(c *simConfig) {
			c.Loss, c.UpLoss, c.Duplicate, c.Tail, c.TailMax = .4, .4, .3, .05, 60
			c.Respawn, c.Flap, c.Reshape, c.Ring, c.Lose = .05, .05, .05, 16, .002
			c.DownDead, c.UpDead = [2]int{200, 260}, [2]int{240, 330}
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for seed := int64(1); seed <= int64(*seeds); seed++ {
				c := usual()
				s.with(&c)
				sim := newSim(t, c, seed)
				func() {
					defer func() {
						if t.Failed() {
							t.Logf("seed %d", seed)
						}
					}()
					sim.run()
				}()
				if t.Failed() {
					return
				}
				require.Greater(t, sim.spawned, c.Entities-1)
			}
		})
	}
}
