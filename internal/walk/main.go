// Command walk counts the functions and files on the path from a component written on a server to the client's world.
//
//	go run ./internal/walk [-v]
//
// It copies the module into a temporary folder and adds a call to every function that reports its entry. Then it runs package
// play in the copy: one server, one client, one entity, one component, in steady state. -v lists the functions.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const tracer = "github.com/arche-netcode/netcode/internal/walk/trace"

func main() {
	verbose := flag.Bool("v", false, "list the functions")
	root := flag.String("C", ".", "the root of the module")
	flag.Parse()
	if err := walk(*root, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// walk instruments a copy of the module in root and runs it.
func walk(root string, verbose bool) error {
	copied, err := os.MkdirTemp("", "walk")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	if err := instrumentAll(root, copied); err != nil {
		return err
	}
	args := []string{"run", "./internal/walk/play"}
	if verbose {
		args = append(args, "-v")
	}
	command := exec.Command("go", args...)
	command.Dir, command.Stdout, command.Stderr = copied, os.Stdout, os.Stderr
	return command.Run()
}

// instrumentAll copies the module without tests, nested modules and data, and instruments the Go files.
func instrumentAll(root, to string) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipped(root, inside) {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, inside), 0o755)
		}
		switch filepath.Ext(name) {
		case ".go", ".s", ".h", ".mod", ".sum", ".tables":
		default:
			return nil
		}
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if filepath.Ext(name) == ".go" && !strings.HasPrefix(filepath.ToSlash(inside), "internal/walk/") {
			if source, err = instrument(filepath.ToSlash(inside), source); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(to, inside), source, 0o644)
	})
}

// skipped reports whether a folder is not copied.
func skipped(root, inside string) bool {
	if inside == "." {
		return false
	}
	if _, err := os.Stat(filepath.Join(root, inside, "go.mod")); err == nil {
		return true
	}
	base := filepath.Base(inside)
	return strings.HasPrefix(base, ".") || base == "testdata" || inside == "bench" || inside == "examples" || inside == "docs" || inside == "nettest"
}

// instrument adds a call of trace.Enter to the start of each function of a file.
func instrument(name string, source []byte) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	at := 0
	insert := func(pos token.Pos, text string) {
		offset := set.Position(pos).Offset
		out.Write(source[at:offset])
		out.WriteString(text)
		at = offset
	}
	any := false
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && f.Name.Name != "_" {
			any = true
		}
	}
	if !any {
		return source, nil
	}
	insert(file.Name.End(), "; import walktrace \""+tracer+"\"")
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Name.Name == "_" {
			continue
		}
		insert(f.Body.Lbrace+1, fmt.Sprintf(" walktrace.Enter(%q); defer walktrace.Leave();", name+":"+function(f)))
	}
	out.Write(source[at:])
	return out.Bytes(), nil
}

// function returns the name of a function, with the type of its receiver.
func function(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	e := f.Recv.List[0].Type
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}
