package agones

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/arche-netcode/netcode/fleet"
)

const (
	// AnnotationMatch is the annotation with the ID of the match, for metadata.annotations of an allocation.
	AnnotationMatch = "netcode.fleet/match"
	// AnnotationData is the annotation with fleet.Match.Data as text.
	AnnotationData = "netcode.fleet/data"

	// lastAllocated is Agones' own annotation of an allocation. It tells two allocations without AnnotationMatch apart.
	lastAllocated = "agones.dev/last-allocated"
	// openPause is the pause between two attempts of Open, and firstPause and lastPause bound those between two watches.
	openPause  = 200 * time.Millisecond
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// Config has the settings of Open. The zero value writes no players.
type Config struct {
	SDK  SDK    // The sidecar.
	Port string // The name of the port in the Fleet for Lifecycle.Address; default: the first.

	// Counter and List name a counter and a list of the Fleet for the number of players and their identities; empty: none. They are beta in Agones.
	Counter, List string
	// Players writes the identities to the player tracking too, which is alpha in Agones and off by default.
	Players bool
}

// Lifecycle is a fleet.Lifecycle by the sidecar. Open makes one.
type Lifecycle struct {
	config  Config
	address string
	events  chan fleet.Event
	tracked []string // Players of the player tracking, sorted.
	places  int      // The last capacity of the player tracking.
}

// Open waits for the sidecar, which may start after the game, until ctx is done. It watches the game server from then on until ctx is
// done: give the context of the whole program.
func Open(ctx context.Context, config Config) (*Lifecycle, error) {
	l := &Lifecycle{config: config, events: make(chan fleet.Event, 16), places: -1}
	var known *GameServer
	for {
		limited, cancel := context.WithTimeout(ctx, 3*time.Second)
		g, err := config.SDK.GameServer(limited)
		cancel()
		if err == nil {
			known = g
			break
		}
		if !pause(ctx, openPause) {
			return nil, errors.Join(err, ctx.Err())
		}
	}
	if err := l.findAddress(known); err != nil {
		return nil, err
	}
	go l.watch(ctx)
	return l, nil
}

// findAddress takes the address of players from the resource.
func (l *Lifecycle) findAddress(g *GameServer) error {
	for _, p := range g.Status.Ports {
		if l.config.Port == "" || p.Name == l.config.Port {
			l.address = net.JoinHostPort(g.Status.Address, strconv.Itoa(p.Port))
			return nil
		}
	}
	if l.config.Port == "" {
		return nil // A server that nobody reaches from outside, or a sidecar for tests.
	}
	return fmt.Errorf("agones: the game server %q has no port %q: name one in spec.ports of the Fleet", g.ObjectMeta.Name, l.config.Port)
}

// Address returns the address at which players reach this server: for secure.Tokens, and for the allocator's secure.Token.Servers. It is
// empty if the game server has no port.
func (l *Lifecycle) Address() string { return l.address }

// Ready implements fleet.Lifecycle.
func (l *Lifecycle) Ready(ctx context.Context) error { return l.config.SDK.Ready(ctx) }

// Health implements fleet.Lifecycle.
func (l *Lifecycle) Health(ctx context.Context) error { return l.config.SDK.Health(ctx) }

// Shutdown implements fleet.Lifecycle.
func (l *Lifecycle) Shutdown(ctx context.Context) error { return l.config.SDK.Shutdown(ctx) }

// Events implements fleet.Lifecycle.
func (l *Lifecycle) Events() <-chan fleet.Event { return l.events }

// Report implements fleet.Lifecycle. It writes all that is configured, also after an error of a part.
func (l *Lifecycle) Report(ctx context.Context, s fleet.Status) (err error) {
	sdk := &l.config.SDK
	if l.config.Counter != "" {
		err = sdk.SetCounter(ctx, l.config.Counter, Counter{Count: Int(s.Players), Capacity: Int(s.Places)})
	}
	if l.config.List != "" {
		err = errors.Join(err, sdk.SetList(ctx, l.config.List, List{Capacity: Int(min(s.Places, 1000)), Values: s.Users[:min(len(s.Users), 1000)]}))
	}
	if l.config.Players {
		err = errors.Join(err, l.track(ctx, s))
	}
	return err
}

// track writes the players that came and went.
func (l *Lifecycle) track(ctx context.Context, s fleet.Status) error {
	if l.places != s.Places {
		if err := l.config.SDK.SetPlayerCapacity(ctx, s.Places); err != nil {
			return err
		}
		l.places = s.Places
	}
	for _, user := range slices.Clone(l.tracked) {
		if _, here := slices.BinarySearch(s.Users, user); here {
			continue
		}
		if err := l.config.SDK.PlayerDisconnect(ctx, user); err != nil {
			return err
		}
		at, _ := slices.BinarySearch(l.tracked, user)
		l.tracked = slices.Delete(l.tracked, at, at+1)
	}
	for _, user := range s.Users {
		at, here := slices.BinarySearch(l.tracked, user)
		if here {
			continue
		}
		if err := l.config.SDK.PlayerConnect(ctx, user); err != nil {
			return err
		}
		l.tracked = slices.Insert(l.tracked, at, user)
	}
	return nil
}

// watch follows the game server. A watch that ends is begun again: the sidecar may restart.
func (l *Lifecycle) watch(ctx context.Context) {
	seen, wait := "", firstPause
	for {
		pauseNow := wait
		err := l.config.SDK.Watch(ctx, func(g *GameServer) bool {
			pauseNow = firstPause
			e, ok := eventOf(g, &seen)
			if ok {
				select {
				case l.events <- e:
				case <-ctx.Done():
					return false
				}
			}
			return e.Kind != fleet.Drain
		})
		if err == nil {
			return // It drains, and hears no more.
		}
		if !pause(ctx, pauseNow) {
			return
		}
		wait = min(2*pauseNow, lastPause)
	}
}

// eventOf returns the event that a state of the game server means. seen is the newest match, which is told once.
func eventOf(g *GameServer, seen *string) (e fleet.Event, ok bool) {
	switch {
	case g.ObjectMeta.DeletionTimestamp != 0 || g.Status.State == "Shutdown" || g.Status.State == "Unhealthy":
		return fleet.Event{Kind: fleet.Drain, Err: fmt.Errorf("agones: the game server is in the state %.40q", g.Status.State)}, true
	case g.Status.State != "Allocated":
		return e, false
	}
	id := g.ObjectMeta.Annotations[AnnotationMatch]
	if id == "" { // Allocated by somebody who gives no match: the allocation is one.
		id = g.ObjectMeta.UID + "/" + g.ObjectMeta.Annotations[lastAllocated]
		id = id[max(0, len(id)-fleet.MaxMatch):]
	}
	if id == *seen {
		return e, false
	}
	*seen = id
	return fleet.Event{Kind: fleet.Allocated, Match: fleet.Match{ID: id, Data: []byte(g.ObjectMeta.Annotations[AnnotationData])}}, true
}

// pause waits. It returns false if ctx is done first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
