package netcode_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every defence that SECURITY.md lists but that of settings names a test, and each named test and fuzz target is in the tree.
func TestSecurityNamesItsTests(t *testing.T) {
	all := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range function.FindAllSubmatch(text, -1) {
			all[string(m[1])] = true
		}
		return err
	}))
	page, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	name := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	for _, m := range name.FindAllSubmatch(page, -1) {
		require.True(t, all[string(m[1])], "SECURITY.md names %s, which does not exist", m[1])
	}
	_, defended, _ := strings.Cut(string(page), "## What is defended\n")
	defended, _, _ = strings.Cut(defended, "\n## ")
	for _, line := range strings.Split(strings.TrimSpace(defended), "\n") {
		require.True(t, strings.HasPrefix(line, "- **Settings.**") || name.MatchString(line), "no test is named: %s", line)
	}
}
