package record_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/tick"
)

var crashes = flag.Int("crashes", 4, "processes that TestKilledProcessesLoseOneChunk kills")

const crashFile = "RECORD_CRASH_FILE" // set in the processes that are killed

// TestARecorderThatIsKilled is the process to be killed: it records a game to a file, and prints each captured tick and
// its hash.
func TestARecorderThatIsKilled(t *testing.T) {
	name := os.Getenv(crashFile)
	if name == "" {
		t.Skip("it is a process of TestKilledProcessesLoseOneChunk")
	}
	file, err := os.Create(name)
	require.NoError(t, err)
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Rate: replayRate, Server: netcode.Config{TickRate: replayRate}, Game: replayGame(uint64(os.Getpid()), 20),
	})
	_, err = record.Start(n.Server.Server, file)
	require.NoError(t, err)
	for {
		n.Step()
		if now := n.Server.Store().Tick(); now != tick.None {
			fmt.Println("captured", now, stateHash(n.Server.Store(), itself), "whole")
		}
	}
}

// After kill -9 at any moment, a recording lacks at most its last chunk, one second.
func TestKilledProcessesLoseOneChunk(t *testing.T) {
	for i := range *crashes {
		name := filepath.Join(t.TempDir(), "game.recording")
		child := exec.Command(os.Args[0], "-test.run=^TestARecorderThatIsKilled$")
		child.Env = append(os.Environ(), crashFile+"="+name)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		hashes, last := map[tick.Tick]uint64{}, tick.None
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var now tick.Tick
			var hash uint64
			if _, err := fmt.Sscanf(lines.Text(), "captured %d %d whole", &now, &hash); err != nil {
				continue // the last line may be cut
			}
			hashes[now], last = hash, now
			if len(hashes) == 100+37*i {
				require.NoError(t, child.Process.Kill())
			}
		}
		require.Error(t, child.Wait())

		file, err := os.ReadFile(name)
		require.NoError(t, err)
		n, p := replayOf(t, file, 0)
		require.GreaterOrEqual(t, p.Last(), last-replayRate, "process %d", i)
		p.Pause(true)
		for now := p.First(); now <= min(p.Last(), last); now++ {
			seek(n, p, now)
			require.Equal(t, hashes[now], stateHash(n.Server.Store(), p.Recorded), "process %d, tick %d", i, now)
		}
		_, err = lastTick(file)
		require.True(t, err == io.EOF || errors.Is(err, record.ErrCut), "process %d: %v", i, err)
	}
}

// lastTick reads a recording to its end.
func lastTick(file []byte) (last tick.Tick, err error) {
	r, err := record.NewReader(bytes.NewReader(file))
	for err == nil {
		var now tick.Tick
		if now, err = r.Next(); err == nil {
			last = now
		}
	}
	return last, err
}

// A recording has at most 1.1 times the bytes sent to one client without limits.
func TestRecordingsAreAboutAsLargeAsAStream(t *testing.T) {
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Clients: 1, Rate: replayRate, Server: netcode.Config{TickRate: replayRate, SendBudget: -1},
		Game: func(w *ecs.World, frame int) {
			bodies := generic.NewMap2[components.Replicated, spot](w)
			if frame == 1 {
				for range 300 {
					bodies.NewWith(&components.Replicated{}, &spot{})
				}
			}
			i := 0
			for query := generic.NewFilter1[spot]().Query(w); query.Next(); i++ {
				if i%3 == 0 {
					continue // at rest
				}
				s := float64(frame)*0.02 + float64(i)
				query.Get().X, query.Get().Y = float32(400*math.Sin(s)), float32(300*math.Cos(s*1.7))
			}
		},
	})
	n.Run(2 * time.Second)
	before := n.Server.Stats().Packets.BytesSent
	var file bytes.Buffer
	stop, err := record.Start(n.Server.Server, &file)
	require.NoError(t, err)
	n.Run(20 * time.Second)
	require.NoError(t, stop())
	sent := n.Server.Stats().Packets.BytesSent - before
	t.Logf("%d bytes in the file, %d to the client", file.Len(), sent)
	require.LessOrEqual(t, float64(file.Len()), 1.1*float64(sent))
}
