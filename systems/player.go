package systems

import (
	"fmt"
	"iter"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/interpolate"
	"github.com/arche-netcode/netcode/snapshot"
)

// PlayerView is the world as one player sees it: *ClientSystems for a client, HostSystems.View for the player of a host.
// Code that draws entities and reacts to changes takes a PlayerView, and works for both.
type PlayerView interface {
	// OnSpawn adds a function that is called for each newly visible entity.
	OnSpawn(f func(e netecs.Entity, id netcode.NetworkID))
	// OnSpawnKind is OnSpawn for one components.Kind.
	OnSpawnKind(kind uint16, f func(e netecs.Entity, id netcode.NetworkID))
	// OnPresented adds a function that is called for each entity when it is presented to the player for the first time.
	OnPresented(f func(e netecs.Entity, id netcode.NetworkID))
	// OnDespawn adds a function that is called for each entity that was removed or hidden.
	OnDespawn(f func(e netecs.Entity, id netcode.NetworkID))
	// Entity returns the entity of a network id, if the player sees it.
	Entity(id netcode.NetworkID) (netecs.Entity, bool)
	// ID returns the network id of an entity that the player sees.
	ID(e netecs.Entity) (netcode.NetworkID, bool)
	// Sees reports whether the player sees an entity of the world. A host's world also has entities that interest hides
	// from the player.
	Sees(e netecs.Entity) bool
	// Changes yields the changes of the last effective update.
	Changes(yield func(netecs.Change) bool)
	// Applied reports whether that update was in this frame.
	Applied() bool
	// Player returns the client.
	Player() *netcode.Client
}

var (
	_ PlayerView = (*ClientSystems)(nil)
	_ PlayerView = (*HostView)(nil)
)

// Changed yields the entities to which the last effective update added component T or gave another value, with the value:
// see netecs.Changed. For a PlayerView of another package it yields nothing.
func Changed[T any](v PlayerView) iter.Seq2[netecs.Entity, *T] {
	return func(yield func(netecs.Entity, *T) bool) { eachChanged(v, yield) }
}

func eachChanged[T any](v PlayerView, yield func(netecs.Entity, *T) bool) {
	switch v := v.(type) {
	case *ClientSystems:
		netecs.Changed[T](v.Apply.apply)(yield)
	case *HostView:
		if v.shown != nil {
			netecs.ChangedOf[T](v.shown)(yield)
		}
	}
}

// HostView is the PlayerView of a host. The player shares the world of the server, also the entities that interest hides
// from it. Sees reports which entities it may see. The visible set changes in the frame after the network tick. For each
// component T of interpolate.Register a visible entity has a components.Smooth[T], a value between those of the last two
// ticks.
type HostView struct {
	playerHooks
	group *HostSystems
	// Plain disables components.Smooth, for a game that draws the components themselves. Set it before the first frame.
	Plain bool

	shown   *netecs.HostView
	applied bool
	tickAt  float64 // The time of the newest capture, in seconds.
}

// newHostView makes the view of a host's player.
func newHostView(group *HostSystems) *HostView {
	v := &HostView{group: group}
	v.playerHooks = playerHooks{client: group.Client, id: v.ID, kind: v.kindOf}
	return v
}

// update shows this frame.
func (v *HostView) update() {
	capture := v.group.Tick.capture
	if capture == nil {
		return
	}
	if v.shown == nil {
		list := interpolate.List(v.client.Protocol())
		if v.Plain {
			list = nil
		}
		v.shown = netecs.NewHostView(capture, list, netecs.Hooks{Spawned: v.tellSpawned, Despawned: v.tellDespawned})
	}
	var view *snapshot.View
	if s := extend.OfServer(v.group.Server).Session(v.client.ID()); s != nil && s.Local() {
		view = s.View()
	}
	v.applied = v.shown.Run(view, v.part())
}

// part returns the elapsed part of a tick since the newest capture, 0 to 1. It is the weight of the newer of the last two
// ticks.
func (v *HostView) part() float64 {
	now := v.group.Receive.Now().Seconds()
	if v.group.Server.TickDue() { // This frame captures later: the new time counts from the next frame on.
		defer func() { v.tickAt = now }()
	}
	return min(max((now-v.tickAt)/v.group.Server.Interval().Seconds(), 0), 1)
}

// Entity implements PlayerView.
func (v *HostView) Entity(id netcode.NetworkID) (netecs.Entity, bool) {
	if v.shown == nil {
		return netecs.Entity{}, false
	}
	return v.shown.Entity(id)
}

// ID implements PlayerView.
func (v *HostView) ID(e netecs.Entity) (netcode.NetworkID, bool) {
	if v.shown == nil {
		return netcode.NetworkID{}, false
	}
	return v.shown.ID(e)
}

// Sees implements PlayerView.
func (v *HostView) Sees(e netecs.Entity) bool {
	_, ok := v.ID(e)
	return ok
}

// Changes implements PlayerView.
func (v *HostView) Changes(yield func(netecs.Change) bool) {
	if v.shown != nil {
		v.shown.Changes(yield)
	}
}

// Applied implements PlayerView.
func (v *HostView) Applied() bool { return v.applied }

// Player implements PlayerView.
func (v *HostView) Player() *netcode.Client { return v.client }

