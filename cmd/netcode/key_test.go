package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/transport/secure"
)

func TestKeyMakesAFileOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "server.key")
	var first, second bytes.Buffer
	require.NoError(t, run([]string{"key", file}, &first, nil))
	key, err := secure.ReadKey(file)
	require.NoError(t, err)
	require.Equal(t, key.Public().String(), strings.TrimSpace(first.String()), "the public key alone is printed")
	if runtime.GOOS != "windows" {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.NoError(t, run([]string{"key", file}, &second, nil))
	require.Equal(t, first.String(), second.String(), "a file that is there stays")

	require.NoError(t, os.WriteFile(file, []byte("no key"), 0o600))
	require.ErrorContains(t, run([]string{"key", file}, &second, nil), "64 hexadecimal digits")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "no key", string(text))
	require.ErrorContains(t, run([]string{"key"}, &second, nil), "one file")
}
