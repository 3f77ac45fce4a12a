package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

type boat struct {
	X, Y float32 `net:"min=-100,max=100,step=0.001"`
	Roll float32 `net:"angle,bits=12"`
	Oars uint8
}

// recorded writes a recording of boats on waves, a motion that the shipped tables do not fit well.
func recorded(t *testing.T, ticks int) string {
	t.Helper()
	p, err := quantize.Compile(reflect.TypeFor[boat](), "boat")
	require.NoError(t, err)
	store := snapshot.NewStore(format.NewSchema([]*quantize.Plan{p}), snapshot.Config{})
	var file bytes.Buffer
	w, err := record.NewWriter(&file, record.Header{TickRate: 30, Entries: []string{"component " + string(p.Describe(nil))}}, store)
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
		require.NoError(t, w.Tick())
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
	tables, err := delta.ParseTables(text)
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

func TestInfoListsTheRecording(t *testing.T) {
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

// damaged returns a copy of a recording with one changed byte in its second chunk.
func damaged(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	first := bytes.Index(text, []byte("CHNK"))
	second := first + 4 + bytes.Index(text[first+4:], []byte("CHNK"))
	text[second+60] ^= 1
	bad := filepath.Join(t.TempDir(), "bad.recording")
	require.NoError(t, os.WriteFile(bad, text, 0o644))
	return bad
}

func TestInfoFindsDamage(t *testing.T) {
	name := recorded(t, 95)
	bad := damaged(t, name)
	var out bytes.Buffer
	err := run([]string{"info", bad, name}, &out, &out)
	require.ErrorIs(t, err, record.ErrDamaged)
	require.ErrorContains(t, err, bad+": ")
	require.ErrorContains(t, err, "chunk 2, at byte ")
	require.ErrorContains(t, err, "its sum is wrong; ticks 31 to 60 are lost")
	require.Equal(t, 1, usage.Status(err), "what it exits with")
	require.Contains(t, out.String(), "65 ticks at 30 Hz, 1 to 95, in 3 chunks")
	require.Contains(t, out.String(), "95 ticks at 30 Hz, 1 to 95, in 4 chunks", "the other one is looked at all the same")
}

func TestTrainPassesOverDamage(t *testing.T) {
	name := damaged(t, recorded(t, 400))
	to := filepath.Join(t.TempDir(), "game.tables")
	var out, progress bytes.Buffer
	require.NoError(t, run([]string{"train", "-o", to, name}, &out, &progress))
	require.Contains(t, progress.String(), name+": passed over: record: damaged recording: chunk 2, at byte ")
	require.Contains(t, progress.String(), "ticks 31 to 60 are lost")
	require.Contains(t, out.String(), name+": learned from 370 ticks, 1 to 400, without what is damaged\n")
	text, err := os.ReadFile(to)
	require.NoError(t, err)
	_, err = delta.ParseTables(text)
	require.NoError(t, err)
}

// Another recording is measured completely, and not used for training.
func TestTrainMeasuresOnAnotherRecording(t *testing.T) {
	name, other, folder := recorded(t, 300), recorded(t, 90), t.TempDir()
	alone, with := filepath.Join(folder, "alone"), filepath.Join(folder, "with")
	var out, progress bytes.Buffer
	require.NoError(t, run([]string{"train", "-o", alone, name}, &out, &progress))
	out.Reset()
	require.NoError(t, run([]string{"train", "-o", with, "-measure", other, name}, &out, &progress))
	require.Regexp(t, other+`: \d+ rows, [0-9.]+ bits each with the tables that ship, [0-9.]+ with these, [0-9.]+ % fewer`, out.String())
	require.NotContains(t, out.String(), "held out")
	require.NotContains(t, out.String(), other+": learned")
	one, err := os.ReadFile(alone)
	require.NoError(t, err)
	two, err := os.ReadFile(with)
	require.NoError(t, err)
	require.Equal(t, string(one), string(two))
	require.ErrorContains(t, run([]string{"train", "-o", with, "-measure", name, name}, &out, &progress), "of which nothing is learned")
	require.ErrorContains(t, run([]string{"train", "-o", other, "-measure", other, name}, &out, &progress), "a recording to read")
}

// The command names the tables that did not fit.
func TestTrainNamesLeftOutComponents(t *testing.T) {
	p, err := quantize.Compile(reflect.TypeFor[struct{ A [90]uint16 }](), "many")
	require.NoError(t, err)
	trainer := delta.NewTrainer()
	counting := delta.NewCounting(trainer, false)
	training, err := record.NewTraining([]*quantize.Plan{p}, counting, 1, 3)
	require.NoError(t, err)
	training.Store.Watch(counting.Count)
	id, lanes := wire.NetworkID{}, make([]uint32, p.Lanes())
	for f := range 400 {
		training.Store.Begin(tick.Tick(f + 1))
		if f == 0 {
			id = training.Store.Spawn()
		}
		for i := range lanes {
			lanes[i] = uint32(f * (i + 1) % 60000)
		}
		training.Store.Set(id, 0, lanes)
		training.Store.Commit()
		require.NoError(t, training.Send())
	}
	left := trainer.LeftOut(record.LeastCounted)
	require.NotEmpty(t, left)
	tables, err := trainer.BuildKnown(record.LeastCounted)
	require.NoError(t, err)
	for _, table := range tables.All() {
		require.NotContains(t, left, table.Name())
	}
	var said bytes.Buffer
	tellLeftOut(left, &said)
	require.Contains(t, said.String(), strings.Join(left[:5], ", ")+" and ")
	require.Equal(t, 1, strings.Count(said.String(), "\n"))
	said.Reset()
	tellLeftOut([]string{"a", "b"}, &said)
	require.Contains(t, said.String(), ": a, b\n")
	said.Reset()
	tellLeftOut(nil, &said)
	require.Empty(t, said.String())
}

// Flags may follow the recordings, and missing arguments are reported.
func TestTrainTakesFlagsAnywhere(t *testing.T) {
	name := recorded(t, 60)
	for _, args := range [][]string{{name, "-o", "to"}, {"-o", "to", name}, {name, "-o=to", name}, {"-o", "to", "--", name}} {
		to := filepath.Join(t.TempDir(), "game.tables")
		for i := range args {
			args[i] = strings.Replace(args[i], "to", to, 1)
		}
		var out bytes.Buffer
		require.NoError(t, run(append([]string{"train"}, args...), &out, &out), args)
		require.FileExists(t, to)
		require.Contains(t, out.String(), "learned from 60 ticks, 1 to 60\n")
	}
	for want, args := range map[string][]string{
		"train wants -o FILE,":          {name},
		"train wants recordings":        {"-o", "x"},
		"train wants -o FILE and":       {},
		"there is no flag -p":           {name, "-p"},
		"-o needs a value: it must be ": {name, "-o"},
	} {
		err := run(append([]string{"train"}, args...), io.Discard, io.Discard)
		require.ErrorContains(t, err, want)
		require.Equal(t, 2, usage.Status(err), "what it exits with")
		require.NotContains(t, err.Error(), "\n", "one line")
	}
}

// Recordings of two games are not trained together: the tables would fit neither.
func TestTrainRefusesRecordingsOfTwoProtocols(t *testing.T) {
	one := recorded(t, 60)
	text, err := os.ReadFile(one)
	require.NoError(t, err)
	r, err := record.NewReader(bytes.NewReader(text))
	require.NoError(t, err)
	other := func(entries []string) string {
		var file bytes.Buffer
		h := record.Header{TickRate: 30, Entries: entries}
		plans, err := h.Plans()
		require.NoError(t, err)
		store := snapshot.NewStore(format.NewSchema(plans), snapshot.Config{})
		w, err := record.NewWriter(&file, h, store)
		require.NoError(t, err)
		for f := range 60 {
			store.Begin(tick.Tick(f + 1))
			store.Commit()
			require.NoError(t, w.Tick())
		}
		require.NoError(t, w.Close())
		name := filepath.Join(t.TempDir(), "other.recording")
		require.NoError(t, os.WriteFile(name, file.Bytes(), 0o644))
		return name
	}
	train := func(names ...string) error {
		return run(append([]string{"train", "-o", filepath.Join(t.TempDir(), "x")}, names...), io.Discard, io.Discard)
	}
	entries := r.Header().Entries
	for what, entries := range map[string][]string{
		"boat{X:f32":         {"component boat{X:f32}"},
		"no more components": {},
		"raft{}":             append(append([]string{}, entries...), "component raft{}"),
	} {
		second := other(entries)
		for _, names := range [][]string{{one, second}, {second, one}, {one, one, second}} {
			err := train(names...)
			require.ErrorContains(t, err, "two protocols")
			require.ErrorContains(t, err, one)
			require.ErrorContains(t, err, second)
			require.ErrorContains(t, err, what)
		}
	}
	require.NoError(t, train(one, other(append(append([]string{}, entries...), "message hello{}[from client]"))), "messages do not count")
}

func TestCommandsThatMakeNoSenseAreRefused(t *testing.T) {
	short := recorded(t, 5)
	for _, args := range [][]string{
		{}, {"fly"}, {"train"}, {"train", "-o", "x"}, {"train", short}, {"train", "-o", filepath.Join(t.TempDir(), "x"), short}, {"info"}, {"info", "no such file"},
		{"key"}, {"train", "-nonsense"},
	} {
		var out bytes.Buffer
		err := run(args, &out, &out)
		require.Error(t, err, args)
		require.NotContains(t, err.Error(), "\n", args)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"-help"}, {"--help"}, {"info", "-h"}, {"key", "--help"}, {"schema", "-help"}, {"schema", "check", "-help"}, {"diff", "a", "-h"}} {
		var out bytes.Buffer
		require.NoError(t, run(args, &out, &out), args)
		require.Equal(t, commands, out.String())
	}
	var out, progress bytes.Buffer
	require.ErrorIs(t, run([]string{"train", "-h"}, &out, &progress), flag.ErrHelp, "which is no failure to main")
	require.Contains(t, progress.String(), "-o file")
	require.Error(t, run([]string{"dance"}, &out, &progress))
	for _, command := range []string{"tap", "play", "verify", "bots"} { // there is no game in this folder
		out.Reset()
		require.NoError(t, run([]string{command, "-help"}, &out, &progress), command)
		require.True(t, strings.HasPrefix(out.String(), "  netcode "+command+" "), out.String())
	}
	out.Reset()
	require.NoError(t, run([]string{"tap", "-game", "../../examples/crowd", "-help"}, &out, &progress))
	require.Contains(t, out.String()+progress.String(), "-component part")
}

// The command bots starts a game's program, and returns its error.
func TestBotsStartTheProgramOfAGame(t *testing.T) {
	var out, progress bytes.Buffer
	err := run([]string{"bots", "-game", "../../examples/crowd"}, &out, &progress)
	require.ErrorContains(t, err, "ended with status")
	require.Equal(t, 2, usage.Status(err), "as the game's")
	require.Contains(t, progress.String(), "-addr is missing")
	require.ErrorContains(t, run([]string{"bots", "-game"}, &out, &progress), "-game needs a value")
	for _, command := range []string{"bots", "tap"} { // there is no examples/crowd in this folder
		require.Regexp(t, "^netcode "+command+" -game PACKAGE names your game", run([]string{command, "-n", "2"}, &out, &progress).Error())
	}
}

// echo creates a folder with a game in its own module, which ignores its command and prints its other arguments.
func echo(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "start")
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module start\n"), 0o644))
	const program = "package main\n\nimport \"os\"\n\nfunc main() {\n\tfor _, a := range os.Args[2:] {\n\t\tos.Stdout.WriteString(a + \"\\n\")\n\t}\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(program), 0o644))
	return folder
}

