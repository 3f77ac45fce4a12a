package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/usage"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// Each line has its anchor of the same run, something is lost, and the decoders hold what the store has.
func TestRealIsVerified(t *testing.T) {
	needProcesses(t)
	for _, exact := range []string{"-exact=false", "-exact=true"} {
		all := results(t, "-run", "real", "-e", "70", "-c", "9", "-frac", "0.5", "-loss", "0.1", "-jitter", "2", "-t", "1ms", exact)
		require.Len(t, all, 7)
		for _, line := range all[:3] {
			require.InDelta(t, line.Value / *line.Anchor, *line.Ratio, 1e-9)
			require.Equal(t, 4.0, line.Params["classes"])
		}
		require.Equal(t, "real", all[0].Scenario)
		require.Equal(t, "real.bytes", all[1].Scenario)
		require.Equal(t, 8.0, all[0].Params["decoders"])
		rows := 3.0
		require.Equal(t, (8+2)*70*rows, all[0].Params["rows_compared"], "two clients of each class, and two of the perfect network")
		require.InDelta(t, 0.1, all[0].Params["lost"], 0.05)
		require.Equal(t, 35.0*9, all[0].Params["records"])
		require.Contains(t, all[0].Params, "allocs_per_tick", "TestRealTicksAllocateNothing counts them")
		require.Zero(t, all[0].Params["ring_full"])
		require.Greater(t, *all[1].Ratio, 1.0, "what is lost makes baselines older")
		require.Equal(t, "real.server", all[3].Scenario)
		require.Equal(t, 2*9.0, all[3].Params["worlds_compared"])
		require.InDelta(t, all[1].Value, all[3].Params["bytes_per_client"], 0.1*all[1].Value, "the model sends what a server sends")
		require.Equal(t, []any{"perfect", "real"}, []any{all[4].Params["network"], all[5].Params["network"]})
		require.Equal(t, all[3].Value, all[5].Value)
		require.Equal(t, "real.memory", all[6].Scenario)
		require.Greater(t, all[6].Value, 0.01)
	}
}

// A warm server allocates nothing in a tick, whatever the network loses.
func TestRealTicksAllocateNothing(t *testing.T) {
	r := newRealRun(realScene{entities: 70, clients: 9, moving: 0.5}, realNetwork{loss: 0.1, jitter: 2, classes: 4, seed: 1})
	require.NoError(t, r.playTicks(300, false))
	c := alloctest.Start(t)
	defer c.Stop()
	require.NoError(t, r.countTicks(50, c.Count))
	c.Zero("a tick")
}

// A network without loss and jitter is what it says.
func TestRealPerfectNetworkLosesNothing(t *testing.T) {
	s := realScene{entities: 40, clients: 5, moving: 1}
	r := newRealRun(s, realNetwork{loss: 0.5, jitter: 3, classes: 4, seed: 2}.perfect())
	require.NoError(t, r.playTicks(30, false))
	require.NoError(t, r.measureTicks(50))
	require.Zero(t, r.counted.lost)
	require.Zero(t, r.counted.resent)
	require.EqualValues(t, 50*5, r.counted.sent, "a packet for each client and tick")
	require.EqualValues(t, 50*5*40, r.counted.records)
	require.Len(t, r.sends, 50)
	require.NoError(t, r.heal())
	require.Equal(t, 2*40*3, r.compared)
}

// Packets arrive after half of the round trip and the lateness of their tick, and the acknowledgement after the other half.
func TestRealNetworkDelays(t *testing.T) {
	s := realScene{entities: 4, clients: 4, moving: 1}
	for _, jitter := range []int{0, 2} {
		r := newRealRun(s, realNetwork{jitter: jitter, classes: 4, seed: 3})
		first := map[*realClient]int{}
		for range 30 {
			require.NoError(t, r.playTick(true))
			for _, c := range r.clients {
				if len(c.acked) > 0 && first[c] == 0 {
					first[c] = r.now - 1
				}
			}
		}
		for i, c := range r.clients {
			require.GreaterOrEqual(t, first[c], realTrips()[i])
			require.LessOrEqual(t, first[c], realTrips()[i]+jitter)
		}
		require.NoError(t, r.heal())
	}
}

