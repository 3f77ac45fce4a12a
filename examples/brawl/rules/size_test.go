package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rules, server and client together, are read in an evening: at most 1200 lines of code beside comments and the maps.
func TestTheRulesAreShort(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, line := range strings.Split(string(text), "\n") {
			line = strings.TrimSpace(line)
			if !strings.HasSuffix(file, "_test.go") && line != "" && !strings.HasPrefix(line, "//") {
				count++
			}
		}
	}
	t.Logf("%d lines", count)
	require.LessOrEqual(t, count, 1200)
}
