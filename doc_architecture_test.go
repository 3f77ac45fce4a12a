package netcode_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// declared returns the functions, "Type.method" for methods, and the types that a Go file declares.
func declared(t *testing.T, file string) map[string]bool {
	names := map[string]bool{}
	syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	for _, declaration := range syntax.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			names[strings.TrimPrefix(receiverName(d.Recv)+"."+d.Name.Name, ".")] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					names[s.Name.Name] = true
				}
			}
		}
	}
	return names
}

// rewriteArchitecture writes the present files of moved functions into docs/architecture.md.
var rewriteArchitecture = flag.Bool("architecture", false, "write the files of moved functions into docs/architecture.md")

// docs/architecture.md names files and functions as they are. A failure tells the file that declares the function now;
// go test . -run Architecture -architecture writes it.
func TestArchitectureNamesWhatExists(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(page), "\n"), 200)
	contributing, err := os.ReadFile("CONTRIBUTING.md")
	require.NoError(t, err)
	first := regexp.MustCompile(`\]\(([^)]+)\)`).FindStringSubmatch(string(contributing))
	require.Equal(t, "docs/architecture.md", first[1], "the first page that CONTRIBUTING.md names")

	named := regexp.MustCompile("`([a-z_/]+\\.go): ([A-Za-z.]+)`").FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(named), 40)
	for _, m := range named {
		file, name := m[1], m[2]
		if _, err := os.Stat(file); err == nil && declared(t, file)[name] {
			continue
		}
		others, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.go"))
		require.NoError(t, err)
		now := "no file of its folder"
		for _, other := range others {
			if declared(t, other)[name] {
				now = other
			}
		}
		if *rewriteArchitecture && strings.HasSuffix(now, ".go") {
			page = []byte(strings.ReplaceAll(string(page), "`"+file+": "+name+"`", "`"+now+": "+name+"`"))
			continue
		}
		t.Errorf("docs/architecture.md: %s has no %s; it is in %s", file, name, now)
	}
	if *rewriteArchitecture {
		require.NoError(t, os.WriteFile("docs/architecture.md", page, 0o644))
	}
}

// mostUnlisted is the largest number of files that a package may have without a list of them.
const mostUnlisted = 4

// A doc.go with a list of files lists each file of its package but doc.go, unsafe.go and poison_*.go, and no file that is not there.
// A package with more than mostUnlisted such files has a list.
func TestPackageDocsListTheirFiles(t *testing.T) {
	lists := 0
	require.NoError(t, filepath.WalkDir(".", func(page string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(page) != "doc.go" {
			return err
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		_, list, found := strings.Cut(string(text), "// # Files\n")
		if page == "doc.go" { // It lists them behind its package clause: games need not see them.
			_, list, found = strings.Cut(string(text), "// Files, for those who read the code.\n")
		}
		list, _, _ = strings.Cut(list, "\n// # ")
		files, err := filepath.Glob(filepath.Join(filepath.Dir(page), "*.go"))
		require.NoError(t, err)
		there, needed := map[string]bool{}, []string{}
		for _, file := range files {
			name := filepath.Base(file)
			there[name] = true
			if !strings.HasSuffix(name, "_test.go") && name != "doc.go" && name != "unsafe.go" && !strings.HasPrefix(name, "poison_") {
				needed = append(needed, name)
			}
		}
		if !found {
			program := strings.Contains(string(text), "\npackage main\n")
			require.True(t, program || len(needed) <= mostUnlisted, "%s has no list of its %d files: add one behind // # Files", page, len(needed))
			return nil
		}
		lists++
		for _, name := range needed {
			require.Regexp(t, `\b`+regexp.QuoteMeta(name)+`\b`, list, "%s does not list %s", page, name)
		}
		for _, name := range regexp.MustCompile(`\b[a-z0-9_]+\.go\b`).FindAllString(list, -1) {
			require.True(t, there[name], "%s lists %s", page, name)
		}
		return nil
	}))
	require.Greater(t, lists, 25)
}
