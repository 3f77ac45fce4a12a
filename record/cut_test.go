package record_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/steps"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/tick"
)

func TestCutCopiesSeconds(t *testing.T) {
	g := recordGame(t, 10, 3)
	first := g.ticks[0]
	for _, c := range []struct{ from, to, first, last tick.Tick }{
		{first + 70, first + 95, first + 60, first + 119},
		{first + 60, first + 89, first + 60, first + 89},
		{0, 1 << 60, first, g.ticks[len(g.ticks)-1]},
		{0, first, first, first + replayRate - 1},
	} {
		var out bytes.Buffer
		from, to, err := record.Cut(&out, bytes.NewReader(g.file.Bytes()), c.from, c.to)
		require.NoError(t, err)
		require.Equal(t, []tick.Tick{c.first, c.last}, []tick.Tick{from, to})
		n, p := replayOf(t, out.Bytes(), 0)
		require.Equal(t, []tick.Tick{c.first, c.last}, []tick.Tick{p.First(), p.Last()})
		p.Pause(true)
		for now := c.first; now <= c.last; now += 7 {
			p.Seek(now)
			n.Step()
			require.Equal(t, g.hashes[now], stateHash(n.Server.Store(), p.Recorded))
		}
		d, err := record.Diff(bytes.NewReader(g.file.Bytes()), bytes.NewReader(out.Bytes()))
		require.NoError(t, err)
		if c.last == g.ticks[len(g.ticks)-1] {
			require.Nil(t, d)
		} else {
			require.Equal(t, &record.Difference{Tick: c.last + 1, A: "there", B: "absent"}, d)
		}
	}
	var out bytes.Buffer
	_, _, err := record.Cut(&out, bytes.NewReader(g.file.Bytes()), 1<<50, 1<<51)
	require.ErrorIs(t, err, record.ErrNothingRecorded)
	require.Zero(t, out.Len())
	_, _, err = record.Cut(&out, bytes.NewReader(nil), 1, 2)
	require.ErrorIs(t, err, record.ErrFormat)
	_, _, err = record.Cut(writerOf(func([]byte) (int, error) { return 0, io.ErrShortWrite }), bytes.NewReader(g.file.Bytes()), 0, 100)
	require.ErrorIs(t, err, io.ErrShortWrite)
}

func TestCutLeavesOutDamage(t *testing.T) {
	g := recordGame(t, 5, 2)
	bad := bytes.Clone(g.file.Bytes())
	bad[bytes.Index(bad, []byte("CHNK"))+40] ^= 1
	var out bytes.Buffer
	first, _, err := record.Cut(&out, bytes.NewReader(bad), 0, 1000)
	require.NoError(t, err)
	require.Equal(t, g.ticks[0]+replayRate, first)
	info, err := record.Inspect(&out)
	require.NoError(t, err)
	require.Empty(t, info.Damage)
}

type writerOf func([]byte) (int, error)

func (f writerOf) Write(b []byte) (int, error) { return f(b) }

// twoGames records the same game twice; odd changes the second recording.
func twoGames(t *testing.T, odd func(w *ecs.World, frame int)) (files [2]bytes.Buffer) {
	for i := range files {
		game := replayGame(4, 3)
		n := nettest.New(t, nettest.Config{
			Protocol: replayProtocol(), Seed: 1, Rate: replayRate, Server: netcode.Config{TickRate: replayRate},
			Game: func(w *ecs.World, frame int) {
				if game(w, frame); i == 1 {
					odd(w, frame)
				}
			},
		})
		stop, err := record.Start(n.Server.Server, &files[i])
		require.NoError(t, err)
		n.Run(4 * time.Second)
		require.NoError(t, stop())
	}
	return files
}

