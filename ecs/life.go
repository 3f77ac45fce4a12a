package netecs

import (
	"slices"

	"github.com/mlange-42/arche/ecs"
)

// life notices ecs.World.Reset. A reset drops every resource, so a world that
// has lost ours, or has another's, is not the one that was looked at last:
// every entity handle from before is then void, and Arche's Alive panics on
// it or answers for somebody else.
type life struct {
	resource ecs.ResID
	tag      uint32 // of the capture or apply whose this is
	captures bool   // it is that of a capture
	mine     *lifeMark
}

// lifeMark is the resource.
type lifeMark struct {
	tags     []uint32 // of the captures and applies that take part, with repeats
	captures int      // how many of them are captures
}

// newLife joins the world's present life, beginning one if nobody has.
func newLife(w *ecs.World, tag uint32, captures bool) life {
	l := life{resource: ecs.ResourceID[lifeMark](w), tag: tag, captures: captures}
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
	l.mine.tags = append(l.mine.tags, l.tag)
	if l.captures {
		l.mine.captures++
	}
}

// captured reports whether a capture takes part in the world's present life.
func (l *life) captured() bool { return l.mine.captures > 0 }

// manages reports whether a tag is that of a capture or apply of the world's present life.
func (l *life) manages(tag uint32) bool { return slices.Contains(l.mine.tags, tag) }

// leave takes no part any more.
func (l *life) leave(w *ecs.World) {
	if !l.goes(w) {
		return
	}
	if n := slices.Index(l.mine.tags, l.tag); n >= 0 {
		l.mine.tags = slices.Delete(l.mine.tags, n, n+1)
		if l.captures {
			l.mine.captures--
		}
	}
}
