package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/wire"
)

// TestMain lets this test program be its own far end, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		main()
		return
	}
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// asProgram, when set, makes this test program the program itself.
const asProgram = "BENCH_AS_PROGRAM"

// A wrong command line exits with 2 and reports that in one line; what could not be measured exits with 1.
func TestWrongFlagsExitWithTwo(t *testing.T) {
	for args, want := range map[string]int{
		"-nope": 2, "-c many": 2, "-c 1025": 2, "-e -1": 2, "-frac NaN": 2, "-run nothing": 2, "apply": 2,
		"-run bytes -only nothing": 2, "-run bytes -only bytes.trained": 2, "-run loss -only 100/7": 2, "-run tick -only bytes": 2, "-only bytes": 2,
		"-run bytes -trace no_such_file": 1, "-list": 0, "-h": 0,
	} {
		c := exec.Command(os.Args[0], strings.Fields(args)...)
		c.Env = append(os.Environ(), asProgram+"=1")
		var told bytes.Buffer
		c.Stderr = &told
		_ = c.Run()
		require.Equal(t, want, c.ProcessState.ExitCode(), "%s: %s", args, told.String())
		if want == 2 {
			require.Regexp(t, `^bench: [^\n]+\n$`, told.String(), args)
		}
	}
}

// results runs the program and decodes what it prints.
func results(t *testing.T, args ...string) []result {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(append(args, "-json"), &out))
	var all []result
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var r result
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r), lines.Text())
		all = append(all, r)
	}
	return all
}

func needProcesses(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes and no sockets here")
	}
}

func TestListNamesEveryScenario(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-list"}, &out))
	for _, name := range []string{"floor", "tick", "bytes"} {
		require.Contains(t, out.String(), name)
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	require.ErrorIs(t, run([]string{"-h"}, &bytes.Buffer{}), flag.ErrHelp, "on which main ends well")
}

func TestRefusesBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-run", "nothing"}, {"-e", "70000"}, {"-frac", "2"}, {"-c", "-1"}, {"-run", "bytes", "-trace", "no such file"}} {
		require.Error(t, run(args, &bytes.Buffer{}), args)
	}
}

// The flag -only names a line of the scenario that runs. If there is no such line, the error says which lines there are, before
// anything is measured.
func TestOnlyNamesALine(t *testing.T) {
	for args, want := range map[string]string{
		"-run bytes -only nothing":       "the scenario bytes has no such line; its lines are bytes, bytes.trained, bytes.moving, bytes.exact, bytes.age, bytes.loss",
		"-run loss -only 100/7":          "-only 100/7: the scenario loss has no such line; its lines are 100/0, 100/1, 100/5, 100/10, ",
		"-run loss -only bytes":          "the scenario loss has no such line",
		"-run tick -only bytes":          "with -run bytes, -run loss, -run real or -run published",
		"-only bytes":                    "with -run bytes, -run loss, -run real or -run published",
		"-run bytes -only bytes.trained": "nothing to train tables on",
	} {
		var out bytes.Buffer
		err := run(strings.Fields(args), &out)
		require.ErrorContains(t, err, want)
		require.Equal(t, 2, usage.Status(err))
		require.Zero(t, out.Len(), args)
	}
	for _, name := range bytesLines() {
		o := options{only: name}
		require.NoError(t, o.checkOnly("bytes"))
	}
	for _, name := range lossLines() {
		var names []string
		for _, p := range lossPoints() {
			if p.only(name) {
				names = append(names, p.label())
			}
		}
		trip, loss, _ := strings.Cut(name, "/")
		require.Equal(t, slices.Compact([]string{trip + "/0", trip + "/" + loss}), names)
	}
}

// A word behind the flags is an error that tells what was meant, before anything is measured: all scenarios take minutes.
func TestWordsBehindTheFlagsAreRefused(t *testing.T) {
	for word, want := range map[string]string{"apply": "-run apply", "fly": "-list"} {
		for _, args := range [][]string{{word}, {"-json", "-t", "1ms", word}, {"-list", word}} {
			var out bytes.Buffer
			err := run(args, &out)
			require.ErrorContains(t, err, strconv.Quote(word), args)
			require.ErrorContains(t, err, want, args)
			require.Zero(t, out.Len(), args)
		}
	}
	require.EqualError(t, run([]string{"-c", "many"}, &bytes.Buffer{}), `-c "many": it must be a whole number from 0 to 1024`)
}

// Every byte of the floor arrives. The few ticks that are always measured fit into the sockets' buffers, however slow the far end is.
func TestFloorDelivers(t *testing.T) {
	needProcesses(t)
	all := results(t, "-run", "floor", "-e", "200", "-c", "3", "-frac", "0.5", "-t", "1ns")
	require.Len(t, all, 1)
	require.Equal(t, 1.0, all[0].Params["delivered"])
	require.Equal(t, 100.0*rowBytes+4*packetHeader+3*(packetBytes-packetHeader-rowsPerPacket*rowBytes), all[0].Params["bytes_per_client"])
}

