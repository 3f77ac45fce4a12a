package guide_test

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// A page may show the code that stands in a Go file between lines of these two, however far it is indented.
const (
	beginMark = "// begin guide"
	endMark   = "// end guide"
)

// block is a piece of Go code and where it stands.
type block struct{ where, code string }

// dedent takes from all lines the tabs that all of them begin with, and the empty lines from the end.
func dedent(lines []string) string {
	least := -1
	for _, l := range lines {
		if tabs := len(l) - len(strings.TrimLeft(l, "\t")); strings.TrimSpace(l) != "" && (least < 0 || tabs < least) {
			least = tabs
		}
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l[min(max(least, 0), len(l)):])
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// marked is the code between the marks of a Go file.
func marked(name, source string) (blocks []block, err error) {
	var lines []string
	from := 0
	for i, l := range strings.Split(source, "\n") {
		switch trimmed := strings.TrimSpace(l); {
		case trimmed == beginMark && from == 0:
			from, lines = i+1, nil
		case trimmed == endMark && from != 0:
			blocks = append(blocks, block{fmt.Sprintf("%s:%d", name, from), dedent(lines)})
			from = 0
		case trimmed == beginMark || trimmed == endMark:
			return nil, fmt.Errorf("%s:%d: %q without its other one", name, i+1, trimmed)
		case from != 0:
			lines = append(lines, l)
		}
	}
	if from != 0 {
		return nil, fmt.Errorf("%s:%d: %q without its other one", name, from, beginMark)
	}
	return blocks, nil
}

// shown is the Go code of a page.
func shown(name, page string) (blocks []block) {
	var lines []string
	from := 0
	for i, l := range strings.Split(page, "\n") {
		switch {
		case from == 0 && strings.HasPrefix(l, "```go"):
			from, lines = i+1, nil
		case from != 0 && strings.HasPrefix(l, "```"):
			blocks = append(blocks, block{fmt.Sprintf("%s:%d", name, from), strings.Join(lines, "\n") + "\n"})
			from = 0
		case from != 0:
			lines = append(lines, l)
		}
	}
	return blocks
}

// checkBlocks wants each Go block of README.md and of docs/guide/*.md to be code that is compiled: marked in a test file of
// docs/guide or of a nested module with a page, a whole file of examples, or a declaration of examples/brawl/rules. And what is marked, or an example of the guide, has to be shown, once.
func checkBlocks(tree fs.FS) (faults []string) {
	known, used := map[string][]string{}, map[string]bool{}
	add := func(b block) { known[b.code] = append(known[b.code], b.where) }
	game := map[string]bool{} // A page may show any declaration of the game: not all are to be shown.
	for _, name := range glob(tree, "examples/brawl/rules/*.go") {
		for _, code := range declarations(read(tree, name)) {
			game[code] = true
		}
	}
	for _, name := range append(glob(tree, "docs/guide/*_test.go"), glob(tree, "fleet/nats/guide_test.go")...) {
		blocks, err := marked(name, read(tree, name))
		if err != nil {
			faults = append(faults, err.Error())
		}
		for _, b := range blocks {
			add(b)
		}
	}
	for _, name := range slices.Concat(glob(tree, "examples/firstgame/*.go"), glob(tree, "examples/quickstart/main.go"), glob(tree, "examples/quickstart/ark/main.go")) {
		if !strings.HasSuffix(name, "_test.go") {
			add(block{name, read(tree, name)})
		}
	}
	for _, page := range append(glob(tree, "docs/guide/*.md"), "README.md") {
		for _, b := range shown(page, read(tree, page)) {
			if used[b.code] {
				faults = append(faults, b.where+": this code is shown twice:\n"+b.code)
			}
			used[b.code] = true
			if known[b.code] == nil && !game[b.code] {
				faults = append(faults, b.where+": this code is compiled nowhere:\n"+b.code)
			}
		}
	}
	for code, where := range known {
		if !used[code] {
			faults = append(faults, strings.Join(where, ", ")+": this code is on no page:\n"+code)
		}
	}
	slices.Sort(faults)
	return faults
}

// declarations returns the functions and types of a Go file, with their comments.
func declarations(source string) (all []string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.ParseComments)
	if err != nil {
		return nil // It does not compile, so its own tests fail.
	}
	for _, d := range file.Decls {
		from := d.Pos()
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		case *ast.GenDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		}
		all = append(all, source[files.Position(from).Offset:files.Position(d.End()).Offset]+"\n")
	}
	return all
}

func glob(tree fs.FS, pattern string) []string {
	names, err := fs.Glob(tree, pattern)
	if err != nil {
		panic(err)
	}
	return names
}

