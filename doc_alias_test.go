package netcode_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hiddenAliases returns the exported aliases of a file that hide their type: go doc shows no fields, no methods and no link to them. An
// alias is another name of an exported type, which its comment links to.
func hiddenAliases(file *ast.File) (hidden []string) {
	imports := map[string]string{}
	for _, i := range file.Imports {
		where := strings.Trim(i.Path.Value, `"`)
		name := path.Base(where)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = where
	}
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, s := range group.Specs {
			spec := s.(*ast.TypeSpec)
			if !spec.Assign.IsValid() || !spec.Name.IsExported() {
				continue
			}
			comment := spec.Doc.Text() + spec.Comment.Text()
			if !group.Lparen.IsValid() {
				comment += group.Doc.Text()
			}
			target, from := spec.Type, ""
			if generic, ok := target.(*ast.IndexExpr); ok {
				target = generic.X
			}
			if selector, ok := target.(*ast.SelectorExpr); ok {
				from = selector.X.(*ast.Ident).Name
				target = selector.Sel
			}
			name, _ := target.(*ast.Ident)
			link := fmt.Sprintf("[%s.%s]", from, name)
			if from == "" {
				link = fmt.Sprintf("[%s]", name)
			}
			switch where := imports[from]; {
			case name == nil || !name.IsExported():
				hidden = append(hidden, spec.Name.Name+": the type belongs where its name is exported")
			case strings.Contains(where, "/internal/"):
				hidden = append(hidden, spec.Name.Name+": the type is of an internal package")
			case !strings.Contains(comment, link):
				hidden = append(hidden, fmt.Sprintf("%s: its comment does not link to %s", spec.Name.Name, link))
			}
		}
	}
	return hidden
}

// Whoever asks go doc for an exported alias is told where its fields and methods are.
func TestAliasesShowTheirFields(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case "internal", "examples", "bench", "cmd", "testdata":
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		require.Empty(t, hiddenAliases(file), name)
		return nil
	}))
	require.Greater(t, files, 200)
}

func TestAliasesThatHideTheirFieldsAreFound(t *testing.T) {
	for _, c := range []struct{ source, hidden string }{
		{"// A is b. See [x.B].\ntype A = x.B", ""},
		{"type (\n\t// A is b. See [x.B].\n\tA = x.B\n\tc = in.C\n)", ""},
		{"type A = x.B // See [x.B].", ""},
		{"// A is b. See [x.B].\ntype A[T any] = x.B[T]", ""},
		{"// A is a [B].\ntype A = B[int]", ""},
		{"// A is a b.\ntype A = B[int]", "A: its comment does not link to [B]"},
		{"type A struct{ x.B }", ""},
		{"// A is b.\ntype A = x.B", "A: its comment does not link to [x.B]"},
		{"// A is b. See [x.B].\ntype (\n\tA = x.B\n)", "A: its comment does not link to [x.B]"},
		{"// A is b. See [in.B].\ntype A = in.B", "A: the type is of an internal package"},
		{"type b struct{}\n// A is [b].\ntype A = b", "A: the type belongs where its name is exported"},
		{"type A = struct{ X int }", "A: the type belongs where its name is exported"},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go",
			"package a\nimport (\n\"m/x\"\n in \"m/internal/y\"\n)\n"+c.source, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		require.Equal(t, c.hidden, strings.Join(hiddenAliases(file), "; "), c.source)
	}
}