// A folder outside this module is built in its own module. For other packages the error says where to build them.
func TestAGameOfAnotherModule(t *testing.T) {
	folder := echo(t)
	elsewhere := filepath.Join(filepath.Dir(folder), "elsewhere")
	require.NoError(t, os.Mkdir(elsewhere, 0o755))
	for _, command := range []string{"bots", "play"} {
		var out, progress bytes.Buffer
		require.NoError(t, run([]string{command, "-game", folder, "FILE"}, &out, &progress), &progress)
		require.Equal(t, "FILE\n", out.String())
	}
	var out, progress bytes.Buffer
	err := run([]string{"play", "-game", "example.org/no/such", "FILE"}, &out, &progress)
	require.ErrorContains(t, err, "run it in the folder of your game's module: go run github.com/arche-netcode/netcode/cmd/netcode play")
	t.Chdir(elsewhere)
	require.NoError(t, run([]string{"play", "-game", "../start", "FILE"}, &out, &progress), &progress)
	require.Equal(t, "FILE\n", out.String())
}

// A game that ignores the command verify does not count as free of differences.
func TestVerifyNeedsAnAnswer(t *testing.T) {
	folder := echo(t)
	for answer, fine := range map[string]bool{"": false, "FILE": false, "there is no difference": false, "no difference": true, "FILE\nno difference\nbye": true, "-help": true} {
		var out, progress bytes.Buffer
		err := run([]string{"verify", "-game", folder, answer}, &out, &progress)
		require.Equal(t, answer+"\n", out.String(), &progress)
		if fine {
			require.NoError(t, err, answer)
			continue
		}
		require.ErrorContains(t, err, "ran, and did not answer the command verify", answer)
		require.ErrorContains(t, err, "docs/guide/recording.md")
		require.Equal(t, 1, usage.Status(err))
	}
}

