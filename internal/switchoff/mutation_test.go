package switchoff

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mutation is one change of the source that switches one rule off.
type mutation struct {
	rule  string // its number in docs/design.md, or what it is called
	off   string // what holds no more: the name of the run
	test  string // that must fail
	edits []edit
	args  string // for the test's binary, where the test takes a flag
	in    string // the folder of the test, where it is not that of the first edit
}

// edit is one place: old must be there exactly once.
type edit struct{ file, old, new string }

// change is a mutation of one place.
func change(rule, off, test, file, old, new string) mutation {
	return mutation{rule: rule, off: off, test: test, edits: []edit{{file, old, new}}}
}

// testedIn is a mutation whose test is in another folder.
func testedIn(folder string, m mutation) mutation {
	m.in = folder
	return m
}

// name is that of the run.
func (m *mutation) name() string { return m.rule + ": " + m.off }

// folder is the package whose test must fail.
func (m *mutation) folder() string {
	if m.in != "" {
		return m.in
	}
	return filepath.Dir(m.edits[0].file)
}

// mutated is each file that a mutation changes, as it then is. An error says that the list is stale.
func (m *mutation) mutated(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.edits {
		source, begun := files[e.file]
		if !begun {
			read, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("the list is stale: %w", err)
			}
			source = string(read)
		}
		if n := strings.Count(source, e.old); n != 1 || e.old == e.new {
			return nil, fmt.Errorf("the list is stale: %s has this %d times, not once, or it does not change:\n%s", e.file, n, e.old)
		}
		files[e.file] = strings.Replace(source, e.old, e.new, 1)
	}
	for file, source := range files {
		if _, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution); err != nil {
			return nil, fmt.Errorf("the list is stale: %w", err)
		}
	}
	return files, nil
}

// testNames is the functions that are declared in the test files of folders, by folder.
type testNames map[string]map[string]bool

// has reports whether a folder has the test. Each folder is read once: the list names some of them a hundred times.
func (n testNames) has(root, folder, test string) (bool, error) {
	function, _, _ := strings.Cut(test, "/")
	if known, read := n[folder]; read {
		return known[function], nil
	}
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		return false, err
	}
	n[folder] = map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		for _, declared := range regexp.MustCompile(`(?m)^func (\w+)\(`).FindAllSubmatch(source, -1) {
			n[folder][string(declared[1])] = true
		}
	}
	return n[folder][function], nil
}
