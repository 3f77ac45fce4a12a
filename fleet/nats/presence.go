package nats

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// presences has the players of this process, and tells the directory about them in a goroutine of its own. There are as many as the servers have
// players.
type presences struct {
	node *Node
	wake chan struct{}

	mu    sync.Mutex
	all   map[string]*presence
	fence uint64
}

// presence is a player of this process.
type presence struct {
	match    string
	gone     bool
	told     bool // The directory has it, under the present fence.
	revision uint64
}

func newPresences(n *Node) *presences {
	return &presences{node: n, wake: make(chan struct{}, 1), all: map[string]*presence{}}
}

// enter notes that a player is in a match.
func (p *presences) enter(user, match string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.all[user]
	if old == nil {
		old = &presence{}
		p.all[user] = old
	}
	old.match, old.gone, old.told = match, false, false
	p.signal()
}

// leave notes that a player has left a match. If it is in another one here by now, that stays.
func (p *presences) leave(user, match string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if old := p.all[user]; old != nil && old.match == match {
		old.gone, old.told = true, false
		p.signal()
	}
}

// again tells about a player whose key was removed while it is here: it was in two matches, as one that moves, and has left the other.
func (p *presences) again(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.all[user]; one != nil && !one.gone {
		one.told = false
		p.signal()
	}
}

// under tells everybody again, if the fence is a new one.
func (p *presences) under(fence uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fence == fence {
		return
	}
	p.fence = fence
	for _, one := range p.all {
		one.told = false
	}
	p.signal()
}

func (p *presences) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run tells the directory what has changed, and tries again what failed.
func (p *presences) run(ctx context.Context) {
	again := time.NewTicker(p.node.config.Lease / 3)
	defer again.Stop()
	for {
		select {
		case <-p.wake:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		p.tell(ctx)
	}
}

// tell tells the directory about each player that it does not know. It ends with the first failure: the directory does not answer then.
func (p *presences) tell(ctx context.Context) {
	for user, one := range p.untold() {
		if ctx.Err() != nil || !p.tellOne(ctx, user, one) {
			return
		}
	}
}

// untold returns copies of the players that the directory does not know as they are.
func (p *presences) untold() map[string]presence {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := map[string]presence{}
	for user, one := range p.all {
		if !one.told {
			list[user] = *one
		}
	}
	return list
}

// tellOne writes, or removes, one player's key.
func (p *presences) tellOne(ctx context.Context, user string, one presence) bool {
	n := p.node
	ctx, cancel := context.WithTimeout(ctx, n.config.Lease)
	defer cancel()
	token := userToken(user)
	if one.gone {
		n.unsubscribe("p." + token)
		if one.revision != 0 && !p.remove(ctx, playerPrefix+token, one) {
			return false
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if now := p.all[user]; now != nil && now.gone {
			delete(p.all, user)
		}
		return true
	}
	fence := n.Fence()
	if fence == 0 {
		return false
	}
	if err := n.subscribe("p." + token); err != nil {
		return false
	}
	revision, err := n.kv.Put(ctx, playerPrefix+token, encode(playerEntry{Server: n.config.Server, Fence: fence, Match: one.match}))
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.all[user]; now != nil {
		now.revision = revision
		now.told = now.match == one.match && !now.gone && p.fence == fence
	}
	return true
}

// remove removes the key of a player that has left, unless it is another process's by now. One of this process, of an attempt whose answer was lost, is
// removed too.
func (p *presences) remove(ctx context.Context, key string, one presence) bool {
	n := p.node
	err := n.remove(ctx, key, one.revision)
	if !rewritten(err) {
		return err == nil
	}
	e, err := n.kv.Get(ctx, key)
	if err != nil {
		return errors.Is(err, jetstream.ErrKeyNotFound)
	}
	_, in, bad := decodePlayer(key, e.Value())
	if bad != nil || in.Server != n.config.Server || in.Match != one.match || e.Revision() < one.revision {
		return true
	}
	err = n.remove(ctx, key, e.Revision())
	return err == nil || rewritten(err)
}

// rewritten reports whether an error says that a key has another revision than the expected one: somebody else has written it.
func rewritten(err error) bool {
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch)
}

// clear removes all players of this process, at its end.
func (p *presences) clear(ctx context.Context) {
	p.mu.Lock()
	for _, one := range p.all {
		one.gone, one.told = true, false
	}
	p.mu.Unlock()
	p.tell(ctx)
}

// Player returns where a player of the fleet is. ok is false if it is nowhere, as far as this process has heard: news take a few milliseconds.
func (n *Node) Player(user string) (p Presence, ok bool) {
	d := n.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.players[user]
	if !ok || !d.alive(k.entry.Server, k.entry.Fence) {
		return Presence{}, false
	}
	return Presence{User: user, Server: k.entry.Server, Match: k.entry.Match}, true
}

// Players yields the players of the fleet, in no order. The body of the loop may call anything.
func (n *Node) Players(yield func(Presence) bool) {
	d := n.directory
	d.mu.Lock()
	list := make([]Presence, 0, len(d.players))
	for user, k := range d.players {
		if d.alive(k.entry.Server, k.entry.Fence) {
			list = append(list, Presence{User: user, Server: k.entry.Server, Match: k.entry.Match})
		}
	}
	d.mu.Unlock()
	for _, p := range list {
		if !yield(p) {
			return
		}
	}
}

// Servers yields the processes of the fleet that have their leases, in no order.
func (n *Node) Servers(yield func(Server) bool) {
	d := n.directory
	d.mu.Lock()
	list := make([]Server, 0, len(d.servers))
	for name, k := range d.servers {
		list = append(list, Server{Name: name, Address: k.entry.Address, Data: k.entry.Data, Fence: k.entry.Fence, Takes: k.entry.Takes})
	}
	d.mu.Unlock()
	for _, s := range list {
		if !yield(s) {
			return
		}
	}
}

// Match returns a match of the fleet, as far as this process has heard. Players whose connection broke are told the Address anew.
func (n *Node) Match(id string) (m MatchInfo, ok bool) {
	n.directory.mu.Lock()
	defer n.directory.mu.Unlock()
	return n.directory.info(id)
}

// Matches yields the matches of the fleet, in no order.
func (n *Node) Matches(yield func(MatchInfo) bool) {
	d := n.directory
	d.mu.Lock()
	list := make([]MatchInfo, 0, len(d.matches))
	for id := range d.matches {
		m, _ := d.info(id)
		list = append(list, m)
	}
	d.mu.Unlock()
	for _, m := range list {
		if !yield(m) {
			return
		}
	}
}

// info describes a match. The caller holds the lock.
func (d *directory) info(id string) (m MatchInfo, ok bool) {
	k, ok := d.matches[id]
	if !ok {
		return m, false
	}
	m = MatchInfo{ID: id, Data: k.entry.Data, Server: k.entry.Server, Saved: k.entry.Saved}
	if d.alive(k.entry.Server, k.entry.Fence) {
		m.Address = d.servers[k.entry.Server].entry.Address
	}
	return m, true
}
