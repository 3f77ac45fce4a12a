package nettest_test

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
)

// gameWorld is a world of a game, at either end, and how its parts are called there.
type gameWorld struct {
	*ecs.World
	id                          [gameParts]ecs.ID
	replicated                  ecs.ID
	owner, priority, rate, hurt ecs.ID // hurt is nobody's but the game's at that end
	sprite                      ecs.ID
}

// gameHurt and gameSprite are not sent.
type (
	gameHurt   struct{}
	gameSprite struct {
		ID netcode.NetworkID
		N  int64
	}
)

func newGameWorld(w *ecs.World) *gameWorld {
	return &gameWorld{
		World: w, replicated: ecs.ComponentID[components.Replicated](w), owner: ecs.ComponentID[components.Owner](w),
		priority: ecs.ComponentID[components.Priority](w), rate: ecs.ComponentID[components.Rate](w),
		hurt: ecs.ComponentID[gameHurt](w), sprite: ecs.ComponentID[gameSprite](w),
		id: [gameParts]ecs.ID{
			ecs.ComponentID[gameSpot](w), ecs.ComponentID[gameTurn](w), ecs.ComponentID[gameExact](w), ecs.ComponentID[gameNames](w),
			ecs.ComponentID[gameStamp](w), ecs.ComponentID[gameTag](w), ecs.ComponentID[gameChild](w), ecs.ComponentID[gameJoint](w),
			ecs.ComponentID[gameSlow](w), ecs.ComponentID[gameFirst](w), ecs.ComponentID[gameMine](w), ecs.ComponentID[components.Group](w),
		},
	}
}

// gameAt is a component of an entity that has it.
func gameAt[T any](w *gameWorld, e ecs.Entity, id ecs.ID) *T { return (*T)(w.Get(e, id)) }

// value is the state of an entity.
func (w *gameWorld) value(e ecs.Entity) (v gameValue) {
	mask := w.Mask(e)
	for part, id := range w.id {
		if mask.Get(id) {
			v[part] = w.part(e, part)
		}
	}
	return v
}

// part is a component that an entity has.
func (w *gameWorld) part(e ecs.Entity, part int) any {
	id := w.id[part]
	switch part {
	case partSpot:
		return *gameAt[gameSpot](w, e, id)
	case partTurn:
		return *gameAt[gameTurn](w, e, id)
	case partExact:
		return *gameAt[gameExact](w, e, id)
	case partNames:
		return *gameAt[gameNames](w, e, id)
	case partStamp:
		return *gameAt[gameStamp](w, e, id)
	case partTag:
		return gameTag{}
	case partChild:
		return gameAim{To: w.Relations().Get(e, id)}
	case partJoint:
		return gameAim{K: gameAt[gameJoint](w, e, id).K, To: w.Relations().Get(e, id)}
	case partSlow:
		return *gameAt[gameSlow](w, e, id)
	case partFirst:
		return *gameAt[gameFirst](w, e, id)
	case partMine:
		return *gameAt[gameMine](w, e, id)
	}
	return *gameAt[components.Group](w, e, id)
}

// each calls for every entity of the world that is sent.
func (w *gameWorld) each(call func(e ecs.Entity, id netcode.NetworkID)) {
	query := w.Query(ecs.All(w.replicated))
	for query.Next() {
		call(query.Entity(), (*components.Replicated)(query.Get(w.replicated)).ID)
	}
}

// toggle takes a component from an entity, or gives it one.
func (w *gameWorld) toggle(e ecs.Entity, id ecs.ID) {
	if w.Has(e, id) {
		w.Remove(e, id)
	} else {
		w.Add(e, id)
	}
}