// A row that differs, an entity that is missing, and one too many are all noticed.
func TestRealNoticesAWrongDecoder(t *testing.T) {
	r := newRealRun(realScene{entities: 10, clients: 2, moving: 1}, realNetwork{loss: 0.3, jitter: 1, classes: 1, seed: 1})
	require.NoError(t, r.playTicks(20, false))
	require.NoError(t, r.heal())
	c, store := r.clients[0], r.game.store
	require.NoError(t, r.compareClient(c))
	r.game.body.write(r.game.body.entities[3], position{Y: 77}, rotation{Q: [4]float32{0, 0, 0, 1}}, velocity{})
	r.game.capture.Run(store.Tick() + 1)
	r.observe()
	require.ErrorContains(t, r.compareClient(c), "it holds")
	require.NoError(t, r.heal())
	store.Begin(store.Tick() + 1)
	id := store.Spawn()
	store.Commit()
	c.view.Observe()
	require.ErrorContains(t, r.compareClient(c), "it lacks entity")
	store.Begin(store.Tick() + 1)
	store.Despawn(id)
	store.Commit()
	c.view.Observe()
	require.NoError(t, r.compareClient(c))
	c.view.Hide(idOf(r, 5))
	require.ErrorContains(t, r.compareClient(c), "may see 9")

	for _, c := range r.clients {
		c.view.Resync(1, c.server.Next())
		c.server = peer.NewConn(peer.ConnConfig{Check: wire.NewChecksum(1, 1), TickInterval: realTick}) // whose numbers the client has had
	}
	require.Error(t, r.heal())
}

func TestRealRefusesNetworks(t *testing.T) {
	for args, want := range map[string]string{
		"-loss 1": "-loss 1: it must be a number from 0 to 0.9", "-loss -0.1": "-loss", "-loss NaN": "-loss", "-jitter 17": "-jitter 17: it must be", "-jitter -1": "-jitter",
		"-classes 0": "-classes 0: it must be a whole number from 1 to 4", "-classes 5": "-classes", "-seed x": "-seed",
	} {
		err := run(append([]string{"-run", "real"}, strings.Fields(args)...), &strings.Builder{})
		require.ErrorContains(t, err, want)
		require.Equal(t, 2, usage.Status(err))
	}
}

// idOf is the id of the entity of a number in the order of the store.
func idOf(r *realRun, number int) wire.NetworkID {
	for id := range r.game.store.All {
		if number == 0 {
			return id
		}
		number--
	}
	return wire.NetworkID{}
}

// Clients that see different sets hold these, and only these, at the end; what walks comes into sight and goes.
func TestRealSight(t *testing.T) {
	all := results(t, "-run", "real", "-only", "real", "-sight", "200", "-e", "2000", "-c", "8", "-t", "1ms")
	require.Len(t, all, 4)
	seen := all[2]
	require.Equal(t, "real.interest", seen.Scenario)
	require.InDelta(t, 200, seen.Params["seen"], 80)
	require.InEpsilon(t, (8+2)*3*seen.Params["seen"].(float64), all[0].Params["rows_compared"], 0.3)
	require.Greater(t, all[0].Params["spawns"], 0.0)
	require.Nil(t, all[0].Target, "not the scene of the target")
}

// Clients see equally many entities of a small and of a large world, each its own; in rest nothing is sent.
func TestScale(t *testing.T) {
	all := results(t, "-run", "scale", "-e", "3000", "-c", "8", "-t", "1ms")
	require.Len(t, all, 6)
	for i, line := range all {
		require.Equal(t, []string{"scale.share", "scale.heap", "scale.idle"}[i%3], line.Scenario)
		require.Equal(t, []float64{100, 3000}[i/3], line.Params["entities"])
		require.Positive(t, line.Params["rows_compared"])
		require.Positive(t, line.Value)
	}
	for _, share := range []result{all[0], all[3]} {
		require.InDelta(t, 50, share.Params["seen"], 12)
		require.InDelta(t, 50, share.Params["records"], 12)
	}
}

// A client's own work is measured where its world is the server's and its inputs arrive.
func TestRealClientsOwnWork(t *testing.T) {
	client := results(t, "-run", "real", "-only", "real.client", "-t", "1ms")
	require.Len(t, client, 1)
	require.Equal(t, 2*(3000.0+1), client[0].Params["rows_compared"])
	frame := results(t, "-run", "real", "-only", "real.frame", "-t", "1ms")
	require.Len(t, frame, 1)
	require.InDelta(t, 36, frame[0].Params["packets"], 4)
	require.Equal(t, true, frame[0].Params["inputs_at_server"])
}

// A world that differs in one value is noticed.
func TestRealNoticesAWrongWorld(t *testing.T) {
	r := newRealRun(realScene{entities: 10, clients: 1, moving: 1}, realNetwork{loss: 0.2, jitter: 1, classes: 1, seed: 1})
	r.withWorlds()
	require.NoError(t, r.playTicks(40, false))
	require.NoError(t, r.heal())
	require.NoError(t, r.compareWorlds())
	require.NotEmpty(t, r.applies())
	query := ecs.Select(r.clients[0].world, ecs.All(ecs.ComponentID[quantPosition](r.clients[0].world)))
	query.Next()
	(*quantPosition)(query.Get(ecs.ComponentID[quantPosition](r.clients[0].world))).Y++
	query.Close()
	require.ErrorContains(t, r.compareWorlds(), "its world is")
}

