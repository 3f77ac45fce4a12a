package netcode_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cutComments are the fields whose trailing comment goes on in the next line: go doc leaves that out, or shows it as the next
// field's. A leading comment of the next field starts with its name.
func cutComments(t *testing.T, name string, source any) (found []string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.ParseComments)
	require.NoError(t, err)
	starts := map[int]string{} // by line
	for _, group := range file.Comments {
		word, _, _ := strings.Cut(group.Text(), " ")
		starts[files.Position(group.Pos()).Line] = strings.TrimSpace(word)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		list, ok := n.(*ast.FieldList)
		if !ok {
			return true
		}
		for _, field := range list.List { // theirs are no lines of their own
			if field.Comment != nil {
				delete(starts, files.Position(field.Comment.Pos()).Line)
			}
		}
		for i, field := range list.List {
			if field.Comment == nil {
				continue
			}
			word, goesOn := starts[files.Position(field.Comment.Pos()).Line+1]
			if goesOn && i+1 < len(list.List) {
				for _, next := range list.List[i+1].Names {
					goesOn = goesOn && next.Name != word
				}
			}
			if goesOn {
				found = append(found, files.Position(field.Pos()).String())
			}
		}
		return true
	})
	return found
}

func TestFieldCommentsAreShownWhole(t *testing.T) {
	cutOff := "package x\n\ntype X struct {\n\tA int // one\n\t// two\n\tB int // one\n\t// C is three\n\tC int // one\n\t// four\n}\n"
	require.Len(t, cutComments(t, "x.go", cutOff), 2)
	var cut []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			cut = append(cut, cutComments(t, path, nil)...)
		}
		return err
	}))
	require.Empty(t, cut, "the comment goes before the field")
}
