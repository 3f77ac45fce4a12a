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
