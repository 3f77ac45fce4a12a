package record_test

import (
	"bytes"
	"errors"
	"flag"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
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
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

var (
	replaySeconds = flag.Int("replay-seconds", 20, "length of the game of TestSeeksGiveTheStateOfTheTick")
	replayPlayers = flag.Int("replay-players", 6, "players of that game")
	replaySeeks   = flag.Int("replay-seeks", 60, "seeks of that test")
)

type (
	spot struct {
		X, Y float32 `net:"min=-512,max=512,step=0.01"`
	}
	target struct {
		At ecs.Entity `net:"entity"`
	}
	slowly struct{ N int32 } // has a send rate
	shown  struct{}
)

const replayRate = 30

func replayProtocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[spot](p)
	netcode.Replicate[target](p)
	netcode.Replicate[slowly](p, netcode.Every(7))
	netcode.Replicate[shown](p)
	return p
}

// stateHash returns a hash of the captured state: entities, mapped by was, with their rows. References count if their
// entity exists.
func stateHash(s *snapshot.Store, was func(netcode.NetworkID) netcode.NetworkID) uint64 {
	type entity struct{ id, was netcode.NetworkID }
	var all []entity
	for id := range s.All {
		all = append(all, entity{id, was(id)})
	}
	slices.SortFunc(all, func(a, b entity) int { return int(a.was.Index) - int(b.was.Index) })
	h := fnv.New64a()
	number := func(all ...uint32) {
		for _, v := range all {
			_, _ = h.Write([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
		}
	}
	for _, e := range all {
		number(e.was.Index, e.was.Generation)
		for rows := s.Mask(e.id); !rows.IsZero(); rows = rows.Rest() {
			number(uint32(rows.Lowest()))
			lanes := append([]uint32{}, s.Row(e.id, rows.Lowest())...)
			for _, at := range s.Schema().Plan(rows.Lowest()).Refs() {
				named := netcode.NetworkID{Index: lanes[at], Generation: lanes[at+1]}
				if s.Alive(named) {
					named = was(named)
				} else {
					named = netcode.NetworkID{}
				}
				lanes[at], lanes[at+1] = named.Index, named.Generation
			}
			number(lanes...)
		}
	}
	return h.Sum64()
}

func itself(id netcode.NetworkID) netcode.NetworkID { return id }

// recordedGame is a recording of players and moving objects that spawn, end, reference each other, and gain and lose
// components.
type recordedGame struct {
	file   bytes.Buffer
	hashes map[tick.Tick]uint64
	ticks  []tick.Tick
	sent   uint64 // to the first client
}

// replayGame makes the game's logic.
func replayGame(seed uint64, players int) func(w *ecs.World, frame int) {
	r := rand.New(rand.NewPCG(seed, 1))
	var all []ecs.Entity
	return func(w *ecs.World, frame int) {
		things := generic.NewMap4[components.Replicated, spot, target, slowly](w)
		marks := generic.NewMap1[shown](w)
		all = slices.DeleteFunc(all, func(e ecs.Entity) bool { return !w.Alive(e) }) // of a client that was kicked
		for len(all) < 3*players {
			all = append(all, things.NewWith(&components.Replicated{}, &spot{X: float32(r.IntN(900) - 450)}, &target{}, &slowly{}))
		}
		for i, e := range all {
			_, at, aim, slow := things.Get(e)
			if i%3 != 2 {
				at.X, at.Y = min(max(at.X+float32(r.NormFloat64()), -500), 500), float32((frame*i)%1000)*0.02
			}
			slow.N = int32(frame)
			if r.IntN(40) == 0 {
				aim.At = all[r.IntN(len(all))]
			}
		}
		switch i := r.IntN(len(all)); r.IntN(8) {
		case 0:
			w.RemoveEntity(all[i])
			all = slices.Delete(all, i, i+1)
		case 1:
			if marks.Get(all[i]) == nil {
				marks.Assign(all[i], &shown{})
			} else {
				marks.Remove(all[i])
			}
		}
	}
}

// recordGame plays and records a game, and stores the hash of each tick.
func recordGame(t testing.TB, seconds, players int) *recordedGame {
	g := &recordedGame{hashes: map[tick.Tick]uint64{}}
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Clients: players, Seed: 3, Rate: replayRate, Link: transport.Link{Delay: 30 * time.Millisecond, Loss: 0.02},
		Server: netcode.Config{TickRate: replayRate, Clients: wire.MaxClients}, Game: replayGame(5, players),
	})
	stop, err := record.Start(n.Server.Server, &g.file)
	require.NoError(t, err)
	for range seconds * replayRate {
		n.Step()
		if now := n.Server.Store().Tick(); now != tick.None && g.hashes[now] == 0 {
			g.hashes[now], g.ticks = stateHash(n.Server.Store(), itself), append(g.ticks, now)
		}
	}
	require.NoError(t, stop())
	return g
}

