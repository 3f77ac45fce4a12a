package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each step runs, and shows what its page of the guide says.
func TestSteps(t *testing.T) {
	text := make([]string, 6)
	for i := 1; i <= 5; i++ {
		var out bytes.Buffer
		require.NoError(t, run(&out, i))
		text[i] = out.String()
		t.Logf("step %d\n%s", i, text[i])
	}
	require.Regexp(t, `Ann has gone [1-9]\.\d\d m on her screen, 0\.00 m at the server, 0\.00 m on Ben's`, text[1])
	rest := regexp.MustCompile(`at rest: (\S+), (\S+), (\S+); 0 mispredictions`).FindStringSubmatch(text[1])
	require.Len(t, rest, 4)
	require.Equal(t, []string{rest[1], rest[1]}, rest[2:])

	ticks := regexp.MustCompile(`(hears|makes): shot \d, of tick (\d+)`).FindAllStringSubmatch(text[2], -1)
	byWho := map[string][]string{}
	for _, m := range ticks {
		byWho[m[1]] = append(byWho[m[1]], m[2])
	}
	require.Len(t, byWho["hears"], 3)
	require.Equal(t, byWho["hears"], byWho["makes"], "the same ticks")
	require.Contains(t, text[2], "Ben sees")

	require.Contains(t, text[3], "Ben is dead on his screen")
	back := regexp.MustCompile(`is back on his screen, at (\S+), (\S+)\n.*server he is at (\S+), (\S+), with 100 points; Ann has 1 kill`).FindStringSubmatch(text[3])
	require.Len(t, back, 5)
	require.Equal(t, back[1:3], back[3:5])

	phases := regexp.MustCompile(`(Ann's|Ben's|server's) tick (\d+): (\w+)`).FindAllStringSubmatch(text[4], -1)
	at := map[string]map[string]bool{}
	for _, m := range phases {
		if at[m[3]] == nil {
			at[m[3]] = map[string]bool{}
		}
		if len(at) < 4 { // Of the first level.
			at[m[3]][m[2]] = true
		}
	}
	require.Len(t, at["countdown"], 1, "one tick at all ends: %v", at)

	require.Equal(t, 4, strings.Count(text[5], "reads: Ann: a second round?"), "Ann, Ben, Cleo and Eve")
	require.Contains(t, text[5], "she sees 3 avatars")
}
