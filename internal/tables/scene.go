package main

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// scene is one kind of motion in the components of one invented game, as clients at several distances receive it.
type scene struct {
	types  []reflect.Type // The component types, in the order of their rows.
	frames int
	trips  []int // Round trips in ticks. Those of clients over lossy links are in lossyTrips.
	play   func(s *snapshot.Store, frame int)
	exact  bool // With floats: exact floats count too.
	floats bool // Only symbols with a previous baseline far before the baseline count: what strikes others trains the near classes.
}

// near reports whether a symbol has no context of a previous baseline far before the baseline. Rotations of exact floats, in large records, never have
// one: all of them count.
func near(s delta.DeltaSymbol) bool {
	if s.Table != nil && s.Table.Name() == "class.spin" {
		return false
	}
	return s.Table == nil || s.Table.Contexts()%delta.AgeClasses != 0 || s.Context < s.Table.Contexts()/delta.AgeClasses*delta.FarClass
}

// lossyTrips returns round trips over links that lose half of all packets. On short round trips loss is the main reason
// for old baselines.
func lossyTrips() []int { return []int{2, 3, 6} }

// train trains the shipped tables of all classes, from generated motion. The result is the same on every machine.
func train() (*delta.Tables, error) {
	trainer := delta.NewTrainer()
	counting := delta.NewCounting(trainer, true)
	if err := askForAll(counting); err != nil {
		return nil, err
	}
	for i, s := range scenes() {
		if err := s.train(counting); err != nil {
			return nil, fmt.Errorf("tables: scene %d: %w", i, err)
		}
	}
	return trainer.Build()
}

// askForAll makes a table of each class, also of a class that no scene uses.
func askForAll(source delta.TableSource) error {
	var plans []*quantize.Plan
	for n, t := range []reflect.Type{
		reflect.TypeFor[everything](), reflect.TypeFor[pair](), reflect.TypeFor[solid](), reflect.TypeFor[exactTurn](),
	} {
		p, err := quantize.Compile(t, fmt.Sprintf("%s%d", t.Name(), n))
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	_, err := format.NewSchemaWith(plans, source)
	return err
}

// train plays a scene.
func (s *scene) train(counting *delta.Counting) error {
	var plans []*quantize.Plan
	for _, t := range s.types {
		p, err := quantize.Compile(t, t.Name())
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	t, err := record.NewTraining(plans, counting, s.trips...)
	if err != nil {
		return err
	}
	for _, trip := range lossyTrips() {
		if err := t.JoinLossy(trip); err != nil {
			return err
		}
	}
	t.Store.Watch(func(list []delta.DeltaSymbol) {
		if s.floats {
			list = slices.DeleteFunc(list, func(d delta.DeltaSymbol) bool {
				return near(d) && !(s.exact && d.Table != nil && d.Table.Name() == "class.float")
			})
		}
		counting.Count(list)
	})
	for f := range s.frames {
		t.Store.Begin(tick.Tick(f + 1))
		s.play(t.Store, f)
		t.Store.Commit()
		if err := t.Send(); err != nil {
			return err
		}
	}
	return nil
}

// cast assigns ids to the entities of a scene.
type cast struct{ ids []wire.NetworkID }

// id returns the n-th entity. The first call spawns it.
func (c *cast) id(s *snapshot.Store, n int) wire.NetworkID {
	for n >= len(c.ids) {
		c.ids = append(c.ids, s.Spawn())
	}
	return c.ids[n]
}

// replace despawns an entity and spawns a new one in its place.
func (c *cast) replace(s *snapshot.Store, n int) {
	if n < len(c.ids) {
		s.Despawn(c.ids[n])
		c.ids[n] = s.Spawn()
	}
}

// types returns the types of values.
func types(values ...any) (list []reflect.Type) {
	for _, v := range values {
		list = append(list, reflect.TypeOf(v))
	}
	return list
}
