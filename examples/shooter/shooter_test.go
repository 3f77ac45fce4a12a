package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// play runs the command and returns what it found.
func play(t *testing.T, args string) (r result) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, statusFine, run(strings.Fields(args), &out, &errs), "%v: %s%s", args, out.String(), errs.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	return r
}

// A player sees its own steps, jumps and shots in the tick of the press, whatever the round trip and the loss. Nothing is
// mispredicted, since both sides run the same rules on what travels. Each flash is heard once, and every world converges.
func TestEveryPressIsSeenInItsTick(t *testing.T) {
	r := play(t, "-json")
	require.Len(t, r.Links, 12)
	require.True(t, r.Converged)
	for _, s := range append(r.Links, r.Host) {
		require.Zero(t, s.DelayTicks, "%+v", s)
		require.Less(t, s.DelayMS, 20., "%+v", s)
		require.Zero(t, s.Mispredictions, "%+v", s)
		require.Zero(t, s.Doubled, "%+v", s)
		require.Zero(t, s.Lost, "%+v", s)
		require.Greater(t, s.Shots, 60, "%+v", s)
		require.Less(t, s.ErrorMean, 5., "%+v", s)
		require.Less(t, s.ErrorMax, 800., "where an input came late: %+v", s)
	}
	require.Less(t, r.Links[0].ErrorMax, 1., "without a network in between there is no error at all")
}

// Ten minutes at the worst link.
func TestNothingIsMispredictedInTenMinutes(t *testing.T) {
	s := play(t, "-json -seconds 600 -rtt 300ms -loss 20").Links[0]
	require.Zero(t, s.Mispredictions, "%+v", s)
	require.Zero(t, s.DelayTicks, "%+v", s)
	require.Zero(t, s.Doubled+s.Lost, "%+v", s)
	require.Greater(t, s.Shots, 600, "%+v", s)
}

// Each misprediction that is provoked is explained by the system that blows on the server alone. All worlds are equal in the end.
func TestAProvokedMispredictionNamesItsSystem(t *testing.T) {
	r := play(t, "-json -seconds 30 -rtt 100ms,300ms -loss 5,20 -provoke")
	require.True(t, r.Converged)
	require.GreaterOrEqual(t, len(r.Explained), 4*6)
	for _, e := range r.Explained {
		require.Contains(t, e, "system 3, *main.gust")
	}
	for _, s := range r.Links {
		require.Positive(t, s.Mispredictions, "%+v", s)
		require.Zero(t, s.Doubled+s.Lost, "%+v", s)
	}
}

// A press that comes too late is in another tick at the server: its flash is cancelled and heard there, and is neither doubled nor
// lost.
func TestAFlashIsHeardOnceThoughInputsComeLate(t *testing.T) {
	r := play(t, "-json -seconds 80 -rtt 100ms,200ms -jitter 40ms -loss 20,30 -bots 2 -seed 5")
	cancelled := 0
	for _, s := range r.Links {
		cancelled += s.Cancelled
		require.Positive(t, s.Corrected, "%+v", s)
		require.Positive(t, s.Replayed, "%+v", s)
	}
	require.Positive(t, cancelled)
}

// The server finds the same target hit as the screen of the shooter showed, also on a bad network. The targets are rewound. The
// muzzle is not, since the shooter predicts its own body. With the muzzle rewound, too, or with nothing rewound, most shots miss.
func TestShotsAreConfirmedAgainstTheShownWorld(t *testing.T) {
	r := play(t, "-json -seconds 60 -rtt 100ms,300ms -loss 2,10,20 -jitter 30ms -seed 2")
	require.Equal(t, r.Host.Hits, r.Host.Agreed, "the host shoots at what is there")
	for _, s := range r.Links {
		share := func(n int) float64 { return 100 * float64(n) / float64(s.Hits) }
		require.Greater(t, s.Hits, 50, "%+v", s)
		require.GreaterOrEqual(t, share(s.Agreed), 95., "%+v", s)
		require.Less(t, share(s.Muzzle), 50., "%+v", s)
		require.Less(t, share(s.Present), 50., "%+v", s)
	}
}

// The same seed is the same match.
func TestAMatchRepeats(t *testing.T) {
	var first, second bytes.Buffer
	require.Equal(t, run([]string{"-seconds", "8"}, &first, &first), run([]string{"-seconds", "8"}, &second, &second))
	require.Contains(t, first.String(), "worlds converged: true")
	require.Equal(t, first.String(), second.String())
}

func TestUsage(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, statusUsage, run([]string{"-bots", "0"}, &out, &out))
	require.Equal(t, statusUsage, run([]string{"-none"}, &out, &out))
	out.Reset()
	require.Equal(t, statusFine, run([]string{"-h"}, &out, &out))
	require.Contains(t, out.String(), "at least 90 % of the hits")
	require.Contains(t, out.String(), "With -inspect")
}

