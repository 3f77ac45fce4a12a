package guide_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/wire"
)

// The code between the marks is that of components.md.

// begin guide
type Soldier struct {
	X, Y  float32    `net:"min=-512,max=512,step=0.002"` // within bounds, in steps of at most this size
	Turn  [4]float32 `net:"quat,bits=9"`                 // x, y, z, w: a rotation
	Aim   float32    `net:"angle,bits=10"`               // radians
	Speed float32    `net:"half"`                        // 16 bits of float
	Stick [2]float32 `net:"axis"`                        // within [-1, 1], 8 bits each
	Ammo  uint16     `net:"min=0,max=100"`
	Team  uint8      // without a tag: the exact value
	Route int32      `net:"-"` // does not travel, and netcode never touches it on a client
}

// end guide

// begin guide
type Item struct {
	Kind  uint16
	Count uint8 `net:"min=0,max=99"` // tags count in elements too
}

type Hero struct {
	Name wire.Text32              // up to 32 bytes of UTF-8; Text16, Text64, Text128, or wire.Text[[48]byte]
	Bag  wire.List[Item, [8]Item] // up to 8 slots
}

func equip(hero *Hero) {
	hero.Name.Set("Ann")              // cut at a whole character where it is too long; false then
	hero.Name.Append(" of the hills") // hero.Name.String() reads it, and Is compares it, without allocation
	hero.Bag.Append(Item{Kind: 7})    // false where it is full
	hero.Bag.Insert(0, Item{Kind: 3}) // Remove takes one out
	hero.Bag.At(1).Count++            // elements are changed in place
	for place, slot := range hero.Bag.All() {
		slot.Count += uint8(place)
	}
}

// end guide

// begin guide
func march(world *ecs.World) (soldier ecs.Entity) {
	build := generic.NewMap2[components.Replicated, Soldier](world)
	soldier = build.NewWith(&components.Replicated{}, &Soldier{Turn: [4]float32{0, 0, 0, 1}, Ammo: 30}) // every client gets it

	soldiers, shields := generic.NewMap1[Soldier](world), generic.NewMap1[Shield](world)
	soldiers.Get(soldier).X += 5                  // found by comparison, and sent
	shields.Assign(soldier, &Shield{Strength: 3}) // so is a component that is added
	shields.Remove(soldier)                       // and one that is removed
	return soldier                                // world.RemoveEntity despawns it everywhere
}

// end guide

// begin guide
func sketch(world *ecs.World) (grave, ghost ecs.Entity) {
	everywhere, here := generic.NewMap2[components.Replicated, Soldier](world), generic.NewMap2[components.LocalOnly, Soldier](world)
	grave = everywhere.NewWith(&components.Replicated{}, &Soldier{Turn: [4]float32{0, 0, 0, 1}})
	return grave, here.NewWith(&components.LocalOnly{}, &Soldier{}) // the server's own, and meant so
}

// end guide

// begin guide
func launch(group *systems.ServerSystems, world *ecs.World, shooter netcode.ClientID) netcode.NetworkID {
	build := generic.NewMap2[components.Replicated, Soldier](world)
	id, _ := group.ID(build.NewWith(&components.Replicated{}, &Soldier{Turn: [4]float32{0, 0, 0, 1}})) // it has its id here and now
	group.Server.SetOwner(id, shooter)
	_ = netcode.Send(group.Server, netcode.ToSeers(id), &Opened{By: shooter}, netcode.About(id)) // arrives with the entity, or not at all
	return id
}

// end guide

// begin guide
type Turret struct {
	Target ecs.Entity `net:"entity"` // on a client: the entity there, or zero if it sees none
}

type Look struct{ Skin, Hat uint8 }

type Ground struct{ Height [16]uint8 }

func replicate(protocol *netcode.Protocol) {
	netcode.Replicate[CarriedBy](protocol)
	netcode.Replicate[Turret](protocol, netcode.Every(3)) // at most every third tick
	netcode.Replicate[Look](protocol, netcode.Once())     // with its entity, and never again
	netcode.Replicate[Ground](protocol, netcode.Marked()) // when systems.Mark says that it was written
	netcode.Replicate[components.Kind](protocol)
}

func dig(group *systems.ServerSystems, world *ecs.World, tile ecs.Entity) {
	grounds := generic.NewMap1[Ground](world) // a system keeps it
	grounds.Get(tile).Height[3]--
	systems.Mark[Ground](group.Tick, tile)
}

