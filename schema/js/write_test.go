package js_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/schema/js"
	"github.com/arche-netcode/netcode/wire"
)

type (
	body struct {
		Pos [2]struct{ X, Y float32 }
		Rot [4]float32 `net:"quat,bits=9"`
		To  ecs.Entity `net:"entity"`
		N   int64
	}
	name struct {
		Text wire.Text32
		Bag  wire.List[slot, [8]slot]
	}
	slot struct {
		Kind uint16
		Tags wire.Text16
	}
	stick struct {
		X    int8
		Jump bool `net:"event"`
	}
	shout struct{ Text string }
	trade struct {
		Text  string
		Kind  uint8
		Hits  int64
		Aim   float32
		Next  bool
		Slots []slot
	}
	level uint8
)

func (m *shout) Serialize(s *wire.Serializer) { s.String(&m.Text, 50) }

func (m *trade) Serialize(s *wire.Serializer) {
	s.String(&m.Text, 50)
	s.Uint8(&m.Kind)
	if m.Kind == 1 {
		s.Int64(&m.Hits)
	} else {
		s.FiniteFloat32(&m.Aim)
	}
	if s.Bool(&m.Next); m.Next {
		s.Int64(&m.Hits)
	}
}

func lock() *schema.Lock {
	p := netcode.NewProtocol()
	netcode.Replicate[body](p)
	netcode.Replicate[name](p)
	netcode.Replicate[level](p)
	input.Register[stick](p)
	netcode.Handle[shout](p, nil)
	netcode.Handle[slot](p, nil)
	netcode.Handle[trade](p, nil)
	collections.NewMap[uint8, int32](p, "ranks")
	return schema.Of(p)
}

func TestTypesOfEveryKind(t *testing.T) {
	types, err := js.Types(lock(), "game.lock")
	require.NoError(t, err)
	for _, line := range []string{
		`"body": { Pos: Array<{ X: number; Y: number; }>; Rot: [number, number, number, number]; To: EntityID | null; N: bigint; };`,
		`"level": number;`,
		`"name": { Text: string; Bag: Array<{ Kind: number; Tags: string; }>; };`,
		`"stick": { X: number; Jump: boolean; };`,
		`"shout": { Text: string; };`,
		`"trade": { Text: string; Hits?: bigint; Aim?: number; Kind: number; Next: { Hits: bigint; } | null; };`,
		`"slot": { Kind: number; Tags: string; };`,
		`"ranks": Array<{ Key: number; Value: number; }>;`,
	} {
		require.Contains(t, types, line)
	}
	require.NotContains(t, types, "netcode.")
}

func TestAModuleHasTheHashOfItsLock(t *testing.T) {
	l := lock()
	module := js.Module(l, "game.lock")
	require.Contains(t, module, "DO NOT EDIT")
	require.Equal(t, len(l.Entries), strings.Count(module, "\n  \""))
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node here")
	}
	// The module is run, with the client beside it under its name, and tells the hash that the client has computed of the entries.
	dir := t.TempDir()
	client, err := filepath.Abs("../../clients/js")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "node_modules"), 0o755))
	require.NoError(t, os.Symlink(client, filepath.Join(dir, "node_modules", "arche-netcode-client")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "game.mjs"), []byte(module), 0o600))
	run := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", "import {createProtocol, hash} from './game.mjs'; const p = createProtocol(); process.stdout.write(p.hash.toString(16).padStart(16,'0') === hash ? 'equal' : 'differs')")
	run.Dir = dir
	out, err := run.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, "equal", string(out))
}

// TestTheCheckedTypesAreTheWrittenOnes compares the module that clients/js/types/use.ts is checked with.
func TestTheCheckedTypesAreTheWrittenOnes(t *testing.T) {
	lock, err := schema.ReadFile("../testdata/example.lock")
	require.NoError(t, err)
	types, err := js.Types(lock, "example.lock")
	require.NoError(t, err)
	for file, want := range map[string]string{"game.d.ts": types, "game.js": js.Module(lock, "example.lock")} {
		got, err := os.ReadFile("../../clients/js/types/" + file)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "go run ./cmd/netcode schema js schema/testdata/example.lock -o clients/js/types/game.js")
	}
}
