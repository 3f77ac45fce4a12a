package predict_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/transport"
)

// A server has its clients' reports of mispredictions, and counts the inputs that earlier ones replaced.
func TestClientsReportTheirMispredictions(t *testing.T) {
	for _, loss := range []float64{0, .4} {
		g, p, wind, heard := newExplainedGame(t, loss, aType, predict.Report)
		before, ok := predict.ReportOf(g.server, p.client.ID())
		require.True(t, ok)
		require.Zero(t, before.Mispredictions)
		require.Empty(t, before.Newest)
		wind.at = g.server.Tick() + 10
		g.run(6 * rate)
		require.NotEmpty(t, *heard)
		hangs := loss > 0
		if hangs {
			p.skip = 30 // Its inputs of these frames are missing or late.
			g.run(rate)
		}
		g.heal()
		p.act = nil
		g.run(3 * rate)
		report, _ := predict.ReportOf(g.server, p.client.ID())
		require.Positive(t, report.Mispredictions)
		require.Equal(t, p.sim.Stats().Mispredictions, report.Mispredictions)
		require.Equal(t, p.sim.Stats().Corrected, report.Corrected)
		require.Equal(t, (*heard)[len(*heard)-1].String(), report.Newest)
		inputs, ok := input.ClientStats(g.server, p.client.ID())
		require.True(t, ok)
		require.Equal(t, input.StatsOf(g.server), inputs, "it is the only one")
		require.Equal(t, hangs, inputs.Stood > 5, "%+v", inputs)
	}
}

func TestNobodyReportsUnlessAsked(t *testing.T) {
	g := newGame(t, transport.Link{}, 1, 1, predict.Config{})
	g.run(rate)
	_, ok := predict.ReportOf(g.server, g.players[0].client.ID())
	require.False(t, ok, "the protocol has no reports")
	_, ok = input.ClientStats(g.server, 99)
	require.False(t, ok)
}
