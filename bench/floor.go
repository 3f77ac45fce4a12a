package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

// maxFloorBodies is the range of the 16-bit index of the floor's rows.
const maxFloorBodies = 65535

var errManyBodies = fmt.Errorf("the floor's rows have 16-bit indexes: -e 1..%d", maxFloorBodies)

// runFloor measures the floor alone, as fast as it can go.
func runFloor(o options) error {
	entities, clients, moving := cmp.Or(o.entities, 1000), cmp.Or(o.clients, 16), cmp.Or(o.moving, 0.1)
	if entities > maxFloorBodies {
		return errManyBodies
	}
	far, err := startChild(clients, transport.Addr{}, false, false, realNetwork{})
	if err != nil {
		return err
	}
	s := newScene(entities, moving)
	sender, err := newFloorSender(s, far.drains)
	if err != nil {
		return err
	}
	defer sender.socket.Close()
	s.step()
	sent, err := sender.tick()
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	samples := make([]float64, 0, 1<<16)
	runtime.ReadMemStats(&before)
	for start := time.Now(); time.Since(start) < o.budget || len(samples) < 5; {
		s.step()
		began := time.Now()
		n, err := sender.tick()
		took := time.Since(began)
		if err != nil {
			return err
		}
		if len(samples) < cap(samples) {
			samples = append(samples, float64(took))
		}
		sent += n
	}
	runtime.ReadMemStats(&after)
	got, err := far.drained(int64(sent) * int64(clients))
	if err != nil {
		return err
	}
	o.report(result{
		Scenario: "floor", Value: median(samples), Unit: "ns/tick",
		Params: map[string]any{
			"entities": entities, "clients": clients, "moving": moving, "ticks": len(samples),
			"bytes_per_client": sender.encode(), "segmented": sender.segments != nil,
			"delivered":       float64(got) / float64(sent) / float64(clients),
			"allocs_per_tick": float64(after.Mallocs-before.Mallocs) / float64(len(samples)),
		},
	})
	return far.stop()
}

// median of the samples; it sorts them.
func median(samples []float64) float64 { return quantile(samples, 0.5) }

// quantile q of the samples, 0 to 1; it sorts them. No samples give 0.
func quantile(samples []float64, q float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	return samples[min(int(q*float64(len(samples))), len(samples)-1)]
}
