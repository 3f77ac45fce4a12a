package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRPCIsVerified(t *testing.T) {
	all := results(t, "-run", "rpc", "-e", "500", "-c", "7", "-t", "5ms")
	require.Len(t, all, 3)
	for i, name := range []string{"rpc.in", "rpc.out", "rpc"} {
		line := all[i]
		require.Equal(t, name, line.Scenario)
		require.Equal(t, name == "rpc", line.Main)
		require.NotNil(t, line.OK)
		require.GreaterOrEqual(t, line.Params["frames"], 20.0)
		require.Equal(t, 2*500*line.Params["frames"].(float64), line.Params["verified_messages"])
		require.InDelta(t, line.Value / *line.Anchor, *line.Ratio, 1e-9)
	}
	require.Error(t, runRPC(options{entities: 1025, clients: 1}), "more than the quota of a sender")
}

// A frame of the whole scenario, with all of its clients, allocates nothing once warm: also not for 30 000 messages.
func TestRPCAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole frame of 30 000 messages")
	}
	r, err := newRPCRun(rpcMessages, rpcClients)
	require.NoError(t, err)
	require.NoError(t, r.measure(time.Millisecond))
	require.Less(t, r.allocations, 1.0, "the collector's own helpers may allocate once")
}

// One message that is not the one that was sent is noticed at either end.
func TestRPCNoticesAWrongMessage(t *testing.T) {
	fresh := func() *rpcRun {
		r, err := newRPCRun(100, 4)
		require.NoError(t, err)
		require.NoError(t, r.measure(0))
		return r
	}
	again := func(r *rpcRun) error { return r.measure(0) }
	require.NoError(t, again(fresh()))

	r := fresh()
	m := rpcOrder{Client: 1, Serial: 5}
	r.in.countOrder(rpcStages()[0], &m)
	require.ErrorContains(t, again(r), "the byte queues")
	r = fresh()
	r.in.countOrder(rpcStages()[0], &m)
	r.queues.in.countOrder(rpcStages()[0], &m)
	require.ErrorContains(t, again(r), "the server was sent")
	r = fresh()
	r.clients[2].got.sum[rpcStages()[1]]++
	require.ErrorContains(t, again(r), "client 3 was sent")
	r = fresh()
	r.clients[2].got.wrong++
	require.Error(t, again(r))
}
