package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/format"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// printed is the output of main.
func printed(t *testing.T) []byte {
	t.Helper()
	out, in, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = in
	defer func() { os.Stdout = stdout }()
	main()
	require.NoError(t, in.Close())
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	return text
}

func TestTheClientSeesTheBallMove(t *testing.T) {
	lines, last := 0, Position{}
	for scan := bufio.NewScanner(bytes.NewReader(printed(t))); scan.Scan(); lines++ {
		var now Position
		_, err := fmt.Sscanf(scan.Text(), "the client sees {%g %g}", &now.X, &now.Y)
		require.NoError(t, err, scan.Text())
		require.GreaterOrEqual(t, now.X, last.X, "what the client sees never goes back")
		last = now
	}
	require.Positive(t, lines, "the client saw nothing")
	require.Positive(t, last.X)
}

func TestItFitsTheReadme(t *testing.T) {
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(source, []byte("\n")), 40)
	formatted, err := format.Source(source)
	require.NoError(t, err)
	require.Equal(t, string(formatted), string(source))
}
