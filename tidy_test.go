package netcode_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// `go mod tidy` would change nothing, in the root and in the nested modules. Without a network it takes modules from the cache, and skips
// a folder whose modules are not all there.
func TestModulesAreTidy(t *testing.T) {
	var folders []string
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "testdata" || name != "." && strings.HasPrefix(entry.Name(), ".")) {
			return fs.SkipDir
		}
		if entry.Name() == "go.mod" {
			folders = append(folders, filepath.Dir(name))
		}
		return err
	}))
	require.Greater(t, len(folders), 8)
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) {
			out, err := tidyDiff(t, folder)
			if err != nil && strings.Contains(out, "GOPROXY=off") {
				t.Skipf("the cache lacks modules: %s", out)
			}
			require.NoError(t, err, out)
		})
	}
}

// A module that is not tidy is noticed.
func TestAnUntidyModuleIsNoticed(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module untidy\n\ngo 1.25\n\nrequire pgregory.net/rapid v1.3.0\n"), 0o600))
	out, err := tidyDiff(t, folder)
	require.Error(t, err)
	require.Contains(t, out, "-require pgregory.net/rapid v1.3.0")
}

// tidyDiff returns the output of `go mod tidy -diff` in a folder, with modules of the cache alone.
func tidyDiff(t *testing.T, folder string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "tidy", "-diff")
	command.Dir = folder
	command.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := command.CombinedOutput()
	return string(out), err
}
