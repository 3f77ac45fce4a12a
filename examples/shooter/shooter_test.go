package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whom a shot hit on the screen of who shot is whom the server finds hit, also on a bad network: of the bots behind it at
// least 91 %, where the muzzle is rewound with the targets. From a muzzle that is not, less than half of them hit. Every
// shot arrives exactly once, though a press lasts one frame and a tick two.
func TestShotsAreConfirmedAgainstTheShownWorld(t *testing.T) {
	for _, c := range []struct {
		args string
		lag  bool
	}{
		{"-json -seconds 60", true},
		{"-json -seconds 60 -loss 10 -jitter 30ms -seed 2", true},
		{"-json -seconds 60 -loss 20 -jitter 40ms -seed 3", true},
		{"-json -delay 0s -jitter 0s -loss 0 -seconds 10", false},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, statusFine, run(strings.Fields(c.args), &out, &errs), "%v: %s%s", c.args, out.String(), errs.String())
		var r result
		require.NoError(t, json.Unmarshal(out.Bytes(), &r))
		require.True(t, r.Converged)
		require.Greater(t, r.Judged, 50)
		require.Equal(t, r.Shots, r.Judged, "each shot arrives once")
		host := r.Players[0]
		require.True(t, host.Host)
		require.Equal(t, host.Hits, host.Confirmed, "the host shoots at what is there")
		hits, share := r.Hits-host.Hits, func(n int) float64 { return 100 * float64(n) / float64(r.Hits-host.Hits) }
		rewound, muzzle, present := share(r.Confirmed-host.Confirmed), share(r.Muzzle-host.Muzzle), share(r.Present-host.Present)
		t.Logf("%s: of %d hits of the bots %.0f %% are confirmed, %.0f %% without rewinding the muzzle, %.0f %% without any", c.args, hits, rewound, muzzle, present)
		require.GreaterOrEqual(t, rewound, 91.)
		require.Less(t, muzzle, rewound)
		require.Less(t, present, rewound)
		if c.lag {
			require.Less(t, muzzle, 50.)
		}
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
