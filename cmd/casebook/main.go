// Command casebook runs the tests of the catalogue of faults and attacks and writes docs/reliability.md.
//
//	go run ./cmd/casebook            # in the root of the repository
//	go run ./cmd/casebook -heavy     # the cases of nettest in their full size
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode/internal/casebook"
)

const module = "github.com/arche-netcode/netcode"

func main() {
	heavy := flag.Bool("heavy", false, "run the cases of nettest in their full size")
	flag.Parse()
	if err := run(*heavy); err != nil {
		fmt.Fprintln(os.Stderr, "casebook:", err)
		os.Exit(1)
	}
}

// run finds the tests, runs them package by package, and writes the page.
func run(heavy bool) error {
	tests, folders, err := find()
	if err != nil {
		return err
	}
	var failed []string
	for _, folder := range folders {
		fmt.Println("+ go test -run ^TestCase ./" + folder)
		args := []string{"test", "-count=1", "-json", "-timeout", "20m", "-run", "^TestCase", "."}
		if heavy && folder == "nettest" {
			args = append(args, "-heavy")
		}
		command := exec.Command("go", args...)
		command.Dir = filepath.FromSlash(folder)
		output, err := command.Output()
		if err != nil {
			failed = append(failed, folder)
		}
		if err := casebook.Read(bytes.NewReader(output), module, tests); err != nil {
			return err
		}
	}
	page := casebook.Page(tests)
	if err := os.WriteFile("docs/reliability.md", []byte(page), 0o644); err != nil {
		return err
	}
	var names []string
	for _, t := range tests {
		names = append(names, t.Name)
	}
	for _, fault := range casebook.Check(page, names) {
		fmt.Println(fault)
	}
	if len(failed) > 0 {
		return fmt.Errorf("tests failed in %s", strings.Join(failed, ", "))
	}
	return nil
}

// find returns the tests of cases in the tree, and their folders.
func find() (tests []*casebook.Test, folders []string, err error) {
	pattern := regexp.MustCompile(`(?m)^func (TestCase\d\d\w*)\(`)
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(file))
		for _, m := range pattern.FindAllSubmatch(text, -1) {
			tests = append(tests, &casebook.Test{Package: folder, Name: string(m[1]), Injected: map[string]int{}})
			if !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
		return nil
	})
	return tests, folders, err
}
