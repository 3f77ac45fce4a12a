package snapshot

import (
	"flag"
)

// Any number of seeds: go test ./snapshot -run TestRulesHold -seeds 1000
var seeds = flag.Int("seeds", 8, "seeds for each network of TestRulesHold")
