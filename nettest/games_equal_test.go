package nettest_test

import (
	"fmt"

	"github.com/arche-netcode/netcode"
)

// differs says in what a client is not yet what it must be once nothing changes and nothing is lost, "" if in nothing.
func (p *gamePlayer) differs() string {
	if !p.connected() {
		return fmt.Sprintf("it is %v: %v", p.c.Client.State(), p.c.Client.Err())
	}
	want := map[netcode.NetworkID]bool{}
	for _, e := range p.g.everybody() {
		parts, visible := p.g.sight.sees(p.ID(), p.g.world, e.Entity, e.id)
		if visible != p.g.net.Server.Visible(p.ID(), e.id) {
			return fmt.Sprintf("the server says that %v is visible: %v", e.id, !visible)
		}
		if !visible {
			want[e.id] = p.g.sight.way == wayKeep
			continue
		}
		want[e.id] = true
		if what := p.entityDiffers(e, parts); what != "" {
			return fmt.Sprintf("%v: %s", e.id, what)
		}
		if what := p.thingsDiffer(e); what != "" {
			return fmt.Sprintf("%v: %s", e.id, what)
		}
	}
	for id := range p.sorted {
		if !want[id] {
			return fmt.Sprintf("%v is there", id)
		}
	}
	for id := range p.lists {
		if !want[id] {
			return fmt.Sprintf("the list of %v is there", id)
		}
	}
	return p.wordsMissing()
}

// entityDiffers says in what an entity that a client may see is another there.
func (p *gamePlayer) entityDiffers(e *gameEntity, parts partMask) string {
	local, here := p.c.Entity(e.id)
	if !here || !p.w.Alive(local) {
		return "it is not there"
	}
	v, is := p.g.value(e), p.w.value(local)
	for part := range v {
		if !parts.has(part) {
			v[part] = nil
		}
		switch x := v[part].(type) {
		case gameNames:
			x.E = p.local(x.E)
			v[part] = x
		case gameAim:
			x.To = p.local(x.To)
			v[part] = x
		}
		if turn, ok := is[part].(gameTurn); ok {
			turn.Note = 0
			is[part] = turn
		}
		if !samePart(part, v[part], is[part]) {
			return fmt.Sprintf("part %d should be %v and is %v", part, v[part], is[part])
		}
	}
	return ""
}
