package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// short is a run of two thousand ticks with more of everything than the defaults.
func short(seed uint64) options {
	o := defaults()
	o.Seed, o.Ticks, o.Clients, o.Entities, o.Churn, o.Blackout = seed, 2000, 4, 40, 1, 10
	return o
}

// One phase of 2000 ticks with all faults at once holds all invariants, and each fault and each check happens. internal/switchoff switches a
// defence of each invariant but I4 off in the source, and then it must not. That of I4 is a setting, which -break I4 changes.
func TestInvariantsHoldForAPhase(t *testing.T) {
	r := run(short(100))
	if r.Failure != "" {
		o := short(100)
		shrink(o, &r)
	}
	require.Empty(t, r.Failure, r.text())
	require.Equal(t, 2000, r.Ticks)
	for _, k := range []kind{joinOne, joinBurst, closeOne, killOne, kickOne, reconnect, sleepOne, darkOne, darkAll, loseState, stopServer, roomsFlap, liarsChange} {
		require.NotZero(t, r.Injected[string(k)], "%s was not injected", k)
	}
	for _, fault := range []string{"lost", "doubled", "overtaken", "damaged", "blacked out", "rooms changed", "Hellos", "ForgedJoins"} {
		require.NotZero(t, r.Injected[fault], "%s was not injected", fault)
	}
	for _, invariant := range []string{
		"I1 Converge", "I2 NoGhostRef", "I3 Order", "I4 Bounded", "I5 Isolated", "I6 Reasoned", "I7 Alive", "I8 NoAmp", "I9 Secret", "I10 Gate",
	} {
		require.NotZero(t, r.Checked[invariant], "%s was not checked", invariant)
	}
	t.Log(r.text())
}

// Each invariant fails, by its name and within so many ticks, when it is broken on purpose. I1 is looked at when a phase ends.
func TestEachInvariantCanFail(t *testing.T) {
	for name, c := range map[string]struct {
		want   string
		within int
	}{
		"I1": {"Converge", shortPhase().ticks}, "I2": {"NoGhostRef", 1}, "I3": {"Order", 60}, "I4": {"I4 Bounded", 300}, "I5": {"I5 Isolated", breaksAt + staleTicks + 10},
		"I6": {"I6 Reasoned", 60}, "I7": {"I7 Alive", 100}, "I8": {"I8 NoAmp", 100}, "I9": {"I9 Secret", 60}, "I10": {"I10 Gate", 90},
	} {
		t.Run(name, func(t *testing.T) {
			o := short(200)
			o.Clients, o.Entities, o.breaks = 3, 30, name
			if name == "I1" {
				o.phase = shortPhase()
			}
			r := run(o)
			require.Contains(t, r.Failure, c.want)
			require.LessOrEqual(t, r.Ticks, c.within)
			t.Logf("tick %d: %s", r.Ticks, r.Failure)
		})
	}
}

// Equal flags give equal hashes; another seed gives another one.
func TestEqualFlagsGiveEqualHashes(t *testing.T) {
	of := func(seed uint64) string {
		o := short(seed)
		o.Ticks, o.Clients, o.Entities = 120, 2, 20
		return run(o).Hash
	}
	require.Equal(t, of(1), of(1))
	require.NotEqual(t, of(1), of(2))
}

// A failure is shrunk to the events that it needs, which fail in the same way when they are run alone.
func TestAFailureIsShrunk(t *testing.T) {
	o := short(5)
	o.Ticks, o.Clients, o.Adversaries, o.all = 400, 2, 0, false
	o.only = []event{{50, joinOne, 0, 200}, {60, roomsFlap, 0, 20}, {70, closeOne, 1, 0}, {100, planted, 0, 0}, {120, joinBurst, 0, 3}}
	r := run(o)
	require.Contains(t, r.Failure, "planted")
	require.Equal(t, 100, r.Ticks)
	shrinkFrom(o, &r, o.only)
	require.Equal(t, []event{{100, planted, 0, 0}}, r.Events)
	require.Equal(t, 4, r.Shrunk, "what comes after the failure is not of interest")
	require.Contains(t, r.text(), "FAILED in tick 100")
}

// The command prints one line of JSON a run, and says how wrong flags are wrong.
func TestTheCommand(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, command([]string{"-ticks", "60", "-clients", "1", "-entities", "5", "-adversaries", "0", "-seeds", "2", "-json"}, &out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	var r result
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &r))
	require.EqualValues(t, 2, r.Seed)
	require.Equal(t, 60, r.Ticks)
	require.Len(t, r.Heap, 10)
	require.ErrorContains(t, command([]string{"-ticks", "many"}, &out), "ticks")
}
