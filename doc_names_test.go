package netcode_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exportedNames returns what a folder's package declares with an upper-case letter: types, functions, methods, fields and values.
func exportedNames(t *testing.T, folder string) map[string]bool {
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BlockStmt:
				return false
			case *ast.FuncDecl:
				names[n.Name.Name] = true
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range n.Names {
					names[id.Name] = true
				}
			case *ast.Field:
				for _, id := range n.Names {
					names[id.Name] = true
				}
			}
			return true
		})
	}
	return names
}

// unknownNames returns the names of a package of this module that stand in code on a page, and that do not exist. Names with a
// dot behind, as `snapshot.View.Urge`, have to exist in all their parts.
func unknownNames(known map[string]map[string]bool, page string) (unknown []string) {
	named := regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	for _, code := range regexp.MustCompile("`[^`\n]+`").FindAllString(page, -1) {
		for _, m := range named.FindAllStringSubmatch(code, -1) {
			names, ours := known[m[1]]
			if ours && (!names[m[2]] || m[3] != "" && !names[m[3]]) {
				unknown = append(unknown, m[0])
			}
		}
	}
	return unknown
}

// Pages name what there is. Decisions (docs/adr) name what there was when they were made.
func TestPagesNameWhatExists(t *testing.T) {
	known := map[string]map[string]bool{"netcode": exportedNames(t, "."), "netecs": exportedNames(t, "ecs")}
	for _, folder := range []string{"collections", "components", "delta", "input", "interest", "interpolate", "message", "nettest", "peer", "quantize", "record", "rewind", "snapshot", "systems", "tick", "transport", "wire"} {
		known[folder] = exportedNames(t, folder)
	}
	known["netcode"]["Collections"] = true // The name of a message type.
	pages := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "PROTOCOL.md", "SECURITY.md", "bench/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/guide/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		pages = slices.Concat(pages, found)
	}
	require.Greater(t, len(pages), 20)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Empty(t, unknownNames(known, string(text)), "%s names what does not exist", page)
	}
	require.Equal(t, []string{"wire.Nothing", "quantize.Plan.Nothing"}, unknownNames(known, "`wire.Nothing()`, `quantize.Plan` and `quantize.Plan.Nothing`, `os.File`"))
}
