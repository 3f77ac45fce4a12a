package netcode_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlange-42/arche/ecs"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/input"
)

// audiences is for whom the package comment says that the methods of a server and a client are; a method that is named twice
// has both.
func audiences(text string) map[string][]string {
	found := map[string][]string{}
	heading := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "//"), " ")
		if title, ok := strings.CutPrefix(line, "# "); ok {
			heading = title
		}
		if !strings.HasPrefix(line, "  ") {
			continue // only lists say for whom a method is
		}
		for _, part := range strings.Split(line, "[")[1:] {
			if name, _, ok := strings.Cut(part, "]"); ok && strings.Contains(name, ".") {
				found[name] = append(found[name], heading)
			}
		}
	}
	return found
}

// The comments of Server and Client name the audience of each method, once, and no method that does not exist.
func TestTypeCommentsNameEveryMethodOnce(t *testing.T) {
	found := map[string][]string{}
	for _, file := range []string{"server.go", "client.go"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		maps.Copy(found, audiences(string(text)))
	}
	for of, end := range map[string]reflect.Type{"Server": reflect.TypeFor[*netcode.Server](), "Client": reflect.TypeFor[*netcode.Client]()} {
		for m := range end.NumMethod() {
			name := of + "." + end.Method(m).Name
			require.Len(t, found[name], 1, "%s in the lists of the type's comment", name)
			require.Contains(t, []string{"Methods for games", "Methods for the systems", "Methods for extensions"}, found[name][0], name)
			delete(found, name)
		}
	}
	require.Empty(t, found, "no such method")
}

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

// The go doc text of an exported alias says where its fields and methods are.
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
		if filepath.ToSlash(name) == "ecs/world.go" { // The types of the ECS, which the tag chooses.
			return nil
		}
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
	for _, folder := range []string{"collections", "components", "delta", "input", "interest", "interpolate", "message", "nettest", "internal/peer", "quantize", "record", "rewind", "snapshot", "systems", "tick", "transport", "wire"} {
		known[path.Base(folder)] = exportedNames(t, folder)
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

// requirements are the numbers of docs/requirements.md and the places that it names.
func requirements(t *testing.T) map[string]string {
	text, err := os.ReadFile("docs/requirements.md")
	require.NoError(t, err)
	found := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-EX]c?\d+) \| [^|]+ \| ([^|]+) \|$`).FindAllStringSubmatch(string(text), -1) {
		require.NotContains(t, found, row[1], "twice")
		found[row[1]] = row[2]
	}
	return found
}

// Every requirement has a line, and what the line says builds it is there.
func TestRequirementsAreBuiltWhereTheListSays(t *testing.T) {
	found := requirements(t)
	count := map[string]int{"A": 26, "Ac": 13, "B": 12, "C": 14, "Cc": 1, "D": 14, "E": 26, "Ec": 10, "X": 12}
	for _, number := range allNumbers(count) {
		require.Contains(t, found, number)
	}
	total := 0
	for _, n := range count {
		total += n
	}
	require.Len(t, found, total)
	for number, where := range found {
		files := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(where, -1)
		require.True(t, len(files) > 0 || strings.HasPrefix(where, "not built"), "%s is built nowhere", number)
		for _, file := range files {
			_, err := os.Stat(filepath.FromSlash(file[1]))
			require.NoError(t, err, number)
		}
	}
}

// allNumbers are the numbers of so many requirements of each letter.
func allNumbers(count map[string]int) (all []string) {
	for letter, n := range count {
		for i := 1; i <= n; i++ {
			all = append(all, letter+strconv.Itoa(i))
		}
	}
	return all
}

// panicText is the text that f panics with.
func panicText(t *testing.T, f func()) string {
	t.Helper()
	var text string
	func() {
		defer func() { text, _ = recover().(string) }()
		f()
	}()
	require.NotEmpty(t, text)
	return text
}

// With or without the tag, the error of an ecs.Entity in a message says how a message names an entity, and does not send the user to
// the other form.
func TestErrorsOfEntitiesInMessagesSayNetworkID(t *testing.T) {
	type bare struct{ At ecs.Entity }
	type tagged struct {
		At ecs.Entity `net:"entity"`
	}
	const advice = "a message, an input or a collection names an entity by a field of type NetworkID with that tag"
	for _, f := range []func(){
		func() { netcode.Handle[bare](netcode.NewProtocol(), nil) },
		func() { netcode.Handle[tagged](netcode.NewProtocol(), nil) },
		func() { input.Register[tagged](netcode.NewProtocol()) },
		func() { collections.NewList[tagged](netcode.NewProtocol(), "l") },
		func() { collections.NewMap[uint8, tagged](netcode.NewProtocol(), "m") },
		func() { collections.NewMap[tagged, uint8](netcode.NewProtocol(), "m") },
	} {
		text := panicText(t, f)
		require.Contains(t, text, advice)
		require.Contains(t, text, ".At: ")
	}
	require.NotPanics(t, func() { netcode.Replicate[tagged](netcode.NewProtocol()) })
}

// A rotation of another number of floats: the error names the type that a rotation has.
func TestErrorsOfRotationsSayFourFloats(t *testing.T) {
	type three struct {
		Rot [3]float32 `net:"quat,bits=9"`
	}
	type wide struct {
		Rot [4]float64 `net:"quat,bits=9"`
	}
	type one struct {
		Rot float32 `net:"quat,bits=9"`
	}
	type several struct {
		Rots [2][3][4]float32 `net:"quat,bits=9"`
	}
	require.Equal(t, `netcode: Replicate[netcode_test.three]: wire: three.Rot: the tag net:"quat,bits=9" does not go with [3]float32: a rotation is [4]float32 or a struct of four float32, x, y, z, w`,
		panicText(t, func() { netcode.Replicate[three](netcode.NewProtocol()) }))
	require.Contains(t, panicText(t, func() { netcode.Replicate[wide](netcode.NewProtocol()) }), "a rotation is [4]float32")
	require.Contains(t, panicText(t, func() { netcode.Handle[one](netcode.NewProtocol(), nil) }), "a rotation is [4]float32")
	require.NotPanics(t, func() { netcode.Replicate[several](netcode.NewProtocol()) })
}
