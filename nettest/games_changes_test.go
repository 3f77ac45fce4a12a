package nettest_test

import (
	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
)

// observe compares a client's world with the frame before: change observers and hooks have told exactly what is another.
func (p *gamePlayer) observe() {
	told := map[netcode.NetworkID]netecs.Change{}
	if p.c.Apply.Applied() {
		for x := range p.c.Changes {
			_, twice := told[x.ID]
			p.hold(!twice, x.ID, "was told of twice")
			told[x.ID] = x
		}
	}
	now := map[netcode.NetworkID]*gameSeen{}
	p.w.each(func(e ecs.Entity, id netcode.NetworkID) {
		p.hold(now[id] == nil, id, "is there twice")
		now[id] = &gameSeen{Entity: e, v: p.w.value(e)}
	})
	for id, is := range now {
		p.hold(p.alive[is.Entity] == id, id, "is there, and was not announced:", p.alive[is.Entity])
		p.hold(gameAt[gameSprite](p.w, is.Entity, p.w.sprite).ID == id, id, "has another's sprite")
		p.compare(id, p.seen[id], is, told)
		if turn, ok := is.v[partTurn].(gameTurn); ok {
			p.hold(p.notes[id] == turn.Note, id, "has another note than the client's:", turn.Note, p.notes[id])
			turn.Note = 0
			is.v[partTurn] = turn
		} else {
			delete(p.notes, id)
		}
	}
	for e, id := range p.alive {
		p.hold(now[id] != nil && now[id].Entity == e, id, "is not there, and its end was not announced")
	}
	for id, was := range p.seen {
		if now[id] == nil || now[id].Entity != was.Entity {
			p.hold(p.left[id] == was.Entity, id, "has gone without a hook")
		}
	}
	for id, x := range told {
		p.hold(now[id] != nil && now[id].Entity == x.Entity, id, "was told of and is not there")
	}
	p.seen = now
	p.groups()
}

// compare holds what was told of an entity to what it is and was.
func (p *gamePlayer) compare(id netcode.NetworkID, was, is *gameSeen, told map[netcode.NetworkID]netecs.Change) {
	x, ok := told[id]
	rows, added, removed := p.g.protocol.parts(x.Rows), p.g.protocol.parts(x.Added), p.g.protocol.parts(x.Removed)
	if was == nil || was.Entity != is.Entity {
		p.hold(ok && x.Spawned && rows == is.v.parts() && added == rows && removed == 0, id, "is new with", is.v.parts(), "and told:", ok, x)
		p.g.met["changes"]++
		return
	}
	before, after := was.v.parts(), is.v.parts()
	p.hold(!x.Spawned, id, "was there and is told as new")
	p.hold(added == after&^before && removed == before&^after, id, "has", after, "and had", before, "told:", x)
	for part := range is.v {
		if is.v[part] == nil || added.has(part) {
			p.hold(rows.has(part) == added.has(part), id, "part", part, "told:", x)
			continue
		}
		v := is.v[part]
		if turn, ok := v.(gameTurn); ok {
			turn.Note = 0
			v = turn
		}
		switch {
		case part == partMine && p.g.protocol.writes:
		case rows.has(part):
			p.hold(v != was.v[part], id, "part", part, "was told of and is as it was:", v)
			p.g.met["changes"]++
		case v == was.v[part]:
		default:
			p.hold(was.wrote[part] == v, id, "part", part, "was not told of and was", was.v[part], "is", v)
			is.v[part], is.wrote[part] = was.v[part], v
		}
	}
}

func (p *gamePlayer) hold(ok bool, what ...any) {
	if !ok {
		p.g.hold(false, append([]any{"client", p.i}, what...)...)
	}
}

// groups holds what changes together in a group to being seen together: where nothing of it is hidden and it is no larger than a packet.
func (p *gamePlayer) groups() {
	stats, known := p.g.net.Server.ClientStats(p.ID())
	if p.torn = p.torn || !known || stats.Snapshot.TornGroups > 0; p.torn || p.g.oversize || p.g.sight.way >= wayKeep {
		return
	}
	stamps := map[uint32]gameStamp{}
	for id, is := range p.seen {
		group, ok := is.v[partGroup].(components.Group)
		if !ok || group.ID == 0 {
			continue
		}
		stamp := is.v[partStamp].(gameStamp)
		if other, ok := stamps[group.ID]; ok {
			if stamp != other {
			}
			p.hold(stamp == other, "group", group.ID, "is torn at", id, stamp, other)
			p.g.met["groups"]++
		}
		stamps[group.ID] = stamp
	}
}
