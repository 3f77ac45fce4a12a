package netcode_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const (
	hangOnly  = "a deadline of a minute or more ends a test that hangs"
	timeStamp = "a date or a clock that is handed over, and nothing is judged by it"
)

// clockExempt lists the test files that read the real clock, wait for it, or read counters of the whole process, nested modules too, and why
// they never fail by chance. Benchmarks, and files with testing/synctest, need no line.
func clockExempt() map[string]string {
	return map[string]string{
		"bench/replay_test.go":                        "for a benchmark",
		"clients/python/live_test.go":                 "the game goes on until all messages came; " + hangOnly,
		"clients/js/live_test.go":                     "the game goes on until enough inputs came; " + hangOnly,
		"cmd/netcode/fleet_test.go":                   hangOnly,
		"cmd/netcode/discover_test.go":                "the server answers within the five seconds that Discover waits for an answer",
		"docs/guide/fleet_test.go":                    hangOnly,
		"docs/guide/deploy_test.go":                   hangOnly,
		"docs/guide/handover_test.go":                 hangOnly,
		"handover/process_test.go":                    "each frame gives the sockets two milliseconds; times are virtual",
		"clients/js/handover_test.go":                 hangOnly,
		"docs/guide/server_test.go":                   "the guide's own loop, which nobody measures",
		"examples/fleet/game/main_test.go":            hangOnly,
		"fleet/agones/agones_test.go":                 hangOnly,
		"fleet/local/local_test.go":                   hangOnly + "; what is silent stays so",
		"fleet/supervisor/fleet_test.go":              hangOnly + "; a process that stands still may be killed sooner on a slow machine",
		"fleet/supervisor/game_test.go":               hangOnly,
		"examples/crowd/crowd_test.go":                hangOnly + "; a client without a server never converges, however long",
		"examples/crowd/halves_test.go":               hangOnly,
		"examples/crowd/play_test.go":                 hangOnly,
		"examples/crowd/process_test.go":              hangOnly,
		"examples/web/js_test.go":                     "it measures when it is asked to, and judges nothing",
		"examples/web/site/site_test.go":              hangOnly,
		"examples/brawl/browser_test.go":              hangOnly,
		"examples/brawl/native_test.go":               hangOnly,
		"examples/brawl/rules/figures_test.go":        "figures are printed",
		"transport/lan/lan_test.go":                   hangOnly + "; a second answer would be there at once",
		"examples/web/takeover_test.go":               hangOnly,
		"examples/web/handover_test.go":               hangOnly + "; certificates have dates",
		"examples/web/web_test.go":                    hangOnly,
		"fleet/nats/cluster_test.go":                  hangOnly + "; times are printed",
		"fleet/nats/guide_test.go":                    hangOnly,
		"fleet/nats/inbox_internal_test.go":           timeStamp,
		"fleet/nats/kill_test.go":                     hangOnly + "; times are printed, and judged with -heavy alone",
		"fleet/nats/messages_test.go":                 hangOnly,
		"fleet/nats/partition_test.go":                hangOnly,
		"fleet/nats/rig_test.go":                      hangOnly,
		"inspect/live/attributed_test.go":             hangOnly,
		"inspect/live/chromium_test.go":               hangOnly,
		"inspect/live/live_test.go":                   hangOnly,
		"internal/switchoff/run_test.go":              hangOnly,
		"load/load_test.go":                           hangOnly,
		"migrate_test.go":                             hangOnly,
		"nettest/catalogue_lives_test.go":             "goroutines that are about to end have a minute",
		"record/player_test.go":                       "the time of a seek is printed",
		"schema/builds_test.go":                       hangOnly,
		"snapshot/fuzz_states_test.go":                "the bound has 256 KiB to spare: alloctest is too slow for a fuzzer",
		"transport/queued/queued_test.go":             "Waited is compared with what the test waited itself",
		"transport/secure/token_test.go":              timeStamp,
		"transport/udp/conn_test.go":                  hangOnly + "; Waited is compared with what the test waited itself",
		"transport/udp/local_test.go":                 hangOnly,
		"transport/websocket/flood_test.go":           hangOnly,
		"transport/websocket/guard_test.go":           hangOnly,
		"transport/websocket/websocket_test.go":       hangOnly,
		"transport/webtransport/settings_test.go":     hangOnly,
		"transport/webtransport/webtransport_test.go": hangOnly + "; certificates have dates",
		"internal/alloctest/alloctest_test.go":        "it tests the counters",
	}
}

// clockFaults returns the places of a tree's test files that judge real time or the whole process, by file.
func clockFaults(tree fs.FS) (faults map[string][]string, err error) {
	faults = map[string][]string{}
	return faults, fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := path.Base(name); entry.IsDir() && name != "." && (base == "testdata" || strings.HasPrefix(base, ".")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, source, 0)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			if i.Path.Value == `"testing/synctest"` {
				return nil
			}
		}
		for _, d := range file.Decls {
			faults[name] = append(faults[name], clockFaultsOf(set, d)...)
		}
		return nil
	})
}

// clockFaultsOf returns the places of a declaration that read the real clock or the counters of the process.
func clockFaultsOf(set *token.FileSet, d ast.Decl) (faults []string) {
	if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Benchmark") {
		return nil
	}
	read := strings.Fields("time.Now time.Since time.Until time.Sleep time.After time.AfterFunc time.Tick time.NewTimer time.NewTicker " +
		"context.WithTimeout context.WithDeadline runtime.ReadMemStats runtime.NumGoroutine testing.AllocsPerRun testing.Benchmark")
	ast.Inspect(d, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && slices.Contains(read, of.Name+"."+s.Sel.Name) {
				faults = append(faults, fmt.Sprint(set.Position(s.Pos()), " ", of.Name, ".", s.Sel.Name))
			}
		}
		return true
	})
	return faults
}

// TestNoTestJudgesTheMachine holds that `go test ./...` cannot fail by chance: time is virtual, allocations and memory are counted by
// internal/alloctest, and each file that does it in another way is listed with a reason.
func TestNoTestJudgesTheMachine(t *testing.T) {
	faults, err := clockFaults(os.DirFS("."))
	require.NoError(t, err)
	exempt := clockExempt()
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		if exempt[name] == "" {
			require.Empty(t, faults[name], "time is virtual in tests, and alloctest counts; or name the file in clockExempt with the reason why it never fails by chance")
		}
	}
	for name := range exempt {
		require.NotEmpty(t, faults[name], "%s needs no line in clockExempt", name)
	}

	for source, want := range map[string]int{
		"import \"time\"\n\nfunc TestX() { time.Sleep(1); _ = time.Now() }":                                      2,
		"import \"time\"\n\nfunc BenchmarkX() { _ = time.Now() }":                                                0,
		"import (\n\t\"time\"\n\t\"testing/synctest\"\n)\n\nfunc TestX() { _ = time.Now(); synctest.Wait() }":    0,
		"import \"runtime\"\n\nfunc heap() { runtime.ReadMemStats(nil) }\n\nfunc f() { runtime.NumGoroutine() }": 2,
	} {
		found, err := clockFaults(fstest.MapFS{"a/x_test.go": {Data: []byte("package a\n\n" + source + "\n")}})
		require.NoError(t, err)
		require.Len(t, found["a/x_test.go"], want, source)
	}
}
