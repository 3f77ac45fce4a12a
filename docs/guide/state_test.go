package guide_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/interest"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/snapshot/format"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// The guide's recipes on what changed, what was, what will be and what it cost are what follows between the marks, line by line.

type Health struct{ Now uint8 }

type Shield struct{ Strength uint8 }

// begin guide
func save(server *netcode.Server, file io.Writer) error { return record.Save(server, file) } // the newest capture

func restore(group *systems.ServerSystems, world *ecs.World, file io.Reader) error { // in a system of the game, or after the first Step of a Runner
	entities, err := systems.Load(group, world, file)
	if err != nil {
		return err // nothing was made
	}
	for _, e := range entities {
		_, _ = group.ID(e) // each has its id by now
	}
	return nil
}

// end guide

// begin guide
func redraw(group systems.PlayerView, bar func(ecs.Entity, uint8), unshield func(ecs.Entity)) { // each frame
	if !group.Applied() {
		return // nothing new: what follows would be told again
	}
	for e, health := range systems.Changed[Health](group) { // added, or another value
		bar(e, health.Now)
	}
	shield := interest.MaskOf[Shield](group.Player().Protocol().Schema())
	for change := range group.Changes { // all of them: Entity, ID, Rows, Added, Removed, Spawned
		if change.Removed.Overlaps(shield) {
			unshield(change.Entity)
		}
	}
}

// end guide

// begin guide
func trail(server *netcode.Server, id netcode.NetworkID) (path []Position) { // newest first
	for t := server.Store().Tick(); ; t-- {
		p, ok, err := netcode.ValueAt[Position](server, id, t)
		if errors.Is(err, snapshot.ErrEvicted) || errors.Is(err, snapshot.ErrNotAlive) {
			return path // before the history, before it was born
		}
		if ok { // it had one
			path = append(path, p)
		}
	}
}

// end guide

// begin guide
type Shell struct {
	X, Y float32 `net:"min=-512,max=512,step=0.001"`
	Fuse uint16  `net:"extrapolate=linear"` // it burns down evenly
	Lit  bool
}

func fall(extrapolated []uint32, v *quantize.Baselines) { // of numbers of steps, in which 10 m/s² are 11 a tick and tick, at 30 Hz
	if v.Before == nil {
		return // one version says nothing of motion: extrapolated is what it was
	}
	for i := range 2 { // X, then Y; wrapped around is beyond all bounds, which counts as the bound
		moved := int64(v.Base[i]) - int64(v.Before[i])
		extrapolated[i] = uint32(int64(v.Base[i]) + moved*v.Age/v.Span)
	}
	extrapolated[1] -= uint32(11 * v.Age * (v.Age + v.Span) / 2)
}

func ballistics(protocol *netcode.Protocol) { // on both sides
	netcode.Replicate[Shell](protocol, netcode.ExtrapolatedBy("fall", fall))
}

// end guide

// begin guide
func learn(protocol *netcode.Protocol, recordings ...io.Reader) ([]byte, error) {
	var plans []*quantize.Plan
	for row := range protocol.Schema().Rows() {
		plans = append(plans, protocol.Schema().Plan(row))
	}
	tables, err := record.Train(plans, recordings...)
	if err != nil {
		return nil, err
	}
	return tables.AppendText(nil), nil // for delta.ParseTables and UseTables
}

// end guide

// begin guide
type metered struct { // the server's socket, in a test that has the client too
	systems.Socket
	client  *netcode.Client
	account *inspect.Attribution // inspect.New(protocol)
}

func (m *metered) Send(to transport.Addr, datagram []byte) error {
	m.account.Add(m.client, datagram)
	return m.Socket.Send(to, datagram)
}

// end guide

// stateGame is a server and a client over memory, with the guide's shells and a metered socket.
type stateGame struct {
	server  *systems.ServerSystems
	client  *systems.ClientSystems
	worlds  [2]*ecs.World
	account *inspect.Attribution
	step    func()
}

func newStateGame(t *testing.T) *stateGame {
	t.Helper()
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Health](p)
	netcode.Replicate[Shield](p)
	ballistics(p)
	g := &stateGame{worlds: [2]*ecs.World{ecs.New(), ecs.New()}, account: inspect.New(p)}
	var now time.Duration
	clock := func() time.Duration { return now }
	network := memory.NewNetwork()
	here, err := network.Listen(transport.MustParseAddr("127.0.0.1:1"))
	require.NoError(t, err)
	there, err := network.Listen(transport.Addr{})
	require.NoError(t, err)
	s, err := netcode.NewServer(p, netcode.Config{})
	require.NoError(t, err)
	c, err := netcode.NewClient(p, netcode.Config{})
	require.NoError(t, err)
	g.server = systems.NewServer(s, &metered{here, c, g.account}, clock)
	g.client = systems.NewClient(c, there, clock)
	loops := []*systems.Runner{systems.NewRunner(g.worlds[0], g.server, 60), systems.NewRunner(g.worlds[1], g.client, 60)}
	require.NoError(t, c.Connect(here.LocalAddr()))
	g.step = func() {
		for _, l := range loops {
			l.Step()
		}
		now += time.Second / 60
	}
	return g
}

