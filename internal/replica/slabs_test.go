package replica

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// HistoryBytes counts with these sizes. Where words have 32 bits some are smaller.
func TestHistoryBytesKnowsTheSizesOfMemory(t *testing.T) {
	for _, c := range []struct {
		is   uintptr
		want int
	}{
		{unsafe.Sizeof(version{}), versionSize},
	} {
		require.LessOrEqual(t, int(c.is), c.want)
		if unsafe.Sizeof(uintptr(0)) == 8 {
			require.EqualValues(t, c.want, c.is)
		}
	}
}
