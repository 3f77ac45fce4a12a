package netcode_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The names of the house rules; CONTRIBUTING.md lists them for people.
const (
	ruleArrow     = "import arrow"     // a package imports what houseArrows does not let it
	ruleArche     = "arche fence"      // arche outside the bridge
	ruleNeeds     = "module needs"     // the root module requires something else
	ruleUnsafe    = "unsafe file"      // unsafe outside unsafe.go
	ruleReason    = "unsafe reason"    // a function with unsafe and no SAFETY line
	ruleClock     = "clock"            // the time is an argument
	ruleGoroutine = "goroutine"        // one world, one goroutine
	ruleInput     = "input and output" // sockets, files and processes
	ruleState     = "package state"    // package-level variables
	ruleInit      = "init"             // func init
	ruleDoc       = "package doc"      // doc.go with its sentence
	ruleName      = "exported name"    // what is exported says what it is
	ruleFile      = "file length"      // at most fileLines
	ruleFunction  = "function length"  // at most functionLines, a warning above functionWarn
	ruleComment   = "comment"          // a comment names its subject first
	ruleMethod    = "method name"      // an unexported method name is on at most methodTypes types of a package
	ruleType      = "type in files"    // the methods of a type are in at most typeFiles files
	ruleDefined   = "defined type"     // doc.go or docs/design.md defines each exported type
)

const (
	houseWalk     = "internal/walk" // a command that counts functions
	houseModule   = "github.com/arche-netcode/netcode"
	houseArche    = "github.com/mlange-42/arche"
	houseArk      = "github.com/mlange-42/ark"
	houseRoot     = "."
	houseFormat   = "snapshot/format"
	housePlain    = "internal/plain" // the switch of the build tag netcode_plain
	houseKernel   = "internal/kernel"
	houseWorld    = "internal/world" // the façade of the ECS
	houseHosts    = "internal/hosts" // the host behind an address, for limits
	houseProof    = "internal/proof" // cookies, and tokens of Resets
	fileLines     = 800
	functionLines = 70
	functionWarn  = 60
)

// houseKept lists the folders that keep each of the newer rules. In all others TestHouseRulesHold counts the violations: add a
// folder here to see them, and when it has none. "*" is every folder.
func houseKept() map[string][]string {
	return map[string][]string{
		ruleComment: {"*"},
		ruleMethod:  {"errs", "ecs", "wire", "quantize", "delta", "tick", "interest", "internal/peer", "message", "components", "collections", "transport", "transport/memory", "transport/udp", "transport/secure", "record", "systems", "nettest", "nettest/adversary", "authority", "inspect", "input", "interpolate", "rewind", "consistent", "transfer", "loading", "handover"},
		ruleType:    {"ecs", "authority", "inspect", "input", "interpolate", "rewind", "tick", "components", "collections", "transport", "transport/memory", "transport/secure", "systems", "nettest/adversary"},
		ruleDefined: {"errs", "ecs", "internal/peer", "message"},
		// Folders where a function of more than functionWarn lines is a violation.
		ruleFunction: {"errs", ".", "tick", "wire", "quantize", "delta", "components", "transport", "transport/memory", "transport/udp", "transport/secure", "message", "internal/peer", "snapshot", "interest", "collections", "ecs", "systems", "nettest", "nettest/adversary", "record", "authority", "inspect", "input", "interpolate", "rewind", "consistent", "transfer", "loading", "handover"},
	}
}

