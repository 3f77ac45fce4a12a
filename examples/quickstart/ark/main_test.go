//go:build netcode_ark

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The client's world has the ball where the server moved it, in as many lines as on Arche.
func TestTheClientSeesTheBallMoveOnArk(t *testing.T) {
	out, in, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = in
	main()
	os.Stdout = stdout
	require.NoError(t, in.Close())
	text, err := io.ReadAll(out)
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var last Position
	_, err = fmt.Sscanf(string(lines[len(lines)-1]), "the client sees {%g %g}", &last.X, &last.Y)
	require.NoError(t, err)
	require.Positive(t, last.X)
	arche, err := os.ReadFile("../main.go")
	require.NoError(t, err)
	ark, err := os.ReadFile("main.go")
	require.NoError(t, err)
	body := func(source []byte) int {
		return bytes.Count(source[bytes.Index(source, []byte("func main()")):], []byte("\n"))
	}
	require.Equal(t, body(arche), body(ark))
}