// replayOf makes a server that plays a recording, with spectators.
func replayOf(t testing.TB, file []byte, spectators int) (*nettest.Net, *record.Player) {
	var p *record.Player
	n := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Clients: spectators, Seed: 9, Rate: replayRate, Link: transport.Link{Delay: 20 * time.Millisecond, Loss: 0.05},
		Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			var err error
			p, err = record.Play(s.Server, bytes.NewReader(file))
			require.NoError(t, err)
		},
	})
	return n, p
}

// seek moves to a tick, in the next frame with a network tick: rounding makes 3000 frames a microsecond short, so one
// has none.
func seek(n *nettest.Net, p *record.Player, to tick.Tick) {
	p.Seek(to)
	for n.Step(); !n.Server.TickDue(); {
		n.Step()
	}
}

// A game and its playback run for more than 3000 frames, with one frame without a network tick each.
func TestLongGamesPlayBackEveryTick(t *testing.T) {
	g := recordGame(t, 102, 1)
	n, p := replayOf(t, g.file.Bytes(), 0)
	p.Pause(true)
	for _, now := range g.ticks {
		seek(n, p, now)
		require.Equal(t, g.hashes[now], stateHash(n.Server.Store(), p.Recorded), "tick %d", now)
	}
}

func TestSeeksGiveTheStateOfTheTick(t *testing.T) {
	g := recordGame(t, *replaySeconds, *replayPlayers)
	n, p := replayOf(t, g.file.Bytes(), 2)
	hash := func() uint64 { return stateHash(n.Server.Store(), p.Recorded) }
	for range 40 {
		n.Step()
		require.Equal(t, g.hashes[p.Tick()], hash(), "tick %d, played", p.Tick())
	}
	p.Pause(true)
	r := rand.New(rand.NewPCG(7, 7))
	var longest, all time.Duration // including the packets for two spectators
	for i := range *replaySeeks {
		to := g.ticks[r.IntN(len(g.ticks))]
		begun := time.Now()
		seek(n, p, to)
		took := time.Since(begun)
		longest, all = max(longest, took), all+took
		require.Equal(t, to, p.Tick())
		require.Equal(t, g.hashes[to], hash(), "tick %d, sought", to)
		if i%20 == 0 {
			n.AssertConverge() // the spectators have the same state
		}
	}
	t.Logf("%d seeks in %d ticks of %d players: %v each, at most %v", *replaySeeks, len(g.ticks), *replayPlayers, all/time.Duration(*replaySeeks), longest)
}

