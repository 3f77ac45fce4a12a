package netcode_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Patterns of the comment rule.
const (
	clauseAfterName = `^// \w+ (is|are) (what|who|whom|whose|where|which|how)\b`
	clauseFirst     = `^// (What|Who|Whose)\b`
	wordLean        = `(?i)\blean`
	pronounPair     = `\b(of|to) (which|whom)\b`
	pronounPairs    = 2                          // in a file
	codeName        = `\b[A-Z]?[a-z]+[A-Z]\w*\b` // with a capital inside
)

// Limits of the rules about methods.
const (
	methodTypes = 3 // types of a package with the same unexported method name
	typeFiles   = 2 // files with methods of one type
)

// houseDefined lists the packages whose exported types doc.go or docs/design.md defines.
func houseDefined() []string {
	return []string{"snapshot", "internal/replica", "ecs", "delta", "quantize", "wire", "internal/peer", "message"}
}

// reportNew adds a violation of a rule that only some packages keep so far. Elsewhere it is counted.
func (h *house) reportNew(rule, file string, line int, text string) {
	dirs := h.kept[rule]
	kept := slices.Contains(dirs, path.Dir(file)) || slices.Contains(dirs, "*")
	h.found = append(h.found, violation{rule: rule, file: file, line: line, text: text, counted: !kept})
}

// checkComments reports comments with a clause as their subject and with the words that the house does not use.
func (f *houseFile) checkComments() {
	bad := regexp.MustCompile(clauseAfterName + "|" + clauseFirst + "|" + wordLean)
	pair, name := regexp.MustCompile(pronounPair), regexp.MustCompile(codeName)
	pairs := 0
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			line := f.set.Position(c.Pos()).Line
			if m := bad.FindString(c.Text); m != "" {
				f.reportNew(ruleComment, f.name, line, fmt.Sprintf("%q: begin with the verb or the name, and use the words of docs/design.md", m))
			}
			if !strings.HasPrefix(c.Text, "//\t") && !strings.HasPrefix(c.Text, "//go:") {
				for _, word := range name.FindAllString(c.Text, -1) {
					f.mentions = append(f.mentions, houseMethod{name: word, file: f.name, line: line})
				}
			}
			if pairs += len(pair.FindAllString(c.Text, -1)); pairs > pronounPairs {
				f.reportNew(ruleComment, f.name, line, `more than two "of which", "to whom" in a file: write two sentences`)
				pairs = 0
			}
		}
	}
}

// checkSubject reports a comment that begins with another name than the declaration's: one that was not renamed with it. Functions and
// types begin with their own name, after an article or not. Fields and values may begin with a verb or a noun.
func (f *houseFile) checkSubject(doc *ast.CommentGroup, strict bool, names ...*ast.Ident) {
	if doc == nil || len(names) == 0 {
		return
	}
	words := strings.FieldsFunc(doc.Text(), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	isName := func(n *ast.Ident) bool { return len(words) > 0 && words[0] == n.Name }
	if len(words) == 0 || words[0] == "Deprecated" || slices.ContainsFunc(names, isName) {
		return
	}
	if begin := doc.Text()[:len(words[0])]; strict || begin == words[0] && unicode.IsLower([]rune(begin)[0]) {
		f.reportNew(ruleComment, f.name, f.set.Position(doc.Pos()).Line, fmt.Sprintf("begins with %q, and is about %q", words[0], names[0].Name))
	}
}

// checkStaleNames reports words in comments that are written like a name of the code, and that no file declares or uses.
func (h *house) checkStaleNames() {
	for _, m := range h.mentions {
		if _, known := h.names[strings.TrimSuffix(m.name, "s")]; !known && !h.names[m.name] && !slices.Contains(houseProperNames(), m.name) {
			h.reportNew(ruleComment, m.file, m.line, m.name+" is no name of the module: was it renamed?")
		}
	}
}

// houseProperNames lists the words with a capital inside that are no names of the module: terms, and names of other modules.
func houseProperNames() []string {
	return strings.Fields("ArrayBuffers ChaCha20 DevTools GiB HyStart InputEvent JavaScript KiB MakeFuzz MiB NewCertificate NewReno SplitMix64 TestCaseNN TypeScript kB")
}

// noteDeclarations stores the methods and the exported types of a file for the rules about whole packages.
func (f *houseFile) noteDeclarations() {
	p := f.packages[path.Dir(f.name)]
	for _, declaration := range f.syntax.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			f.checkSubject(d.Doc, true, d.Name)
			if receiver := receiverName(d.Recv); receiver != "" {
				p.methods = append(p.methods, houseMethod{receiver, d.Name.Name, f.name, f.set.Position(d.Pos()).Line})
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					f.checkSubject(s.Doc, true, s.Name)
					if !d.Lparen.IsValid() {
						f.checkSubject(d.Doc, true, s.Name)
					}
				case *ast.ValueSpec:
					f.checkSubject(s.Doc, false, s.Names...)
					if !d.Lparen.IsValid() {
						f.checkSubject(d.Doc, false, s.Names...)
					}
				}
				if t, ok := spec.(*ast.TypeSpec); ok && t.Name.IsExported() {
					p.types = append(p.types, houseMethod{t.Name.Name, "", f.name, f.set.Position(t.Pos()).Line})
				}
			}
		}
	}
}

