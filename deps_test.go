package netcode_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The module keeps its house rules: who may import whom, where arche, unsafe, clocks, goroutines and sockets may be.
func TestHouseRulesHold(t *testing.T) {
	found, err := checkHouse(os.DirFS("."), houseKept())
	require.NoError(t, err)
	for _, line := range houseCounts(found) {
		t.Logf("not kept yet: %s", line)
	}
	for _, v := range found {
		if v.counted {
			continue
		}
		if v.warning {
			t.Logf("warning: %s", v)
			continue
		}
		t.Errorf("%s", v)
	}
}

// Comments of tests, too, begin with the verb or the name, and not with a clause.
func TestCommentsOfTestsHaveASubject(t *testing.T) {
	bad, looked := regexp.MustCompile(clauseAfterName+"|"+clauseFirst), 0
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "// ") {
				looked++
				if bad.MatchString(line) {
					t.Errorf("%s:%d: %s", name, i+1, line)
				}
			}
		}
		return nil
	}))
	require.Greater(t, looked, 1000)
}

// cleanModule is a small module that keeps every rule, with one of each thing that is allowed.
func cleanModule() map[string]string {
	return map[string]string{
		"go.mod": "module github.com/arche-netcode/netcode\n\ngo 1.25\n\nrequire (\n\tgithub.com/mlange-42/arche v0.15.3\n\tpgregory.net/rapid v1.3.0\n)\n\nrequire gopkg.in/yaml.v3 v3.0.1 // indirect\n",
		"doc.go": "// Package netcode is the root.\npackage netcode\n",
		"server.go": "package netcode\n\nimport (\n\t\"errors\"\n\t\"time\"\n\n\t\"github.com/arche-netcode/netcode/wire\"\n)\n\n// Errors of the package.\nvar (\n\tErrClosed = errors.New(\"closed\")\n\tErrFull = errors.New(\"full\")\n)\n\n" +
			"var _ error = (*wire.Error)(nil)\n\nconst (\n\t// Interval is a second.\n\tInterval = time.Second\n\tTwice = 2 * Interval // two\n)\n\n" +
			"type end struct{ Public int }\n\nfunc (e *end) Close() {}\n",
		"server_test.go": "package netcode\n\nimport \"time\"\n\nvar started = time.Now()\n",
		"tick/doc.go":    "// Package tick is the step.\npackage tick\n",
		"wire/doc.go":    "// Package wire is the bytes. An Error is one, a Nexter too.\npackage wire\n",
		"docs/design.md": "Capture, Next and Pair are words of tests.\n",
		"wire/wire.go": "package wire\n\nimport \"github.com/arche-netcode/netcode/tick\"\n\n// Error is one.\ntype Error struct {\n\ttick.Tick\n\tA, B int // both\n\t// C is one that has\n\tC struct {\n\t\tD int // in it\n\t}\n\tf func(Name int)\n\tg struct{ Inner int }\n}\n\n" +
			"// Nexter is a method.\ntype Nexter interface {\n\t// Next is next.\n\tNext(E int)\n}\n",
		"wire/unsafe.go":        "package wire\n\nimport \"unsafe\"\n\nfunc size(p *int) uintptr {\n\t// SAFETY: it only measures.\n\treturn unsafe.Sizeof(*p)\n}\n",
		"ecs/doc.go":            "// Package netecs is the bridge.\npackage netecs\n",
		"ecs/capture.go":        "package netecs\n\nimport \"github.com/arche-netcode/netcode/internal/world\"\n\n// Capture is one.\ntype Capture struct{ w *world.World }\n",
		"internal/world/doc.go": "// Package world is the façade.\npackage world\n\nimport \"github.com/mlange-42/arche/ecs\"\n\n// World is one.\ntype World = ecs.World\n",
		"ecs/run.go":            "package netecs\n\nfunc (c *Capture) run() {}\nfunc (c *Capture) begin() {}\n",
		"ecs/end.go":            "package netecs\n\nfunc (c *Capture) end() {}\n",
		"transport/doc.go":      "// Package transport is datagrams.\npackage transport\n",
		"transport/udp/doc.go": "// Package udp is sockets.\npackage udp\n\nimport (\n\t\"net\"\n\t\"time\"\n\n\t\"github.com/arche-netcode/netcode/transport\"\n)\n\n" +
			"// Listen listens.\nfunc Listen(c transport.Conn) { go net.Listen(\"tcp\", time.Now().String()) }\n",
		"wire/shipped.go":       "package wire\n\nimport _ \"embed\"\n\n//go:embed shipped.tables\nvar shipped string\n",
		"systems/doc.go":        "// Package systems is the loop.\npackage systems\n",
		"systems/runner.go":     "package systems\n\nimport (\n\t\"os/signal\"\n\t\"time\"\n)\n\n// Run runs.\nfunc Run() { go signal.Reset(); time.Sleep(time.Second) }\n",
		"systems/model/go.mod":  "module github.com/arche-netcode/netcode/systems/model\n",
		"systems/model/some.go": "package model\n\nimport \"golang.org/x/anything\"\n\nvar State = anything.New()\n",
		"examples/a/main.go":    "// Command a shows a.\npackage main\n\nimport \"os\"\n\nfunc main() { os.Exit(0) }\n",
	}
}