func TestPlaybackGoesAtItsSpeed(t *testing.T) {
	g := recordGame(t, 12, 3)
	n, p := replayOf(t, g.file.Bytes(), 1)
	n.Step()
	n.Step()
	require.Equal(t, g.ticks[0], p.First())
	require.Equal(t, g.ticks[len(g.ticks)-1], p.Last())
	for _, c := range []struct {
		speed float64
		steps int
		ticks tick.Tick
	}{{1, 10, 10}, {16, 10, 160}, {0.1, 40, 4}, {0.5, 9, 4}, {2.5, 4, 10}} {
		require.NoError(t, p.SetSpeed(c.speed))
		p.Seek(p.First() + 20)
		n.Step() // playback continues in this tick already
		from := p.Tick()
		for range c.steps {
			n.Step()
			require.Equal(t, g.hashes[p.Tick()], stateHash(n.Server.Store(), p.Recorded), "tick %d at speed %g", p.Tick(), c.speed)
		}
		require.InDelta(t, float64(c.ticks), float64(p.Tick()-from), 1, "speed %g", c.speed)
	}
	for _, bad := range []float64{0, -1, 0.09, 17} {
		require.ErrorIs(t, p.SetSpeed(bad), record.ErrSpeed)
	}
	p.Pause(true)
	at := p.Tick()
	n.Run(time.Second)
	require.Equal(t, at, p.Tick())
	require.True(t, p.Paused())
	p.Pause(false)
	require.NoError(t, p.SetSpeed(16))
	n.Run(2 * time.Second)
	require.True(t, p.Ended())
	require.Equal(t, g.hashes[p.Last()], stateHash(n.Server.Store(), p.Recorded), "the last tick stays")
	p.Seek(0)
	n.Step()
	require.False(t, p.Ended())
}

// Entities that exist before and after a seek stay the same; others do not.
func TestEntitiesStayOverASeek(t *testing.T) {
	g := recordGame(t, 12, 3)
	n, p := replayOf(t, g.file.Bytes(), 0)
	p.Pause(true)
	alive := func(at tick.Tick) map[netcode.NetworkID]netcode.NetworkID {
		p.Seek(at)
		n.Step()
		all := map[netcode.NetworkID]netcode.NetworkID{}
		for id := range n.Server.Store().All {
			all[p.Recorded(id)] = id
			require.Equal(t, id, p.ID(p.Recorded(id)))
		}
		return all
	}
	n.Step()
	first, last := alive(p.First()+1), alive(p.First()+60)
	stayed := 0
	for was, id := range last {
		if before, ok := first[was]; ok {
			require.Equal(t, before, id)
			stayed++
		}
	}
	require.NotZero(t, stayed)
	require.Less(t, stayed, len(last))
	for was := range first {
		if _, ok := last[was]; !ok {
			require.Zero(t, p.ID(was))
		}
	}
	require.Zero(t, p.ID(netcode.NetworkID{Index: 1 << 30, Generation: 1}))
}

// A damaged chunk is skipped: during its ticks the previous tick is shown.
func TestDamageIsPassedOverInPlayback(t *testing.T) {
	g := recordGame(t, 6, 3)
	bad := append([]byte{}, g.file.Bytes()...)
	second := bytes.Index(bad, []byte("CHNK"))
	second += 4 + bytes.Index(bad[second+4:], []byte("CHNK"))
	bad[second+50] ^= 1
	n, p := replayOf(t, bad, 0)
	before := p.First() + replayRate - 1
	p.Pause(true)
	p.Seek(before + 10)
	n.Step()
	require.Equal(t, g.hashes[before], stateHash(n.Server.Store(), p.Recorded))
	p.Seek(before + replayRate + 5)
	n.Step()
	require.Equal(t, g.hashes[before+replayRate+5], stateHash(n.Server.Store(), p.Recorded))
}

// A server without room for both ends of a seek has the complete tick one network tick later.
func TestASeekWithoutRoomTakesTwoTicks(t *testing.T) {
	g := recordGame(t, 20, 4)
	server, err := netcode.NewServer(replayProtocol(), netcode.Config{TickRate: replayRate, MaxEntities: 12})
	require.NoError(t, err)
	var told []error
	server.OnError(func(err error) { told = append(told, err) })
	p, err := record.Play(server, bytes.NewReader(g.file.Bytes()))
	require.NoError(t, err)
	now := time.Duration(0)
	step := func() {
		steps.OfServer(server).BeginFrame(now)
		steps.OfServer(server).Send()
		now += time.Second / replayRate
	}
	p.Pause(true)
	step()
	step()
	p.Seek(p.Last())
	step()
	require.Len(t, told, 1)
	require.ErrorContains(t, told[0], "Config.MaxEntities")
	step()
	require.Equal(t, g.hashes[p.Last()], stateHash(server.Store(), p.Recorded))
	require.Len(t, told, 1)
}

