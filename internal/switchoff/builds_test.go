package switchoff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each entry of the list builds with its edits: a rename that made one stale is found here, and not only where it runs.
// The check reads types of the edited files alone, so it takes seconds for the whole list.
func TestEachReplacementBuilds(t *testing.T) {
	if !*switchOff {
		t.Skip("only with -switchoff, and in .ci/run: it checks the types of a package for each entry")
	}
	c := newChecker(t)
	for _, m := range lists() {
		files, err := m.mutated(tree)
		require.NoError(t, err, m.name())
		byFolder := map[string]map[string]string{}
		for file, source := range files {
			folder := filepath.Dir(file)
			if byFolder[folder] == nil {
				byFolder[folder] = map[string]string{}
			}
			byFolder[folder][filepath.Base(file)] = source
		}
		for folder, edited := range byFolder {
			assert.NoError(t, c.check(folder, edited), "the list is stale: %s", m.name())
		}
	}
}

func TestCheckerFindsWhatDoesNotBuild(t *testing.T) {
	c := newChecker(t)
	const folder, file = "internal/switchoff/testdata/trial", "trial.go"
	read, err := os.ReadFile(filepath.Join(tree, folder, file))
	require.NoError(t, err)
	require.NoError(t, c.check(folder, map[string]string{file: string(read)}))
	broken := bytes.Replace(read, []byte("a > b"), []byte("a > c"), 1)
	require.ErrorContains(t, c.check(folder, map[string]string{file: string(broken)}), "undefined: c")
}

// checker type-checks packages of the tree in which some files have other text.
type checker struct {
	files    *token.FileSet
	importer types.Importer
	packages map[string]map[string]*ast.File // By folder and file, without function bodies.
}

// newChecker asks the go command for the export data of all packages.
func newChecker(t *testing.T) *checker {
	command := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...")
	command.Dir = tree
	printed, err := command.Output()
	require.NoError(t, err)
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(printed)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath] = p.Export
	}
	c := &checker{files: token.NewFileSet(), packages: map[string]map[string]*ast.File{}}
	c.importer = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// parsed is the files of a package without the bodies of their functions.
func (c *checker) parsed(folder string) (map[string]*ast.File, error) {
	if files := c.packages[folder]; files != nil {
		return files, nil
	}
	p, err := build.ImportDir(filepath.Join(tree, folder), 0)
	if err != nil {
		return nil, err
	}
	files := map[string]*ast.File{}
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.files, filepath.Join(tree, folder, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if function, ok := d.(*ast.FuncDecl); ok {
				function.Body = nil
			}
		}
		files[name] = f
	}
	c.packages[folder] = files
	return files, nil
}

// check is the first error of type in the edited files.
func (c *checker) check(folder string, edited map[string]string) (first error) {
	unedited, err := c.parsed(folder)
	if err != nil {
		return err
	}
	var all []*ast.File
	positions := map[string]bool{}
	for name, f := range unedited {
		if _, ok := edited[name]; !ok {
			all = append(all, f)
		}
	}
	for name, source := range edited {
		at := filepath.Join("edited", folder, name)
		f, err := parser.ParseFile(c.files, at, source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		positions[at] = true
		all = append(all, f)
	}
	config := types.Config{Importer: c.importer, Error: func(err error) {
		if e, ok := err.(types.Error); ok && first == nil && positions[c.files.Position(e.Pos).Filename] {
			first = fmt.Errorf("%s: %s", c.files.Position(e.Pos), e.Msg)
		}
	}}
	_, _ = config.Check(folder, c.files, all, nil) // Error has seen each error.
	return first
}
