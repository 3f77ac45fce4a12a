package netecs

import "github.com/mlange-42/arche/ecs"

// life notices ecs.World.Reset. A reset drops every resource, so a world that
// has lost ours, or has another's, is not the one that was looked at last:
// every entity handle from before is then void, and Arche's Alive panics on
// it or answers for somebody else.
type life struct {
	resource ecs.ResID
	mine     *lifeMark
}

// lifeMark is the resource. It has a byte so that two marks have two addresses.
type lifeMark struct{ _ byte }

// newLife joins the world's present life, beginning one if nobody has.
func newLife(w *ecs.World) life {
	l := life{resource: ecs.ResourceID[lifeMark](w)}
	l.join(w)
	return l
}

// goes reports whether the world's life is still the one that was joined.
func (l *life) goes(w *ecs.World) bool {
	mark, _ := w.Resources().Get(l.resource).(*lifeMark)
	return mark != nil && mark == l.mine
}

// join takes part in the world's present life, after a reset.
func (l *life) join(w *ecs.World) {
	if !w.Resources().Has(l.resource) {
		w.Resources().Add(l.resource, &lifeMark{})
	}
	l.mine, _ = w.Resources().Get(l.resource).(*lifeMark)
}
