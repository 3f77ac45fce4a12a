package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// play runs the command in this process and gives its exit status and what it printed.
func play(ctx context.Context, line string) (status int, stdout, stderr string) {
	var out, progress bytes.Buffer
	status = run(ctx, strings.Fields(line), &out, &progress)
	return status, out.String(), progress.String()
}

// trigger is a writer that calls heard as soon as text has been written to it.
type trigger struct {
	all   strings.Builder
	text  string
	heard func()
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.all.Write(p)
	if strings.Contains(w.all.String(), w.text) {
		w.heard()
	}
	return n, err
}

// result reads the one JSON object that stdout must be.
func result(t *testing.T, stdout string) (r Result) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&r), stdout)
	require.False(t, decoder.More(), "one object and nothing else: %s", stdout)
	return r
}

func TestCrowdConvergesAtAnyLoss(t *testing.T) {
	for _, loss := range []int{5, 40} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := play(t.Context(), fmt.Sprintf("-json -seconds 0.8 -entities 200 -clients 4 -loss %d", loss))
			require.Equal(t, statusConverged, status, stderr)
			r := result(t, stdout)
			require.True(t, r.Converged)
			require.Empty(t, r.Difference)
			require.Positive(t, r.Packets)
			require.Positive(t, r.KbitPerClient)
			require.Positive(t, r.TickP50)
			require.LessOrEqual(t, r.TickP50, r.TickP99)
			require.Greater(t, r.RTT, 60.0, "the link delays")
			hashes := finals(stderr)
			require.Len(t, hashes, 5, "the server and four clients")
			for _, hash := range hashes {
				require.Equal(t, hashes[0], hash, stderr)
			}
		})
	}
}

// Each client's world is compared with what a dumb count of distances, with the same hysteresis, says that it may see.
func TestCrowdConvergesOnNearEntities(t *testing.T) {
	for _, loss := range []int{0, 20} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := play(t.Context(), fmt.Sprintf("-json -interest -churn 400 -seconds 1 -entities 400 -clients 4 -loss %d", loss))
			require.Equal(t, statusConverged, status, stderr)
			r := result(t, stdout)
			require.True(t, r.Converged && r.Interest)
			require.True(t, r.Seen > 5 && r.Seen < 200, "a part of the bodies: %v", r.Seen)
			require.Positive(t, r.Came, "however slow the machine")
			require.Positive(t, r.Went)
			require.Positive(t, r.Churn)
			hashes := finals(stderr)
			require.Len(t, hashes, 5)
			for i, hash := range hashes {
				require.NotContains(t, hashes[:i], hash, "all see something else, and none everything")
			}
		})
	}
}

func TestCrowdChurns(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := play(t.Context(), "-json -churn 1000 -seconds 0.5 -entities 300 -clients 2 -loss 20")
	require.Equal(t, statusConverged, status, stderr)
	r := result(t, stdout)
	require.False(t, r.Interest)
	require.InDelta(t, 300, r.Seen, 1)
	require.Positive(t, r.Churn)
	require.Zero(t, r.Came)
}

// finals are the hashes that the worlds ended with.
func finals(text string) (all []string) {
	for _, match := range regexp.MustCompile(`final tick \d+ hash ([0-9a-f]{16})`).FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

func TestCrowdNoticesSabotage(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := play(t.Context(), "-json -sabotage -seconds 0.3 -entities 100 -clients 2 -loss 0 -rtt 10")
	require.Equal(t, statusDiffers, status)
	r := result(t, stdout)
	require.False(t, r.Converged)
	require.Contains(t, r.Difference, "client 1")
	require.Contains(t, r.Difference, "Position")
	require.Contains(t, r.Difference, "X")
	require.Contains(t, stderr, "NOT converged: "+r.Difference)
	hashes := finals(stderr)
	require.Len(t, hashes, 3)
	require.NotEqual(t, hashes[0], hashes[1], "the sabotaged client")
	require.Equal(t, hashes[0], hashes[2], "the other client")
}

func TestCrowdReplaysARecording(t *testing.T) {
	t.Parallel()
	path := recorded(t, "cubes45.trace.gz")
	status, stdout, stderr := play(t.Context(), "-json -seconds 0.5 -clients 2 -trace "+path)
	require.Equal(t, statusConverged, status, stderr)
	require.True(t, result(t, stdout).Converged)
}

func TestCrowdStopsEarlyWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var stderr bytes.Buffer
	out := trigger{text: "1/1 in step", heard: stop}
	status := run(ctx, strings.Fields("-seconds 1000 -entities 50 -clients 1 -loss 0 -rtt 10"), &out, &stderr)
	stdout := out.all.String()
	require.Equal(t, statusConverged, status, stdout)
	require.Empty(t, stderr.String())
	require.Contains(t, stdout, "1/1 in step")
	require.Contains(t, stdout, "converged")
	require.NotContains(t, stdout, "{", "no JSON unless it is asked for")
}

// A server's half that its user stops has nothing to compare if no client is left. Without that, it is a failure.
func TestServerWithoutClients(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		status int
		text   string
	}{
		"-seconds 1000": {statusConverged, "stopped: no client is connected"},
		"-seconds 0.1":  {statusDiffers, "NOT converged: no client is connected"},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			out := trigger{text: "listening on", heard: func() {}}
			if line == "-seconds 1000" {
				out.heard = stop
			}
			status := run(ctx, strings.Fields(line+" -listen 127.0.0.1:0 -entities 5 -loss 0 -rtt 0 -jitter 0"), &out, &out)
			require.Equal(t, want.status, status, out.all.String())
			require.Contains(t, out.all.String(), want.text)
		})
	}
}

func TestCrowdRefusesBadFlags(t *testing.T) {
	t.Parallel()
	for line, status := range map[string]int{
		"-nope":                       statusUsage,
		"-help":                       statusConverged,
		"-trace does-not-exist":       statusDiffers,
		"-listen 256.0.0.1:1":         statusDiffers,
		"-connect not-an-address":     statusDiffers,
		"-seconds 1 -listen not-here": statusDiffers,
	} {
		got, stdout, stderr := play(t.Context(), line)
		require.Equal(t, status, got, line)
		require.Empty(t, stdout, line)
		require.NotEmpty(t, stderr, line)
	}
}

func TestClientWithoutServer(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	status, stdout, _ := play(ctx, "-json -clients 1 -connect 127.0.0.1:9")
	require.Equal(t, statusDiffers, status)
	require.False(t, result(t, stdout).Converged)
}
