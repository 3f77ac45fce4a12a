package game

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/predict"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// velocity of a body, in m/s. It never travels.
type velocity struct{ X, Y float32 }

// State is a world at a tick. The hashes of two ends that have the same are equal.
type State struct {
	Tick     int64
	Hash     string // Text, because numbers of JavaScript have 53 bits.
	Entities int
}

// Match is the server of a game.
type Match struct {
	Server  *netcode.Server
	Group   systems.Group // An inspector may take its place before Run.
	world   ecs.World
	loop    *systems.Runner
	avatars map[netcode.ClientID]ecs.Entity
	bodies  *generic.Filter2[Position, velocity]
	stopped bool
	left    error   // Of the player that left last.
	watched []State // By tick, modulo its length; empty: Watch was not called.
}

// config is that of both ends: a page that nobody looks at may stand still for seconds.
func config() netcode.Config {
	return netcode.Config{HandshakeTimeout: 30 * time.Second, SilenceTimeout: 30 * time.Second}
}

// NewMatch makes a server on a socket.
func NewMatch(socket systems.Socket) (*Match, error) { return NewCrowd(socket, Bodies) }

// NewCrowd makes a server of another number of bodies. A client gets as much as they need.
func NewCrowd(socket systems.Socket, bodies int) (*Match, error) {
	config := config()
	if bodies > Bodies {
		config.SendBudget = -1
	}
	server, err := netcode.NewServer(NewProtocol(), config)
	if err != nil {
		return nil, err
	}
	m := &Match{Server: server, world: ecs.NewWorld(), avatars: map[netcode.ClientID]ecs.Entity{}, bodies: generic.NewFilter2[Position, velocity]()}
	server.OnError(func(err error) { log.Print("server: ", err) })
	server.OnConnect(m.enter)
	server.OnDisconnect(m.leave)
	group := systems.NewServer(server, socket, systems.WallClock())
	group.Add(tick.Update, systems.Func(m.moveBodies))
	predict.Simulate(group, predict.Config{}, predict.Func(move))
	build := generic.NewMap4[components.Replicated, Position, velocity, Look](&m.world)
	random := rand.New(rand.NewPCG(1, 2))
	for range bodies {
		build.NewWith(&components.Replicated{},
			&Position{(random.Float32()*2 - 1) * HalfWidth, (random.Float32()*2 - 1) * HalfHeight},
			&velocity{random.Float32()*12 - 6, random.Float32()*12 - 6}, &Look{uint8(random.UintN(256))})
	}
	m.Group = group
	m.loop = systems.NewRunner(&m.world, group, frameRate)
	return m, nil
}

// Run plays until ctx is done.
func (m *Match) Run(ctx context.Context) error {
	m.loop.Group = m.Group
	return m.loop.Run(ctx)
}

// Stop stops all bodies, and returns the last tick in which they moved. Players go on.
func (m *Match) Stop() (last int64) {
	m.loop.Do(func() { m.stopped, last = true, int64(m.Server.Tick()) })
	return last
}

// Left returns why the player that left last did so; nil if nobody left.
func (m *Match) Left() (why error) {
	m.loop.Do(func() { why = m.left })
	return why
}

// Watch makes At know the states of the last minutes. It is called before Run.
func (m *Match) Watch() {
	m.watched = make([]State, 1<<14)
	extend.OfServer(m.Server).Extend(extend.ServerHooks{Captured: func() {
		now := m.state()
		m.watched[now.Tick%int64(len(m.watched))] = now
	}})
}

// At returns the state of a tick since Watch.
func (m *Match) At(tick int64) (s State, ok bool) {
	m.loop.Do(func() { s = m.watched[tick%int64(len(m.watched))] })
	return s, s.Tick == tick
}

// State returns what clients should have.
func (m *Match) State() (s State) {
	m.loop.Do(func() { s = m.state() })
	return s
}

// Numbers returns every number of the world, an entity a line, in the order of the ids: the page in JavaScript has the same text.
func (m *Match) Numbers() (text string) {
	m.loop.Do(func() {
		var ids []netcode.NetworkID
		for id := range m.Server.Store().All {
			ids = append(ids, id)
		}
		slices.SortFunc(ids, func(a, b netcode.NetworkID) int { return int(a.Index) - int(b.Index) })
		for i, id := range ids {
			if i > 0 {
				text += "\n"
			}
			text += fmt.Sprintf("%dv%d", id.Index, id.Generation)
			for row := range m.Server.Protocol().Schema().Rows() {
				for _, lane := range m.Server.Store().Row(id, row) {
					text += fmt.Sprint(" ", lane)
				}
			}
		}
	})
	return text
}

func (m *Match) state() State {
	store, schema := m.Server.Store(), m.Server.Protocol().Schema()
	return State{int64(m.Server.Tick()), hashText(netecs.DigestStore(store, schema, nil)), store.Len()}
}

// moveBodies is a system: bodies bounce off the walls.
func (m *Match) moveBodies(w *ecs.World) {
	if m.stopped || !m.Server.TickDue() {
		return
	}
	seconds := float32(m.Server.Interval().Seconds())
	for query := m.bodies.Query(w); query.Next(); {
		at, v := query.Get()
		at.X, v.X = bounce(at.X, v.X, seconds, HalfWidth)
		at.Y, v.Y = bounce(at.Y, v.Y, seconds, HalfHeight)
	}
}

func bounce(at, v, seconds, wall float32) (float32, float32) {
	if at += v * seconds; at > wall || at < -wall {
		return min(max(at, -wall), wall), -v
	}
	return at, v
}

// enter gives a player an avatar.
func (m *Match) enter(client netcode.ClientID) {
	build := generic.NewMap4[components.Replicated, components.Owner, Position, Look](&m.world)
	m.avatars[client] = build.NewWith(&components.Replicated{}, &components.Owner{Client: client}, &Position{}, &Look{uint8(client * 53)})
}

// leave takes it away.
func (m *Match) leave(client netcode.ClientID, reason *netcode.CloseError) {
	m.left = reason
	if avatar, ok := m.avatars[client]; ok && m.world.Alive(avatar) {
		m.world.RemoveEntity(avatar)
	}
	delete(m.avatars, client)
}