func TestGuideStateRecipes(t *testing.T) {
	g := newStateGame(t)
	var file bytes.Buffer
	stop, err := record.Start(g.server.Server, &file)
	require.NoError(t, err)
	w := g.worlds[0]
	build := generic.NewMap4[components.Replicated, Position, Health, Shield](w)
	body := build.NewWith(&components.Replicated{}, &Position{}, &Health{100}, &Shield{5})
	shells := generic.NewMap2[components.Replicated, Shell](w)
	var flying []ecs.Entity
	bars, unshielded := map[ecs.Entity][]uint8{}, 0
	at, health, shell := generic.NewMap1[Position](w), generic.NewMap1[Health](w), generic.NewMap1[Shell](w)
	for frame := range 600 {
		if frame%2 == 0 { // a tick
			at.Get(body).X++
			if frame == 300 {
				health.Get(body).Now = 40
				ecs.Exchange(w, body, nil, []ecs.ID{ecs.ComponentID[Shield](w)}, nil)
			}
			if frame%10 == 0 {
				flying = append(flying, shells.NewWith(&components.Replicated{}, &Shell{Y: 100, X: float32(frame % 70), Fuse: 900}))
			}
			for i, e := range flying {
				s, age := shell.Get(e), float32(frame/2-5*i)/30
				s.X, s.Y, s.Fuse = s.X+0.5+float32(i%4)/10, 100+20*age-5*age*age, s.Fuse-3
			}
		}
		g.step()
		redraw(g.client, func(e ecs.Entity, now uint8) { bars[e] = append(bars[e], now) }, func(ecs.Entity) { unshielded++ })
	}
	require.Len(t, bars, 1)
	for _, told := range bars {
		require.Equal(t, []uint8{100, 40}, told, "once each")
	}
	require.Equal(t, 1, unshielded)

	id, ok := g.server.ID(body)
	require.True(t, ok)
	path := trail(g.server.Server, id)
	require.Greater(t, len(path), 50)
	for i, p := range path {
		require.Equal(t, path[0].X-float32(i), p.X)
	}
	_, _, err = netcode.ValueAt[Position](g.server.Server, id, g.server.Server.Store().Tick()+1)
	require.ErrorIs(t, err, snapshot.ErrNotYet)
	_, _, err = netcode.ValueAt[time.Time](g.server.Server, id, 1)
	require.ErrorIs(t, err, errs.ErrNoComponent)
	_, ok, err = netcode.ValueAt[Shield](g.server.Server, id, g.server.Server.Store().Tick())
	require.NoError(t, err)
	require.False(t, ok, "it was removed")
	_, _, err = netcode.ValueAt[Position](g.server.Server, id, tick.Tick(1))
	require.ErrorIs(t, err, snapshot.ErrEvicted)

	require.NoError(t, stop())
	text, err := learn(g.server.Server.Protocol(), bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	tables, err := delta.ParseTables(text)
	require.NoError(t, err)
	var names []string
	for _, table := range tables.All() {
		names = append(names, table.Name())
	}
	require.Contains(t, names, "Shell.0")

	require.Equal(t, 8*g.account.Bytes, g.account.Total())
	for _, c := range g.account.State.Components {
		if c.Name == "Shell" {
			require.NotZero(t, c.Delta)
			require.Less(t, float64(c.Delta)/float64(c.Rows[format.DeltaRows]), 20.0, "the extrapolation is near: bits of a row")
		}
	}
}

// TestGuideSaveAndLoad saves a game and loads it into another server.
func TestGuideSaveAndLoad(t *testing.T) {
	var file bytes.Buffer
	a := newHosted(t, protocol(), netcode.Config{}, nil)
	a.body(t)
	require.NoError(t, save(a.server, &file))
	b := newHosted(t, protocol(), netcode.Config{}, nil)
	require.NoError(t, restore(b.group.ServerSystems, b.world, &file))
	b.until(t, func() bool { return b.server.Store().Len() == 1 })
}
