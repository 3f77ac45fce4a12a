package main

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type boat struct {
	X, Y float32 `net:"min=-100,max=100,step=0.001"`
	Roll float32 `net:"angle,bits=12"`
	Oars uint8
}

// recorded writes a recording of boats on waves: motion that the shipped tables do not know well.
func recorded(t *testing.T, ticks int) string {
	t.Helper()
	p, err := wire.Compile(reflect.TypeFor[boat](), "boat")
	require.NoError(t, err)
	store := snapshot.NewStore(snapshot.NewSchema([]*wire.Plan{p}), snapshot.Config{})
	var file bytes.Buffer
	w, err := record.NewWriter(&file, record.Header{TickRate: 30, Entries: []string{"component " + string(p.Describe(nil))}}, store.Schema())
	require.NoError(t, err)
	var ids []wire.NetworkID
	for f := range ticks {
		store.Begin(tick.Tick(f + 1))
		for i := range 30 {
			if f == 0 {
				ids = append(ids, store.Spawn())
			}
			if f == ticks/2 && i == 7 {
				store.Despawn(ids[i])
				ids[i] = store.Spawn()
			}
			s := float64(f)/9 + float64(i)
			b := boat{float32(40 * math.Sin(s)), float32(40 * math.Cos(s*1.3)), float32(math.Sin(s * 7)), uint8(f / 5)}
			lanes := make([]uint32, p.Lanes())
			p.Quantise(unsafe.Pointer(&b), lanes)
			store.Set(ids[i], 0, lanes)
		}
		store.Commit()
		require.NoError(t, w.Tick(store))
	}
	require.NoError(t, w.Close())
	name := filepath.Join(t.TempDir(), "game.recording")
	require.NoError(t, os.WriteFile(name, file.Bytes(), 0o644))
	return name
}

func TestTrainLearnsFromARecording(t *testing.T) {
	name := recorded(t, 400)
	to := filepath.Join(t.TempDir(), "game.tables")
	var out, progress bytes.Buffer
	require.NoError(t, run([]string{"train", "-o", to, name, name}, &out, &progress))
	require.Regexp(t, `learning, tick \d+ of 1 to 400`, progress.String())
	said := regexp.MustCompile(`held out: (\d+) rows, ([0-9.]+) bits each with the tables that ship, ([0-9.]+) with these`).FindStringSubmatch(out.String())
	require.NotNil(t, said, out.String())
	before, err := strconv.ParseFloat(said[2], 64)
	require.NoError(t, err)
	after, err := strconv.ParseFloat(said[3], 64)
	require.NoError(t, err)
	require.Less(t, after, before)

	text, err := os.ReadFile(to)
	require.NoError(t, err)
	tables, err := wire.ParseTables(text)
	require.NoError(t, err)
	var names []string
	for _, table := range tables.All() {
		names = append(names, table.Name())
	}
	require.Contains(t, names, "boat.0")
	require.Contains(t, names, "boat.which0")
	require.Contains(t, names, "class.turn")

	again := filepath.Join(t.TempDir(), "game.tables")
	require.NoError(t, run([]string{"train", "-o", again, name, name}, &out, &progress))
	second, err := os.ReadFile(again)
	require.NoError(t, err)
	require.Equal(t, string(text), string(second), "the same recordings make the same tables")
}

func TestInfoTellsWhatIsRecorded(t *testing.T) {
	name := recorded(t, 65)
	var out bytes.Buffer
	require.NoError(t, run([]string{"info", name}, &out, &out))
	require.Regexp(t, `65 ticks at 30 Hz, 1 to 65, in 3 chunks; \d+ bytes, \d+ unpacked\n  component boat\{X:f32\[-100,100,0\.001\]`, out.String())
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, text[:len(text)-3], 0o644))
	out.Reset()
	require.NoError(t, run([]string{"info", name}, &out, &out))
	require.Contains(t, out.String(), "60 ticks")
	require.Contains(t, out.String(), "cut off")
}

func TestCommandsThatMakeNoSenseAreRefused(t *testing.T) {
	short := recorded(t, 5)
	for _, args := range [][]string{
		{}, {"fly"}, {"train"}, {"train", "-o", "x"}, {"train", short}, {"train", "-o", filepath.Join(t.TempDir(), "x"), short}, {"info"}, {"info", "no such file"},
		{"ship"}, {"train", "-nonsense"},
	} {
		var out bytes.Buffer
		require.Error(t, run(args, &out, &out), args)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"-help"}, {"--help"}, {"info", "-h"}, {"ship", "--help"}} {
		var out bytes.Buffer
		require.NoError(t, run(args, &out, &out), args)
		require.Equal(t, commands, out.String())
	}
	var out, progress bytes.Buffer
	require.ErrorIs(t, run([]string{"train", "-h"}, &out, &progress), flag.ErrHelp, "which is no failure to main")
	require.Contains(t, progress.String(), "-o file")
	require.Error(t, run([]string{"dance"}, &out, &progress))
}
