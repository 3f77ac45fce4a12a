package netcode_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requirements are the numbers of docs/requirements.md and the places that it names.
func requirements(t *testing.T) map[string]string {
	text, err := os.ReadFile("docs/requirements.md")
	require.NoError(t, err)
	found := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-EX]c?\d+) \| [^|]+ \| ([^|]+) \|$`).FindAllStringSubmatch(string(text), -1) {
		require.NotContains(t, found, row[1], "twice")
		found[row[1]] = row[2]
	}
	return found
}

// Every requirement has a line, and what the line says builds it is there.
func TestRequirementsAreBuiltWhereTheListSays(t *testing.T) {
	found := requirements(t)
	count := map[string]int{"A": 26, "Ac": 13, "B": 12, "C": 14, "Cc": 1, "D": 14, "E": 26, "Ec": 10, "X": 12}
	for _, number := range allNumbers(count) {
		require.Contains(t, found, number)
	}
	total := 0
	for _, n := range count {
		total += n
	}
	require.Len(t, found, total)
	for number, where := range found {
		files := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(where, -1)
		require.True(t, len(files) > 0 || strings.HasPrefix(where, "not built"), "%s is built nowhere", number)
		for _, file := range files {
			_, err := os.Stat(filepath.FromSlash(file[1]))
			require.NoError(t, err, number)
		}
	}
}

// The changelog cites every requirement that is built, and none that there is not. T and N number targets of speed and size.
func TestChangelogCitesEveryRequirement(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	require.NoError(t, err)
	found, cited := requirements(t), map[string]bool{}
	for _, list := range regexp.MustCompile(`\[([A-EX]c?\d[^\]]*)\]`).FindAllStringSubmatch(string(text), -1) {
		for _, number := range citedNumbers(t, list[1]) {
			require.Contains(t, found, number, "there is no such requirement: [%s]", list[1])
			cited[number] = true
		}
	}
	for number, where := range found {
		require.True(t, cited[number] || strings.HasPrefix(where, "not built"), "%s is cited nowhere", number)
	}
}

// Lines that were cited wrongly before name the right numbers.
func TestChangelogCitesTheRightNumbers(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^- `).Split(string(text), -1)
	for begins, numbers := range map[string][]string{
		"Interpolation: ":        {"E21"},
		"Time: ":                 {"E2"},
		"Host: ":                 {"A17", "E9"},
		"Authority: ":            {"E9", "E11"},
		"Inputs: ":               {"C9", "C12"},
		"Short budgets: ":        {"E15"},
		"Groups ":                {"E15", "E16"},
		"Unknown message types ": {"C14"},
	} {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, begins) })
		require.NotEqual(t, -1, i, begins)
		cited := []string{}
		for _, list := range regexp.MustCompile(`\[([A-EX]c?\d[^\]]*)\]`).FindAllStringSubmatch(lines[i], -1) {
			cited = append(cited, citedNumbers(t, list[1])...)
		}
		require.Subset(t, cited, numbers, begins)
	}
}

// citedNumbers are those of a list such as "A2, D1-D3, T1".
func citedNumbers(t *testing.T, list string) (all []string) {
	for _, part := range regexp.MustCompile(`,\s+`).Split(list, -1) {
		if strings.HasPrefix(part, "T") || strings.HasPrefix(part, "N") {
			continue
		}
		m := regexp.MustCompile(`^([A-EX]c?)(\d+)(?:-([A-EX]c?)(\d+))?$`).FindStringSubmatch(part)
		require.NotNil(t, m, "%q in [%s] is no number", part, list)
		first, _ := strconv.Atoi(m[2])
		last := first
		if m[3] != "" {
			require.Equal(t, m[1], m[3], list)
			last, _ = strconv.Atoi(m[4])
		}
		for n := first; n <= last; n++ {
			all = append(all, m[1]+strconv.Itoa(n))
		}
	}
	return all
}

// allNumbers are the numbers of so many requirements of each letter.
func allNumbers(count map[string]int) (all []string) {
	for letter, n := range count {
		for i := 1; i <= n; i++ {
			all = append(all, letter+strconv.Itoa(i))
		}
	}
	return all
}