// The clients of the tick scenario hold exactly the server's world after each tick that is compared.
func TestTickIsVerified(t *testing.T) {
	needProcesses(t)
	for _, exact := range []string{"-exact=false", "-exact=true"} {
		all := results(t, "-run", "tick", "-e", "200", "-c", "3", "-frac", "0.5", "-t", "20ms", exact)
		require.Len(t, all, 2)
		require.Equal(t, true, all[0].Params["verified"], all[0])
		require.Equal(t, 0.0, all[0].Params["worlds_wrong"])
		require.Greater(t, all[0].Params["worlds_compared"], 5.0)
		require.True(t, all[0].Main)
		require.NotNil(t, all[0].OK)
		require.InDelta(t, all[0].Value / *all[0].Anchor, *all[0].Ratio, 1e-9)
	}
}

// shortRun is the scenario bytes over some seconds of generated motion.
func shortRun(t *testing.T) *byteRun {
	t.Helper()
	motion := newGenerated()
	motion.frames = 3 * generatedHz
	b, err := newByteRun(motion)
	require.NoError(t, err)
	require.NoError(t, b.run())
	return b
}

// Without a recording the bytes of generated motion are measured, and no target is claimed.
func TestBytesWithoutARecording(t *testing.T) {
	var got result
	b := shortRun(t)
	b.report(options{report: func(r result) { got = r }}, byteVariant{name: "bytes"}, true)
	require.Equal(t, "generated", got.Params["motion"])
	require.Equal(t, 3*generatedHz, got.Params["frames"])
	require.Nil(t, got.OK)
	require.False(t, got.Main)
	require.InDelta(t, float64(b.serverSocket.sentBytes)*8/3/1000, got.Value, 1e-9)
	require.Greater(t, b.serverSocket.headerBytes, b.serverSocket.sent*(9+2+4)/2)
	require.Less(t, b.serverSocket.headerBytes, b.serverSocket.sentBytes/2)
}

// The verification sees one wrong value in one body, be it too small for a step or not.
func TestBytesNoticeAWrongDecoder(t *testing.T) {
	b := shortRun(t)
	at := b.client.Replica().Tick()
	require.NoError(t, b.compareWorlds(at))
	id, known := b.serverFrame.ID(b.entities[17])
	require.True(t, known)
	there, known := b.clientFrame.Entity(id)
	require.True(t, known)
	_, p, q, on := b.dress.(*quantisedDress).client.Get(there)
	right := *p
	p.X = math.Nextafter32(p.X, 1000)
	require.ErrorContains(t, b.compareWorlds(at), "the client's world is")
	*p = right
	require.NoError(t, b.compareWorlds(at))

	was := b.history[int64(at)%digestsKept].bodies[17]
	require.NoError(t, resembles(was, *p, *q, *on))
	require.Error(t, resembles(was, tracePosition{p.X, p.Y, p.Z + 1.0/512}, *q, *on))
	require.Error(t, resembles(was, *p, traceOrientation{turned(q.Q, [3]float64{1, 0, 0}, 0.03)}, *on))
	require.Error(t, resembles(was, *p, *q, traceInteracting{!on.On}))
}

// The bytes of headers are all bytes but the payloads', whatever is in the datagram.
func TestHeadersOf(t *testing.T) {
	datagram := wire.AppendPacketHeader(nil, wire.PacketHeader{Sequence: 5})
	header := len(datagram)
	datagram = append(datagram, 0, 0)
	for _, size := range []int{10, 0, 3} {
		var message [wire.MessageHeaderSize]byte
		wire.MessageHeader{Type: wire.MessageSnapshot, Size: uint16(size)}.Put(message[:])
		datagram = append(append(datagram, message[:]...), make([]byte, size)...)
	}
	wire.BatchHeader{Size: uint16(len(datagram) - header)}.Put(datagram[header:])
	datagram = append(datagram, 1, 2, 3, 4)
	require.Equal(t, header+2+3*4+4, headersOf(datagram))
	require.Equal(t, 3, headersOf([]byte{0x80, 1, 2}))
	require.Equal(t, len(datagram)-1-10, headersOf(datagram[:len(datagram)-1]))
}

func TestResultIsOKOnlyWhenVerifiedAndWithinTarget(t *testing.T) {
	r := result{Value: 30}
	for _, c := range []struct {
		got  result
		want bool
	}{
		{r.against(10).ratioTarget(3, true), true},
		{r.against(10).ratioTarget(3, false), false},
		{r.against(9).ratioTarget(3, true), false},
		{r.valueTarget(30, true), true},
		{r.valueTarget(29, true), false},
		{r.valueTarget(30, false), false},
	} {
		require.Equal(t, c.want, *c.got.OK)
	}
	var line strings.Builder
	r.against(10).ratioTarget(3, true).print(&line, true)
	for _, key := range []string{"scenario", "params", "value", "unit", "anchor", "ratio", "target", "ok"} {
		require.Contains(t, line.String(), `"`+key+`"`)
	}
}
