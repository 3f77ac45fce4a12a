package main

import (
	"slices"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/tick"
)

// lines are the server's line of the table and one for each connected client: of clients in this process with their
// state, of others with what they reported last. Behind by at most so many ticks is in step.
func (s *arenaServer) lines(here []*arenaClient, ticks int) (ServerLine, []ClientLine) {
	server := ServerLine{State: s.state(), Second: (s.now() - s.started).Seconds()}
	server.P50, server.P99 = s.ticks.Second()
	server.Rows = float64(s.rows) / float64(max(1, s.counted))
	s.rows, s.counted = 0, 0
	lines := make([]ClientLine, 0, s.o.clients)
	for id := range s.net.Clients {
		stats, _ := s.net.ClientStats(id)
		line := ClientLine{Number: int(id), RTT: stats.RTT, Jitter: stats.Jitter, Loss: stats.Loss}
		line.rates(stats.Packets, s.clients[id])
		s.clients[id] = stats.Packets
		allowed := tick.Tick(ticks)
		if report, ok := s.reports[id]; ok {
			line.State = worldState{Tick: tick.Tick(report.Tick), Hash: report.Hash}
			allowed += tick.Tick(reportEvery.Seconds()*float64(s.o.hz)) + 1 // so old the report may be
		}
		for _, c := range here {
			if c.net.ID() == id {
				line.Number, line.State = c.number, c.state()
			}
		}
		line.InStep = line.State.Tick != tick.None && s.net.Tick()-line.State.Tick <= allowed
		if server.Clients++; line.InStep {
			server.InStep++
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b ClientLine) int { return a.Number - b.Number })
	return server, lines
}

// line is the client's own line of the table, where the server is elsewhere. How far behind it is shows in how long
// ago its newest tick came; once nothing moves none comes, and to be equal is to be in step.
func (c *arenaClient) line(ticks int) ClientLine {
	packets := c.net.Stats().Packets
	packets.Sent, packets.BytesSent = packets.Received, packets.BytesReceived // the server's point of view
	line := ClientLine{Number: c.number, State: c.state()}
	line.RTT, line.Jitter = c.net.RTT()
	line.Loss = c.net.Loss()
	line.rates(packets, c.before)
	c.before = packets
	allowed := time.Duration(ticks) * c.net.Interval()
	line.InStep = c.equal || c.newest != tick.None && c.now()-c.fresh <= allowed
	return line
}

// rates are the counters of the last second.
func (l *ClientLine) rates(now, before peer.Stats) {
	l.Packets = float64(now.Sent - before.Sent)
	l.Bytes = float64(now.BytesSent - before.BytesSent)
	l.Acks = float64(now.Acked - before.Acked)
}
