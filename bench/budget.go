package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

const (
	budgetHz     = 30
	budgetWarm   = 20 * budgetHz
	budgetTicks  = 100 * budgetHz
	budgetTarget = 1.05 // an entity's updates against its share by weight
)

// budgetWeights are the weights of the bodies, in turn.
func budgetWeights() []float32 { return []float32{8, 4, 2, 1, 1, 1, 1, 1} }

// runBudget measures how often bodies of different weights are updated at a client whose budget is short. The anchor of a weight is
// its ideal share of the same updates: all of them by weight, none more than one a tick.
func runBudget(o options) error {
	entities := 400
	if o.entities > 0 {
		entities = o.entities
	}
	for _, budget := range []int{3000, 6000, 12000} {
		for _, loss := range []float64{0, 0.1} {
			run, err := newBudgetRun(entities, budget, loss)
			if err != nil {
				return err
			}
			if err := run.play(); err != nil {
				return err
			}
			run.printBudget(o, entities, budget, loss)
		}
	}
	return nil
}

// budgetRun is a server and one client, both with a world.
type budgetRun struct {
	frame  int64
	server *netcode.Server
	client *netcode.Client
	body   [2]*bodyWorld // the server's and the client's
	steps  [2][]systems.System
	links  []*transport.Conditioner
	orbits []orbit
	fault  error

	weight  map[wire.NetworkID]float32
	newest  map[wire.NetworkID]tick.Tick
	updates map[float32]int
	longest map[float32]tick.Tick // ticks that an entity waited
	left    int                   // ticks in which state left
}

func (r *budgetRun) elapsed() time.Duration { return time.Duration(r.frame) * time.Second / budgetHz }

func newBudgetRun(entities, budget int, loss float64) (*budgetRun, error) {
	r := &budgetRun{
		body: [2]*bodyWorld{newBodyWorld(entities, false), newBodyWorld(0, false)}, orbits: newScene(entities, 1).orbits,
		weight: map[wire.NetworkID]float32{}, newest: map[wire.NetworkID]tick.Tick{}, updates: map[float32]int{}, longest: map[float32]tick.Tick{},
	}
	config := netcode.Config{TickRate: budgetHz, SendBudget: budget, Entities: entities, Random: rand.NewChaCha8([32]byte{1})}
	protocol, network := bodyProtocol(false), memory.NewNetwork()
	var err error
	if r.server, err = netcode.NewServer(protocol, config); err != nil {
		return nil, err
	}
	config.SendBudget, config.Random = -1, rand.NewChaCha8([32]byte{2})
	if r.client, err = netcode.NewClient(protocol, config); err != nil {
		return nil, err
	}
	r.server.OnError(func(err error) { r.fault = err })
	r.client.OnError(func(err error) { r.fault = err })
	var address transport.Addr
	for i := range r.body {
		end, err := network.Listen(transport.Addr{})
		if err != nil {
			return nil, err
		}
		link := transport.Condition(end, transport.Link{Delay: 30 * time.Millisecond, Loss: loss}, uint64(i+1), r.elapsed)
		r.links = append(r.links, link)
		if i == 0 {
			address, r.steps[i] = end.LocalAddr(), systems.NewServer(r.server, link, r.elapsed).Systems()
		} else {
			r.steps[i] = systems.NewClient(r.client, link, r.elapsed).Systems()
		}
		for _, s := range r.steps[i] {
			s.Initialize(r.body[i].world)
		}
	}
	priorities := generic.NewMap1[components.Priority](r.body[0].world)
	for i, e := range r.body[0].entities {
		priorities.Assign(e, &components.Priority{Weight: budgetWeights()[i%len(budgetWeights())]})
	}
	return r, r.client.Connect(address)
}

// step is a frame of both ends, in which all bodies move.
func (r *budgetRun) step() {
	r.frame++
	for i, e := range r.body[0].entities {
		p, q, v := r.orbits[i].nextPose()
		r.body[0].write(e, p, q, v)
	}
	for i := range r.steps {
		for _, s := range r.steps[i] {
			s.Update(r.body[i].world)
		}
	}
	for _, l := range r.links {
		if err := l.Poll(); err != nil {
			r.fault = err
		}
	}
}

// play joins and warms up, then counts the updates that reach the client.
func (r *budgetRun) play() error {
	for joined := 0; joined < budgetWarm && r.frame < 10*budgetWarm; {
		if r.step(); r.client.State() == netcode.Connected && r.client.Replica().Len() == len(r.body[0].entities) {
			joined++
		}
	}
	ids := generic.NewMap[components.Replicated](r.body[0].world)
	for i, e := range r.body[0].entities {
		r.weight[ids.Get(e).ID] = budgetWeights()[i%len(budgetWeights())]
	}
	if n := r.client.Replica().Len(); n != len(r.weight) {
		return fmt.Errorf("%d of %d bodies came: %w", n, len(r.weight), r.client.Err())
	}
	for e := range r.client.Replica().All {
		r.newest[e.ID] = e.Tick
	}
	before, _ := r.server.ClientStats(r.client.ID())
	for range budgetTicks {
		r.step()
		now, _ := r.server.ClientStats(r.client.ID())
		if now.Snapshot.Snapshots > before.Snapshot.Snapshots {
			r.left++
		}
		before = now
		for e := range r.client.Replica().All {
			if e.Tick > r.newest[e.ID] {
				weight := r.weight[e.ID]
				r.longest[weight] = max(r.longest[weight], e.Tick-r.newest[e.ID])
				r.newest[e.ID] = e.Tick
				r.updates[weight]++
			}
		}
	}
	return r.fault
}

// printBudget prints a line for each weight.
func (r *budgetRun) printBudget(o options, entities, budget int, loss float64) {
	count, total := map[float32]int{}, 0.0
	for _, weight := range r.weight {
		count[weight]++
	}
	for _, n := range r.updates {
		total += float64(n)
	}
	for _, weight := range []float32{8, 4, 2, 1} {
		value := float64(r.updates[weight]) / float64(count[weight])
		ideal := budgetShare(count, weight, total, budgetTicks*(1-loss))
		o.report(result{Scenario: "budget", Unit: "updates", Value: value, Params: map[string]any{
			"entities": entities, "budget": budget, "loss": loss, "weight": weight, "ticks": budgetTicks, "ticks_with_state": r.left, "longest_wait": int(r.longest[weight]),
		}}.against(ideal).ratioTarget(budgetTarget, value > ideal/budgetTarget))
	}
}

// budgetShare returns the ideal updates of an entity of a weight, at most most.
func budgetShare(count map[float32]int, weight float32, total, most float64) float64 {
	left, share := total, 0.0
	capped := map[float32]bool{}
	for again := true; again; {
		again = false
		sum := 0.0
		for w, n := range count {
			if !capped[w] {
				sum += float64(w) * float64(n)
			}
		}
		for w, n := range count {
			if !capped[w] && left*float64(w)/sum > most {
				capped[w], again = true, true
				left -= most * float64(n)
				break
			}
		}
		share = left * float64(weight) / sum
	}
	if capped[weight] {
		return most
	}
	return share
}
