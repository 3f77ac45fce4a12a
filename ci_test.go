package netcode_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CI runs the race detector over the packages of the module that start goroutines.
func TestPackagesWithGoroutinesAreRaced(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(script), "readonly race_packages=(")
	require.True(t, found)
	list, _, _ = strings.Cut(list, ")")
	raced := strings.Fields(list)
	starts := 0
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		folder := filepath.ToSlash(filepath.Dir(name))
		switch top, _, _ := strings.Cut(folder, "/"); {
		case err != nil:
			return err
		case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"), slices.Contains([]string{"bench", "cmd", "examples", "internal"}, top):
			return nil // Programs, and what only they run.
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		if !startsGoroutine(file) {
			return nil
		}
		starts++
		require.True(t, slices.ContainsFunc(raced, func(p string) bool {
			tree, all := strings.CutSuffix(p, "/...")
			return "./"+folder == p || all && strings.HasPrefix("./"+folder+"/", tree+"/")
		}), "%s starts a goroutine: add ./%s to race_packages", name, folder)
		return nil
	}))
	require.Greater(t, starts, 4)
}

// startsGoroutine reports whether a file has a go statement or a call of WaitGroup.Go.
func startsGoroutine(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			called, is := n.Fun.(*ast.SelectorExpr)
			found = found || is && called.Sel.Name == "Go"
		}
		return !found
	})
	return found
}