func TestDiffNamesTheFirstDifference(t *testing.T) {
	first := func(w *ecs.World) (e ecs.Entity) {
		query := generic.NewFilter1[components.Replicated]().Query(w)
		query.Next()
		e = query.Entity()
		query.Close()
		return e
	}
	for name, c := range map[string]struct {
		odd  func(w *ecs.World)
		want string
	}{
		"nothing": {func(*ecs.World) {}, ""},
		"a field": {func(w *ecs.World) {
			bodies := generic.NewMap1[spot](w)
			bodies.Get(first(w)).Y = 99
		}, `^tick 53, entity \d+v\d+, spot\.Y: X=\S+ Y=\S+ in the one, X=\S+ Y=99 in the other$`},
		"a component": {func(w *ecs.World) {
			marks := generic.NewMap1[shown](w)
			if e := first(w); ecs.Has(w, e, ecs.ComponentID[shown](w)) {
				marks.Remove(e)
			} else {
				marks.Assign(e, &shown{})
			}
		}, `^tick 53, entity \d+v\d+, shown: (there in the one, absent|absent in the one, there) in the other$`},
		"an entity": {func(w *ecs.World) {
			things := generic.NewMap1[components.Replicated](w)
			things.NewWith(&components.Replicated{})
		}, `^tick 53, entity \d+v\d+: absent in the one, there in the other$`},
	} {
		t.Run(name, func(t *testing.T) {
			files := twoGames(t, func(w *ecs.World, frame int) {
				if frame == 53 {
					c.odd(w)
				}
			})
			d, err := record.Diff(bytes.NewReader(files[0].Bytes()), bytes.NewReader(files[1].Bytes()))
			require.NoError(t, err)
			if c.want == "" {
				require.Nil(t, d)
				return
			}
			require.Regexp(t, c.want, d.String())
		})
	}
	g := recordGame(t, 3, 2)
	var other bytes.Buffer
	n := nettest.New(t, nettest.Config{Protocol: netcode.NewProtocol(), Server: netcode.Config{TickRate: replayRate}})
	stop, err := record.Start(n.Server.Server, &other)
	require.NoError(t, err)
	n.Run(time.Second)
	require.NoError(t, stop())
	_, err = record.Diff(bytes.NewReader(g.file.Bytes()), bytes.NewReader(other.Bytes()))
	require.ErrorIs(t, err, record.ErrProtocol)
	var late, early bytes.Buffer
	_, _, err = record.Cut(&late, bytes.NewReader(g.file.Bytes()), 60, 99)
	require.NoError(t, err)
	_, _, err = record.Cut(&early, bytes.NewReader(g.file.Bytes()), 0, 5)
	require.NoError(t, err)
	_, err = record.Diff(bytes.NewReader(late.Bytes()), bytes.NewReader(early.Bytes()))
	require.ErrorIs(t, err, record.ErrNothingRecorded)
}

// A Memory has the last ticks of a live server, including the newest.
func TestAMemoryPlaysTheLastSeconds(t *testing.T) {
	memory := record.NewMemory(3 * replayRate)
	hashes, file := map[tick.Tick]uint64{}, bytes.Buffer{}
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Clients: 1, Rate: replayRate, Server: netcode.Config{TickRate: replayRate}, Game: replayGame(8, 4),
	})
	record.Flush(n.Server.Server) // no recording: no effect
	_, err := record.Start(n.Server.Server, io.MultiWriter(memory, &file))
	require.NoError(t, err)
	for frame := range 20 * replayRate {
		n.Step()
		now := n.Server.Store().Tick()
		hashes[now] = stateHash(n.Server.Store(), itself)
		if frame%83 != 82 {
			continue
		}
		record.Flush(n.Server.Server)
		clip := memory.Recording()
		require.Less(t, clip.Len(), 60<<10)
		var p *record.Player
		cam, err := netcode.NewServer(replayProtocol(), netcode.Config{TickRate: replayRate})
		require.NoError(t, err)
		p, err = record.Play(cam, clip)
		require.NoError(t, err)
		require.Equal(t, now, p.Last())
		require.Regexp(t, fmt.Sprintf(`^player at tick \d+ of %d to %d, speed 1$`, p.First(), p.Last()), fmt.Sprint(p))
		if frame > 4*replayRate {
			kept := int(p.Last() - p.First() + 1)
			require.GreaterOrEqual(t, kept, 3*replayRate)
			require.LessOrEqual(t, kept, 4*replayRate)
		}
		for f := 0; !p.Ended(); f++ {
			steps.OfServer(cam).BeginFrame(time.Duration(f) * time.Second / replayRate)
			steps.OfServer(cam).Send()
			require.Equal(t, hashes[p.Tick()], stateHash(cam.Store(), p.Recorded))
		}
	}
	info, err := record.Inspect(bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	require.Empty(t, info.Damage, "the file beside it is whole")
}

// An error of the writer in Flush ends the recording and is passed to OnError.
func TestFlushTellsErrors(t *testing.T) {
	server, err := netcode.NewServer(replayProtocol(), netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	var told []error
	server.OnError(func(err error) { told = append(told, err) })
	calls := 0
	_, err = record.Start(server, writerOf(func(b []byte) (int, error) {
		if calls++; calls > 1 {
			return 0, io.ErrShortWrite
		}
		return len(b), nil
	}))
	require.NoError(t, err)
	for f := range 9 {
		server.Spawn()
		steps.OfServer(server).BeginFrame(time.Duration(f) * time.Second / replayRate)
		steps.OfServer(server).Send()
	}
	record.Flush(server)
	record.Flush(server)
	require.Len(t, told, 1)
	require.ErrorIs(t, told[0], io.ErrShortWrite)
}
