package nettest_test

import (
	"time"

	"github.com/mlange-42/arche/ecs"

	"github.com/arche-netcode/netcode"
)

// gamePast is the server's world as of a tick, and who was to see what of it.
type gamePast struct {
	values map[netcode.NetworkID]gameValue
	sight  map[netcode.ClientID]map[netcode.NetworkID]partMask
}

// gameKept is the model's knowledge of an entity since some tick.
type gameKept struct {
	changes []netcode.Tick                    // its birth and when it was another than in the tick before
	seen    map[netcode.ClientID]netcode.Tick // since when a client sees it, without a break
	paced   bool
}

// remember takes in what a tick has captured.
func (g *match) remember() {
	tick := g.net.Server.Store().Tick()
	if g.past[tick] != nil || len(g.all) == 0 {
		return
	}
	now, before := &gamePast{values: map[netcode.NetworkID]gameValue{}, sight: map[netcode.ClientID]map[netcode.NetworkID]partMask{}}, g.past[tick-1]
	for c := range g.net.Server.Clients {
		now.sight[c] = map[netcode.NetworkID]partMask{}
	}
	for _, e := range g.everybody() {
		if e.id.IsZero() {
			continue
		}
		v := g.value(e)
		now.values[e.id] = v
		kept := g.kept[e.id]
		if kept == nil {
			kept = &gameKept{changes: []netcode.Tick{tick}, seen: map[netcode.ClientID]netcode.Tick{}}
			g.kept[e.id] = kept
		}
		kept.paced = kept.paced || e.paced
		if before != nil {
			was, ok := before.values[e.id]
			if other := was.parts() ^ v.parts() | was.differing(&v); ok && other&^(pacedParts|namingParts|1<<partMine) != 0 {
				kept.changes = append(kept.changes, tick)
			}
		}
		for c, sight := range now.sight {
			parts, visible := g.sight.sees(c, g.world, e.Entity, e.id)
			if !visible {
				delete(kept.seen, c)
				continue
			}
			sight[e.id] = parts
			if _, since := kept.seen[c]; !since {
				kept.seen[c] = tick
			}
		}
	}
	g.past[tick] = now
	g.tape.remember(g.net.Server.Server)
}

// asOf holds each entity of a client to what it was at the server in the tick as of which the client knows it: all of it that the client
// may see and nothing else, but for whom it names, who may have come or gone since.
func (p *gamePlayer) asOf() {
	for e := range p.end().Replica().All {
		past := p.g.past[e.Tick]
		local, here := p.c.Entity(e.ID)
		if past == nil || !here || p.g.kept[e.ID].paced {
			continue
		}
		v, born := past.values[e.ID]
		parts, visible := past.sight[p.ID()][e.ID]
		p.hold(born && visible, e.ID, "is known as of", e.Tick, "when it was there:", born, "and visible:", visible)
		is := p.w.value(local)
		p.hold(is.parts() == v.parts()&parts, e.ID, "had as of", e.Tick, "parts", v.parts(), "of which visible", parts, "and has", is.parts())
		skip := pacedParts | namingParts
		if p.g.protocol.writes {
			skip |= 1 << partMine
		}
		for part := range is {
			if is[part] == nil || skip.has(part) {
				continue
			}
			if turn, ok := is[part].(gameTurn); ok {
				turn.Note = 0
				is[part] = turn
			}
			p.hold(samePart(part, v[part], is[part]), e.ID, "part", part, "as of", e.Tick, "was", v[part], "and is", is[part])
			p.g.met["values as of a tick"]++
		}
	}
}

// gameRecovery is the time for a client that slept, came anew or has lost its past.
const gameRecovery = time.Second

// fresh holds clients to knowing what changed some time ago, where nothing bounds what may be sent.
func (g *match) fresh(within time.Duration) {
	now := g.net.Server.Store().Tick()
	ago := netcode.Tick(within/g.net.Server.Interval()) + 3
	if now <= ago || g.past[now-ago] == nil {
		return
	}
	for _, p := range g.players {
		if !p.end().Running() || !p.connected() || p.sleep > 0 || g.net.Now()-p.calm <= within+gameRecovery || g.past[now-ago].sight[p.ID()] == nil {
			continue
		}
		for id := range g.past[now].values {
			kept := g.kept[id]
			since, visible := kept.seen[p.ID()]
			if !visible || since > now-ago || kept.paced {
				continue
			}
			changed := netcode.Tick(0)
			for _, tick := range kept.changes {
				if tick <= now-ago {
					changed = tick
				}
			}
			e := p.end().Replica().Entity(id.Index)
			p.hold(e.ID == id && e.Tick >= changed, id, "changed at", changed, "and is seen since", since, "but known as of", e.Tick, "at", now)
			g.met["fresh"]++
		}
	}
}

// local returns a server's entity as it is at a client.
func (p *gamePlayer) local(e ecs.Entity) ecs.Entity {
	if e.IsZero() || !p.g.world.Alive(e) {
		return ecs.Entity{}
	}
	for _, f := range p.g.all {
		if f.Entity != e {
			continue
		}
		if _, visible := p.g.sight.sees(p.ID(), p.g.world, f.Entity, f.id); visible {
			local, _ := p.c.Entity(f.id)
			return local
		}
	}
	return ecs.Entity{}
}
