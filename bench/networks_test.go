package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A figure means nothing without its network: the page names that of each scenario.
func TestThePageNamesTheNetworkOfEachScenario(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, behind, found := strings.Cut(string(page), "## The network of each figure\n")
	require.True(t, found)
	table, _, _ := strings.Cut(behind, "\n## ")
	for _, s := range scenarios() {
		require.Contains(t, table, "`"+s.name+"`")
	}
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	for line := range strings.Lines(string(readme)) {
		if strings.HasPrefix(line, "- **") && strings.Contains(line, "bench/README.md#") {
			require.Regexp(t, "loss|network", line, "a figure of the README names its network")
		}
	}
}