func read(tree fs.FS, name string) string {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// repository is the tree of the module.
func repository() fs.FS { return os.DirFS("../..") }

func TestPagesShowCompiledCode(t *testing.T) {
	for _, fault := range checkBlocks(repository()) {
		t.Error(fault)
	}
}

var (
	link    = regexp.MustCompile(`\[[^\]\[]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	strange = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	inline  = regexp.MustCompile("`[^`]*`")
)

// anchors are the names of a page's headings, as the forge makes them.
func anchors(page string) map[string]bool {
	names := map[string]bool{}
	for _, l := range outsideOfCode(page) {
		if m := heading.FindStringSubmatch(l); m != nil {
			name := strings.ReplaceAll(strange.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
			for i := 1; names[name]; i++ {
				name = fmt.Sprintf("%s-%d", strings.TrimSuffix(name, fmt.Sprintf("-%d", i-1)), i)
			}
			names[name] = true
		}
	}
	return names
}

// outsideOfCode is the lines of a page that are no code.
func outsideOfCode(page string) (lines []string) {
	code := false
	for s := bufio.NewScanner(strings.NewReader(page)); s.Scan(); {
		if strings.HasPrefix(strings.TrimSpace(s.Text()), "```") {
			code = !code
		} else if !code && !strings.HasPrefix(s.Text(), "    ") {
			lines = append(lines, s.Text())
		}
	}
	return lines
}

// checkLinks wants each link between the pages, from one of them to a file or to a heading, to lead to what is there; and
// each page of the guide to be reachable from the README in one step.
func checkLinks(tree fs.FS) (faults []string) {
	fromReadme := map[string]bool{}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); entry.IsDir() && name != "." && (base == "testdata" || strings.HasPrefix(base, ".")) {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".md" {
			return nil
		}
		for _, l := range outsideOfCode(read(tree, name)) {
			for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(l, ""), -1) {
				target, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(target, ":") {
					continue // on another site
				}
				to := name
				if target != "" {
					to = path.Join(path.Dir(name), target)
				}
				if name == "README.md" {
					fromReadme[to] = true
				}
				if _, err := fs.Stat(tree, to); err != nil {
					faults = append(faults, fmt.Sprintf("%s: %s leads nowhere", name, m[1]))
				} else if anchor != "" && path.Ext(to) == ".md" && !anchors(read(tree, to))[anchor] {
					faults = append(faults, fmt.Sprintf("%s: %s: no such heading", name, m[1]))
				}
			}
		}
		return nil
	})
	if err != nil {
		faults = append(faults, err.Error())
	}
	for _, page := range glob(tree, "docs/guide/*.md") {
		if !fromReadme[page] {
			faults = append(faults, page+": the README has no link to it")
		}
	}
	return faults
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, fault := range checkLinks(repository()) {
		t.Error(fault)
	}
}

// The README is to be read in five minutes: what it grows by belongs into the guide.
func TestReadmeIsShort(t *testing.T) {
	require.LessOrEqual(t, strings.Count(read(repository(), "README.md"), "\n"), 250)
}

// Each fault of a page is noticed, and a tree without one passes.
func TestPageFaultsAreNoticed(t *testing.T) {
	good := map[string]string{
		"README.md":                   "# The *Game*: `x`\n\n[a](docs/guide/a.md#two-words) [b](#the-game-x) [c](https://x.example/#y)\n\n```go\npackage main\n```\n",
		"docs/guide/a.md":             "## Two words\n\n```go\nx := 1\nif x > 0 {\n\tx--\n}\n```\n\n`m[0](x)` [up](../../README.md)\n",
		"docs/guide/a_test.go":        "func f() {\n\t// begin guide\n\tx := 1\n\tif x > 0 {\n\t\tx--\n\t}\n\t// end guide\n}\n",
		"examples/quickstart/main.go": "package main\n",
	}
	check := func(name, old, by string) []string {
		tree := fstest.MapFS{}
		for file, text := range good {
			if file == name {
				require.Contains(t, text, old)
				text = strings.Replace(text, old, by, 1)
			}
			tree[file] = &fstest.MapFile{Data: []byte(text)}
		}
		return append(checkBlocks(tree), checkLinks(tree)...)
	}
	require.Empty(t, check("", "", ""))
	for _, c := range []struct{ name, old, by, says string }{
		{"docs/guide/a.md", "x := 1", "x := 2", "compiled nowhere"},
		{"docs/guide/a.md", "```go", "```text", "on no page"},
		{"docs/guide/a.md", "```go\nx := 1\nif x > 0 {\n\tx--\n}\n", "```go\npackage main\n", "shown twice"},
		{"docs/guide/a_test.go", "x := 1", "x := 2", "compiled nowhere"},
		{"docs/guide/a_test.go", "\t// end guide\n", "", "without its other one"},
		{"docs/guide/a_test.go", "\t// begin guide\n", "", "without its other one"},
		{"examples/quickstart/main.go", "main", "other", "compiled nowhere"},
		{"README.md", "a.md#", "b.md#", "leads nowhere"},
		{"README.md", "two-words", "three-words", "no such heading"},
		{"README.md", "#the-game-x", "#the-game", "no such heading"},
		{"README.md", "[a](docs/guide/a.md#two-words)", "", "no link to it"},
		{"docs/guide/a.md", "../../README.md", "../README.md", "leads nowhere"},
	} {
		require.Contains(t, strings.Join(check(c.name, c.old, c.by), "\n"), c.says, "%s: %s", c.name, c.by)
	}
}