// A match that does not go as it should says why, one line for each reason and link. In real time the worlds alone count.
func TestEachFailureIsTold(t *testing.T) {
	good := score{RTT: 150, Loss: .05, Hits: 100, Agreed: 90}
	with := func(change func(*score)) score { s := good; change(&s); return s }
	for _, c := range []struct {
		of   result
		want []string
	}{
		{result{Converged: true, Host: good, Links: []score{good}}, nil},
		{result{Host: good}, []string{"the world of a client is not the server's"}},
		{result{Converged: true, Host: with(func(s *score) { s.Mispredictions = .5 })}, []string{"host: 0.5 mispredictions a minute"}},
		{result{Converged: true, Host: good, Links: []score{good, with(func(s *score) { s.Agreed, s.Lost = 87, 2 })}}, []string{
			"150ms 5%: 2 shots without a flash", "150ms 5%: the server agrees with 87 % of the hits, below 90 %",
		}},
		{result{Converged: true, Host: with(func(s *score) { s.DelayTicks, s.Doubled, s.Hits, s.Agreed = .25, 3, 0, 0 })}, []string{
			"host: inputs are seen 0.25 ticks late", "host: 3 flashes without a shot", "host: no shot hit anybody on the screen",
		}},
		{result{Converged: true, wall: true, Host: with(func(s *score) { s.Agreed = 0 })}, nil},
		{result{wall: true}, []string{"the world of a client is not the server's"}},
		{result{Converged: true, provoked: true}, []string{"no misprediction was explained"}},
		{result{Converged: true, provoked: true, Explained: []string{"one", "two"}, wrong: 1}, []string{"1 of 2 explanations name another system than the one that blows"}},
	} {
		require.Equal(t, c.want, c.of.failures(), "%+v", c.of)
	}
	var out, errs bytes.Buffer
	require.Equal(t, statusWrong, run(strings.Fields("-seconds 1 -rtt 0ms -loss 0"), &out, &errs), "nobody is hit in a second")
	require.Contains(t, errs.String(), "shooter: 0ms 0%: no shot hit anybody on the screen\n")
}

// With -inspect and -inspect-client the match is played in real time, and its server and its first bot are on pages.
func TestAMatchIsShown(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no sockets here")
	}
	var out bytes.Buffer
	o, err := parseOptions([]string{"-rtt", "0ms", "-loss", "0", "-inspect", "127.0.0.1:0", "-inspect-client", "127.0.0.1:0"}, &out)
	require.NoError(t, err)
	m, err := newMatch(o)
	require.NoError(t, err)
	require.NoError(t, m.show(&out))
	before := m.clock()
	for range 4 {
		m.step()
	}
	require.GreaterOrEqual(t, m.clock()-before, 3*time.Second/frameRate)
	pages := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, pages, 2)
	for n, title := range []string{"<title>", "<title>client</title>"} {
		page, err := http.Get(strings.TrimPrefix(pages[n], "look inside at "))
		require.NoError(t, err)
		text, err := io.ReadAll(page.Body)
		require.NoError(t, err)
		require.NoError(t, page.Body.Close())
		require.Contains(t, string(text), title)
	}
}

// The loss is in percent, as in examples/crowd, which also takes a share.
func TestLossIsInPercent(t *testing.T) {
	var told bytes.Buffer
	for text, want := range map[string]float64{"10": .1, "10%": .1, "0.1": .1, "1": .01, "0": 0, "0.5%": .005, "100": 1} {
		o, err := parseOptions([]string{"-loss", text}, &told)
		require.NoError(t, err)
		require.InDeltaSlice(t, []float64{want}, o.losses, 1e-12, text)
	}
	for _, text := range []string{"-1", "101", "much", "NaN"} {
		_, err := parseOptions([]string{"-loss", text}, &told)
		require.Error(t, err, text)
	}
	o, err := parseOptions(nil, &told)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{0, .05, .2}, o.losses, 1e-12)
}

// An error in a flag is told in one line. The line names the flag and the values that it takes.
func TestAWrongFlagIsNamedWithItsRange(t *testing.T) {
	for _, name := range []string{"bots", "seconds", "seed", "rtt", "jitter", "loss"} {
		for _, value := range []string{"abc", "-1"} {
			var told strings.Builder
			require.Equal(t, statusUsage, run([]string{"-" + name, value}, &told, &told))
			require.Contains(t, told.String(), "shooter: -"+name+" ")
			require.Contains(t, told.String(), "it must be ")
			require.Equal(t, 1, strings.Count(told.String(), "\n"))
		}
	}
}

// A recorded match is played once more from its inputs, and comes to the same state in each tick. A match with other rules is named
// with the first tick, entity and field that differ.
func TestAMatchReplaysFromItsInputs(t *testing.T) {
	var file, errs bytes.Buffer
	o, err := parseOptions([]string{"-seconds", "60", "-rtt", "0ms,100ms,300ms", "-loss", "2,20", "-jitter", "30ms"}, &errs)
	require.NoError(t, err)
	o.file = &file
	m, err := newMatch(o)
	require.NoError(t, err)
	hits := m.play().Links[0].Hits
	require.NotZero(t, hits, "whom a shot hits depends on what its shooter saw")
	require.NoError(t, m.stopRecording())

	path := filepath.Join(t.TempDir(), "match.recording")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	var out bytes.Buffer
	require.Equal(t, statusFine, run([]string{"verify", path}, &out, &errs), "%s%s", &out, &errs)
	require.Equal(t, "no difference\n", out.String())

	o.file = nil
	difference, err := verify(o, bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Nil(t, difference)

	o.provoke = true // A gust moves everybody, at the server alone.
	difference, err = verify(o, bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.NotNil(t, difference)
	require.EqualValues(t, gustEvery, difference.Tick)
	require.Equal(t, "Position", difference.Component)
	require.Equal(t, "X", difference.Field)
}
