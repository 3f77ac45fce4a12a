package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/internal/replica"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/transport"
)

func TestApplyIsVerified(t *testing.T) {
	all := results(t, "-run", "apply", "-e", "300", "-t", "5ms")
	require.Len(t, all, 7)
	require.Equal(t, "apply.beside", all[4].Scenario)
	for i, line := range all {
		whole := i < 5
		require.Greater(t, line.Params["worlds_compared"], 1.0)
		require.Equal(t, 300.0, line.Params["rows_changed"])
		require.Equal(t, whole, line.Params["bytes_per_row"].(float64) > 40, "whole rows are 40 bytes")
		require.InDelta(t, line.Value / *line.Anchor, *line.Ratio, 1e-9)
		require.Equal(t, line.Scenario == "apply", line.OK != nil)
		require.Equal(t, i == 2 || i == 3 || i == 6, line.Params["scattered"])
	}
	part := results(t, "-run", "apply", "-e", "300", "-frac", "0.5", "-t", "5ms")
	require.Len(t, part, 2)
	require.Equal(t, 150.0, part[0].Params["rows_changed"])
}

// One wrong value in one body of the client's world is noticed, and so is one in the anchor's.
func TestApplyNoticesAWrongWorld(t *testing.T) {
	a := &applyRun{scattered: true, moving: 1}
	require.NoError(t, a.bringUp(50))
	at := &sentTick{}
	for !at.compared {
		var err error
		at, err = a.nextTick()
		require.NoError(t, err)
		require.NoError(t, a.turn(at, true))
	}
	require.NoError(t, a.anchors(at))
	require.NoError(t, a.compare(at))
	query := ecs.Select(a.client, ecs.All(ecs.ComponentID[position](a.client)))
	query.Next()
	(*position)(query.Get(ecs.ComponentID[position](a.client))).Y++
	query.Close()
	require.Error(t, a.compare(at))

	first, _, _ := a.plain.get.Get(a.plain.entities[0])
	first.Z++
	require.Error(t, a.plain.check(at.rows))
}

func TestDirtyIsVerified(t *testing.T) {
	all := results(t, "-run", "dirty", "-e", "500", "-frac", "0.2", "-t", "5ms")
	require.Len(t, all, 6)
	for i, line := range all {
		require.Equal(t, i >= 2, line.Params["one_row_archetypes"])
		_, walked := line.Params["walk_ns"]
		require.Equal(t, i >= 2, walked)
		require.Greater(t, line.Params["worlds_compared"], 1.0)
		require.Equal(t, line.Params["changed"] == 0.0 && i < 2, line.OK != nil, "only an idle world of one table has a target")
	}
}

func TestDirtyNoticesAMissedWrite(t *testing.T) {
	d := newDirtyRun(dirtyScene{entities: 100, moving: 0.1})
	require.NoError(t, d.turn(false))
	require.NoError(t, d.turn(true))
	require.NoError(t, d.compareMemory())
	d.movers, d.orbits = d.movers[:9], d.orbits[:9]
	d.body.write(d.body.entities[1], position{Y: 77}, rotation{}, velocity{})
	require.ErrorContains(t, d.turn(true), "rows changed")
	d.body.write(d.body.entities[2], position{Y: 77}, rotation{}, velocity{})
	require.Error(t, d.compareMemory(), "written and not captured")

	alone := newDirtyRun(dirtyScene{entities: 100, relations: 1})
	require.NoError(t, alone.turn(false))
	require.NoError(t, alone.turn(true))
	alone.body.write(alone.body.entities[3], position{Y: 77}, rotation{}, velocity{})
	require.ErrorContains(t, alone.floor(), "the search 99")
}

// The capture compares as many bytes for an entity as the floor compares.
func TestDirtyRow(t *testing.T) {
	bytes := uintptr(0)
	w := ecs.New()
	generic.NewMap4[components.Replicated, position, rotation, velocity](w)
	for _, id := range ecs.IDs(w) {
		bytes += ecs.TypeOf(w, id).Size()
	}
	require.EqualValues(t, dirtyRow, bytes)
}

func TestIdleIsVerified(t *testing.T) {
	all := results(t, "-run", "idle", "-e", "300", "-c", "3", "-frac", "0.1", "-t", "5ms")
	require.Len(t, all, 2)
	require.True(t, all[0].Main)
	require.Equal(t, 0.0, all[0].Params["entities_changed"])
	require.Equal(t, 30.0, all[1].Params["entities_changed"])
	require.Nil(t, all[1].OK)
}

func TestIdleNoticesAClientThatIsNotIdle(t *testing.T) {
	r, err := newIdleRun(100, 2)
	require.NoError(t, err)
	require.NoError(t, r.verify())
	r.change(0.5)
	r.observe(false)
	o := options{budget: time.Millisecond, report: func(result) {}}
	require.ErrorContains(t, r.measureIdle(0, o), "have something to say")
	r.replica = replica.New(r.store.Schema(), snapshot.Config{}, 1)
	require.Error(t, r.verify(), "a client that never got the rows")
}

