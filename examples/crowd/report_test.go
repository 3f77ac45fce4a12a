package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTablePrintsLines(t *testing.T) {
	var out strings.Builder
	table := newTable(&out)
	server := &ServerLine{State: worldState{Tick: 30, Hash: 0xab}, P50: 200 * time.Microsecond, Clients: 1, InStep: 1}
	clients := []ClientLine{{Number: 1, State: worldState{Tick: 28, Hash: 0xcd}, InStep: true, RTT: 85 * time.Millisecond}}
	require.NoError(t, table.Print(server, clients))
	require.NoError(t, table.Print(nil, clients))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	require.Contains(t, lines[0], "tick 30 hash 00000000000000ab")
	require.Contains(t, lines[0], "1/1 in step")
	require.Contains(t, lines[1], "tick 28 hash 00000000000000cd")
	require.NotContains(t, out.String(), "\x1b", "no control characters in a pipe")
}

func TestTableDrawsOverItself(t *testing.T) {
	var out strings.Builder
	table := &Table{out: &out, redraw: true}
	clients := make([]ClientLine, 2)
	require.NoError(t, table.Print(&ServerLine{}, clients))
	require.NotContains(t, out.String(), "\x1b[J")
	require.NoError(t, table.Print(&ServerLine{}, clients))
	require.Equal(t, 1, strings.Count(out.String(), "\x1b[3A\x1b[J"))
	table.Say("said")
	require.NoError(t, table.Print(&ServerLine{}, clients))
	require.Equal(t, 1, strings.Count(out.String(), "\x1b[J"), "what was said stays")
}

func TestComplaintsFallSilent(t *testing.T) {
	var out strings.Builder
	heard := complaints{table: newTable(&out), who: "server"}
	for range 100 {
		heard.hear(errTrace)
	}
	require.Equal(t, mostComplaints, strings.Count(out.String(), "server: "+errTrace.Error()))
}

func TestTimes(t *testing.T) {
	times := newTimes(4)
	p50, p99 := times.Whole()
	require.Zero(t, p50+p99)
	for i := range 101 {
		times.Add(time.Duration(100-i) * time.Microsecond)
	}
	p50, p99 = times.Second()
	require.Equal(t, []time.Duration{50 * time.Microsecond, 99 * time.Microsecond}, []time.Duration{p50, p99})
	times.Add(7)
	p50, p99 = times.Second()
	require.Equal(t, []time.Duration{7, 7}, []time.Duration{p50, p99}, "only the new one")
	times.Clear()
	p50, _ = times.Whole()
	require.Zero(t, p50)
}

func TestResultIsOneObject(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, (&Result{Converged: true, RTT: 80.5}).print(&out))
	var back map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	for _, key := range []string{"converged", "tick_p50_us", "tick_p99_us", "kbit_per_client", "packets", "loss_seen", "rtt_ms", "allocs_per_tick"} {
		require.Contains(t, back, key)
	}
	require.NotContains(t, back, "difference")
}
