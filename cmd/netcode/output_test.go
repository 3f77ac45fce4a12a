package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A mistaken file name never overwrites a recording.
func TestTrainWritesOverNoRecording(t *testing.T) {
	name, other := recorded(t, 60), recorded(t, 30)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Link(name, link))
	cut := filepath.Join(t.TempDir(), "cut")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, text[:len(text)/3], 0o644))
	for to, want := range map[string]string{name: "a recording to read", link: "a recording to read", other: "is a recording", cut: "is a recording"} {
		before, err := os.ReadFile(to)
		require.NoError(t, err)
		require.ErrorContains(t, run([]string{"train", "-o", to, name}, io.Discard, io.Discard), want)
		after, err := os.ReadFile(to)
		require.NoError(t, err)
		require.True(t, string(before) == string(after), to)
	}
}

// Existing tables are replaced without leaving other files, and keep their permissions.
func TestTrainReplacesTables(t *testing.T) {
	name, folder := recorded(t, 60), t.TempDir()
	to := filepath.Join(folder, "game.tables")
	require.NoError(t, os.WriteFile(to, []byte("wire.tables 1\nold"), 0o640))
	require.NoError(t, os.Chmod(to, 0o640))
	require.NoError(t, run([]string{"train", "-o", to, name}, io.Discard, io.Discard))
	text, err := os.ReadFile(to)
	require.NoError(t, err)
	require.NotContains(t, string(text), "old")
	info, err := os.Stat(to)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	list, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.NoError(t, run([]string{"train", "-o", os.DevNull, name}, io.Discard, io.Discard))
}

// A new file has the umask's mode, an existing one keeps its mode, and a dangling link becomes a link to a file.
func TestReplaceIsLikeWriting(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links are others there")
	}
	plain, ours := filepath.Join(t.TempDir(), "plain"), filepath.Join(t.TempDir(), "ours")
	require.NoError(t, os.WriteFile(plain, []byte("a"), usualMode))
	require.NoError(t, replace(ours, []byte("b")))
	require.Equal(t, modeOf(t, plain), modeOf(t, ours))
	require.NoError(t, os.Chmod(ours, 0o640))
	require.NoError(t, replace(ours, []byte("c")))
	require.Equal(t, fs.FileMode(0o640), modeOf(t, ours))

	link, target := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, replace(link, []byte("d")))
	text, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "d", string(text))
	left, err := filepath.Glob(filepath.Join(filepath.Dir(ours), "*.new"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func modeOf(t *testing.T, name string) fs.FileMode {
	there, err := os.Stat(name)
	require.NoError(t, err)
	return there.Mode().Perm()
}