// houseArrows says what each top folder may import beside the standard library and itself.
func houseArrows() map[string][]string {
	all := slices.Clip([]string{houseWorld, houseRoot, "errs", "extend", "internal/door", "internal/steps", "tick", "wire", "quantize", "delta", "components", "transport", "message", "internal/peer", houseFormat, "snapshot", "internal/replica", "interest", "collections", "ecs", "systems", "nettest", "record", "authority", "inspect", "input", "interpolate", "rewind", "predict", "handover", "consistent", "transfer", "loading", "congestion", "schema", "fleet"})
	return map[string][]string{
		"tick":             {},
		"errs":             {"transport", "wire"},
		"extend":           {"errs", "internal/door", "internal/registry", "message", "internal/peer", "quantize", "snapshot", "internal/replica", "tick", "wire"},
		"congestion":       {},
		"wire":             {"tick"},
		"quantize":         {"tick", "wire", houseKernel},
		"delta":            {"tick", "wire", "quantize", houseKernel},
		houseKernel:        {},
		"components":       {"wire"},
		"transport":        {houseHosts, houseProof},
		"message":          {"errs", "quantize", "wire", "tick"},
		"internal/peer":    {"errs", "congestion", "wire", "tick", "message", "transport", houseProof},
		houseFormat:        {"delta", "quantize", "wire", "tick"},
		"snapshot":         {houseFormat, "delta", "quantize", "wire", "tick"},
		"internal/replica": {houseFormat, "delta", "quantize", "wire", "tick"},
		"interest":         {"quantize", "wire", "tick", "snapshot", houseFormat},
		"record":           {"extend", houseRoot, houseFormat, "snapshot", "internal/replica", "delta", "quantize", "wire", "tick"},
		"ecs":              {houseWorld, "components", houseFormat, "snapshot", "internal/replica", "quantize", "wire", "tick"},
		houseRoot:          {"errs", "extend", "internal/door", "internal/admission", "internal/calls", "internal/canon", "internal/endpoint", "internal/events", "internal/handshake", "internal/held", "internal/link", "internal/report", "internal/outbox", "internal/registry", "internal/worldless", "congestion", "tick", "wire", "quantize", "delta", "components", "transport", "message", "internal/peer", houseFormat, "snapshot", "internal/replica", "interest", "ecs"},
		"collections":      {"errs", "extend", houseRoot, "internal/peer", "snapshot", "internal/replica", "quantize", "wire", "tick"},
		"inspect":          {"errs", "extend", houseRoot, "message", "internal/peer", houseFormat, "snapshot", "internal/replica", "tick", "wire"},
		"authority":        {"errs", "extend", houseRoot, "internal/peer", "snapshot", "internal/replica", "tick", "quantize", "wire"},
		"input":            {"extend", houseRoot, "tick", "quantize", "wire"},
		"interpolate":      {"errs", "extend", houseRoot, "components", "snapshot", "internal/replica", "tick", "quantize", "wire"},
		"consistent":       {"errs", "extend", houseRoot, "internal/peer", "internal/replica", "tick"},
		"transfer":         {"tick", "errs", "extend", houseRoot, "internal/peer", "wire"},
		"loading":          {"tick", "extend", houseRoot},
		"rewind":           {"errs", "extend", houseRoot, "snapshot", "internal/replica", "tick", "quantize", "wire"},
		"predict":          {"extend", houseWorld, houseRoot, "authority", "components", "ecs", "input", "quantize", "snapshot", "internal/replica", "systems", "tick", "wire"},
		"handover":         {"errs", "extend", houseRoot, "components", "ecs", "internal/peer", "record", "snapshot", "systems", "tick", "transport", "wire"},
		"systems":          {"transport", "internal/replica", "extend", "internal/steps", houseWorld, houseRoot, "authority", "ecs", "interpolate", "record", "snapshot", "tick", "wire"},
		"nettest":          {"components", "tick", "extend", "internal/steps", houseWorld, houseRoot, "ecs", "systems", "transport"},
		// Tools of a game, which may do input and output.
		"inspect/live": {"extend", houseRoot, "ecs", "input", "inspect", "predict", "quantize", "snapshot", "systems", "tick", "transport", "wire"},
		"schema":       {"errs", houseRoot, "internal/canon", "internal/peer"},
		"fleet":        {"extend", houseRoot, houseHosts, "record", "schema", "systems", "transport"},
		"load":         {"extend", houseRoot, houseWorld, "ecs", "systems", "tick", "transport", "internal"},
		"examples":     append(all, houseArche, houseArk, "inspect/live", "load", "internal"),
		"bench":        append(all, "inspect/live", "load", "internal", "nettest/adversary"),
		"cmd":          append(all, "internal"),
		"internal":     {},
		"clients":      {}, // clients in other languages, with tests in Go
		houseWalk:      all,
		// Parts of the root that need no server and no client.
		houseHosts:           {},
		"internal/door":      {},
		"internal/steps":     {"internal/door", "message", "tick", "transport"},
		houseProof:           {"transport"},
		"internal/admission": {"errs", houseHosts, "internal/peer", "transport", "wire"},
		"internal/calls":     {"wire"},
		"internal/canon":     {"errs", "internal/peer"},
		"internal/endpoint":  {"errs", "extend", "internal/calls", "internal/door", "internal/held", "internal/link", "internal/outbox", "internal/peer", "internal/registry", "internal/replica", "internal/report", "message", "quantize", "snapshot", "tick", "transport", "wire"},
		"internal/events":    {"errs", "internal/peer", "transport", "wire"},
		"internal/handshake": {"errs", "internal/admission", houseHosts, houseProof, "internal/canon", "internal/outbox", "internal/report", "internal/peer", "tick", "transport", "wire"},
		"internal/held":      {"errs", "internal/peer", "tick", "wire"},
		"internal/link":      {"errs", houseHosts, "internal/outbox", "congestion", "message", "internal/peer", "snapshot", "tick", "transport", "wire"},
		"internal/report":    {},
		"internal/outbox":    {"transport"},
		"internal/registry":  {"errs", "internal/canon", "internal/handshake", "components", "delta", "message", "internal/peer", "quantize", houseFormat, "snapshot", "tick", "wire"},
		"internal/rig":       {"errs", "internal/steps", houseRoot, "internal/peer", "snapshot", "tick", "transport", "wire"},
		"nettest/adversary":  {"errs", "extend", houseRoot, houseFormat, "message", "internal/peer", "quantize", "snapshot", "tick", "transport", "wire"},
		"internal/processes": append(all, "internal", "nettest/adversary"),
		"internal/soak":      append(all, "internal", "nettest/adversary"),
		"internal/tables":    {"delta", "quantize", houseFormat, "record", "snapshot", "tick", "wire"},
		houseWorld:           {houseArche, houseArk},
		"internal/worldless": {"components", "quantize", "snapshot", "tick", "wire"},
		"docs":               {},
	}
}

