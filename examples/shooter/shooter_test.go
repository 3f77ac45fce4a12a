package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the bots saw is what the server confirms, also on a bad network, and without a rewind most would have missed.
func TestShotsAreConfirmedAgainstWhatWasSeen(t *testing.T) {
	for _, args := range [][]string{
		{"-json"},
		{"-json", "-loss", "10", "-jitter", "30ms", "-seed", "2"},
		{"-json", "-delay", "0s", "-jitter", "0s", "-loss", "0", "-seconds", "10"},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, statusFine, run(args, &out, &errs), "%v: %s%s", args, out.String(), errs.String())
		var r result
		require.NoError(t, json.Unmarshal(out.Bytes(), &r))
		t.Logf("%v: %d shots, %d in time, %d confirmed, %d without rewind", args, r.Shots, r.Judged, r.Confirmed, r.Present)
		require.True(t, r.Converged)
		require.Greater(t, r.Judged, 100)
		require.GreaterOrEqual(t, float64(r.Judged), .9*float64(r.Shots))
		require.Less(t, r.Present, r.Confirmed)
		require.True(t, r.Players[0].Host)
		require.Equal(t, r.Players[0].Judged, r.Players[0].Confirmed, "the host shoots at what is there")
	}
}

// The same seed is the same match.
func TestAMatchRepeats(t *testing.T) {
	var first, second bytes.Buffer
	require.Equal(t, statusFine, run([]string{"-seconds", "5"}, &first, &first))
	require.Equal(t, statusFine, run([]string{"-seconds", "5"}, &second, &second))
	require.Equal(t, first.String(), second.String())
}

func TestUsage(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, statusUsage, run([]string{"-bots", "0"}, &out, &out))
	require.Equal(t, statusUsage, run([]string{"-none"}, &out, &out))
	require.Equal(t, statusFine, run([]string{"-h"}, &out, &out))
}

// The loss is in percent, as in examples/arena, which also takes a share.
func TestLossIsInPercent(t *testing.T) {
	var errs bytes.Buffer
	for text, want := range map[string]float64{"10": .1, "10%": .1, "0.1": .1, "1": .01, "0": 0, "0.5%": .005, "100": 1} {
		o, err := parseOptions([]string{"-loss", text}, &errs)
		require.NoError(t, err)
		require.InDelta(t, want, o.link.Loss, 1e-12, text)
	}
	for _, text := range []string{"-1", "101", "much", "NaN"} {
		_, err := parseOptions([]string{"-loss", text}, &errs)
		require.Error(t, err, text)
	}
	o, err := parseOptions(nil, &errs)
	require.NoError(t, err)
	require.InDelta(t, .02, o.link.Loss, 1e-12)
}

// What is wrong with a flag is one line that names it and what it takes.
func TestAWrongFlagIsNamedWithItsRange(t *testing.T) {
	for _, name := range []string{"bots", "seconds", "seed", "delay", "jitter", "loss"} {
		for _, value := range []string{"abc", "-1"} {
			var told strings.Builder
			require.Equal(t, statusUsage, run([]string{"-" + name, value}, &told, &told))
			require.Contains(t, told.String(), "shooter: -"+name+" ")
			require.Contains(t, told.String(), "it must be ")
			require.Equal(t, 1, strings.Count(told.String(), "\n"))
		}
	}
}
