package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/message"
)

// halves are a server's and a client's half in this process, over their sockets as if they were in two.
type halves struct {
	t              *testing.T
	server, client *crowd
}

func newHalves(t *testing.T, clientFlags string, serverFlags ...string) *halves {
	t.Helper()
	half := func(line string) *crowd {
		o, err := parseOptions(strings.Fields("-loss 0 -jitter 0 -rtt 4 "+line), t.Output())
		require.NoError(t, err)
		a, err := newCrowd(&o, newTable(t.Output()))
		require.NoError(t, err)
		t.Cleanup(func() {
			require.NoError(t, a.close())
			require.NoError(t, a.close(), "a second close does nothing")
		})
		return a
	}
	h := &halves{t: t}
	h.server = half("-entities 40 -listen 127.0.0.1:0 " + strings.Join(serverFlags, " "))
	h.client = half("-clients 1 " + clientFlags + " -connect " + h.server.server.socket.LocalAddr().String())
	return h
}

// until runs both until the condition holds.
func (h *halves) until(what string, condition func() bool) {
	h.t.Helper()
	for begin := h.server.now(); !condition(); {
		require.Less(h.t, h.server.now()-begin, patience, what)
		h.server.frame()
		h.client.frame()
		time.Sleep(200 * time.Microsecond)
	}
}

// report is the client's newest report.
func (h *halves) report() (last Report) {
	for _, last = range h.server.server.reports {
	}
	return last
}

// still stops the bodies, and waits for a report that happens to be right although the server has not said anything.
func (h *halves) still() {
	h.t.Helper()
	server := h.server.server
	h.until("the first report", func() bool { return h.report().Tick > 0 })
	server.motion.Stop()
	h.until("an early report", func() bool {
		for id, report := range server.reports {
			if report.Hash == server.expected(id) {
				return true
			}
		}
		return false
	})
	require.Zero(h.t, h.report().Settled)
	server.stop(&h.server.result)
	require.Contains(h.t, server.disagreement(), "has not answered", "a report from before does not count")
	require.False(h.t, server.differs(), "it is not known")
}

// part closes the server and gives the client its verdict.
func (h *halves) part() *Result {
	h.t.Helper()
	h.server.server.net.Close(0)
	h.until("the end", func() bool { return h.server.parted() && h.client.parted() })
	return h.client.run(h.t.Context())
}

func TestHalvesAgree(t *testing.T) {
	t.Parallel()
	h := newHalves(t, "")
	h.still()
	h.until("agreement", h.server.server.agrees)
	require.True(t, h.client.clients[0].equal, "the client knows before the server sends it away")
	result := h.part()
	require.True(t, result.Converged, result.Difference)
}

func TestHalvesAgreeOnNearEntities(t *testing.T) {
	t.Parallel()
	h := newHalves(t, "-clients 4", "-interest -entities 200")
	h.until("reports of all four", func() bool { return len(h.server.server.reports) == 4 })
	h.still()
	h.until("agreement", h.server.server.agrees)
	hashes := map[uint64]bool{}
	for _, report := range h.server.server.reports {
		hashes[report.Hash] = true
	}
	require.Len(t, hashes, 4, "each sees something else")
	require.NotContains(t, hashes, h.server.server.settled.Hash, "and none sees everything")
	result := h.part()
	require.True(t, result.Converged, result.Difference)
}

// A client may come when all has stopped. The state that it has to come to is not the state that was visible before anybody looked.
func TestHalvesAgreeWithALateClient(t *testing.T) {
	t.Parallel()
	h := newHalves(t, "-clients 2", "-interest -entities 200")
	server := h.server.server
	h.until("a look from both seats", func() bool { return len(server.sights.clients) == 2 })
	h.still()
	for id := range server.net.Clients {
		looked := server.sights.clients[id]
		delete(server.sights.clients, id) // as of one that came since the last tick
		delete(server.hashes, id)
		_, known := server.hashFor(id)
		require.False(t, known)
		server.sights.clients[id] = looked
		hash, known := server.hashFor(id)
		require.True(t, known)
		require.Equal(t, server.expected(id), hash)
	}
	h.until("agreement", server.agrees)
	result := h.part()
	require.True(t, result.Converged, result.Difference)
}

func TestHalvesNoticeSabotage(t *testing.T) {
	t.Parallel()
	h := newHalves(t, "-sabotage")
	h.still()
	h.until("an answer", func() bool { return h.report().Settled != 0 })
	require.Contains(t, h.server.server.disagreement(), "differs")
	require.True(t, h.server.server.differs())
	result := h.part()
	require.False(t, result.Converged)
	require.Contains(t, result.Difference, "differs")
}

func TestHalvesTakeNoReportThatWasOvertaken(t *testing.T) {
	t.Parallel()
	h := newHalves(t, "")
	h.still()
	h.until("agreement", h.server.server.agrees)
	server := h.server.server
	for id := range server.net.Clients {
		server.onReport(&message.Context{Sender: id}, &Report{Tick: 1, Hash: 1})
	}
	require.True(t, server.agrees())
}

func TestNobodyAgrees(t *testing.T) {
	t.Parallel()
	h := newHalves(t, "")
	h.server.frame()
	h.server.server.stop(&h.server.result)
	require.Equal(t, "no client is connected", h.server.server.disagreement())
}

func TestInStep(t *testing.T) {
	t.Parallel()
	h := newHalves(t, "")
	server, client := h.server.server, h.client.clients[0]
	require.False(t, client.line().InStep, "not connected")
	h.until("the whole world", func() bool {
		fewest := server.lately.fewest()
		return fewest > 0 && int(h.report().Entities) >= fewest
	})
	whole := worldState{Tick: server.net.Tick(), Entities: server.lately.fewest()}
	require.True(t, server.inStep(1, whole))
	less := whole
	less.Entities--
	require.False(t, server.inStep(1, less), "it lacks an entity")
	late := whole
	late.Tick--
	server.allowed = 0
	require.False(t, server.inStep(1, late), "its tick is old")
	require.False(t, server.inStep(1, worldState{}), "it has no tick at all")
	h.until("in step", func() bool { return client.line().InStep })
	client.fresh = -patience
	require.False(t, client.line().InStep, "its tick is old")
	client.equal = true
	require.True(t, client.line().InStep, "its world is what the server came to")
	h.part()
	require.False(t, client.line().InStep, "not connected any more")
}