// houseSecure lists the modules that transport/secure, and no other package, imports (ADR 37).
func houseSecure() []string { return []string{"github.com/flynn/noise", "golang.org/x/crypto"} }

// violation is one broken rule at one place; a warning does not fail.
type violation struct {
	rule    string
	file    string
	line    int
	text    string
	warning bool
	counted bool // the folder does not keep the rule yet
}

func (v violation) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", v.file, v.line, v.rule, v.text)
}

// house is one check of one tree.
type house struct {
	tree     fs.FS
	arrows   map[string][]string
	kept     map[string][]string
	packages map[string]*housePackage // by directory
	found    []violation
	names    map[string]bool // every identifier of the module
	mentions []houseMethod   // words of comments that look like one
}

type housePackage struct {
	name      string
	doc       string // the package comment in doc.go; in a command, in any file
	firstFile string
	embedded  bool // it has its one embedded string
	methods   []houseMethod
	types     []houseMethod // exported
}

// checkHouse holds every non-test Go file of the module in tree against the house rules. Nested modules are modules of
// their own and are left out. The folders in kept keep the newer rules too.
func checkHouse(tree fs.FS, kept map[string][]string) ([]violation, error) {
	h := &house{tree: tree, arrows: houseArrows(), kept: kept, packages: map[string]*housePackage{}, names: map[string]bool{}}
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return h.enter(name)
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		return h.checkFile(name)
	})
	if err != nil {
		return nil, err
	}
	h.checkDocs()
	h.checkMethods()
	h.checkDefined()
	h.checkStaleNames()
	if err := h.checkNeeds(); err != nil {
		return nil, err
	}
	slices.SortFunc(h.found, func(a, b violation) int { return strings.Compare(a.String(), b.String()) })
	return h.found, nil
}

// enter skips folders that the go command skips, and nested modules.
func (h *house) enter(dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(h.tree, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// houseFile is one parsed file with what the rules ask about it.
type houseFile struct {
	*house
	name    string
	folder  string // the top folder, houseRoot for the root package
	set     *token.FileSet
	syntax  *ast.File
	imports map[string]string // local name to path
}

func (h *house) checkFile(name string) error {
	source, err := fs.ReadFile(h.tree, name)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, source, parser.ParseComments)
	if err != nil {
		return err
	}
	f := &houseFile{house: h, name: name, folder: houseRoot, set: set, syntax: syntax, imports: map[string]string{}}
	if dir := path.Dir(name); dir != "." {
		f.folder = h.folderOf(dir)
	}
	if lines := set.Position(syntax.FileEnd).Line; lines > fileLines {
		f.report(ruleFile, syntax.FileEnd, "%d lines, at most %d", lines, fileLines)
	}
	f.notePackage()
	f.checkImports()
	f.checkState()
	f.checkNames()
	f.checkComments()
	f.noteDeclarations()
	for _, declaration := range syntax.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			f.checkFunction(function)
		}
	}
	ast.Inspect(syntax, func(n ast.Node) bool { f.checkNode(n); return true })
	return nil
}

