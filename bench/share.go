package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/replica"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

const (
	shareTarget   = 0.9  // of the encodes (T8)
	shareLoss     = 0.01 // of the packets, and of the acknowledgements
	shareTicks    = 600
	shareWarmUp   = 60
	shareDecoders = 8 // clients that decode, two of each class
	shareSilence  = 4 // ticks beyond the round trip after which a packet counts as lost
)

// shareClasses are round trips in ticks: 33, 67, 100 and 150 ms at 60 Hz.
func shareClasses() []tick.Tick { return []tick.Tick{2, 4, 6, 9} }

// shareClient is a client in a network of one round trip.
type shareClient struct {
	view     *snapshot.View
	replica  *replica.Replica // nil: nobody decodes, the packets are only acknowledged
	trip     tick.Tick
	seq      uint64
	underway []sharePacket
}

type sharePacket struct {
	seq      uint64
	sent     tick.Tick
	lost     bool // it, or its acknowledgement
	arrived  bool
	contents []byte
}

// runShare measures how many of the bodies of records had been made for another client already.
func runShare(o options) error {
	entities, clients, moving := cmp.Or(o.entities, 1000), cmp.Or(o.clients, capacityClients), cmp.Or(o.moving, 0.1)
	schema := bodyProtocol(false).Schema()
	config := snapshot.Config{Entities: entities}
	store := snapshot.NewStore(schema, config)
	random := rand.New(rand.NewPCG(7, 2))
	game := newShareGame(store, entities, moving)
	var all []*shareClient
	classes := shareClasses()
	for i := range clients {
		c := &shareClient{view: snapshot.NewView(store, config), trip: classes[i%len(classes)]}
		if i < shareDecoders {
			c.replica = replica.New(schema, config, 1)
		}
		all = append(all, c)
	}
	var madeBefore, againBefore uint64
	for t := range shareTicks {
		if t == shareWarmUp {
			madeBefore, againBefore = store.Shared()
		}
		game.captureTick(true)
		for _, c := range all {
			if err := c.exchange(store.Tick(), random, shareLoss); err != nil {
				return err
			}
		}
	}
	made, again := store.Shared()
	made, again = made-madeBefore, again-againBefore
	if err := settleShare(game, all, random); err != nil {
		return err
	}
	shared := float64(again) / float64(made+again)
	ok, target := shared >= shareTarget, shareTarget
	o.report(result{
		Scenario: "share", Value: shared, Unit: "of encodes", Target: &target, OK: &ok,
		Params: map[string]any{
			"entities": entities, "clients": clients, "moving": moving, "loss": shareLoss, "ticks": shareTicks - shareWarmUp,
			"round_trips_ticks": classes, "encodes": made, "used_again": again, "worlds_compared": min(clients, shareDecoders),
		},
	})
	return nil
}

// settleShare lets everything arrive and compares what the decoders hold.
func settleShare(g *shareGame, all []*shareClient, random *rand.Rand) error {
	for range 60 {
		g.captureTick(false)
		for _, c := range all {
			if err := c.exchange(g.store.Tick(), random, 0); err != nil {
				return err
			}
		}
	}
	for i, c := range all {
		if !c.view.Synced() {
			return fmt.Errorf("client %d lacks something though nothing moves", i)
		}
		if c.replica == nil {
			continue
		}
		for id := range g.store.All {
			for row := range g.store.Schema().Rows() {
				if got, want := c.replica.Row(id.Index, row), g.store.Row(id, row); !slices.Equal(got, want) {
					return fmt.Errorf("client %d, entity %v, row %d: it holds %v, the server %v", i, id, row, got, want)
				}
			}
		}
	}
	return nil
}

// exchange is a tick of one client: what arrives, what is given up, and what is sent.
func (c *shareClient) exchange(now tick.Tick, random *rand.Rand, loss float64) error {
	kept := c.underway[:0]
	for _, p := range c.underway {
		age := now - p.sent
		if !p.arrived && !p.lost && age >= c.trip/2 {
			p.arrived = true
			if c.replica != nil {
				if err := c.replica.Read(p.contents); err != nil {
					return err
				}
			}
			p.lost = random.Float64() < loss // what acknowledges it
		}
		switch {
		case p.arrived && !p.lost && age >= c.trip:
			c.view.Acked(p.seq)
		case p.lost && age >= c.trip+shareSilence:
			c.view.Lost(p.seq)
		default:
			kept = append(kept, p)
		}
	}
	c.underway = kept
	c.view.Observe()
	for c.view.Pending() {
		packet := make([]byte, 1165)
		c.seq++
		n := c.view.Write(packet, c.seq)
		if n == 0 {
			break
		}
		c.underway = append(c.underway, sharePacket{seq: c.seq, sent: now, lost: random.Float64() < loss, contents: packet[:n]})
	}
	return nil
}

// shareGame moves bodies of a world, which is captured into a store.
type shareGame struct {
	store   *snapshot.Store
	capture *netecs.Capture
	body    *bodyWorld
	movers  []int
	orbits  []orbit
}

func newShareGame(store *snapshot.Store, entities int, moving float64) *shareGame {
	g := &shareGame{
		store: store, body: newBodyWorld(entities, false), orbits: newScene(entities, moving).orbits,
		movers: rand.New(rand.NewPCG(7, 1)).Perm(entities)[:movers(entities, moving)],
	}
	g.capture = netecs.NewCapture(g.body.world, store, store.Schema(), 1, nil)
	g.captureTick(true)
	return g
}

// captureTick captures a tick, in which the movers move or nothing does.
func (g *shareGame) captureTick(moves bool) {
	if moves {
		for k, i := range g.movers {
			p, r, v := g.orbits[k].nextPose()
			g.body.write(g.body.entities[i], p, r, v)
		}
	}
	g.capture.Run(g.store.Tick() + 1)
}
