package size

import (
	"flag"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var lower = flag.Bool("lower", false, "write the lines that there are into the page, where they are fewer")

const (
	root = "../.."
	page = root + "/docs/size.md"
)

// row matches a row of the page's table: folders, the most lines, and what a game loses.
var row = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| (\\d+) \\| [^|]+ \\|$")

// Each folder of code is in one row of docs/size.md, and has no more lines than the row says. A bar that is more than a
// thirtieth above is lowered: go test ./internal/size -lower.
func TestNoFolderGrowsUnnoticed(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	lines := countFolders(t)
	told := map[string]bool{}
	written := row.ReplaceAllStringFunc(string(text), func(line string) string {
		cells := row.FindStringSubmatch(line)
		has := 0
		for _, name := range strings.Split(cells[1], ", ") {
			folder := strings.Trim(name, "`")
			require.Contains(t, lines, folder, "docs/size.md: there is no code in this folder")
			require.False(t, told[folder], "docs/size.md has %s twice", folder)
			told[folder] = true
			has += lines[folder]
		}
		bar, err := strconv.Atoi(cells[2])
		require.NoError(t, err)
		switch {
		case has > bar:
			t.Errorf("%s has %d lines of code, and docs/size.md allows %d: make it smaller, or raise the bar and say why in the commit", cells[1], has, bar)
		case *lower:
			return strings.Replace(line, "| "+cells[2]+" |", fmt.Sprintf("| %d |", has), 1)
		case bar > has+has/30+20:
			t.Errorf("%s has %d lines of code, and docs/size.md allows %d: lower the bar by -lower", cells[1], has, bar)
		}
		return line
	})
	for folder := range lines {
		require.True(t, told[folder], "docs/size.md does not tell of %s", folder)
	}
	if *lower && !t.Failed() {
		require.NoError(t, os.WriteFile(page, []byte(written), 0o644))
	}
}

// countFolders returns the lines of code by folder of the module, without tests, test data, bench and examples.
func countFolders(t *testing.T) map[string]int {
	lines := map[string]int{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bench" || name == "examples" || entry.Name() == "testdata" || entry.Name() == "node_modules" || name != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		folder := filepath.ToSlash(filepath.Dir(name))
		switch filepath.Ext(name) {
		case ".go":
			if n := goLines(text); n > 1 { // 1: a package of tests has a package clause alone.
				lines[folder] += n
			}
		case ".s":
			lines[folder] += assemblyLines(string(text))
		}
		return nil
	}))
	return lines
}

// goLines returns the number of lines that have more than comments.
func goLines(text []byte) int {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	code := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return len(code)
		case kind == token.SEMICOLON && literal == "\n":
			continue // Inserted at the end of a line.
		}
		for i := range strings.Count(literal, "\n") + 1 {
			code[file.Line(at)+i] = true
		}
	}
}

// assemblyLines returns the number of lines that are neither empty nor a comment.
func assemblyLines(text string) (n int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

func TestLinesAreCounted(t *testing.T) {
	require.Equal(t, 4, goLines([]byte("package a // one\n\n// Two.\nvar b = `\n` /* three\n*/\nvar c = 1\n")))
	require.Equal(t, 2, assemblyLines("// A.\n\nTEXT a(SB)\n\tRET // Back.\n"))
}
