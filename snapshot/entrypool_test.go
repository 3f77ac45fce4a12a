package snapshot

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestSizesOfSharedEntries(t *testing.T) {
	require.Equal(t, sentEntrySize, int(unsafe.Sizeof(sentEntry{})))
	require.Equal(t, wordOfSize, int(unsafe.Sizeof(wordOf{})))
}

func TestSizesOfBlockMemory(t *testing.T) {
	require.Equal(t, versionSize, int(unsafe.Sizeof(version{})))
	require.Equal(t, listSpanSize, int(unsafe.Sizeof(listSpan{})))
	require.LessOrEqual(t, int(unsafe.Sizeof(run{})), runSize)
}
