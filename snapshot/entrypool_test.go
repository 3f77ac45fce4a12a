package snapshot

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The counters of memory take these sizes. Where words have 32 bits some are smaller.
func TestCountersKnowTheSizesOfMemory(t *testing.T) {
	for _, c := range []struct {
		is   uintptr
		most int
	}{
		{unsafe.Sizeof(sentEntry{}), sentEntrySize}, {unsafe.Sizeof(wordOf{}), wordOfSize},
		{unsafe.Sizeof(version{}), versionSize}, {unsafe.Sizeof(listSpan{}), listSpanSize}, {unsafe.Sizeof(run{}), runSize},
	} {
		require.LessOrEqual(t, int(c.is), c.most)
		if unsafe.Sizeof(uintptr(0)) == 8 {
			require.InDelta(t, c.most, int(c.is), 8)
		}
	}
}
