package peer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestAckedBeforeAgainstModel compares with a set: what is known was added, and
// whatever was added within 64 of the newest is known.
func TestAckedBeforeAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a ackedBefore
		set := map[uint64]bool{}
		newest := uint64(0)
		at := uint64(1000)
		for range 40 {
			at = uint64(int64(at) + rapid.Int64Range(-80, 100).Draw(t, "step"))
			at = max(at, 200)
			bits := uint64(rapid.Uint32().Draw(t, "bits"))<<1 | 1
			known := a.known(at)
			for k := range uint64(64) {
				has := known>>k&1 == 1
				if has {
					require.True(t, set[at-k])
				} else if at-k <= newest && at-k+64 > newest {
					require.False(t, set[at-k])
				}
			}
			a.add(at, bits)
			newest = max(newest, at)
			for k := range uint64(33) {
				if bits>>k&1 == 1 {
					set[at-k] = true
				}
			}
		}
	})
}