func (v *HostView) kindOf(e netecs.Entity) (uint16, bool) {
	if v.shown == nil {
		return 0, false
	}
	return v.shown.Kind(e)
}

// playerHooks has the functions of OnSpawn, OnSpawnKind, OnPresented and OnDespawn.
type playerHooks struct {
	client *netcode.Client
	id     func(e netecs.Entity) (netcode.NetworkID, bool)
	kind   func(e netecs.Entity) (uint16, bool)
	// smooth returns the system that delays the presentation of entities. nil, or a nil result: no delay.
	smooth func() *Interpolate

	spawned   []func(netecs.Entity, netcode.NetworkID)
	ofKind    map[uint16][]func(netecs.Entity, netcode.NetworkID)
	despawned []func(netecs.Entity, netcode.NetworkID)
	presented []func(netecs.Entity, netcode.NetworkID)
}

// interpolates returns the system that delays the presentation of entities, nil without delay.
func (h *playerHooks) interpolates() *Interpolate {
	if h.smooth == nil {
		return nil
	}
	return h.smooth()
}

// OnSpawn adds a function that is called for each entity that the server newly shows. At a host it is called for each
// entity that the player newly sees. All values of the tick are written, and the world is unlocked: the function may add
// or remove local components, and send.
//
// If the function panics, the connection ends with errs.ReasonHandlerPanic, as for a handler. OnSpawnKind and OnDespawn
// do the same. OnSpawn panics on nil.
func (h *playerHooks) OnSpawn(f func(e netecs.Entity, id netcode.NetworkID)) {
	mustBeGiven(f != nil, "OnSpawn")
	h.spawned = append(h.spawned, f)
}

// OnSpawnKind adds a function that is called for each spawned entity with this components.Kind. It is the place to give a
// tree its sprite, and a player its camera. The server replicates Kind like any component.
//
// The functions of a kind are called after those of OnSpawn, until one of them removes the entity. OnSpawnKind panics on
// nil, and if the protocol does not replicate components.Kind.
func (h *playerHooks) OnSpawnKind(kind uint16, f func(e netecs.Entity, id netcode.NetworkID)) {
	if !netecs.HasKind(h.client.Protocol().Schema()) {
		panic(fmt.Sprintf("systems: OnSpawnKind(%d): the protocol does not replicate components.Kind, so that no client learns of kinds: "+
			"call netcode.Replicate[components.Kind](protocol) on both sides", kind))
	}
	mustBeGiven(f != nil, "OnSpawnKind")
	if h.ofKind == nil {
		h.ofKind = map[uint16][]func(netecs.Entity, netcode.NetworkID){}
	}
	h.ofKind[kind] = append(h.ofKind[kind], f)
}

// tellSpawned calls the functions of OnSpawn, then the functions of the entity's kind, until one removes the entity.
func (h *playerHooks) tellSpawned(e netecs.Entity, id netcode.NetworkID) {
	for _, f := range h.spawned {
		if _, there := h.id(e); there {
			steps.Contain(steps.OfClient(h.client), "OnSpawn", func() { f(e, id) })
		}
	}
	if h.interpolates() == nil { // The entity is presented on arrival.
		h.tellPresented(e, id)
	}
	kind, ok := h.kind(e)
	if !ok {
		return
	}
	for _, f := range h.ofKind[kind] {
		if _, there := h.id(e); there {
			steps.Contain(steps.OfClient(h.client), "OnSpawnKind", func() { f(e, id) })
		}
	}
}

// OnPresented adds a function that is called for each entity when it is presented for the first time. With Interpolate
// that is some frames after OnSpawn, when the presented moment reaches its spawn and its components.Smooth exist. An
// entity that was removed earlier gets no call.
//
// Without Interpolate, and at a host, it is called directly after OnSpawn. The world is unlocked. Call OnPresented before
// the first frame. It panics on nil.
func (h *playerHooks) OnPresented(f func(e netecs.Entity, id netcode.NetworkID)) {
	mustBeGiven(f != nil, "OnPresented")
	h.presented = append(h.presented, f)
	if i := h.interpolates(); i != nil {
		i.presented = h.tellPresented
	}
}

// tellPresented calls the functions of OnPresented.
func (h *playerHooks) tellPresented(e netecs.Entity, id netcode.NetworkID) {
	for _, f := range h.presented {
		if _, there := h.id(e); there {
			steps.Contain(steps.OfClient(h.client), "OnPresented", func() { f(e, id) })
		}
	}
}

// OnDespawn adds a function that is called for each entity that the server removed or hid, just before it is removed
// here. With Interpolate that is when its end is presented. The world is unlocked.
//
// At a host the game has removed the entity already, unless it is only hidden: check World.Alive before reading it.
// OnDespawn panics on nil.
func (h *playerHooks) OnDespawn(f func(e netecs.Entity, id netcode.NetworkID)) {
	mustBeGiven(f != nil, "OnDespawn")
	h.despawned = append(h.despawned, f)
}

// tellDespawned calls the functions of OnDespawn.
func (h *playerHooks) tellDespawned(e netecs.Entity, id netcode.NetworkID) {
	for _, f := range h.despawned {
		steps.Contain(steps.OfClient(h.client), "OnDespawn", func() { f(e, id) })
	}
}