// end guide

// begin guide
type Round struct{ Number uint32 } // registered with netcode.Replicate, like any component

func nextRound(round *netecs.Resource[Round]) { // on the server: netecs.NewResource[Round](&world), once; netecs is in folder ecs
	if round.Get() == nil {
		round.Create(Round{})
	}
	round.Get().Number++
}

func roundOf(round *netecs.Resource[Round]) (number uint32, ok bool) { // on a client: the same, with its own world
	if now := round.Get(); now != nil { // nil before it has come
		return now.Number, true
	}
	return 0, false
}

// end guide

func TestGuideComponents(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Soldier](p)
	netcode.Replicate[Shield](p)
	netcode.Replicate[Position](p)
	netcode.Replicate[Round](p)
	replicate(p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1})
	server, client := n.Server.World, n.Clients[0].World
	soldier := march(server)
	seen := func() (s Soldier, count int) {
		for query := generic.NewFilter1[Soldier]().Query(client); query.Next(); count++ {
			s = *query.Get()
		}
		return s, count
	}
	require.True(t, n.RunUntil(3*time.Second, func() bool { s, count := seen(); return count == 1 && s.Ammo == 30 }))
	s, _ := seen()
	require.InDelta(t, 5, s.X, 0.001)
	server.RemoveEntity(soldier)
	require.True(t, n.RunUntil(3*time.Second, func() bool { _, count := seen(); return count == 0 }))

	round, copied := netecs.NewResource[Round](server), netecs.NewResource[Round](client)
	_, ok := roundOf(copied)
	require.False(t, ok)
	nextRound(round)
	nextRound(round)
	require.True(t, n.RunUntil(3*time.Second, func() bool { number, _ := roundOf(copied); return number == 2 }))

	parts := []ecs.ID{ecs.ComponentID[components.Replicated](server), ecs.ComponentID[Ground](server)}
	tile := ecs.Spawn(server, nil, parts...)
	n.Run(time.Second)
	height := func() (h uint8) {
		for query := generic.NewFilter1[Ground]().Query(client); query.Next(); {
			h = query.Get().Height[3]
		}
		return h
	}
	require.Zero(t, height())
	dig(n.Server.Systems, server, tile)
	require.True(t, n.RunUntil(time.Second, func() bool { return height() == 255 }), "it was marked")
}

// TestGraveIsTheOnlyOneReplicated: the ghost is local, and nobody is told of it, as of the third.
func TestGraveIsTheOnlyOneReplicated(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Soldier](p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 1})
	var told []netecs.Problem
	n.Server.OnError(func(err error) {
		if problem, ok := err.(netecs.Problem); ok {
			told = append(told, problem)
		}
	})
	grave, ghost := sketch(n.Server.World)
	n.Run(10 * time.Second)
	n.AssertConverge()
	_, ok := n.Server.Systems.ID(grave)
	require.True(t, ok)
	_, ok = n.Server.Systems.ID(ghost)
	require.False(t, ok)
	require.Empty(t, told)
	forgotten := generic.NewMap1[Soldier](n.Server.World)
	third := forgotten.NewWith(&Soldier{})
	n.Run(10 * time.Second)
	require.Len(t, told, 1)
	require.Equal(t, netecs.Unreplicated, told[0].Kind)
	require.Equal(t, third, told[0].Local)
}

// TestHeroTravels takes the guide's texts and lists to a client, changes them there and back, and refuses too much.
func TestHeroTravels(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[Hero](p)
	n := nettest.New(t, nettest.Config{Protocol: p, Clients: 1, Seed: 1})
	build := generic.NewMap2[components.Replicated, Hero](n.Server.World)
	hero := build.NewWith(&components.Replicated{}, &Hero{})
	n.AssertConverge()
	heroes := generic.NewMap1[Hero](n.Server.World)
	at := heroes.Get(hero)
	equip(at)
	n.AssertConverge()
	query := generic.NewFilter1[Hero]().Query(n.Clients[0].World)
	require.True(t, query.Next())
	got := *query.Get()
	query.Close()
	require.Equal(t, *at, got)
	require.Equal(t, "Ann of the hills", got.Name.String())
	require.Equal(t, []Item{{3, 0}, {7, 2}}, got.Bag.AppendTo(nil))
}
