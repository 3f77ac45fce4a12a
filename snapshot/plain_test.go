package snapshot

import (
	"testing"

	"github.com/arche-netcode/netcode/internal/plain"
)

// needsFastPaths skips a test that asserts that a fast path was taken.
func needsFastPaths(t testing.TB) {
	t.Helper()
	if plain.On {
		t.Skip("netcode_plain: the build has no fast path")
	}
}