func TestTumbleChangesEachFloat(t *testing.T) {
	for _, o := range newScene(50, 1).orbits {
		p, q, v := o.tumble()
		for range 100 {
			wasP, wasQ, wasV := p, q, v
			p, q, v = o.tumble()
			now, was := []float32{p.X, p.Y, p.Z, q.Q[0], q.Q[1], q.Q[2], q.Q[3], v.X, v.Y, v.Z}, []float32{wasP.X, wasP.Y, wasP.Z, wasQ.Q[0], wasQ.Q[1], wasQ.Q[2], wasQ.Q[3], wasV.X, wasV.Y, wasV.Z}
			same := 0
			for i := range now {
				if now[i] == was[i] {
					same++
				}
			}
			require.LessOrEqual(t, same, 1, "at a turning point a float32 may stay for a step")
			require.InDelta(t, 1, float64(q.Q[0])*float64(q.Q[0])+float64(q.Q[1])*float64(q.Q[1])+float64(q.Q[2])*float64(q.Q[2])+float64(q.Q[3])*float64(q.Q[3]), 1e-6)
		}
	}
}

func TestWalkersStayOnThePlane(t *testing.T) {
	all := newWalkers(100)
	for range 20000 {
		for i := range all {
			p, _, v := all[i].nextPose()
			if max(p.X, -p.X, p.Y, -p.Y) >= 511 || v == (velocity{}) {
				t.Fatalf("it leaves the range of the position, or stands: %v, %v", p, v)
			}
		}
	}
}

// scriptedSocket gives what a test puts into it, and keeps what is sent.
type scriptedSocket struct{ in, out [][]byte }

func (s *scriptedSocket) Send(_ transport.Addr, datagram []byte) error {
	s.out = append(s.out, slices.Clone(datagram))
	return nil
}

func (s *scriptedSocket) Receive(buf []byte) (n int, from transport.Addr, err error) {
	if len(s.in) == 0 {
		return 0, from, nil
	}
	n = copy(buf, s.in[0])
	s.in = s.in[1:]
	return n, from, nil
}

// A round trip of nine ticks: four to the client, and four back before the tick that a socket takes by itself.
func TestLateSocket(t *testing.T) {
	network := &scriptedSocket{}
	held := &heldSocket{socket: network}
	l := newLateSocket(held, realNetwork{classes: 4, seed: 1}, 3)
	buf := make([]byte, 2048)
	l.begin(realNetwork{classes: 4})
	arrives, leaves := -1, -1
	for now := range 20 {
		if now == 2 {
			network.in = append(network.in, []byte("down"))
		}
		held.pump()
		l.passFrame(int64(now))
		if n, _, err := l.Receive(buf); n > 0 {
			require.NoError(t, err)
			require.Equal(t, "down", string(buf[:n]))
			arrives = now
			require.NoError(t, l.Send(transport.Addr{}, []byte("up")))
		}
		if len(network.out) > 0 && leaves < 0 {
			leaves = now
			require.Equal(t, "up", string(network.out[0]))
		}
	}
	require.Equal(t, 2+4, arrives)
	require.Equal(t, 2+9-1, leaves)
	l.begin(realNetwork{classes: 4, loss: 1})
	network.in, network.out = append(network.in, []byte("down")), nil
	for now := 20; now < 40; now++ {
		held.pump()
		l.passFrame(int64(now))
		n, _, err := l.Receive(buf)
		require.NoError(t, err)
		require.Zero(t, n)
		require.NoError(t, l.Send(transport.Addr{}, []byte("up")))
	}
	require.Empty(t, network.out)
}

// Where more moves than the default of sent packets suffices for, all of it goes out in each tick all the same.
func TestRealSendsAllThatMoves(t *testing.T) {
	require.Equal(t, 1024, realScene{entities: 1000, moving: 1}.config().SentPackets)
	require.Equal(t, 4096, realScene{entities: 40000, moving: 0.1}.config().SentPackets)
	require.Equal(t, 1024, realScene{entities: 10000, moving: 1, sight: 200}.config().SentPackets)
	r := newRealRun(realScene{entities: 4000, clients: 4, moving: 1}, realNetwork{loss: 0.05, jitter: 1, classes: 4, seed: 1})
	require.NoError(t, r.playTicks(30, false))
	require.NoError(t, r.measureTicks(20))
	require.Zero(t, r.counted.full)
	require.EqualValues(t, 20*4*4000, r.counted.records)
}
