package main

import (
	"runtime"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

const (
	ackTarget  = 200.0 // ns a packet: built, read, acknowledged (T12)
	ackAnchor  = 150.0 // ns, what the C library that is compared with takes, 142 to 158
	ackBatch   = 1000  // packets timed together
	ackMessage = 8     // bytes in each
)

// printSteady prints what was allocated, and what the headers took.
func (r *steadyRun) printSteady(o options) {
	params := map[string]any{
		"entities": len(r.body.entities), "moving": len(r.movers), "clients": len(r.clients), "frames": r.frames,
		"seconds_of_game": float64(r.frames) / tickHz, "loss": steadyLoss, "rtt_ms": int(steadyRoundTrip / time.Millisecond),
	}
	with := func(more map[string]any) map[string]any {
		for k, v := range params {
			more[k] = v
		}
		return more
	}
	o.report(result{
		Scenario: "steady", Value: r.allocations, Unit: "allocations", Main: true,
		Params: with(map[string]any{
			"gc_cycles": r.cycles, "warm_up_frames": r.warm, "bytes_allocated": r.bytes, "ms_per_frame_of_all_ends": r.measuredNanoseconds / float64(r.frames) / 1e6,
			"slowest_frame_ms": r.slowest / 1e6, "messages": r.inputs + int(r.orders), "worlds_compared": len(r.clients),
		}),
	}.valueTarget(0, r.cycles == 0))
	down := *r.socket
	var up headerSocket
	for _, c := range r.clients {
		up.packets, up.bytes, up.headers = up.packets+c.socket.packets, up.bytes+c.socket.bytes, up.headers+c.socket.headers
		up.longest = max(up.longest, c.socket.longest)
	}
	mean := func(h *headerSocket) float64 { return float64(h.headers) / float64(max(h.packets, 1)) }
	packets := max(down.packets+up.packets, 1)
	both := float64(down.headers+up.headers) / float64(packets)
	whole := both + wire.BatchHeaderSize + wire.ChecksumSize
	o.report(result{
		Scenario: "steady.header", Value: both, Unit: "B/packet",
		Params: with(map[string]any{
			"packets": packets, "from_server": mean(&down), "from_clients": mean(&up), "longest": max(down.longest, up.longest),
			"whole_header": whole, "whole_target": steadyWholeHeader, "bytes_per_packet": float64(down.bytes+up.bytes) / float64(packets),
			"ack_and_bits": both - 3,
		}),
	}.valueTarget(steadyHeader, whole <= steadyWholeHeader))
}

// ackOutcome counts what became of packets.
type ackOutcome struct{ acked, lost int }

// Acked implements peer.Outcome.
func (a *ackOutcome) Acked(uint64, tick.Tick) { a.acked++ }

// Lost implements peer.Outcome.
func (a *ackOutcome) Lost(uint64) { a.lost++ }

// runAckLayer measures the packet layer alone: two ends that send each other packets in turn, of which one in a hundred is lost.
// Each is built, read, and acknowledges those before it.
func runAckLayer(o options) error {
	config := peer.ConnConfig{Check: wire.NewChecksum(1, 2), TickInterval: time.Second / tickHz}
	ends := [2]*peer.Conn{peer.NewConn(config), peer.NewConn(config)}
	var out [2]ackOutcome
	buffer := make([]byte, peer.DefaultPacketSize)
	samples := make([]float64, 0, 1<<16)
	now, sent, dropped := time.Duration(0), 0, 0
	one := func() error {
		from, to := sent&1, 1-sent&1
		now += time.Second / tickHz / 2
		ends[from].DetectLost(now, &out[from])
		b := ends[from].Begin(buffer)
		b.Add(wire.FirstUserMessage, tick.Update, ackMessage)
		packet := ends[from].Finish(&b, tick.Tick(sent), now)
		if sent++; sent%100 == 7 {
			dropped++
			return nil
		}
		in, err := ends[to].Read(packet, now, &out[to])
		if err == nil {
			ends[to].Accept(in, now)
		}
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for start := time.Now(); len(samples) < 5 || time.Since(start) < o.budget && len(samples) < cap(samples); {
		began := time.Now()
		for range ackBatch {
			if err := one(); err != nil {
				return err
			}
		}
		samples = append(samples, float64(time.Since(began))/ackBatch)
	}
	runtime.ReadMemStats(&after)
	acked, lost := out[0].acked+out[1].acked, out[0].lost+out[1].lost
	packets := len(samples) * ackBatch
	fair := acked >= packets-dropped-4 && lost <= dropped && lost >= dropped-2
	o.report(result{
		Scenario: "steady.ack", Value: median(samples), Unit: "ns/packet",
		Params: map[string]any{
			"packets": packets, "acked": acked, "lost": lost, "dropped": dropped, "fastest": slices.Min(samples),
			"allocations": after.Mallocs - before.Mallocs, "anchor": "an ack layer in C, as measured elsewhere: 142 to 158 ns",
		},
	}.against(ackAnchor).valueTarget(ackTarget, fair && after.Mallocs == before.Mallocs))
	return nil
}
