package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/wire"
)

const (
	scaleSeen   = 50    // entities that the mean client sees
	scaleOwn    = 200   // the same where each sees its own
	scaleLeast  = 100   // entities of the smallest world, the anchor
	scaleIdle   = 10000 // entities of the world in which nothing moves
	scaleRests  = 400   // ticks in which nothing moves; fewer than until a view shows that it lives
	scaleTarget = 1.3   // times the share in the smallest world
	heapTarget  = 100   // kB a client
	restTarget  = 150   // ns a client and tick in which nothing moves
	ownTarget   = 0.7   // times the sends of 1000 bodies that all clients see
)

// scaleRun is a world, and its clients.
type scaleRun struct {
	*realRun
	idle, heap float64 // ns a client and tick; kB a client
}

// runScale measures a client's cost in worlds of different sizes. In each it sees equally many entities. The cost is its share of
// a frame, where all walk and where nothing moves, and its memory. In the end it compares each client's world with its sight.
func runScale(o options) error {
	sizes, clients := []int{scaleLeast, 1000, scaleIdle, 30000}, cmp.Or(o.clients, 64)
	if o.entities > 0 {
		sizes = []int{scaleLeast, max(o.entities, scaleLeast)}
	}
	var runs []*scaleRun
	var scenes []realScene
	for _, n := range sizes {
		scenes = append(scenes, realScene{entities: n, clients: clients, moving: 1, sight: scaleSeen, counted: true})
	}
	own := len(scenes)
	if o.entities == 0 {
		near := scenes[own-1]
		near.near = true
		scenes = append(scenes, near, realScene{entities: scaleIdle, clients: clients, moving: 1, sight: scaleOwn, counted: true}, realScene{entities: 1000, clients: clients, moving: 1})
	}
	for _, s := range scenes {
		r := &scaleRun{realRun: newRealRun(s, o.network)}
		if err := r.playTicks(realWarmUp, false); err != nil {
			return fmt.Errorf("%d entities: %w", s.entities, err)
		}
		runs = append(runs, r)
	}
	for start := time.Now(); time.Since(start) < o.budget || runs[0].ticks < realTicks; {
		for _, r := range runs {
			if err := r.measureTicks(realTurns); err != nil {
				return fmt.Errorf("%d entities: %w", r.entities, err)
			}
		}
	}
	for i, r := range runs {
		if err := errors.Join(r.countAllocations(), r.heal(), r.rest()); err != nil {
			return fmt.Errorf("%d entities: %w", r.entities, err)
		}
		if i < own {
			r.reportScale(o, median(runs[0].shares), i == own-1)
		}
	}
	if own < len(runs) {
		reportWorld(o, runs[own-1], runs[own])
		reportOwn(o, runs[own+1], runs[own+2])
	}
	return nil
}

// rest measures ticks in which nothing moves, after heal.
func (r *scaleRun) rest() error {
	var each []float64
	for range scaleRests {
		before := r.bytes
		r.now++
		for _, c := range r.realRun.clients {
			if err := c.hear(r.realRun); err != nil {
				return err
			}
		}
		r.capture()
		r.prepareInterest()
		each = append(each, timed(func() {
			r.takeAcks()
			r.observe()
			r.judge()
			r.serve()
			r.write()
		})/float64(r.realScene.clients))
		if err := r.deliver(); err != nil {
			return err
		}
		if r.bytes != before {
			return fmt.Errorf("%d bytes were sent though nothing moved", r.bytes-before)
		}
	}
	r.idle = median(each)
	return nil
}

// release measures the heap that the server gives back when all clients leave: views, interest and connections. The run is over then.
func (r *scaleRun) release() {
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := heap()
	for i, c := range r.realRun.clients {
		if r.interest != nil {
			r.interest.Leave(wire.ClientID(i + 1))
		}
		c.view, c.server = nil, nil
	}
	r.heap = (before - heap()) / 1000 / float64(r.realScene.clients)
	runtime.KeepAlive(r.realRun)
}

// scaleParams returns what each line says about its run.
func (r *scaleRun) scaleParams(o options) map[string]any {
	return map[string]any{
		"entities": r.entities, "clients": r.realScene.clients, "ticks": r.ticks, "rows_compared": r.compared, "sent_packets": peer.DefaultSentPackets,
		"loss": o.network.loss, "jitter": o.network.jitter, "classes": o.network.classes, "seed": o.network.seed,
	}
}

// reportWorld prints what the size of the world costs a client: its share in the largest world, to that in the smallest world with the same
// sights. In both clients share as little.
func reportWorld(o options, large, least *scaleRun) {
	clients := float64(large.realScene.clients) * 1000
	line := result{Scenario: "scale.world", Value: median(large.shares) / clients, Unit: "us/client", Params: large.scaleParams(o)}
	line.Params["anchor"], line.Params["least_entities"] = "the smallest world with the same sights", least.entities
	line.Params["sends_ratio"] = median(large.sends) / median(least.sends)
	o.report(line.against(median(least.shares)/clients).ratioTarget(scaleTarget, least.compared > 0))
}

// reportScale prints the lines of one world. least is the time of the smallest one.
func (r *scaleRun) reportScale(o options, least float64, largest bool) {
	clients := float64(r.realScene.clients)
	share := result{Scenario: "scale.share", Value: median(r.shares) / clients / 1000, Unit: "us/client", Params: r.scaleParams(o), Main: largest}
	share.Params["anchor"], share.Params["seen"], share.Params["allocs_per_tick"] = "the same of 100 entities", r.seen(), r.allocations
	share.Params["records"] = float64(r.counted.records) / float64(r.ticks) / clients
	share.Params["shared"] = float64(r.counted.again) / max(float64(r.counted.made+r.counted.again), 1)
	share.Params["acks_us"], share.Params["write_us"] = median(r.acks)/clients/1000, median(r.writes)/clients/1000
	share.Params["bytes"] = float64(r.counted.bytes) / float64(r.ticks) / clients
	o.report(share.against(least/clients/1000).ratioTarget(scaleTarget, r.compared > 0))
	idle := result{Scenario: "scale.idle", Value: r.idle, Unit: "ns/client", Params: r.scaleParams(o)}
	r.release()
	o.report(result{Scenario: "scale.heap", Value: r.heap, Unit: "kB/client", Params: r.scaleParams(o)}.valueTarget(heapTarget, r.compared > 0))
	o.report(idle.valueTarget(restTarget, r.compared > 0))
}

// reportOwn prints the line of clients that each see their own, beside clients that all see the same.
func reportOwn(o options, own, all *scaleRun) {
	line := result{Scenario: "scale.own", Value: median(own.sends) / 1e6, Unit: "ms/tick", Params: own.scaleParams(o)}
	line.Params["anchor"], line.Params["seen"] = "1000 entities that all see", own.seen()
	line.Params["allocs_per_tick"], line.Params["records"] = own.allocations, float64(own.counted.records)/float64(own.ticks)/float64(own.realScene.clients)
	line.Params["shared"] = float64(own.counted.again) / max(float64(own.counted.made+own.counted.again), 1)
	line.Params["bytes"] = float64(own.counted.bytes) / float64(own.ticks) / float64(own.realScene.clients)
	o.report(line.against(median(all.sends)/1e6).ratioTarget(ownTarget, own.compared > 0))
}
