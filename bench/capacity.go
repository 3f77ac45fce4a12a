package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"
)

const (
	capacityFrame   = float64(time.Second) / tickHz // ns
	capacityClients = 64
	capacityTarget  = 20000  // entities, one in ten of them moving (T13)
	capacityMost    = 100000 // entities that are tried: 64 clients of so many take the far end's process some gigabytes
	capacityTries   = 5
	capacityClose   = 1.03 // by how much the least that is too much may be more than the most that is not
	probeWarm       = 10   // ticks of a probe before those that count
	probeTicks      = 15
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

// load is the cost of one size.
type load struct {
	entities  int
	cpu, wall float64 // ns a tick, medians
	verified  bool    // every world that was compared was the server's; a packet that the far end's sockets dropped is repaired
}

// findCapacity looks for the size at which the processor's time of a tick is a frame. Where it is next to be looked
// for is on the curve through what was measured: time goes with some power of the size, between 1 and 2.
func findCapacity(moving float64, o options) error {
	clients := cmp.Or(o.clients, capacityClients)
	size := cmp.Or(o.entities, capacityTarget)
	var best, over load // The largest that fits, and the smallest that does not.
	tried, stopped := 0, ""
	for tried < capacityTries {
		got, err := measureLoad(combination{entities: size, clients: clients, moving: moving}, o)
		if err != nil && best.entities == 0 {
			return err
		}
		if err != nil {
			stopped = err.Error() // so many the far end could not take: what was measured before stands
			break
		}
		tried++
		if got.fits() {
			best = got
		} else {
			over = got
		}
		if size = nextSize(best, over); size == 0 {
			break
		}
	}
	line := capacityLine(best, over, clients, moving)
	line.Params["sizes_tried"], line.Params["stopped"] = tried, stopped
	o.report(line)
	return nil
}

// capacityLine returns the result. It answers the target only where it was asked what the target is about.
func capacityLine(best, over load, clients int, moving float64) result {
	line := result{
		Scenario: "capacity", Value: float64(best.entities), Unit: "entities",
		Params: map[string]any{
			"clients": clients, "moving": moving, "too_many": over.entities, "too_many_cpu_ms": over.cpu / 1e6, "cpu_ms": best.cpu / 1e6, "wall_ms": best.wall / 1e6,
			"frame_ms": capacityFrame / 1e6, "verified": best.verified, "most_tried": capacityMost,
		},
	}
	if moving == 0.1 && clients == capacityClients {
		target, ok := float64(capacityTarget), best.entities >= capacityTarget
		line.Target, line.OK, line.Main = &target, &ok, true
	}
	return line
}

// fits reports whether a tick is over within a frame, with every world as the server's.
func (l load) fits() bool { return l.cpu <= capacityFrame && l.verified }

// nextSize is the size to measure next: 0 when it is known closely enough, or as many fit as are tried.
func nextSize(best, over load) int {
	entities := func(l load, power float64) float64 {
		return float64(l.entities) * math.Pow(capacityFrame/l.cpu, 1/power)
	}
	switch {
	case best.entities >= capacityMost, over.entities > 0 && float64(over.entities) <= capacityClose*float64(best.entities):
		return 0
	case over.entities == 0:
		return min(int(entities(best, 1.5)), max(2*best.entities, capacityTarget), capacityMost)
	case best.entities == 0:
		return int(min(entities(over, 1.5), 0.9*float64(over.entities)))
	}
	// Not on the bounds, where nothing new is to be learned: a hundredth inside of them.
	low, high := 1.01*float64(best.entities), 0.99*float64(over.entities)
	power := math.Log(over.cpu/best.cpu) / math.Log(float64(over.entities)/float64(best.entities))
	at := entities(best, min(max(power, 0.5), 4))
	if !over.timed() {
		at = (low + high) / 2
	}
	return int(min(max(0.99*at, low), high))
}

// timed reports whether it was the time that was too much, and not that worlds were wrong.
func (l load) timed() bool { return l.cpu > capacityFrame }

// measureLoad runs the server of the scenario tick at one size, for a few ticks.
func measureLoad(c combination, o options) (load, error) {
	began := time.Now()
	run, err := newTickRun(c, false)
	if err != nil {
		return load{}, fmt.Errorf("%+v: %w", c, err)
	}
	if err := run.probe(); err != nil {
		return load{}, fmt.Errorf("%+v: %w", c, errors.Join(err, run.stop()))
	}
	got := load{entities: c.entities, cpu: median(run.used), wall: median(run.wholes), verified: run.wrong == 0}
	fmt.Fprintf(os.Stderr, "capacity: %d entities, %g moving: %.2f ms of %.2f, after %.0f s\n", c.entities, c.moving, got.cpu/1e6, capacityFrame/1e6, time.Since(began).Seconds())
	o.report(result{
		Scenario: "capacity.tick", Value: got.cpu / 1e6, Unit: "ms of one core",
		Params: map[string]any{
			"entities": c.entities, "clients": c.clients, "moving": c.moving, "ticks": len(run.used), "wall_ms": got.wall / 1e6,
			"packets_per_client": float64(run.packets) / float64(len(run.used)) / float64(c.clients),
			"worlds_compared":    run.digests, "worlds_wrong": run.wrong, "staleness_ticks": int64(run.worst), "undelivered": run.undelivered,
		},
	})
	return got, run.stop()
}

// probe is measure without the floor and with few ticks: all clients apply each of them, which takes far longer than the
// server does.
func (r *tickRun) probe() error {
	if err := r.connect(); err != nil {
		return err
	}
	for n := range probeWarm + probeTicks {
		if n == probeWarm {
			r.packetsBefore = r.socket.sent
		}
		r.step()
		used := cpuTime()
		whole := timed(func() { r.receive(); r.captureAndSend() })
		used = cpuTime() - used
		if _, err := r.settle(); err != nil {
			return err
		}
		if n >= probeWarm {
			r.used, r.wholes = append(r.used, used), append(r.wholes, whole)
		}
	}
	r.packets = r.socket.sent - r.packetsBefore
	return r.compare()
}