func TestPlayRefuses(t *testing.T) {
	g := recordGame(t, 2, 2)
	play := func(p *netcode.Protocol, file io.ReadSeeker) error {
		s, err := netcode.NewServer(p, netcode.Config{})
		require.NoError(t, err)
		_, err = record.Play(s, file)
		return err
	}
	other := netcode.NewProtocol()
	netcode.Replicate[spot](other)
	err := play(other, bytes.NewReader(g.file.Bytes()))
	require.ErrorIs(t, err, record.ErrProtocol)
	require.ErrorContains(t, err, "shown")
	require.ErrorIs(t, play(replayProtocol(), bytes.NewReader(nil)), record.ErrFormat)
	head := bytes.Index(g.file.Bytes(), []byte("CHNK"))
	require.ErrorIs(t, play(replayProtocol(), bytes.NewReader(g.file.Bytes()[:head+9])), record.ErrNothingRecorded)

	more := replayProtocol()
	type new struct{ N uint8 }
	netcode.Replicate[new](more)
	require.NoError(t, play(more, bytes.NewReader(g.file.Bytes())), "a later protocol reads it")
}

// A file that becomes unreadable stops the playback once, but not the server.
func TestPlaybackStopsAtAnErrorOfTheFile(t *testing.T) {
	g := recordGame(t, 4, 2)
	server, err := netcode.NewServer(replayProtocol(), netcode.Config{TickRate: replayRate})
	require.NoError(t, err)
	var told []error
	server.OnError(func(err error) { told = append(told, err) })
	file := &brittle{Reader: bytes.NewReader(g.file.Bytes())}
	_, err = record.Play(server, file)
	require.NoError(t, err)
	file.broken = true
	for frame := range 10 {
		steps.OfServer(server).BeginFrame(time.Duration(frame) * time.Second / replayRate)
		steps.OfServer(server).Send()
	}
	require.Len(t, told, 1)
	require.ErrorIs(t, told[0], errBrittle)
}

// brittle is a file whose reads fail after a while.
type brittle struct {
	*bytes.Reader
	broken bool
}

var errBrittle = errors.New("the disk has gone")

func (b *brittle) Read(to []byte) (int, error) {
	if b.broken {
		return 0, errBrittle
	}
	return b.Reader.Read(to)
}

// A component without fields is played, even on an entity without other components.
func TestAComponentWithoutFieldsIsPlayed(t *testing.T) {
	var file bytes.Buffer
	live := nettest.New(t, nettest.Config{
		Protocol: replayProtocol(), Rate: replayRate, Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			marks := generic.NewMap2[components.Replicated, shown](w)
			marks.NewWith(&components.Replicated{}, &shown{})
		},
	})
	stop, err := record.Start(live.Server.Server, &file)
	require.NoError(t, err)
	live.Run(time.Second)
	require.NoError(t, stop())
	n, p := replayOf(t, file.Bytes(), 1)
	n.Run(500 * time.Millisecond)
	require.Equal(t, stateHash(live.Server.Store(), itself), stateHash(n.Server.Store(), p.Recorded))
	n.AssertConverge()
}

// A server plays one recording: a second one would mix its entities with those of the first.
func TestAServerPlaysOneRecording(t *testing.T) {
	g := recordGame(t, 2, 2)
	n, _ := replayOf(t, g.file.Bytes(), 0)
	_, err := record.Play(n.Server.Server, bytes.NewReader(g.file.Bytes()))
	require.ErrorIs(t, err, record.ErrPlaying)
}
