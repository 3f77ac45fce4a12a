package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"
)

const (
	capacityFrame   = float64(time.Second) / tickHz // ns
	capacityClients = 64
	capacityTarget  = 20000 // entities, one in ten of them moving (T13)
	capacityMost    = 40000 // entities that are tried: 64 clients of so many take the far end's process some gigabytes
	capacityTries   = 4
)

// runCapacity looks for the most entities whose tick, from reading the acknowledgements to the kernel's sends, takes one
// core no longer than a frame of 60 Hz lasts. All clients decode and apply everything, and their worlds are compared.
func runCapacity(o options) error {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	fractions := []float64{0.1, 0.01}
	if o.moving > 0 {
		fractions = []float64{o.moving}
	}
	for _, moving := range fractions {
		if err := findCapacity(moving, o); err != nil {
			return err
		}
	}
	return nil
}

// load is what one size costs.
type load struct {
	entities  int
	cpu, wall float64 // ns a tick, medians
	verified  bool    // every world that was compared was the server's; a packet that the far end's sockets dropped is repaired
}

// findCapacity goes to where the line through the newest measurement meets the frame, until that is no news.
func findCapacity(moving float64, o options) error {
	clients := cmp.Or(o.clients, capacityClients)
	size := cmp.Or(o.entities, 10000)
	var best load
	tried, stopped := 0, ""
	for ; tried < capacityTries; tried++ {
		got, err := measureLoad(combination{entities: size, clients: clients, moving: moving}, o)
		if err != nil && best.entities == 0 {
			return err
		}
		if err != nil {
			stopped = err.Error() // so many the far end could not take: what was measured before stands
			break
		}
		fits := got.cpu <= capacityFrame && got.verified
		if fits && got.entities > best.entities {
			best = got
		}
		next := min(int(float64(size)*0.96*capacityFrame/got.cpu), capacityMost)
		if next <= best.entities+best.entities/20 {
			break
		}
		size = next
	}
	line := result{
		Scenario: "capacity", Value: float64(best.entities), Unit: "entities", Main: moving == 0.1,
		Params: map[string]any{
			"clients": clients, "moving": moving, "sizes_tried": min(tried+1, capacityTries), "cpu_ms": best.cpu / 1e6, "wall_ms": best.wall / 1e6,
			"frame_ms": capacityFrame / 1e6, "verified": best.verified, "most_tried": capacityMost, "stopped": stopped,
		},
	}
	if moving == 0.1 && clients == capacityClients {
		target, ok := float64(capacityTarget), best.entities >= capacityTarget
		line.Target, line.OK = &target, &ok
	}
	o.report(line)
	return nil
}

// measureLoad runs the server of the scenario tick at one size.
func measureLoad(c combination, o options) (load, error) {
	run, err := newTickRun(c, false)
	if err != nil {
		return load{}, fmt.Errorf("%+v: %w", c, err)
	}
	if err := run.measure(o.budget); err != nil {
		return load{}, fmt.Errorf("%+v: %w", c, errors.Join(err, run.stop()))
	}
	got := load{entities: c.entities, cpu: median(run.used), wall: median(run.wholes), verified: run.wrong == 0}
	o.report(result{
		Scenario: "capacity.tick", Value: got.cpu / 1e6, Unit: "ms of one core",
		Params: map[string]any{
			"entities": c.entities, "clients": c.clients, "moving": c.moving, "ticks": len(run.used), "wall_ms": got.wall / 1e6,
			"packets_per_client": float64(run.packets) / float64(len(run.ticks)) / float64(c.clients),
			"worlds_compared":    run.digests, "worlds_wrong": run.wrong, "staleness_ticks": int64(run.worst), "undelivered": run.undelivered,
		},
	})
	return got, run.stop()
}
