package netcode_test

import (
	"go/ast"
	"go/token"
)

// houseSilent are the folders of programs and of tests of tests: nobody imports them.
func houseSilent(folder string) bool {
	return folder == "internal" || folder == "examples" || folder == "bench" || folder == "cmd"
}

// checkNames wants a comment on everything that a package exports: before it or behind it. One that stands before a block
// of constants or of variables is about all of them, and one of a line about all names on it.
func (f *houseFile) checkNames() {
	if houseSilent(f.folder) || f.syntax.Name.Name == "main" {
		return
	}
	for _, declaration := range f.syntax.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && isExportedReceiver(d.Recv) {
				f.checkName(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				f.checkSpec(d, spec)
			}
		}
	}
}

// isExportedReceiver reports whether a function is no method, or one of a type that is exported.
func isExportedReceiver(receiver *ast.FieldList) bool {
	if receiver == nil {
		return true
	}
	of := receiver.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return false
		}
	}
}

func (f *houseFile) checkSpec(d *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				f.checkName(name, d.Doc, s.Doc, s.Comment)
			}
		}
	case *ast.TypeSpec:
		if !s.Name.IsExported() {
			return
		}
		if d.Lparen == token.NoPos {
			f.checkName(s.Name, d.Doc)
		} else {
			f.checkName(s.Name, s.Doc, s.Comment)
		}
		f.checkFields(s.Type)
	}
}

// checkFields wants a comment on what a type has: fields, also of structs in exported ones, and methods. What is embedded has
// its own where it is declared.
func (f *houseFile) checkFields(of ast.Expr) {
	ast.Inspect(of, func(n ast.Node) bool {
		var fields *ast.FieldList
		switch t := n.(type) {
		case *ast.StructType:
			fields = t.Fields
		case *ast.InterfaceType:
			fields = t.Methods
		case *ast.FuncType:
			return false // arguments
		default:
			return true
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				if name.IsExported() {
					f.checkName(name, field.Doc, field.Comment)
					f.checkFields(field.Type)
				}
			}
		}
		return false
	})
}

func (f *houseFile) checkName(name *ast.Ident, comments ...*ast.CommentGroup) {
	for _, c := range comments {
		if c != nil && c.Text() != "" {
			return
		}
	}
	f.report(ruleName, name.Pos(), "%s is exported and has no comment", name.Name)
}
