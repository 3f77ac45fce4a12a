package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	ecs "github.com/arche-netcode/netcode/internal/world"
)

func TestSteadyIsVerified(t *testing.T) {
	all := results(t, "-run", "steady", "-e", "40", "-c", "3", "-t", "5ms")
	require.Len(t, all, 3)
	require.True(t, all[0].Main)
	require.Equal(t, 10.0, all[0].Params["seconds_of_game"])
	require.Equal(t, 3.0, all[0].Params["worlds_compared"])
	require.NotNil(t, all[0].OK)

	header := all[1]
	require.Equal(t, "steady.header", header.Scenario)
	require.Greater(t, header.Params["packets"], 2*3*550.0, "two packets a frame and client")
	require.GreaterOrEqual(t, header.Value, 5.0)
	require.True(t, *header.OK, "bytes do not depend on the machine: %v", header)
	require.LessOrEqual(t, header.Params["longest"], 10.0)

	ack := all[2]
	require.Equal(t, "steady.ack", ack.Scenario)
	require.InDelta(t, 0.01, ack.Params["lost"].(float64)/ack.Params["packets"].(float64), 0.001)
}

// Everything that steady compares is noticed when it is not so.
func TestSteadyNoticesFaults(t *testing.T) {
	r, err := newSteadyRun(20, 2, 0.5)
	require.NoError(t, err)
	require.NoError(t, r.join())
	require.NoError(t, r.play(60))
	require.NoError(t, r.verify())
	require.Equal(t, 10, len(r.movers))

	c := r.clients[1]
	c.sum++
	require.ErrorContains(t, r.verify(), "client 1 got")
	c.sum--
	c.news -= c.newSent / 10
	require.ErrorContains(t, r.verify(), "of")
	c.news += c.newSent/10 + c.newSent
	require.ErrorContains(t, r.verify(), "client 1 got", "more than was sent")
	c.news -= c.newSent
	r.orders--
	require.ErrorContains(t, r.verify(), "orders")
	r.orders++
	r.inputs = 0
	require.ErrorContains(t, r.verify(), "inputs")
	r.inputs = r.inputsSent
	require.NoError(t, r.verify())

	query := ecs.Select(c.body.world, ecs.All(ecs.ComponentID[quantPosition](c.body.world)))
	require.True(t, query.Next())
	(*quantPosition)(query.Get(ecs.ComponentID[quantPosition](c.body.world))).Z++
	query.Close()
	require.ErrorContains(t, r.verify(), "put back", "the world itself says who wrote")
}
