package nats

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// entry is the value of this process's own key.
func (n *Node) entry(fence uint64) []byte {
	c := &n.config
	return encode(serverEntry{Session: n.session, Fence: fence, Address: c.Address, Data: c.Data, Takes: n.takes.Load()})
}

// acquire gets a lease. It waits out that of a former process of this name.
func (n *Node) acquire(ctx context.Context) error {
	var foreign uint64 // The newest revision of another process's value, and since when it is that.
	var since time.Duration
	renewals := 0
	return n.retry(ctx, func(ctx context.Context) error {
		asked := n.now()
		revision, err := n.kv.Create(ctx, serverKey(n.config.Server), n.entry(0))
		if err == nil {
			n.granted(asked, revision, revision)
			return nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return err
		}
		e, err := n.kv.Get(ctx, serverKey(n.config.Server))
		if err != nil {
			return err
		}
		_, in, err := decodeServer(e.Key(), e.Value())
		if err == nil && in.Session == n.session { // An earlier attempt, whose answer was lost.
			fence := in.Fence
			if fence == 0 {
				fence = e.Revision()
			}
			n.granted(asked, fence, e.Revision())
			return nil
		}
		if e.Revision() != foreign {
			if foreign != 0 && err == nil {
				renewals++
			}
			foreign, since = e.Revision(), n.now().mono
		}
		if renewals >= 2 {
			return ErrName // It lives.
		}
		if d := newDeaths(n.config.Lease); n.now().mono-since > d.length+d.margin {
			return errors.Join(errNameTaken, n.remove(ctx, e.Key(), foreign)) // The next attempt creates it.
		}
		return errNameTaken
	})
}

// errNameTaken means that the name's lease is not over.
var errNameTaken = errors.New("nats: the lease of this name is not over yet")

// granted notes a lease. The players of an earlier one are told under the new one.
func (n *Node) granted(asked moment, fence, revision uint64) {
	n.mu.Lock()
	n.revision = revision
	n.mu.Unlock()
	n.lease.grant(asked, fence)
	n.counters.renewed.Add(1)
	n.presence.under(fence)
}

// remove takes a key out of the directory, if it has that revision. The marker that is left goes after a minute.
func (n *Node) remove(ctx context.Context, key string, revision uint64) error {
	return n.kv.Purge(ctx, key, jetstream.LastRevision(revision), jetstream.PurgeTTL(markers))
}

// markers bounds the time for which the directory keeps that a key was removed, for watches that are late.
const markers = time.Minute

// keep renews the lease, buries those of others that are over, and takes over their matches.
func (n *Node) keep(ctx context.Context) {
	every := time.NewTicker(n.config.Lease / 5)
	defer every.Stop()
	d := newDeaths(n.config.Lease)
	d.wrote(n.now().mono)
	orphaned := map[string]time.Duration{} // Since when a match has nobody.
	for {
		select {
		case <-every.C:
		case <-n.directory.changed:
		case <-ctx.Done():
			return
		}
		n.renew(ctx, d)
		n.note(d)
		for _, w := range d.due(n.now().mono) {
			n.bury(ctx, d, w)
		}
		n.adopt(ctx, d, orphaned)
		for _, m := range n.running() {
			if n.now().mono < d.written+n.config.Lease/4 { // The lease comes first; the rest follows in the next turn.
				m.renew(ctx)
			}
		}
	}
}

// renew renews the lease if it is time to. One that somebody has ended is got anew.
func (n *Node) renew(ctx context.Context, d *deaths) {
	asked := n.now()
	n.mu.Lock()
	revision := n.revision
	n.mu.Unlock()
	if asked.mono < d.written+n.config.Lease/6 && revision != 0 {
		return
	}
	one, cancel := context.WithTimeout(ctx, n.config.Lease/3)
	defer cancel()
	fence := n.lease.last()
	if revision == 0 {
		n.reacquire(one, asked, d)
		return
	}
	next, err := n.kv.Update(one, serverKey(n.config.Server), n.entry(fence), revision)
	if err != nil {
		n.counters.notRenewed.Add(1)
		n.find(one)
		return
	}
	n.granted(asked, fence, next)
	d.wrote(n.now().mono)
}

