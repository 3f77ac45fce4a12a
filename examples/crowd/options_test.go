package main

import (
	"flag"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptionsDefaults(t *testing.T) {
	o, err := parseOptions(nil, &strings.Builder{})
	require.NoError(t, err)
	require.Equal(t, options{
		clients: 8, entities: 1000, seconds: 10, hz: 30, loss: 5,
		rtt: 80 * time.Millisecond, jitter: 10 * time.Millisecond, seed: 1, budget: -1, churn: 4,
	}, o)
}

// Without loss the clients have as long as after faults that are over; with loss that goes on, as many tries as the last packets take but for one run
// in a million; and however much is lost, the run ends.
func TestOptionsSettleTime(t *testing.T) {
	o := options{clients: 8, hz: 50, rtt: 80 * time.Millisecond, jitter: 10 * time.Millisecond}
	require.Equal(t, 2320*time.Millisecond, o.settleTime())
	was := o.settleTime()
	for loss := 5.0; loss < 60; loss += 5 {
		o.loss = loss
		failed := float64(16*o.clients) * math.Pow(loss/100, o.tries())
		require.Less(t, failed, 1e-6)
		require.Greater(t, failed, 1e-6*loss/100, "no more tries than that takes")
		// (80 + 20 + 40) ms and a quarter, 10 ms of jitter and 20 ms until the next tick, of which a part waits for another acknowledgement
		require.InDelta(t, 0.205/(1-loss/100), o.try(), 1e-6)
		require.InDelta(t, 2.32+o.tries()*o.try(), o.settleTime().Seconds(), 1e-6)
		require.Greater(t, o.settleTime(), was)
		was = o.settleTime()
	}
	for _, loss := range []float64{95, 100} {
		o.loss = loss
		require.Equal(t, longestSettling, o.settleTime())
	}
	o.rtt = time.Hour
	require.Equal(t, 2*time.Second+4*time.Hour, o.settleTime())
	o.loss, o.rtt = 40, 300*time.Millisecond
	few := o.settleTime()
	o.clients, o.rtt = 1024, 600*time.Millisecond
	require.Greater(t, o.settleTime(), few+few/2)
}

func TestOptionsLoss(t *testing.T) {
	for text, percent := range map[string]float64{
		"5": 5, "5%": 5, "0.05": 5, "0": 0, "1": 1, "0.5": 50, "0.5%": 0.5, "100": 100, "40.5": 40.5,
	} {
		o, err := parseOptions([]string{"-loss", text}, &strings.Builder{})
		require.NoError(t, err, text)
		require.Equal(t, percent, o.loss, text)
		require.InDelta(t, percent/100, o.link().Loss, 1e-9, text)
	}
}

func TestOptionsTimeouts(t *testing.T) {
	for silence, keepAlive := range map[time.Duration]time.Duration{
		0: 0, 100 * time.Millisecond: 25 * time.Millisecond, time.Second: 250 * time.Millisecond, time.Minute: time.Second,
	} {
		o := options{silence: silence}
		gotSilence, gotKeepAlive := o.timeouts()
		require.Equal(t, []time.Duration{silence, keepAlive}, []time.Duration{gotSilence, gotKeepAlive})
	}
}

func TestOptionsAllowance(t *testing.T) {
	o := options{rtt: 80 * time.Millisecond, jitter: 10 * time.Millisecond}
	require.Equal(t, 6, o.allowance(time.Second/30))
	require.Equal(t, 9, o.allowance(time.Second/60))
	require.Equal(t, 3, (&options{}).allowance(time.Second))
}

func TestOptionsUnits(t *testing.T) {
	o, err := parseOptions(strings.Fields("-loss 20% -rtt 150 -jitter 1.5s -silence 900ms"), &strings.Builder{})
	require.NoError(t, err)
	require.Equal(t, 20.0, o.loss)
	require.Equal(t, 150*time.Millisecond, o.rtt)
	require.Equal(t, 1500*time.Millisecond, o.jitter)
	require.Equal(t, 900*time.Millisecond, o.silence)
}

func TestOptionsOfAServerAlone(t *testing.T) {
	o, err := parseOptions(strings.Fields("-listen :0"), &strings.Builder{})
	require.NoError(t, err)
	require.Greater(t, o.motionTime(), 1000*time.Hour, "until interrupted")
	o, err = parseOptions(strings.Fields("-listen :0 -seconds 3"), &strings.Builder{})
	require.NoError(t, err)
	require.Equal(t, 3*time.Second, o.motionTime())
}

func TestOptionsRefused(t *testing.T) {
	for _, line := range []string{
		"-clients 0", "-entities 0", "-seconds 0", "-seconds NaN", "-hz 0", "-loss 101", "-loss NaN", "-loss x",
		"-rtt -1", "-jitter x", "-listen :1 -connect :1", "-connect :1 -trace x", "-connect :1 -interest", "-churn -1", "-churn 5 -trace x", "-listen :1 -sabotage", "extra", "-nope",
	} {
		var told strings.Builder
		_, err := parseOptions(strings.Fields(line), &told)
		require.Error(t, err, line)
		require.NotEmpty(t, told.String(), line)
	}
}

// An error in a flag is told in one line. The line names the flag, its value and the values that it takes.
func TestAWrongFlagIsNamedWithItsRange(t *testing.T) {
	for _, name := range []string{"clients", "entities", "seconds", "churn", "hz", "loss", "rtt", "jitter", "seed", "budget", "silence"} {
		var told strings.Builder
		_, err := parseOptions([]string{"-" + name, "abc"}, &told)
		require.Error(t, err)
		require.Equal(t, "crowd: -"+name+` "abc": it must be `+takes()[name]+"\n", told.String())
		require.Equal(t, statusUsage, run(t.Context(), []string{"-" + name, "abc"}, &told, &told))
	}
	var told strings.Builder
	_, err := parseOptions([]string{"-loss", "101"}, &told)
	require.Error(t, err)
	require.Equal(t, "crowd: -loss 101: it must be in percent, from 0 to 100: 5, 5% or 0.05\n", told.String())
	told.Reset()
	_, err = parseOptions([]string{"-help"}, &told)
	require.ErrorIs(t, err, flag.ErrHelp)
	require.Contains(t, told.String(), "the clients' half, -connect, judges")
}

// A flag that the half which is run would ignore is a wrong command line, not a silence.
func TestFlagsOfTheOtherHalfAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"-listen 127.0.0.1:0 -clients 4":     "crowd: -clients belongs to the clients' half: give it with -connect\n",
		"-connect 127.0.0.1:1 -entities 40":  "crowd: -entities belongs to the server's half: give it with -listen\n",
		"-connect 127.0.0.1:1 -churn 0":      "crowd: -churn belongs to the server's half: give it with -listen\n",
		"-connect 127.0.0.1:1 -budget 60000": "crowd: -budget belongs to the server's half: give it with -listen\n",
	} {
		var told strings.Builder
		require.Equal(t, statusUsage, run(t.Context(), strings.Fields(line), &told, &told), line)
		require.Equal(t, want, told.String())
	}
	_, err := parseOptions([]string{"-connect", "127.0.0.1:1", "-clients", "4"}, new(strings.Builder))
	require.NoError(t, err)
	_, err = parseOptions([]string{"-listen", "127.0.0.1:0", "-entities", "4"}, new(strings.Builder))
	require.NoError(t, err)
}
