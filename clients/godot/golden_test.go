package godot_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGDScriptReadsTheGoldenSession gives the client each datagram of the golden session. What it sends, byte for byte, and what it knows is as in the
// file.
func TestGDScriptReadsTheGoldenSession(t *testing.T) {
	godot, err := exec.LookPath("godot3-server")
	if err != nil {
		t.Skip("no godot3-server here: the tests of the client in GDScript need it (Debian: godot3-server)")
	}
	cmd := exec.Command(godot, "--path", ".", "-s", "golden.gd", "../../testdata/plain.golden")
	cmd.Env = append(cmd.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "all as in the file")
	require.NotContains(t, string(out), "SCRIPT ERROR")
}
