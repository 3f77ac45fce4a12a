package main

import (
	"cmp"
	"errors"
	"fmt"
)

const (
	slopeTarget = 2 // times the kernel's send alone (T8)
	// Bodies that move: netcode and the floor both send them in one packet for each client.
	clientsEntities, clientsMoving = 100, 0.25
)

// runClients measures what one more client costs a server tick. All clients acknowledge alike and hold the same, so that
// whatever could be shared between them could be shared here. The anchor is what one more client costs the floor, which
// encodes once: the kernel's send and nothing else.
func runClients(o options) error {
	counts := []int{1, 4, 16, 64, 256}
	if o.clients > 0 {
		counts = []int{1, max(o.clients/2, 2), max(o.clients, 3)}
	}
	var at, ticks, floors []float64
	verified := true
	for _, clients := range counts {
		c := combination{entities: cmp.Or(o.entities, clientsEntities), clients: clients, moving: cmp.Or(o.moving, clientsMoving)}
		run, err := newTickRun(c, false)
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		if err := run.measure(o.budget); err != nil {
			return fmt.Errorf("%+v: %w", c, errors.Join(err, run.stop()))
		}
		at, ticks, floors = append(at, float64(clients)), append(ticks, median(run.ticks)), append(floors, median(run.floors))
		verified = verified && run.verified()
		o.report(result{
			Scenario: "clients.tick", Value: median(run.ticks), Unit: "ns/tick",
			Params: map[string]any{
				"entities": c.entities, "clients": clients, "moving": c.moving, "ticks": len(run.ticks),
				"packets_per_client": float64(run.packets) / float64(len(run.ticks)) / float64(clients),
				"encodes_shared":     run.sharedPart(),
				"receive_ns":         median(run.receives), "worlds_compared": run.digests, "worlds_wrong": run.wrong,
			},
		}.against(median(run.floors)))
		if err := run.stop(); err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
	}
	o.report(result{
		Scenario: "clients", Value: slope(at, ticks), Unit: "ns/client", Main: true,
		Params: map[string]any{"clients": counts, "anchor": "one more client of the floor: the kernel's send", "verified": verified},
	}.against(slope(at, floors)).ratioTarget(slopeTarget, verified))
	return nil
}

// slope is that of the line of least squares through the points.
func slope(x, y []float64) float64 {
	var sumX, sumY, sumXX, sumXY float64
	for i := range x {
		sumX, sumY, sumXX, sumXY = sumX+x[i], sumY+y[i], sumXX+x[i]*x[i], sumXY+x[i]*y[i]
	}
	n := float64(len(x))
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}

// sharedPart is the part of all bodies of records that were made for another client already.
func (r *tickRun) sharedPart() float64 {
	made, again := r.server.Store().Shared()
	return float64(again) / max(float64(made+again), 1)
}
