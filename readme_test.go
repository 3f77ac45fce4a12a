package netcode_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README's quick start is examples/quickstart, byte for byte, which its own test runs.
func TestReadmeShowsTheQuickStart(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("examples/quickstart/main.go")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "```go\n")
	require.True(t, found)
	shown, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	require.Equal(t, string(program), shown)
	require.LessOrEqual(t, strings.Count(shown, "\n"), 40)
}

// The two commands that the README gives are there to be copied.
func TestReadmeNamesTheTwoCommands(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, command := range []string{"\n    go run ./examples/arena\n", "\n    go test ./...\n"} {
		require.Contains(t, string(readme), command)
	}
}
