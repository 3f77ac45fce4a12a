package netcode_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rootLayers lists the files of the root from the bottom to the top, as doc.go does: a file calls those of its own layer and of lower ones.
func rootLayers() [][]string {
	return [][]string{
		{"config.go", "errors.go", "protocol.go", "stats.go"},
		{"endpoint.go", "handle.go", "held_messages.go", "incoming.go", "posted.go", "recipient.go", "sections.go", "send.go", "session.go", "spawn.go", "upstream.go", "visibility.go"},
		{"client.go", "client_time.go", "extension.go", "handshake.go", "host.go", "inside.go", "server.go", "sessions.go"},
		{"client_frame.go", "server_frame.go"},
	}
}

// emptyPackages imports each package as an empty one: what a package itself defines is known without the others.
type emptyPackages struct{}

func (emptyPackages) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// upwardCalls lists the uses of functions of a higher layer. A constructor, whose name begins with New, ties the layers together and may
// use all. A call through an interface or a function value is none.
func upwardCalls(sources map[string]string, layers [][]string) (found []string, err error) {
	layer := map[string]int{}
	for n, files := range layers {
		for _, file := range files {
			layer[file] = n
		}
	}
	set := token.NewFileSet()
	var files []*ast.File
	for name, source := range sources {
		if _, known := layer[name]; !known && name != "doc.go" {
			found = append(found, name+" is in no layer")
		}
		file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
	pkg, _ := config.Check("netcode", set, files, &info) // Its errors are of the empty packages.
	of := func(at token.Pos) string { return set.Position(at).Filename }
	for _, file := range files {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(function.Name.Name, "New") {
				continue
			}
			ast.Inspect(function, func(n ast.Node) bool {
				name, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				if used, ok := info.Uses[name].(*types.Func); ok && used.Pkg() == pkg && layer[of(used.Pos())] > layer[of(name.Pos())] {
					found = append(found, fmt.Sprintf("%s: %s uses %s of %s, which is in a higher layer", of(name.Pos()), function.Name.Name, used.Name(), of(used.Pos())))
				}
				return true
			})
		}
	}
	slices.Sort(found)
	return found, nil
}

// The files of the root call downwards, or within their layer.
func TestRootFilesCallDownwards(t *testing.T) {
	sources := map[string]string{}
	names, err := fs.Glob(os.DirFS("."), "*.go")
	require.NoError(t, err)
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			source, err := os.ReadFile(name)
			require.NoError(t, err)
			sources[name] = string(source)
		}
	}
	for _, files := range rootLayers() {
		for _, file := range files {
			require.Contains(t, sources, file)
		}
	}
	found, err := upwardCalls(sources, rootLayers())
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestUpwardCallsAreFound(t *testing.T) {
	found, err := upwardCalls(map[string]string{
		"low.go":   "package netcode\n\ntype low struct{ up interface{ rise() } }\n\nfunc (l *low) call() { l.up.rise(); new(high).rise() }\n\nfunc NewLow() *low { return &low{up: new(high)} }\n",
		"high.go":  "package netcode\n\nimport \"other\"\n\ntype high struct{ low }\n\nfunc (h *high) rise() { other.Call(); h.call() }\n",
		"other.go": "package netcode\n",
	}, [][]string{{"low.go"}, {"high.go"}})
	require.NoError(t, err)
	require.Equal(t, []string{"low.go: call uses rise of high.go, which is in a higher layer", "other.go is in no layer"}, found)
}