// plant is one violation, put into a clean module.
type plant struct {
	rule string
	file string
	text string
}

func plants() map[string]plant {
	long := strings.Repeat("\t_ = 0\n", functionLines)
	return map[string]plant{
		"wire imports snapshot":        {ruleArrow, "wire/bad.go", "package wire\n\nimport _ \"github.com/arche-netcode/netcode/snapshot\"\n"},
		"tick imports the root":        {ruleArrow, "tick/bad.go", "package tick\n\nimport _ \"github.com/arche-netcode/netcode\"\n"},
		"transport imports wire":       {ruleArrow, "transport/udp/bad.go", "package udp\n\nimport _ \"github.com/arche-netcode/netcode/wire\"\n"},
		"siblings import each other":   {ruleArrow, "snapshot/doc.go", "// Package snapshot is state.\npackage snapshot\n\nimport _ \"github.com/arche-netcode/netcode/internal/peer\"\n"},
		"wire imports transport":       {ruleArrow, "wire/bad.go", "package wire\n\nimport _ \"github.com/arche-netcode/netcode/transport/udp\"\n"},
		"the root imports an example":  {ruleArrow, "bad.go", "package netcode\n\nimport _ \"github.com/arche-netcode/netcode/examples/a\"\n"},
		"a folder of nobody's":         {ruleArrow, "util/doc.go", "// Package util is a drawer.\npackage util\n"},
		"the cipher in udp":            {ruleArrow, "transport/udp/bad.go", "package udp\n\nimport _ \"github.com/flynn/noise\"\n"},
		"a dependency in a core":       {ruleArrow, "wire/bad.go", "package wire\n\nimport _ \"golang.org/x/sys/unix\"\n"},
		"a dot import":                 {ruleArrow, "wire/bad.go", "package wire\n\nimport . \"strings\"\n"},
		"arche in the root":            {ruleArche, "bad.go", "package netcode\n\nimport _ \"github.com/mlange-42/arche/ecs\"\n"},
		"arche beside its façade":      {ruleArche, "ecs/bad.go", "package netecs\n\nimport _ \"github.com/mlange-42/arche/ecs\"\n"},
		"arche in bench":               {ruleArche, "bench/main.go", "// Command bench measures.\npackage main\n\nimport _ \"github.com/mlange-42/arche/ecs\"\n\nfunc main() {}\n"},
		"ark in snapshot":              {ruleArche, "snapshot/doc.go", "// Package snapshot is state.\npackage snapshot\n\nimport _ \"github.com/mlange-42/ark/ecs\"\n"},
		"arche in snapshot":            {ruleArche, "snapshot/doc.go", "// Package snapshot is state.\npackage snapshot\n\nimport _ \"github.com/mlange-42/arche/ecs\"\n"},
		"a new requirement":            {ruleNeeds, "go.mod", "module github.com/arche-netcode/netcode\n\nrequire golang.org/x/net v0.46.0\n"},
		"a new requirement in a block": {ruleNeeds, "go.mod", "module github.com/arche-netcode/netcode\n\nrequire (\n\tgolang.org/x/net v0.46.0\n)\n"},
		"unsafe in another file":       {ruleUnsafe, "wire/bad.go", "package wire\n\nimport \"unsafe\"\n\nconst word = unsafe.Sizeof(uintptr(0))\n"},
		"unsafe without a reason":      {ruleReason, "wire/unsafe.go", "package wire\n\nimport \"unsafe\"\n\nfunc size(p *int) uintptr { return unsafe.Sizeof(*p) }\n"},
		"the clock":                    {ruleClock, "bad.go", "package netcode\n\nimport \"time\"\n\nfunc now() time.Time { return time.Now() }\n"},
		"the clock under another name": {ruleClock, "bad.go", "package netcode\n\nimport clock \"time\"\n\nfunc wait() { clock.Sleep(1) }\n"},
		"the clock as a value":         {ruleClock, "systems/bad.go", "package systems\n\nimport \"time\"\n\nfunc clock() func() time.Time { return time.Now }\n"},
		"a goroutine":                  {ruleGoroutine, "wire/bad.go", "package wire\n\nfunc run() { go run() }\n"},
		"a socket":                     {ruleInput, "systems/bad.go", "package systems\n\nimport \"net\"\n\nfunc open() { net.Dial(\"udp\", \"\") }\n"},
		"a file":                       {ruleInput, "bad.go", "package netcode\n\nimport \"os\"\n\nfunc open() { os.Open(\"\") }\n"},
		"package state":                {ruleState, "wire/bad.go", "package wire\n\nvar table = [2]int{1, 2}\n"},
		"package state by zero value":  {ruleState, "wire/bad.go", "package wire\n\nvar count int\n"},
		"a second embedded string":     {ruleState, "wire/zz.go", "package wire\n\nimport _ \"embed\"\n\n//go:embed other.tables\nvar other string\n"},
		"embedded bytes":               {ruleState, "wire/bad.go", "package wire\n\nimport _ \"embed\"\n\n//go:embed other.tables\nvar other []byte\n"},
		"an init function":             {ruleInit, "wire/bad.go", "package wire\n\nfunc init() {}\n"},
		"no package comment":           {ruleDoc, "tick/doc.go", "package tick\n"},
		"the comment of another":       {ruleDoc, "ecs/doc.go", "// Package ecs is the bridge.\npackage netecs\n"},
		"a command that says nothing":  {ruleDoc, "examples/a/main.go", "package main\n\nfunc main() {}\n"},
		"a silent function":            {ruleName, "wire/bad.go", "package wire\n\nfunc Next() {}\n"},
		"a silent method":              {ruleName, "wire/bad.go", "package wire\n\nfunc (e *Error) Next() {}\n"},
		"a silent method of a pair":    {ruleName, "wire/bad.go", "package wire\n\n// Pair is two.\ntype Pair[A, B any] struct{}\n\nfunc (p Pair[A, B]) Next() {}\n"},
		"a silent type":                {ruleName, "wire/bad.go", "package wire\n\ntype Next int\n"},
		"a silent type in a block":     {ruleName, "wire/bad.go", "package wire\n\n// Types.\ntype (\n\tNext int\n)\n"},
		"a silent constant":            {ruleName, "wire/bad.go", "package wire\n\nconst (\n\t// One is one.\n\tOne = 1\n\tTwo = 2\n)\n"},
		"a silent error":               {ruleName, "wire/bad.go", "package wire\n\nimport \"errors\"\n\nvar ErrNext = errors.New(\"next\")\n"},
		"a silent field":               {ruleName, "wire/bad.go", "package wire\n\n// Next is next.\ntype Next struct {\n\t// A is one.\n\tA int\n\tB int\n}\n"},
		"a silent field in a field":    {ruleName, "wire/bad.go", "package wire\n\n// Next is next.\ntype Next struct {\n\t// A is one.\n\tA []struct{ B int }\n}\n"},
		"a silent method of a kind":    {ruleName, "wire/bad.go", "package wire\n\n// Nexter is a kind.\ntype Nexter interface{ Next() }\n"},
		"a comment that says nothing":  {ruleName, "wire/bad.go", "package wire\n\n//go:noinline\nfunc Next() {}\n"},
		"a clause for a subject":       {ruleComment, "wire/bad.go", "package wire\n\n// next is what follows.\nfunc next() {}\n"},
		"a clause in the first place":  {ruleComment, "wire/bad.go", "package wire\n\nfunc next() {\n\t// What follows is next.\n}\n"},
		"a word of its own":            {ruleComment, "wire/bad.go", "package wire\n\nfunc next() {\n\t_ = 0 // the row that it leans on\n}\n"},
		"a name of before":             {ruleComment, "wire/bad.go", "package wire\n\n// before does nothing.\nfunc next() {}\n"},
		"a name of before in a field":  {ruleComment, "wire/bad.go", "package wire\n\ntype next struct {\n\t// before is one.\n\tafter int\n}\n"},
		"an exported name of before":   {ruleComment, "wire/bad.go", "package wire\n\n// Before does nothing.\nfunc Next() {}\n"},
		"a name that is nowhere":       {ruleComment, "wire/bad.go", "package wire\n\n// next is nextBefore of the tick before.\nfunc next() {}\n"},
		"of which three times":         {ruleComment, "wire/bad.go", "package wire\n\n// next does, of which one\n// and to whom another,\n// of which none.\nfunc next() {}\n"},
		"a method of four types":       {ruleMethod, "wire/bad.go", "package wire\n\ntype (\n\ta int\n\tb int\n\tc int\n\td int\n)\n\nfunc (a) add() {}\nfunc (*b) add() {}\nfunc (c) add() {}\nfunc (d) add() {}\n"},
		"a type in three files":        {ruleType, "ecs/at.go", "package netecs\n\nfunc (c *Capture) at() {}\n"},
		"an undefined type":            {ruleDefined, "wire/bad.go", "package wire\n\n// Lane is a number.\ntype Lane int\n"},
		"a long file":                  {ruleFile, "wire/bad.go", "package wire\n" + strings.Repeat("\n", fileLines)},
		"a long function":              {ruleFunction, "wire/bad.go", "package wire\n\nfunc long() {\n" + long + "}\n"},
	}
}

