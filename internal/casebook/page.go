package casebook

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Test is a test of a case and its newest run.
type Test struct {
	Package  string         // relative to the root, "." for the root
	Name     string         // TestCaseNN...
	Result   string         // "pass", "fail", "skip"; "" if it did not run
	Injected map[string]int // by fault
}

// Case returns the number of the case in the name of a test; 0 if there is none.
func Case(name string) int {
	digits := regexp.MustCompile(`^TestCase(\d\d)`).FindStringSubmatch(name)
	if digits == nil {
		return 0
	}
	n, _ := strconv.Atoi(digits[1]) // two digits
	return n
}

// Read adds the results of go test -json to tests, found by package and name. Sub-tests count for their test. prefix is the path of the
// module, which package paths begin with.
func Read(output io.Reader, prefix string, tests []*Test) error {
	line := regexp.MustCompile(mark + `(\d+) × (.*)`)
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ Action, Package, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			continue // output of a build
		}
		name, sub, isSub := strings.Cut(event.Test, "/")
		_ = sub
		folder := strings.TrimPrefix(strings.TrimPrefix(event.Package, prefix), "/")
		at := slices.IndexFunc(tests, func(t *Test) bool { return t.Name == name && (t.Package == folder || t.Package == "." && folder == "") })
		if at < 0 {
			continue
		}
		switch t := tests[at]; event.Action {
		case "pass", "fail", "skip":
			if !isSub {
				t.Result = event.Action
			}
		case "output":
			if found := line.FindStringSubmatch(event.Output); found != nil {
				n, err := strconv.Atoi(found[1])
				if err != nil {
					return fmt.Errorf("casebook: %q: %w", event.Output, err)
				}
				t.Injected[strings.TrimSpace(found[2])] += n
			}
		}
	}
	return lines.Err()
}

// Page returns docs/reliability.md for the tests.
func Page(tests []*Test) string {
	var b strings.Builder
	b.WriteString(`# Reliability

Each case of the catalogue of faults and attacks has tests in the named packages: ` + "`go test ./... -run TestCase07`" + ` runs those of case 7. A test fails if it did not inject the fault.
` + "`go run ./cmd/casebook`" + ` writes this page, with the number of injected faults in the size of plain ` + "`go test`" + `; ` + "`-heavy`" + ` and ` + "`.ci/nightly`" + ` inject more.

| | case | tests | injected | result |
|---|---|---|---|---|
`)
	for n := 1; n <= Cases; n++ {
		of := testsOf(tests, n)
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", n, names()[n], counted(of), injected(of), result(of))
	}
	return b.String()
}

// testsOf returns the tests of a case.
func testsOf(tests []*Test, n int) (of []*Test) {
	for _, t := range tests {
		if Case(t.Name) == n {
			of = append(of, t)
		}
	}
	return of
}

// counted counts tests by package.
func counted(of []*Test) string {
	count := map[string]int{}
	for _, t := range of {
		if t.Package == "." {
			count["root"]++
		} else {
			count[t.Package]++
		}
	}
	var parts []string
	for _, folder := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s %d", folder, count[folder]))
	}
	return strings.Join(parts, ", ")
}

// injected adds up what tests have injected.
func injected(of []*Test) string {
	sum := map[string]int{}
	for _, t := range of {
		for fault, n := range t.Injected {
			sum[fault] += n
		}
	}
	var parts []string
	for _, fault := range slices.Sorted(maps.Keys(sum)) {
		parts = append(parts, fmt.Sprintf("%d %s", sum[fault], fault))
	}
	return strings.Join(parts, "; ")
}

// result counts results.
func result(of []*Test) string {
	count := map[string]int{}
	for _, t := range of {
		if t.Result == "" {
			t.Result = "did not run"
		}
		count[t.Result]++
	}
	var parts []string
	for _, r := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%d %s", count[r], r))
	}
	return strings.Join(parts, ", ")
}

// Check returns the faults of a page: a case without a row, an empty cell, another number of tests than the tree has, a test that did not
// pass.
func Check(page string, tests []*Test) (faults []string) {
	rows := map[int][]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if n, err := strconv.Atoi(strings.TrimSpace(cells[0])); err == nil && len(cells) == 5 {
			rows[n] = cells
		}
	}
	for n := 1; n <= Cases; n++ {
		cells := rows[n]
		if cells == nil {
			faults = append(faults, fmt.Sprintf("case %d has no row", n))
			continue
		}
		for _, cell := range cells {
			if strings.TrimSpace(cell) == "" {
				faults = append(faults, fmt.Sprintf("case %d has an empty cell", n))
			}
		}
		if strings.Contains(cells[4], "fail") || strings.Contains(cells[4], "not run") {
			faults = append(faults, fmt.Sprintf("case %d: %s", n, cells[4]))
		}
		if there := counted(testsOf(tests, n)); strings.TrimSpace(cells[2]) != there {
			faults = append(faults, fmt.Sprintf("case %d has the tests %s, and the page says %s: run go run ./cmd/casebook", n, there, strings.TrimSpace(cells[2])))
		}
	}
	return faults
}
