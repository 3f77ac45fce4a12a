package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

const (
	// realSocketRows is for how many entities times clients whole ticks are measured: the far end has a world for each client.
	realSocketRows = 1000000
	// The targets of whole ticks of exact rows of ten floats, 1000 bodies that all move and 16 clients, times the floor.
	exactPerfectTarget, exactRealTarget = 4, 8
	realMemoryTarget                    = 0.4 // MB a client, of 1000 entities
)

// measureSockets plays a scene through a server's whole ticks over loopback UDP, with real clients in another process behind
// the network, and the same behind the perfect network, by turns.
func measureSockets(s realScene, o options) (err error) {
	var runs [2]*tickRun // the perfect network's, and this one's
	defer func() {
		for _, r := range runs {
			if r != nil {
				err = errors.Join(err, r.stop())
			}
		}
	}()
	for i, n := range []realNetwork{o.network.perfect(), o.network} {
		c := combination{entities: s.entities, clients: s.clients, moving: s.moving, tumbles: s.exact, network: n}
		if runs[i], err = newTickRun(c, s.exact); err != nil {
			return err
		}
		if err := runs[i].connect(); err != nil {
			return err
		}
		for range realWarmUp {
			if err := runs[i].turn(false); err != nil {
				return err
			}
		}
		runs[i].bytesBefore = runs[i].socket.sentBytes
	}
	for start := time.Now(); time.Since(start) < o.budget || len(runs[1].ticks) < realTicks; {
		for _, r := range runs {
			for range realTurns {
				if err := r.turn(true); err != nil {
					return err
				}
			}
		}
	}
	for _, r := range runs {
		r.measured = r.socket.sentBytes - r.bytesBefore
		if err := errors.Join(r.countAllocations(), r.heal()); err != nil {
			return err
		}
	}
	return reportSockets(o, s, runs[1], runs[0])
}

// heal stops the game and the loss, and compares all worlds with the server's.
func (r *tickRun) heal() error {
	r.stopped = true
	if _, err := r.far.ask(commandCalm); err != nil {
		return err
	}
	synced := func() bool {
		for client := range r.server.Clients {
			if stats, _ := r.server.ClientStats(client); !stats.Synced {
				return false
			}
		}
		return true
	}
	for n := 0; n < maxRealJitter || !synced(); n++ {
		if n == realHeals {
			return errNotHealed
		}
		if err := r.turn(false); err != nil {
			return err
		}
	}
	if err := r.compare(); err != nil {
		return err
	}
	if r.wrong > 0 || r.digests == 0 {
		return fmt.Errorf("%d of %d worlds are not the server's", r.wrong, r.digests)
	}
	return nil
}

// memory is the bytes that the server has for each of its clients: what goes when they all go.
func (r *tickRun) memory() (float64, error) {
	clients := slices.Collect(r.server.Clients)
	before := heap()
	for _, client := range clients {
		r.server.Kick(client, "measured")
	}
	for n := 0; n < 4*tickHz; n++ { // until their sessions are over
		r.receive()
		r.captureAndSend()
	}
	if r.fault != nil {
		return 0, r.fault
	}
	return (before - heap()) / float64(len(clients)), nil
}

// heap is the bytes of what can be reached.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers held
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// reportSockets prints the lines of whole ticks. Both runs are over then.
func reportSockets(o options, s realScene, real, perfect *tickRun) error {
	params := func() map[string]any {
		return map[string]any{
			"entities": s.entities, "clients": s.clients, "moving": s.moving, "exact": s.exact, "loss": o.network.loss, "jitter": o.network.jitter,
			"classes": o.network.classes, "seed": o.network.seed, "ticks": len(real.ticks), "worlds_compared": real.digests + perfect.digests,
		}
	}
	floor := median(slices.Concat(real.floorCPU, perfect.floorCPU))
	line := result{Scenario: "real.server", Value: median(real.workCPU) / 1e6, Unit: "ms/tick", Params: params()}
	for name, value := range map[string]any{
		"anchor": "perfect network, one class", "with_receive_ms": median(real.used) / 1e6, "perfect_with_receive_ms": median(perfect.used) / 1e6, "p95_ms": quantile(real.workCPU, 0.95) / 1e6,
		"wall_ms": median(real.ticks) / 1e6, "perfect_wall_ms": median(perfect.ticks) / 1e6, "allocs_per_tick": real.allocations,
		"bytes_per_client": float64(real.measured) / float64(len(real.ticks)) / float64(real.clients),
	} {
		line.Params[name] = value
	}
	o.report(line.against(median(perfect.workCPU) / 1e6))
	for _, of := range []struct {
		run    *tickRun
		name   string
		target float64
	}{{perfect, "perfect", exactPerfectTarget}, {real, "real", exactRealTarget}} {
		line := result{Scenario: "real.floor", Value: median(of.run.workCPU) / 1e6, Unit: "ms/tick", Params: params()}
		line.Params["network"], line.Params["anchor"] = of.name, "floor"
		if line = line.against(floor / 1e6); s.exact && s.entities == 1000 && s.clients == 16 && s.moving == 1 {
			line = line.ratioTarget(of.target, true)
		}
		o.report(line)
	}
	var bytes [2]float64
	for i, r := range []*tickRun{real, perfect} {
		var err error
		if bytes[i], err = r.memory(); err != nil {
			return err
		}
	}
	memory := result{Scenario: "real.memory", Value: bytes[0] / 1e6, Unit: "MB/client", Params: params()}.against(bytes[1] / 1e6)
	if s.entities == 1000 && !s.exact {
		memory = memory.valueTarget(realMemoryTarget, true)
	}
	o.report(memory)
	return nil
}
