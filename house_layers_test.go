package netcode_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rootLayers lists the files of the root from the bottom to the top, as doc.go does: a file uses those of its own layer and of lower ones.
func rootLayers() [][]string {
	return [][]string{
		{"config.go", "handle.go", "protocol.go", "recipient.go", "send.go", "shared.go", "stats.go"},
		{"client.go", "client_time.go", "extension.go", "handshake.go", "host.go", "inside.go", "owner.go", "server.go", "session.go", "sessions.go", "spawn.go", "upstream.go"},
		{"client_frame.go", "server_frame.go"},
		{"new.go"},
	}
}

// emptyPackages imports each package as an empty one: what a package itself defines is known without the others.
type emptyPackages struct{}

func (emptyPackages) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// upwardUses lists the uses of a higher layer: of its functions, types, fields, constants and variables. A call through an interface or
// a function value is none.
func upwardUses(sources map[string]string, layers [][]string) (found []string, err error) {
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
	told := map[string]bool{}
	for name, used := range info.Uses {
		if used.Pkg() == pkg && layer[of(used.Pos())] > layer[of(name.Pos())] {
			told[fmt.Sprintf("%s uses %s of %s, which is in a higher layer", of(name.Pos()), used.Name(), of(used.Pos()))] = true
		}
	}
	found = slices.AppendSeq(found, maps.Keys(told))
	slices.Sort(found)
	return found, nil
}

// The files of the root use those below them, or of their layer.
func TestRootFilesUseLowerLayers(t *testing.T) {
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
	found, err := upwardUses(sources, rootLayers())
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestUpwardUsesAreFound(t *testing.T) {
	found, err := upwardUses(map[string]string{
		"low.go":   "package netcode\n\ntype low struct{ up interface{ rise() } }\n\nfunc (l *low) call() { l.up.rise(); new(high).rise() }\n\nfunc field(h *high) any { return h.of }\n",
		"high.go":  "package netcode\n\nimport \"other\"\n\ntype high struct{ of *low }\n\nfunc (h *high) rise() { other.Call(); h.of.call() }\n",
		"other.go": "package netcode\n",
	}, [][]string{{"low.go"}, {"high.go"}})
	require.NoError(t, err)
	require.Equal(t, []string{
		"low.go uses high of high.go, which is in a higher layer", "low.go uses of of high.go, which is in a higher layer",
		"low.go uses rise of high.go, which is in a higher layer", "other.go is in no layer",
	}, found)
}