// folderOf is the row of the table of packages that a directory belongs to: its first two folders if they have one of their own, else the top folder.
func (h *house) folderOf(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) > 1 {
		if _, own := h.arrows[parts[0]+"/"+parts[1]]; own {
			return parts[0] + "/" + parts[1]
		}
	}
	if dir == "" {
		return houseRoot
	}
	return parts[0]
}

func (f *houseFile) report(rule string, at token.Pos, format string, values ...any) {
	f.found = append(f.found, violation{rule: rule, file: f.name, line: f.set.Position(at).Line, text: fmt.Sprintf(format, values...)})
}

func (f *houseFile) notePackage() {
	dir := path.Dir(f.name)
	p := f.packages[dir]
	if p == nil {
		p = &housePackage{name: f.syntax.Name.Name, firstFile: f.name}
		f.packages[dir] = p
	}
	if f.syntax.Doc != nil && (path.Base(f.name) == "doc.go" || p.name == "main") {
		p.doc = f.syntax.Doc.Text()
	}
}

func (f *houseFile) checkImports() {
	allowed, known := f.arrows[f.folder]
	if !known {
		f.report(ruleArrow, f.syntax.Package, "folder %q is not in the table of packages", f.folder)
		return
	}
	for _, spec := range f.syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has checked it
		}
		local := path.Base(target)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		f.imports[local] = target
		if local == "." {
			f.report(ruleArrow, spec.Pos(), "%s is imported with a dot, which hides what is used", target)
		}
		f.checkImport(spec.Pos(), target, allowed)
	}
}

func (f *houseFile) checkImport(at token.Pos, target string, allowed []string) {
	inside, ours := strings.CutPrefix(target+"/", houseModule+"/")
	switch {
	case target == "unsafe" || target == "C":
		if base := path.Base(f.name); base != "unsafe.go" && base != "unsafe_ark.go" {
			f.report(ruleUnsafe, at, "%q is imported outside a file named unsafe.go", target)
		}
	case inside == housePlain+"/": // every package may import it
	case ours:
		folder := f.folderOf(strings.TrimSuffix(inside, "/"))
		if folder != f.folder && !slices.Contains(allowed, folder) {
			f.report(ruleArrow, at, "%s must not import %s", f.folder, target)
		}
	case target == houseArche || strings.HasPrefix(target, houseArche+"/"), target == houseArk || strings.HasPrefix(target, houseArk+"/"):
		if !slices.Contains(allowed, houseArche) {
			f.report(ruleArche, at, "%s must not import %s", f.folder, target)
		}
	case path.Dir(f.name) == "transport/secure" && slices.ContainsFunc(houseSecure(), func(module string) bool { return strings.HasPrefix(target+"/", module+"/") }):
	case strings.Contains(strings.Split(target, "/")[0], "."):
		f.report(ruleArrow, at, "%s imports %s, which is neither the standard library nor arche", f.folder, target)
	case !f.mayDoInput() && touchesOutside(target):
		f.report(ruleInput, at, "%s imports %s: sockets, files and processes belong to transport and the runner", f.folder, target)
	}
}

// touchesOutside says whether a package of the standard library reaches out of the process. Addresses (net/netip) do not.
func touchesOutside(target string) bool {
	top, _, _ := strings.Cut(target, "/")
	return (top == "net" && target != "net/netip") || top == "os" || top == "syscall"
}

// mayDoInput is true where sockets, clocks and goroutines live.
func (f *houseFile) mayDoInput() bool {
	return f.folder == "transport" || f.folder == "examples" || f.folder == "bench" || f.folder == "cmd" || f.folder == "load" || f.folder == "schema" || f.folder == "fleet" || f.folder == "inspect/live" || f.folder == "internal/soak" || f.folder == "internal/processes" || f.folder == "internal/tables" || f.folder == houseWalk || f.name == "systems/runner.go"
}

// checkState allows error values, compile-time assertions and one embedded string a package, and no other variable.
func (f *houseFile) checkState() {
	if f.folder == houseWalk {
		return // its one variable is in a copy of the module alone
	}
	for _, declaration := range f.syntax.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.VAR {
			continue
		}
		for _, spec := range general.Specs {
			if f.isEmbedded(general, spec.(*ast.ValueSpec)) {
				continue
			}
			f.checkVariable(spec.(*ast.ValueSpec))
		}
	}
}

