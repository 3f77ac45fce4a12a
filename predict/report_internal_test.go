package predict

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
)

// A report that could not be sent is tried again.
func TestAReportThatWasNotSentIsNotTold(t *testing.T) {
	p := netcode.NewProtocol()
	Report(p)
	client, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	sim := &Simulation{}
	sim.stats.Mispredictions = 1
	extend.OfClient(client).Extend(extend.ClientHooks{State: &clientState{endState: endState{simulation: sim}}})
	now := client.Time().Tick
	r := &reporter{client: client, simulation: sim, at: now - 1000}
	r.send() // No connection exists.
	require.Equal(t, now, r.at, "it was tried")
	require.Zero(t, r.sent)
}
