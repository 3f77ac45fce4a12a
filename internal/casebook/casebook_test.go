package casebook

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testNames returns the names of all tests of cases in the tree.
func testNames(t *testing.T, root string) (names []string) {
	pattern := regexp.MustCompile(`(?m)^func (TestCase\d\d\w*)\(`)
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range pattern.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
		return err
	}))
	return names
}

// docs/reliability.md has a row for each case, no empty cell, and names exactly the tests that there are. Every case has a test.
func TestThePageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile("../../docs/reliability.md")
	require.NoError(t, err)
	names := testNames(t, "../..")
	require.Greater(t, len(names), 100)
	for _, fault := range Check(string(page), names) {
		t.Error(fault)
	}
}

// Each kind of mistake on the page is found.
func TestCheckFindsMistakes(t *testing.T) {
	var tests []*Test
	var all []string
	for n := 1; n <= Cases; n++ {
		name := "TestCase" + string(rune('0'+n/10)) + string(rune('0'+n%10)) + "Some"
		tests = append(tests, &Test{Package: "p", Name: name, Result: "pass", Injected: map[string]int{"faults": n}})
		all = append(all, name)
	}
	good := Page(tests)
	require.Empty(t, Check(good, all))
	require.Len(t, Check(strings.Replace(good, "| 7 |", "| seven |", 1), all), 2, "a row and a test are missing")
	require.Len(t, Check(strings.Replace(good, "7 faults", "", 1), all), 1, "an empty cell")
	require.Len(t, Check(strings.Replace(good, "`Case07Some`", "`Case07Other`", 1), all), 2, "another name")
	require.Len(t, Check(good, append(all, "TestCase07New")), 1, "a test that is not there")
	require.Len(t, Check(strings.Replace(good, "1 pass", "1 fail", 1), all), 1)
	tests[3].Result, tests[4].Injected = "", nil
	require.Len(t, Check(Page(tests), all), 2)
}

// Results and counts are read from the output of go test -json, those of sub-tests too.
func TestRead(t *testing.T) {
	tests := []*Test{{Package: "nettest", Name: "TestCase36Tiny", Injected: map[string]int{}}, {Package: ".", Name: "TestCase13Drift", Injected: map[string]int{}}}
	const output = `build line
{"Action":"output","Package":"m/nettest","Test":"TestCase36Tiny","Output":"    x_test.go:1: injected: 12 × bytes\n"}
{"Action":"output","Package":"m/nettest","Test":"TestCase36Tiny/sub","Output":"    x_test.go:1: injected: 3 × bytes\n"}
{"Action":"pass","Package":"m/nettest","Test":"TestCase36Tiny/sub"}
{"Action":"fail","Package":"m/nettest","Test":"TestCase36Tiny"}
{"Action":"pass","Package":"m","Test":"TestCase13Drift"}
{"Action":"pass","Package":"m","Test":"TestOther"}
`
	require.NoError(t, Read(strings.NewReader(output), "m", tests))
	require.Equal(t, &Test{Package: "nettest", Name: "TestCase36Tiny", Result: "fail", Injected: map[string]int{"bytes": 15}}, tests[0])
	require.Equal(t, "pass", tests[1].Result)
	require.Equal(t, 36, Case("TestCase36Tiny"))
	require.Zero(t, Case("TestCases"))
}

// stub records what a test would say.
type stub struct {
	testing.TB
	failed bool
	logged string
}

func (s *stub) Helper()               {}
func (s *stub) Fatalf(string, ...any) { s.failed = true }
func (s *stub) Log(args ...any)       { s.logged += args[0].(string) }

// Injected fails a test that injected nothing.
func TestInjected(t *testing.T) {
	var s stub
	Injected(&s, 0, "faults")
	require.True(t, s.failed)
	s = stub{}
	Injected(&s, uint64(4), "faults")
	require.False(t, s.failed)
	require.Equal(t, "injected: 4 × faults", s.logged)
}
