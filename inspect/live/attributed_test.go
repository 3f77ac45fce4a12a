package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/inspect/live"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// heldPage is a page of events whose reader reads nothing until the gate opens.
type heldPage struct {
	gate   chan struct{}
	mu     sync.Mutex
	text   bytes.Buffer
	header http.Header
}

func (p *heldPage) Header() http.Header { return p.header }
func (p *heldPage) WriteHeader(int)     {}
func (p *heldPage) Flush()              {}

func (p *heldPage) Write(text []byte) (int, error) {
	<-p.gate
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

// came returns the snapshots that were read.
func (p *heldPage) came(t *testing.T) (all []live.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range strings.Split(p.text.String(), "\n") {
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			all = append(all, live.Snapshot{})
			require.NoError(t, json.Unmarshal([]byte(text), &all[len(all)-1]))
		}
	}
	return all
}

// open opens a page of events.
func (r *rig) open(ctx context.Context, path string) *heldPage {
	p := &heldPage{gate: make(chan struct{}), header: http.Header{}}
	request := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil).WithContext(ctx)
	go r.inspector.ServeHTTP(p, request)
	return p
}

// look is a request that tells the inspector that somebody looks, in virtual time.
func (r *rig) look() {
	ctx, gone := context.WithCancel(context.Background())
	gone()
	request := httptest.NewRequest(http.MethodGet, "http://localhost/events", nil).WithContext(ctx)
	r.inspector.ServeHTTP(httptest.NewRecorder(), request)
}

// crowd makes a game of 14 named clients on lines that lose a fifth of all datagrams. A client sees the bodies near its own. Bodies move,
// come and go.
func crowd(t *testing.T) *rig {
	r := newRig(t, 0)
	r.server.OnApprove(func(a *netcode.Approval) { a.Accept(string(a.Payload)) })
	grid := interest.NewGrid(interest.GridConfig{Enter: 60, Position: func(_ *snapshot.Store, id netcode.NetworkID) (x, y, z float32, ok bool) {
		return float32(id.Index % 200), 0, 0, true
	}})
	r.server.SetInterest(interest.New(grid, interest.Despawn))
	r.server.OnConnect(func(id netcode.ClientID) { grid.Look(id, float32(id*12), 0, 0) })
	build, bodies, frame := generic.NewMap3[components.Replicated, place, health](r.world), []ecs.Entity(nil), 0
	r.group.Add(tick.Update, systems.Func(func(*ecs.World) {
		if frame++; frame%3 == 0 {
			bodies = append(bodies, build.New())
		}
		if len(bodies) > 150 {
			r.world.RemoveEntity(bodies[0])
			bodies = bodies[1:]
		}
	}))
	r.link = transport.Link{Loss: 0.2, Delay: 20 * time.Millisecond}
	for n := range 14 {
		r.join(uint16(n+2), fmt.Appendf(nil, "player %d", n))
	}
	return r
}

// attributed checks snapshots of one page against the bytes that the socket was given, and returns the bits of an owner.
func (r *rig) attributed(all []live.Snapshot, owner string) (owned uint64) {
	for n := 1; n < len(all); n++ {
		s, from, to := &all[n], totalAt(r.totals, all[n-1].At), totalAt(r.totals, all[n].At)
		require.Equal(r.t, to.out-from.out, s.Bandwidth.Out, "snapshot %d after %d", s.Number, all[n-1].Number)
		require.Equal(r.t, to.outPieces-from.outPieces, s.Bandwidth.OutPieces)
		require.Equal(r.t, to.in-from.in, s.Bandwidth.In)
		for _, by := range []map[string]uint64{s.Bandwidth.Parts, s.Bandwidth.Entities, s.Bandwidth.Owners} {
			sum := uint64(0)
			for _, bits := range by {
				sum += bits
			}
			require.Equal(r.t, 8*s.Bandwidth.Out, sum, "%v", by)
		}
		require.NotContains(r.t, s.Bandwidth.Parts, "unreadable")
		require.LessOrEqual(r.t, len(s.Bandwidth.Entities), 64+2)
		owned += s.Bandwidth.Owners[owner]
		for _, c := range s.Clients {
			require.Regexp(r.t, `^player \d+$`, c.Identity)
		}
	}
	return owned
}

// Each byte to 14 clients is in a part, in each interval, exactly: with interest, a fifth of all datagrams lost, a page that reads nothing
// for seconds beside one that reads, and on a machine on which a look at the clock takes half a tick. A page that missed snapshots gets
// their sums with the next one.
func TestEachByteIsAttributed(t *testing.T) {
	r := crowd(t)
	r.step(60)
	ctx, closePages := context.WithCancel(context.Background())
	defer closePages()
	pages := []*heldPage{r.open(ctx, "/events?client=3"), r.open(ctx, "/events?client=3")}
	close(pages[0].gate)
	until := time.Now().Add(patience)
	await := func(done func() bool) {
		for !done() {
			require.True(t, time.Now().Before(until))
			r.look()
			r.step(1)
			time.Sleep(100 * time.Microsecond)
		}
	}
	await(func() bool { return len(pages[0].came(t)) > 0 })
	for range 8 {
		r.look()
		r.step(60)
	}
	for id := range r.server.Store().All {
		require.True(t, r.server.SetOwner(id, 3))
	}
	r.clock = func() time.Duration { r.now += 8 * time.Millisecond; return r.now }
	for range 80 {
		r.look()
		r.step(1)
	}
	close(pages[1].gate)
	last := r.now.Seconds()
	for _, p := range pages {
		await(func() bool { all := p.came(t); return len(all) > 0 && all[len(all)-1].At > last })
		all := p.came(t)
		require.NotZero(t, r.attributed(all, "client 3"))
		if p == pages[1] {
			missed := all[len(all)-1].Number - all[0].Number + 1 - uint64(len(all))
			require.NotZero(t, missed, "it was slow")
		}
	}
}