// reacquire gets a lease in the place of one that is over.
func (n *Node) reacquire(ctx context.Context, asked moment, d *deaths) {
	revision, err := n.kv.Create(ctx, serverKey(n.config.Server), n.entry(0))
	if err != nil {
		n.counters.notRenewed.Add(1)
		n.find(ctx)
		return
	}
	n.granted(asked, revision, revision)
	d.wrote(n.now().mono)
}

// find looks up this process's key after a renewal that failed. The answer may have been lost, or another process has ended the lease.
func (n *Node) find(ctx context.Context) {
	e, err := n.kv.Get(ctx, serverKey(n.config.Server))
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err == nil:
		_, in, bad := decodeServer(e.Key(), e.Value())
		if e.Revision() < n.revision {
			return // A copy that is behind.
		}
		if bad == nil && in.Session == n.session && (in.Fence == n.lease.last() || in.Fence == 0) {
			if in.Fence == 0 && e.Revision() != n.lease.last() {
				n.lease.grant(moment{}, e.Revision()) // Created by a question whose answer was lost: the next renewal grants it.
			}
			n.revision = e.Revision()
			return
		}
	case !errors.Is(err, jetstream.ErrKeyNotFound):
		return // The directory does not answer.
	}
	if n.revision != 0 {
		n.counters.lapsed.Add(1)
	}
	n.revision = 0
	n.lease.drop()
}

// note tells the watch over leases what the directory has.
func (n *Node) note(d *deaths) {
	now := n.now().mono
	n.directory.mu.Lock()
	defer n.directory.mu.Unlock()
	for name, s := range n.directory.servers {
		if name != n.config.Server {
			d.saw(name, s.revision, now)
		}
	}
	for name := range d.servers {
		if _, ok := n.directory.servers[name]; !ok {
			d.gone(name)
		}
	}
}

// bury ends a lease that is over. It fails if the owner renewed it after all: then this process's copy of the directory is old.
func (n *Node) bury(ctx context.Context, d *deaths, w watched) {
	one, cancel := context.WithTimeout(ctx, n.config.Lease/3)
	defer cancel()
	if err := n.remove(one, serverKey(w.name), w.revision); err == nil {
		n.counters.buried.Add(1)
		n.directory.put(serverKey(w.name), nil, w.revision)
		d.gone(w.name)
		return
	}
	if e, err := n.kv.Get(one, serverKey(w.name)); err == nil {
		n.directory.put(e.Key(), e.Value(), e.Revision())
		d.saw(w.name, e.Revision(), n.now().mono)
	} else if errors.Is(err, jetstream.ErrKeyNotFound) {
		n.directory.put(serverKey(w.name), nil, w.revision)
		d.gone(w.name)
	}
}

// adopt takes over matches whose process died. Each has an order of candidates, so that they are spread and seldom asked for twice; the directory lets
// one have it.
func (n *Node) adopt(ctx context.Context, d *deaths, orphaned map[string]time.Duration) {
	orphans := n.directory.orphans()
	now := n.now().mono
	for id := range orphaned {
		if !slices.Contains(orphans, id) {
			delete(orphaned, id)
		}
	}
	n.sweepPlayers(ctx)
	fence := n.Fence()
	for _, id := range orphans {
		if _, ok := orphaned[id]; !ok {
			orphaned[id] = now
		}
		if n.now().mono > d.written+n.config.Lease/4 {
			return // The lease comes first; the rest follows in the next turn.
		}
		if !n.takes.Load() || fence == 0 || now-orphaned[id] < time.Duration(n.rank(id))*n.config.Lease/10 || n.has(id) {
			continue
		}
		if o := n.claim(ctx, id, fence); o != nil {
			n.counters.taken.Add(1)
			delete(orphaned, id)
			go n.config.Orphan(o)
		}
	}
}

