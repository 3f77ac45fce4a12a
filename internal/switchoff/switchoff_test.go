package switchoff

import (
	"flag"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// All of it: go test ./internal/switchoff -switchoff -parallel 2
// One of them: … -run 'TestARuleThatIsSwitchedOffIsMissed/rule_4:_a_packet_a_window_behind_is_read$'
// A part of it: … -switchoff-parts 3 -switchoff-part 1
var (
	switchOff = flag.Bool("switchoff", false, "build and run one mutant after the other: minutes")
	parts     = flag.Int("switchoff-parts", 1, "do one in so many of the list")
	part      = flag.Int("switchoff-part", 0, "which of these, from 0")
)

const tree = "../.."

func lists() []mutation {
	return slices.Concat(snapshotRules(), groupsAndSight(), hiddenComponents(), leaks(), ties(), late(), marks(), budgets(), messages(), memory(), rights(),
		handshake(), games(), presses(), promises(), pages(), mistakes(), fast(), kernels(), tails(), predictions(), wholeTicks(), secures(), people(), looking(),
		transfers(), congestionRules(), soaks(), distanceBands(), schemas(), replays(), loadings(), plains(), fleets(), handovers(), lans())
}

// Each rule of docs/design.md is switched off on purpose, and the test that is named for it fails.
func TestARuleThatIsSwitchedOffIsMissed(t *testing.T) {
	if !*switchOff {
		t.Skip("only with -switchoff, and in .ci/run: it builds a mutant for each of the list")
	}
	require.True(t, *parts > 0 && *part >= 0 && *part < *parts, "-switchoff-part is from 0 to -switchoff-parts, less one")
	r := &runner{root: tree, patience: patience}
	all := lists()
	whole := newUntouched(r, all)
	for i := range all {
		m := &all[i]
		if i%*parts != *part {
			continue
		}
		t.Run(m.name(), func(t *testing.T) {
			t.Parallel()
			whole.requirePass(t, m)
			got, output := r.try(t, m)
			require.Equal(t, failed, got, "%s, with this switched off: %s\n%s", m.test, m.name(), output)
			t.Logf("%s says: %s", m.test, said(output))
		})
	}
}

// The list is of this tree: what it replaces is there once, and its tests exist.
func TestTheListIsOfThisTree(t *testing.T) {
	names, tests := map[string]bool{}, testNames{}
	for _, m := range lists() {
		require.False(t, names[m.name()], "%s: twice", m.name())
		names[m.name()] = true
		_, err := m.mutated(tree)
		assert.NoError(t, err, m.name())
		there, err := tests.has(tree, m.folder(), m.test)
		require.NoError(t, err)
		assert.True(t, there, "the list is stale: %s has no %s", m.folder(), m.test)
	}
	for _, rule := range []string{"rule 1", "rule 2", "rule 3", "rule 4", "rule 5", "rule 6", "rule 7", "rule 8", "groups", "ties", "sight", "leaks", "messages", "memory", "handshake", "games", "promises", "pages", "fast", "kernels", "marks"} {
		require.True(t, slices.ContainsFunc(lists(), func(m mutation) bool { return m.rule == rule }), rule)
	}
}

func TestAStaleListSaysSo(t *testing.T) {
	const file = "internal/switchoff/testdata/trial/trial.go"
	for name, e := range map[string]edit{
		"it is not there":       {file, "a >= b", "true"},
		"it is there twice":     {file, "return", "panic"},
		"it changes nothing":    {file, "a > b", "a > b"},
		"there is no such file": {file + "o", "a > b", "a < b"},
		"it is no Go":           {file, "if a > b {", "if a > b"},
	} {
		m := mutation{edits: []edit{e}}
		_, err := m.mutated(tree)
		require.ErrorContains(t, err, "the list is stale", name)
	}
	m := mutation{edits: []edit{{file, "a > b", "b > a"}, {file, "b > a", "b < a"}}}
	files, err := m.mutated(tree)
	require.NoError(t, err, "the second edit is of what the first made")
	require.Contains(t, files[file], "b < a")
	there, err := testNames{}.has(tree, m.folder(), "TestMos")
	require.NoError(t, err)
	require.False(t, there)
}

// The harness itself can tell: of the mutants of a small package each has another outcome.
func TestOutcomes(t *testing.T) {
	if !*switchOff {
		t.Skip("only with -switchoff")
	}
	const file = "internal/switchoff/testdata/trial/trial.go"
	r := &runner{root: tree, patience: patience}
	short := &runner{root: tree, patience: 2 * time.Second}
	for _, test := range []struct {
		with *runner
		test string
		edit edit
		args string
		want outcome
	}{
		{r, "TestMost", edit{file, "a > b", "a < b"}, "", failed},
		{r, "TestMost", edit{file, "a > b", "a >= b"}, "", passed},
		{r, "TestMost", edit{file, "a > b", "a > c"}, "", unbuilt},
		{r, "TestMost", edit{file, "return b", "panic(b)"}, "", failed},
		{r, "TestNobody", edit{file, "a > b", "a < b"}, "", missing},
		{r, "TestMostOften", edit{file, "a > b", "a < b"}, "", passed},
		{r, "TestMostOften", edit{file, "a > b", "a < b"}, "-times=2", failed},
		{short, "TestMost", edit{file, "a > b {", "a > b {\n\t\tfor {\n\t\t}"}, "", hung},
		{r, "TestSpare", edit{file, "return 1", "panic(1)"}, "", failed},
		{r, "TestSpare", edit{file, "func Spare() int { return 1 }", "func init() { panic(1) }\nfunc Spare() int { return 1 }"}, "", missing},
	} {
		t.Run(test.test+" "+test.edit.new, func(t *testing.T) {
			t.Parallel()
			m := mutation{test: test.test, edits: []edit{test.edit}, args: test.args}
			got, output := test.with.try(t, &m)
			require.Equal(t, test.want, got, output)
		})
	}
}
