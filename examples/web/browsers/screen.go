package browsers

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Screen starts an X server without a screen until the end of the test, and returns its display. ok is false where there is no Xvfb.
func Screen(t *testing.T) (display string, ok bool) {
	path, err := exec.LookPath("Xvfb")
	if err != nil {
		return "", false
	}
	// As in startDriver a shell ends it, however this process ends.
	run := exec.Command("sh", "-c", `exec 3<&0; "$@" & p=$!; read _ <&3; kill $p`, "sh", path, "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp")
	output, err := run.StdoutPipe()
	require.NoError(t, err)
	input, err := run.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = run.Wait()
	})
	number, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err, "Xvfb did not start")
	return ":" + strings.TrimSpace(number), true
}
