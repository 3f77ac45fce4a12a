package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/udp"
)

// recordedCrowd is the file of a short run.
func recordedCrowd(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "game.recording")
	var out bytes.Buffer
	require.Zero(t, run(context.Background(), strings.Fields("-clients 1 -entities 50 -seconds 0.4 -record "+name), &out, &out), out.String())
	return name
}

// A client over UDP sees a recording, and lines from the terminal go about in it.
func TestPlayServesARecording(t *testing.T) {
	t.Parallel()
	file, err := os.Open(recordedCrowd(t))
	require.NoError(t, err)
	defer file.Close()
	var out bytes.Buffer
	p, err := newPlayback(file, "127.0.0.1:0", "127.0.0.1:0", &out)
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	require.Contains(t, out.String(), "look inside at http://127.0.0.1:")

	there, err := udp.Listen("127.0.0.1:0", udp.Config{})
	require.NoError(t, err)
	defer there.Close()
	client, err := netcode.NewClient(newProtocol(nil, nil, nil), netcode.Config{})
	require.NoError(t, err)
	world := ecs.NewWorld()
	loop := systems.NewRunner(&world, systems.NewClient(client, there, systems.WallClock()), 60)
	require.NoError(t, client.Connect(p.socket.LocalAddr()))
	bodies := generic.NewFilter1[Position]()
	until := time.Now().Add(patience)
	for seen := 0; seen < 50; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(until), "it sees %d bodies", seen)
		p.runner.Step()
		loop.Step()
		query := bodies.Query(&world)
		seen = query.Count()
		query.Close()
	}
	require.Contains(t, p.obey("pause"), "tick")
	require.True(t, p.player.Paused())
	require.Equal(t, p.obey("seek 9"), p.obey("seek 9"))
	require.EqualValues(t, 9, p.player.Tick())
	require.Contains(t, p.obey("speed 2"), "tick 9 of 1 to ")
	require.Contains(t, p.obey("speed 99"), "from 0.1 to 16")
	require.Contains(t, p.obey("go"), "tick 9")
	require.False(t, p.player.Paused())
	require.Contains(t, p.obey("what"), "seek TICK")
}

func TestTapIsACommand(t *testing.T) {
	name := filepath.Join(t.TempDir(), "empty.pcap")
	require.NoError(t, os.WriteFile(name, append([]byte{0xD4, 0xC3, 0xB2, 0xA1, 19: 0, 20: 101}, 0, 0, 0), 0o644))
	for want, args := range map[string][]string{"": {name}, "wants a capture file": nil, "no such file": {"/no/such"}, "tcpdump": {os.Args[0]}} {
		var out, complaints bytes.Buffer
		status := run(context.Background(), append([]string{"tap"}, args...), &out, &complaints)
		require.Equal(t, want == "", status == 0, args)
		require.Contains(t, complaints.String(), want)
	}
}

func TestPlayIsACommand(t *testing.T) {
	t.Parallel()
	name := recordedCrowd(t)
	play := func(args string) (status int, out, complaints string) {
		var o, e bytes.Buffer
		status = run(context.Background(), append([]string{"play"}, strings.Fields(args)...), &o, &e)
		return status, o.String(), e.String()
	}
	status, out, complaints := play("-addr 127.0.0.1:0 -for 300ms " + name)
	require.Zero(t, status, complaints)
	require.Regexp(t, `game\.recording: ticks 1 to \d+, at 127\.0\.0\.1:\d+`, out)
	for args, want := range map[string]string{
		"":                            "play wants a recording",
		"-addr 127.0.0.1:0 /no/such":  "no such file",
		"-speed 2 " + name:            "speed",
		"-addr 192.0.2.300:1 " + name: "192.0.2.300",
		"-addr 127.0.0.1:0 -inspect 192.0.2.1:0 " + name: "",
		"-addr 127.0.0.1:0 " + os.Args[0]:                "not a recording",
	} {
		status, _, complaints := play(args)
		require.NotZero(t, status, args)
		require.Contains(t, complaints, want, args)
	}
}
