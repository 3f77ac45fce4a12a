package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhatIsAskedForIsOfThePayloadAfterTheNext holds that lanes are asked for where so many more records are left behind as many as have come, behind as many more: those
// of one payload, and nothing where the cover ends with the next.
func TestWhatIsAskedForIsOfThePayloadAfterTheNext(t *testing.T) {
	for left := range 100 {
		for n := 1; n <= left; n++ {
			u := cover{run: run{n: left, width: 7}}
			want := 0
			if left-n > n {
				want = 2 * n * 7
			}
			require.Equal(t, want, behindNext(n, &u), "%d of %d", n, left)
		}
	}
}