// isEmbedded allows the first string of a package that the compiler fills from a file: it is a constant in all but name.
func (f *houseFile) isEmbedded(declaration *ast.GenDecl, spec *ast.ValueSpec) bool {
	p := f.packages[path.Dir(f.name)]
	kind, isName := spec.Type.(*ast.Ident)
	comments := declaration.Doc
	if p.embedded || comments == nil || !isName || kind.Name != "string" || len(spec.Names) != 1 {
		return false
	}
	p.embedded = slices.ContainsFunc(comments.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
	return p.embedded
}

func (f *houseFile) checkVariable(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if name.Name == "_" || i < len(spec.Values) && f.isErrorValue(spec.Values[i]) {
			continue
		}
		f.report(ruleState, name.Pos(), "variable %s: only error values may live at package level", name.Name)
	}
}

func (f *houseFile) isErrorValue(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	target, name := f.selected(call.Fun)
	return target == "errors" && name == "New" || target == "fmt" && name == "Errorf"
}

// selected resolves pkg.Name to the import path and the name; empty for anything else.
func (f *houseFile) selected(n ast.Node) (target, name string) {
	selector, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	local, ok := selector.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	return f.imports[local.Name], selector.Sel.Name
}

func (f *houseFile) checkFunction(function *ast.FuncDecl) {
	name := function.Name.Name
	if name == "init" && function.Recv == nil {
		f.report(ruleInit, function.Pos(), "func init: start-up order is nobody's to read")
	}
	lines := f.set.Position(function.End()).Line - f.set.Position(function.Pos()).Line + 1
	if lines > functionWarn {
		f.report(ruleFunction, function.Pos(), "%s has %d lines, at most %d", name, lines, functionWarn)
		f.found[len(f.found)-1].warning = lines <= functionLines && !slices.Contains(f.kept[ruleFunction], path.Dir(f.name))
	}
	uses := false
	ast.Inspect(function, func(n ast.Node) bool {
		target, _ := f.selected(n)
		uses = uses || target == "unsafe"
		return true
	})
	if uses && !f.hasReason(function) {
		f.report(ruleReason, function.Pos(), "%s uses unsafe and no comment in it says // SAFETY: why it may", name)
	}
}

// hasReason looks for a SAFETY line in the function's comment and body.
func (f *houseFile) hasReason(function *ast.FuncDecl) bool {
	from, to := function.Pos(), function.End()
	if function.Doc != nil {
		from = function.Doc.Pos()
	}
	return slices.ContainsFunc(f.syntax.Comments, func(group *ast.CommentGroup) bool {
		return group.Pos() >= from && group.End() <= to && strings.Contains(group.Text(), "SAFETY:")
	})
}

func (f *houseFile) checkNode(n ast.Node) {
	switch n := n.(type) {
	case *ast.Ident:
		f.names[n.Name] = true
	case *ast.Field:
		f.checkSubject(n.Doc, false, n.Names...)
	}
	if f.mayDoInput() {
		return
	}
	if _, ok := n.(*ast.GoStmt); ok {
		f.report(ruleGoroutine, n.Pos(), "go statement: goroutines belong to transport and the runner")
	}
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	if target, name := f.selected(n); target == "time" && slices.Contains(clock, name) {
		f.report(ruleClock, n.Pos(), "time.%s: the time is an argument", name)
	}
}

// checkDocs wants a doc.go in every package that starts with its name; a command says what it is in any file.
func (h *house) checkDocs() {
	for dir, p := range h.packages {
		switch {
		case p.name == "main" && p.doc == "":
			h.found = append(h.found, violation{rule: ruleDoc, file: p.firstFile, line: 1, text: "a command with no comment that says what it is"})
		case p.name != "main" && !strings.HasPrefix(p.doc, "Package "+p.name+" "):
			h.found = append(h.found, violation{rule: ruleDoc, file: path.Join(dir, "doc.go"), line: 1, text: "no comment // Package " + p.name + " ..."})
		}
	}
}

// checkNeeds lets the root module require arche, testify and rapid, and what those bring.
func (h *house) checkNeeds() error {
	source, err := fs.ReadFile(h.tree, "go.mod")
	if err != nil {
		return err
	}
	allowed := append(houseSecure(), houseArche, houseArk, "github.com/stretchr/testify", "pgregory.net/rapid")
	lines := bufio.NewScanner(bytes.NewReader(source))
	for number, block := 1, false; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == "require" && slices.Contains(fields, "("):
			block = true
			continue
		case fields[0] == ")":
			block = false
			continue
		case fields[0] == "require":
			fields = fields[1:]
		case !block:
			continue
		}
		if !slices.Contains(fields, "//") && !slices.Contains(allowed, fields[0]) {
			h.found = append(h.found, violation{rule: ruleNeeds, file: "go.mod", line: number, text: "the root module must not require " + fields[0]})
		}
	}
	return lines.Err()
}
