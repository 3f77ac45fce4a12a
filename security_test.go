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

// Every defence that SECURITY.md lists names a test, and each named test and fuzz target is in the tree.
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
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		switch title {
		case "Reporting", "What counts", "What is not defended", "What a client can learn of hidden entities": // no promises
			continue
		}
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			head := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|-") // of a table
			if promise := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "| ") && !head; promise {
				require.Regexp(t, name, line, "no test is named")
			}
		}
	}
}
