package netcode_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The simulations that CI leaves out under the race detector exist and start no goroutine.
func TestLongSimulationsStartNoGoroutine(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(script), "readonly long_simulations=(")
	require.True(t, found)
	list, _, found = strings.Cut(list, ")")
	require.True(t, found)
	names := map[string]int{}
	for _, name := range strings.Fields(list) {
		names[name] = 0
	}
	require.Greater(t, len(names), 20)
	for _, folder := range []string{"wire", "peer", "message", "snapshot", "interest", "collections", "ecs", "systems", "nettest", "root"} {
		files, err := filepath.Glob(filepath.Join(strings.Replace(folder, "root", ".", 1), "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, declaration := range syntax.Decls {
				f, is := declaration.(*ast.FuncDecl)
				if !is {
					continue
				}
				for name := range names {
					if strings.HasPrefix(f.Name.Name, name) {
						names[name]++
						require.False(t, startsGoroutine(f), "%s: %s", file, f.Name.Name)
					}
				}
			}
		}
	}
	for name, n := range names {
		require.NotZero(t, n, "there is no %s", name)
	}
}

// startsGoroutine reports whether a function has a go statement, or names an executor of a server.
func startsGoroutine(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.Ident:
			found = found || n.Name == "Executor"
		}
		return !found
	})
	return found
}

// Tests count allocations with internal/alloctest: testing.AllocsPerRun divides by the runs and rounds down.
func TestEveryAllocationIsCounted(t *testing.T) {
	uses := 0
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "_test.go") || strings.Contains(filepath.ToSlash(name), "internal/alloctest/") {
			return err
		}
		text, err := os.ReadFile(name)
		require.False(t, strings.Contains(string(text), "testing.Allocs"+"PerRun("), "%s", name)
		uses += strings.Count(string(text), "alloctest.Zero(")
		return err
	}))
	require.Greater(t, uses, 80)
}
