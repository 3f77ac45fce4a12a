package csharp_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCSharpReadsTheGoldenSession gives the client each datagram of the golden session. What it sends, byte for byte, and what it knows is as in the file.
// The sample compiles.
func TestCSharpReadsTheGoldenSession(t *testing.T) {
	mcs, err := exec.LookPath("mcs")
	mono, missing := exec.LookPath("mono")
	if err != nil || missing != nil {
		t.Skip("no mono here: the tests of the client in C# need it (Debian: mono-mcs mono-runtime)")
	}
	program := filepath.Join(t.TempDir(), "golden.exe")
	for _, of := range [][]string{
		{mcs, "-langversion:7", "-out:" + program, "Client.cs", "Play.cs"},
		{mcs, "-langversion:7", "-out:" + program, "Client.cs", "Golden.cs"},
		{mono, program, "../../testdata/plain.golden"},
	} {
		out, err := exec.Command(of[0], of[1:]...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
}
