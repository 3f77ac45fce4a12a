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

// Test is a test of a case with its newest result.
type Test struct {
	Package  string         // relative to the root, "." for the root
	Name     string         // TestCaseNN...
	Result   string         // "pass", "fail", "skip"; "" if it did not run
	Injected map[string]int // by fault
}

// Case returns the case number in the name of a test, 0 if there is none.
func Case(name string) int {
	digits := regexp.MustCompile(`^TestCase(\d\d)`).FindStringSubmatch(name)
	if digits == nil {
		return 0
	}
	n, _ := strconv.Atoi(digits[1]) // two digits
	return n
}

// Read adds the results in the output of go test -json to tests, matched by package and name. Results of sub-tests count for
// their test. prefix is the module path.
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

Each case of the catalogue of faults and attacks is a test whose name has its number. A test fails if it has not injected the fault. This page is written by
` + "`go run ./cmd/casebook`" + `, which runs all of them in the size that plain ` + "`go test`" + ` has; ` + "`-heavy`" + ` and ` + "`.ci/nightly`" + ` run larger ones.

| | case | tests | injected | result |
|---|---|---|---|---|
`)
	for n := 1; n <= Cases; n++ {
		var of []*Test
		for _, t := range tests {
			if Case(t.Name) == n {
				of = append(of, t)
			}
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", n, names()[n], listed(of), injected(of), result(of))
	}
	return b.String()
}

// listed formats the names of tests by package.
func listed(of []*Test) string {
	byPackage := map[string][]string{}
	for _, t := range of {
		byPackage[t.Package] = append(byPackage[t.Package], "`"+strings.TrimPrefix(t.Name, "Test")+"`")
	}
	var parts []string
	for _, folder := range slices.Sorted(maps.Keys(byPackage)) {
		slices.Sort(byPackage[folder])
		parts = append(parts, folder+": "+strings.Join(byPackage[folder], ", "))
	}
	return strings.Join(parts, "; ")
}

// injected adds up the injected faults of tests.
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

// result counts the results of tests.
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

// Check returns the faults of a page: a case without a row, an empty cell, a missing test, an unknown test, a test that did not
// pass. names is the names of all tests of cases.
func Check(page string, names []string) (faults []string) {
	rows := map[int][]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if n, err := strconv.Atoi(strings.TrimSpace(cells[0])); err == nil && len(cells) == 5 {
			rows[n] = cells
		}
	}
	listed := map[string]bool{}
	for n := 1; n <= Cases; n++ {
		for _, cell := range rows[n] {
			if strings.TrimSpace(cell) == "" {
				faults = append(faults, fmt.Sprintf("case %d has an empty cell", n))
			}
		}
		switch {
		case rows[n] == nil:
			faults = append(faults, fmt.Sprintf("case %d has no row", n))
			continue
		case strings.Contains(rows[n][4], "fail") || strings.Contains(rows[n][4], "not run"):
			faults = append(faults, fmt.Sprintf("case %d: %s", n, rows[n][4]))
		}
		for _, name := range regexp.MustCompile("`Case[^`]*`").FindAllString(rows[n][2], -1) {
			name = "Test" + strings.Trim(name, "`")
			listed[name] = true
			if !slices.Contains(names, name) {
				faults = append(faults, fmt.Sprintf("case %d names %s, which is no test", n, name))
			}
		}
	}
	for _, name := range names {
		if n := Case(name); n >= 1 && n <= Cases && !listed[name] {
			faults = append(faults, name+" is not on the page: run go run ./cmd/casebook")
		}
	}
	return faults
}