// The flag -game may be anywhere before a --; all else belongs to the game.
func TestTheGameStandsAnywhere(t *testing.T) {
	for given, want := range map[string][2]string{
		"":                              {defaultGame, ""},
		"-n 2 FILE":                     {defaultGame, "-n 2 FILE"},
		"-game ./my -n 2 FILE":          {"./my", "-n 2 FILE"},
		"-n 2 FILE --game ./my":         {"./my", "-n 2 FILE"},
		"-n 2 -game=./my FILE -o x":     {"./my", "-n 2 FILE -o x"},
		"FILE --game=./my -- -game ./a": {"./my", "FILE -- -game ./a"},
	} {
		game, others, err := takeGame(strings.Fields(given), defaultGame)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{game, strings.Join(others, " ")}, given)
	}
	for _, wrong := range []string{"FILE -game", "-game= FILE"} {
		_, _, err := takeGame(strings.Fields(wrong), defaultGame)
		require.ErrorContains(t, err, "-game needs a value", wrong)
	}
}

// untilLine ends a context after the first line of the table of bots.
type untilLine struct {
	text bytes.Buffer
	end  func()
}

func (u *untilLine) Write(b []byte) (int, error) {
	u.text.Write(b)
	if strings.Count(u.text.String(), "\n") > 1 { // the title is the first
		u.end()
	}
	return len(b), nil
}

// An interrupted run still reports: the signal reaches the game's program, which go run would prevent. It fails because
// there is no server.
func TestInterruptedBotsReport(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	out, progress := untilLine{end: end}, bytes.Buffer{}
	err := runGame(ctx, "bots", []string{"-game", "../../examples/crowd", "-addr", "127.0.0.1:9", "-n", "1", "-for", "1h"}, &out, &progress)
	require.ErrorContains(t, err, "ended with status 1")
	require.Contains(t, progress.String(), "no bot ever connected")
	require.Contains(t, out.text.String(), "\n\n", "the report, behind the table")
}
