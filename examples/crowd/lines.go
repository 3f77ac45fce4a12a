package main

import (
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// lines are the server's line of the table and one for each connected client: of clients in this process with their
// state, of others with what they reported last.
func (s *crowdServer) lines(here []*crowdClient) (ServerLine, []ClientLine) {
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
		if report, ok := s.reports[id]; ok {
			line.State = worldState{Tick: tick.Tick(report.Tick), Hash: report.Hash, Entities: int(report.Entities)}
		}
		for _, c := range here {
			if c.net.ID() == id && c.net.State() == netcode.Connected {
				line.Number, line.State = c.number, c.state()
			}
		}
		line.InStep = s.inStep(id, line.State)
		if server.Clients++; line.InStep {
			server.InStep++
		}
		lines = append(lines, line)
	}
	slices.SortFunc(lines, func(a, b ClientLine) int { return a.Number - b.Number })
	return server, lines
}

// inStep tells if a connected client's world is as far as the link allows: its tick is recent, and it holds no fewer
// entities than the server did, of those that the client may see, at any of the ticks that it may be at.
func (s *crowdServer) inStep(id wire.ClientID, client worldState) bool {
	return client.Tick != tick.None && s.net.Tick()-client.Tick <= tick.Tick(s.allowed) &&
		client.Entities >= s.fewest(id)
}

// line is the client's own line of the table, where the server is elsewhere.
func (c *crowdClient) line() ClientLine {
	packets := c.net.Stats().Packets
	packets.Sent, packets.BytesSent = packets.Received, packets.BytesReceived // the server's point of view
	line := ClientLine{Number: c.number, State: c.state()}
	line.RTT, line.Jitter = c.net.RTT()
	line.Loss = c.net.Loss()
	line.rates(packets, c.before)
	c.before = packets
	line.InStep = c.net.State() == netcode.Connected && (c.equal || c.recent() && line.State.Entities > 0)
	return line
}

// recent tells if the newest tick is. How far behind it is shows in how long ago it came. Once nothing moves none may
// come, and to be equal is to be in step.
func (c *crowdClient) recent() bool {
	interval := c.net.Interval()
	return c.newest != tick.None && c.now()-c.fresh <= time.Duration(c.o.allowance(interval))*interval
}

// rates are the counters of the last second.
func (l *ClientLine) rates(now, before peer.Stats) {
	l.Packets = float64(now.Sent - before.Sent)
	l.Bytes = float64(now.BytesSent - before.BytesSent)
	l.Acks = float64(now.Acked - before.Acked)
}