func plantModule(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	return root
}

// keptEverywhere has the newer rules of comments, methods and types kept in each folder.
func keptEverywhere() map[string][]string {
	all := []string{"*"}
	return map[string][]string{ruleComment: all, ruleMethod: all, ruleType: all, ruleDefined: all}
}

func TestHouseRulesPassOnACleanModule(t *testing.T) {
	found, err := checkHouse(os.DirFS(plantModule(t, cleanModule())), keptEverywhere())
	require.NoError(t, err)
	require.Empty(t, found)
}

// Each rule is broken on purpose, and exactly that rule says so, at that file.
func TestHouseRulesCatchEachPlantedViolation(t *testing.T) {
	for name, p := range plants() {
		t.Run(name, func(t *testing.T) {
			files := cleanModule()
			files[p.file] = p.text
			found, err := checkHouse(os.DirFS(plantModule(t, files)), keptEverywhere())
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, p.rule, found[0].rule)
			require.Equal(t, p.file, found[0].file)
			require.False(t, found[0].warning)
			require.NotEmpty(t, found[0].text)
		})
	}
}

// A function that is long but not too long is a warning.
func TestHouseRulesWarnBeforeTheyFail(t *testing.T) {
	files := cleanModule()
	files["wire/long.go"] = "package wire\n\nfunc long() {\n" + strings.Repeat("\t_ = 0\n", functionWarn) + "}\n"
	found, err := checkHouse(os.DirFS(plantModule(t, files)), keptEverywhere())
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, ruleFunction, found[0].rule)
	require.True(t, found[0].warning)
}