// has reports whether this process runs a match.
func (n *Node) has(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.matches[id] != nil
}

// rank returns this process's place among the candidates for a match.
func (n *Node) rank(id string) (rank int) {
	mine := score(id, n.config.Server)
	for _, name := range n.directory.takers() {
		if s := score(id, name); s > mine || s == mine && name < n.config.Server {
			rank++
		}
	}
	return rank
}

// score spreads matches over processes: the highest of a match comes first.
func score(id, server string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id + "\x00" + server))
	x := h.Sum64()
	x ^= x >> 33 // The last bytes of a name alone change few bits of the sum.
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// claim writes this process into the key of a match; nil: another one was faster.
func (n *Node) claim(ctx context.Context, id string, fence uint64) *Orphan {
	m, ok := n.directory.match(id)
	if !ok {
		return nil
	}
	one, cancel := context.WithTimeout(ctx, n.config.Lease/3)
	defer cancel()
	e := m.entry
	dead := e.Server
	e.Server, e.Fence = n.config.Server, fence
	revision, err := n.kv.Update(one, matchKey(id), encode(e), m.revision)
	if err != nil {
		if now, err := n.kv.Get(one, matchKey(id)); err == nil {
			n.directory.put(now.Key(), now.Value(), now.Revision())
		}
		return nil
	}
	n.directory.put(matchKey(id), encode(e), revision)
	return &Orphan{ID: id, Data: e.Data, From: dead, node: n, entry: e, revision: revision}
}

// strayPlayers bounds the players of dead processes that are taken out in a turn.
const strayPlayers = 64

// sweepPlayers takes players of dead processes out of the directory. All processes do so; the directory lets one do each.
func (n *Node) sweepPlayers(ctx context.Context) {
	one, cancel := context.WithTimeout(ctx, n.config.Lease/3)
	defer cancel()
	for user, revision := range n.directory.strays(strayPlayers) {
		key := playerPrefix + userToken(user)
		if n.remove(one, key, revision) == nil {
			n.directory.put(key, nil, revision)
		}
	}
}

// watch keeps the copy of the directory. It begins anew if its own renewals do not come back: the consumer of a NATS server that died is silent.
func (n *Node) watch(ctx context.Context, first chan struct{}) {
	for ctx.Err() == nil {
		n.watchOnce(ctx, func() {
			if first != nil {
				close(first)
				first = nil
			}
		})
		n.counters.watches.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// watchOnce reads one watch until it fails or is silent.
func (n *Node) watchOnce(ctx context.Context, all func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	patience := time.AfterFunc(n.config.Lease, cancel) // While a cluster elects nobody answers, and NATS would wait for five seconds.
	watcher, err := n.kv.WatchAll(ctx)
	if err != nil || !patience.Stop() {
		return
	}
	defer func() { go func() { _ = watcher.Stop() }() }() // It asks for the end of a consumer that may be dead, for five seconds.
	n.directory.begin()
	check := time.NewTicker(n.config.Lease / 2)
	defer check.Stop()
	behind := false
	for {
		select {
		case e, ok := <-watcher.Updates():
			switch {
			case !ok:
				return
			case e == nil:
				n.directory.sweep()
				all()
			case e.Operation() == jetstream.KeyValuePut:
				n.directory.put(e.Key(), e.Value(), e.Revision())
			default:
				n.directory.put(e.Key(), nil, e.Revision())
				if strings.HasPrefix(e.Key(), playerPrefix) {
					n.presence.again(nameOf(e.Key()))
				}
			}
		case <-check.C:
			n.mu.Lock()
			mine := n.revision
			n.mu.Unlock()
			n.directory.mu.Lock()
			lags := n.directory.newest < mine
			n.directory.mu.Unlock()
			if lags && behind {
				return
			}
			behind = lags
		case <-ctx.Done():
			return
		}
	}
}