// houseMethod is one method, or one type with an empty method name.
type houseMethod struct {
	receiver, name, file string
	line                 int
}

// receiverName returns the type of a receiver, empty for a function.
func receiverName(receiver *ast.FieldList) (name string) {
	if receiver == nil {
		return ""
	}
	ast.Inspect(receiver.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// checkMethods reports a method name that too many types of a package share, and a type whose methods too many files share.
func (h *house) checkMethods() {
	for _, p := range h.packages {
		types, files := map[string]map[string]houseMethod{}, map[string]map[string]houseMethod{}
		note := func(in map[string]map[string]houseMethod, key, value string, m houseMethod) {
			if in[key] == nil {
				in[key] = map[string]houseMethod{}
			}
			in[key][value] = m
		}
		for _, m := range p.methods {
			note(files, m.receiver, m.file, m)
			if !token.IsExported(m.name) {
				note(types, m.name, m.receiver, m)
			}
		}
		for name, of := range types {
			if len(of) > methodTypes {
				m := of[slices.Min(slices.Collect(maps.Keys(of)))]
				h.reportNew(ruleMethod, m.file, m.line, fmt.Sprintf("%s is a method of %d types of the package, at most %d: name what it does", name, len(of), methodTypes))
			}
		}
		for receiver, in := range files {
			if len(in) > typeFiles {
				m := in[slices.Min(slices.Collect(maps.Keys(in)))]
				h.reportNew(ruleType, m.file, m.line, fmt.Sprintf("%s has methods in %d files, at most %d", receiver, len(in), typeFiles))
			}
		}
	}
}

// checkDefined wants the name of each exported type of some packages in doc.go or docs/design.md.
func (h *house) checkDefined() {
	design, _ := fs.ReadFile(h.tree, "docs/design.md")
	for _, dir := range houseDefined() {
		p := h.packages[dir]
		if p == nil {
			continue
		}
		doc, _ := fs.ReadFile(h.tree, path.Join(dir, "doc.go"))
		for _, t := range p.types {
			if !regexp.MustCompile(`\b` + t.receiver + `s?\b`).MatchString(string(doc) + string(design)) {
				h.reportNew(ruleDefined, t.file, t.line, t.receiver+" is defined neither in doc.go nor in docs/design.md")
			}
		}
	}
}

// houseCounts returns one line for each rule and folder that does not keep it yet.
func houseCounts(found []violation) (lines []string) {
	counts := map[string]int{}
	for _, v := range found {
		if v.counted {
			counts[fmt.Sprintf("%-15s %s", v.rule, path.Dir(v.file))]++
		}
	}
	for key, n := range counts {
		lines = append(lines, fmt.Sprintf("%s: %d", strings.TrimSpace(key), n))
	}
	slices.Sort(lines)
	return lines
}

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

// "Predict" means client-side prediction. Compression extrapolates: its packages and pages use no other word for it.
func TestPredictIsNoWordOfCompression(t *testing.T) {
	files := []string{"PROTOCOL.md", "protocol.go", "docs/recording.md", "docs/guide/recording.md", "docs/guide/components.md"}
	for _, pattern := range []string{"wire/*.go", "record/*.go", "snapshot/*.go", "docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		about := strings.Contains(file, "prediction") || strings.Contains(string(text), "netcode/predict\"") // A page, a section or a test whose subject it is.
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "##") {
				about = strings.Contains(line, "client-side prediction")
			}
			if about {
				continue
			}
			if strings.Contains(strings.ToLower(line), "predict") && !strings.Contains(line, "client-side prediction") {
				t.Errorf("%s:%d: %q is for client-side prediction; of rows the word is extrapolate: %s", file, i+1, "predict", line)
			}
		}
	}
}