func TestClientsMeasuresASlope(t *testing.T) {
	needProcesses(t)
	all := results(t, "-run", "clients", "-c", "4", "-t", "10ms")
	require.Len(t, all, 4)
	last := all[3]
	require.True(t, last.Main)
	require.Equal(t, true, last.Params["verified"])
	require.NotNil(t, last.OK)
	require.Equal(t, 1.0, all[0].Params["packets_per_client"])
	require.InDelta(t, 7, slope([]float64{1, 2, 4}, []float64{10, 17, 31}), 1e-9)
}

// A search with other clients or other motion than the target is about answers no target.
func TestCapacityIsMainWhereItAnswersTheTarget(t *testing.T) {
	best, over := load{entities: 30000, cpu: 1, wall: 1, verified: true}, load{entities: 31000, cpu: 2, wall: 2}
	asked := capacityLine(best, over, capacityClients, 0.1)
	require.True(t, asked.Main)
	require.EqualValues(t, capacityTarget, *asked.Target)
	require.True(t, *asked.OK)
	missed := capacityLine(load{entities: capacityTarget - 1}, over, capacityClients, 0.1)
	require.False(t, *missed.OK)
	for _, other := range []result{capacityLine(best, over, 4, 0.1), capacityLine(best, over, capacityClients, 0.01)} {
		require.Nil(t, other.Target)
		require.Nil(t, other.OK)
		require.False(t, other.Main)
	}
}

// A link that loses a third of everything: the client is old while it lasts and in step again soon after.
func TestLossIsVerified(t *testing.T) {
	play := func(p lossPoint) (*lossRun, *histogram) {
		run, err := playLoss(newGenerated(), p, 90)
		require.NoError(t, err)
		require.Equal(t, 90, run.frames)
		require.Greater(t, run.verified, 300)
		stream, err := playStream(run.perFrame, run.changes, p)
		require.NoError(t, err)
		require.Equal(t, run.staleness.total, stream.total, "the same bodies in the same frames")
		return run, stream
	}
	clean, cleanStream := play(lossPoint{roundTrip: 100 * time.Millisecond})
	lossy, lossyStream := play(lossPoint{roundTrip: 100 * time.Millisecond, loss: 0.45})
	require.Zero(t, clean.converged)
	require.Equal(t, 3, clean.staleness.quantile(1), "50 ms")
	require.Equal(t, 3, cleanStream.quantile(1))
	require.Greater(t, lossy.staleness.quantile(0.99), 3)
	require.Greater(t, lossyStream.quantile(0.99), 3)

	var lines []result
	summary := lossSummary{recorded: true}
	o := options{report: func(r result) { lines = append(lines, r) }}
	clean.packed, lossy.packed = &packed{bits: 1000}, &packed{bits: 1100}
	summary.addRun(o, lossy, clean, lossyStream)
	require.InDelta(t, 1.1, lines[0].Params["curve"], 1e-9)
	summary.printLoss(o)
	require.Len(t, lines, 6)
	require.True(t, lines[3].Main)
	require.Equal(t, *lines[0].Ratio, lines[3].Value)
}

func TestLossPoints(t *testing.T) {
	clean := map[time.Duration]bool{}
	for _, p := range lossPoints() {
		clean[p.roundTrip] = clean[p.roundTrip] || p.total() == 0
		require.True(t, clean[p.roundTrip], "%v: what it is held against comes before it", p)
	}
	require.InDelta(t, 0.2, lossPoint{burst: transport.GilbertElliott{Enter: 0.05, Length: 5}}.total(), 1e-9)
}

func TestAgeOfABody(t *testing.T) {
	c := changes{at: make([][]int32, 2)}
	for _, bodies := range [][]int{{0}, {0}, {}, {0, 1}, {}} {
		c.addBodies(bodies)
	}
	for _, want := range []struct{ body, known, now, age int }{
		{0, -1, 0, 1}, {0, 0, 0, 0}, {0, 0, 2, 2}, {0, 1, 2, 0}, {0, 2, 4, 2}, {0, 1, 4, 2}, {0, 3, 4, 0}, {1, -1, 2, 0}, {1, -1, 4, 2},
	} {
		require.Equal(t, want.age, c.age(want.body, want.known, want.now), want)
	}
	require.False(t, c.moving(1, 2))
	require.True(t, c.moving(1, 3))
	require.False(t, c.moving(1, 3+movingFor))
	var h histogram
	for _, v := range []int{1, 1, 1, 9} {
		h.add(v)
	}
	require.Equal(t, []int{1, 1, 9}, []int{h.quantile(0.5), h.quantile(0.75), h.quantile(0.99)})
}

// A server's four clients in one home share its line: they use it, its queue stays short, and each gets about a quarter.
func TestClientsInOneHomeShareTheirLine(t *testing.T) {
	const kib, seconds = 32, 20
	r, err := newLinesRun(linesCase{rates: []int{kib}, clients: 4})
	require.NoError(t, err)
	for range seconds * linesHz {
		r.stepLines()
	}
	require.NoError(t, r.fault)
	require.Greater(t, float64(r.bytes), linesGoodput*(kib<<10)*seconds)
	require.Less(t, float64(r.lost), linesOverflow*float64(r.kept+r.lost))
	require.LessOrEqual(t, float64(r.waits.quantile(0.95)), linesWait)
	for _, c := range r.clients {
		stats, _ := r.server.ClientStats(c.ID())
		require.InDelta(t, r.bytes/4, float64(stats.Packets.BytesSent), 0.1*float64(r.bytes))
	}
}
