package netcode_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

type position struct {
	X, Y float32
}

type health struct {
	Points uint16
}

type chat struct {
	Number uint32
}

// source is a seeded Config.Random.
type source struct{ *rand.ChaCha8 }

func random(seed uint64) source {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	return source{rand.NewChaCha8(key)}
}

// frameTime is the virtual time between two frames: two a tick.
const frameTime = time.Second / 60

// rig is a server and clients on a virtual network and clock.
type rig struct {
	t       testing.TB
	now     time.Duration
	network *memory.Network
	server  *serverEnd
	clients []*clientEnd
	from    transport.Addr // The address of the next client; zero: any.
	buf     [2048]byte
	waited  time.Duration // of all datagrams, before their frame

	// tamper may change or drop (nil) what the network carries.
	tamper func(from, to transport.Addr, packet []byte) []byte
}

type serverEnd struct {
	*netcode.Server
	conn   *memory.Conn
	send   func(transport.Addr, []byte)
	log    []string
	errors []error
	game   func(store *snapshot.Store)
	late   func() // between the capture and the sending of a frame
}

type clientEnd struct {
	*netcode.Client
	conn *memory.Conn
	send func(transport.Addr, []byte)
	log  []string
}

func protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[position](p)
	netcode.Replicate[health](p)
	return p
}

func newRig(t testing.TB, p *netcode.Protocol, config netcode.Config) *rig {
	r := &rig{t: t, network: memory.NewNetwork(), now: 5 * time.Second}
	if config.Random == nil {
		config.Random = random(1)
	}
	s, err := netcode.NewServer(p, config)
	require.NoError(t, err)
	end := &serverEnd{Server: s}
	end.conn, err = r.network.Listen(transport.Addr{})
	require.NoError(t, err)
	end.send = r.sender(end.conn)
	s.OnConnect(func(id wire.ClientID) { end.log = append(end.log, fmt.Sprintf("connect %d", id)) })
	s.OnDisconnect(func(id wire.ClientID, reason *peer.Error) {
		end.log = append(end.log, fmt.Sprintf("disconnect %d: %v", id, reason))
	})
	s.OnError(func(err error) { end.errors = append(end.errors, err) })
	r.server = end
	return r
}

// sender hands packets to the network through tamper.
func (r *rig) sender(conn *memory.Conn) func(transport.Addr, []byte) {
	return func(to transport.Addr, packet []byte) {
		if r.tamper != nil {
			packet = r.tamper(conn.LocalAddr(), to, packet)
		}
		if packet != nil {
			require.NoError(r.t, conn.Send(to, packet))
		}
	}
}

// join adds a client and lets it connect.
func (r *rig) join(p *netcode.Protocol, config netcode.Config) *clientEnd {
	if config.Random == nil {
		config.Random = random(uint64(100 + len(r.clients)))
	}
	c, err := netcode.NewClient(p, config)
	require.NoError(r.t, err)
	end := &clientEnd{Client: c}
	end.conn, err = r.network.Listen(r.from)
	require.NoError(r.t, err)
	end.send = r.sender(end.conn)
	c.OnConnect(func(id wire.ClientID) { end.log = append(end.log, fmt.Sprintf("connect %d", id)) })
	c.OnDisconnect(func(id wire.ClientID, reason *peer.Error) {
		end.log = append(end.log, fmt.Sprintf("disconnect %d: %v", id, reason))
	})
	r.clients = append(r.clients, end)
	end.BeginFrame(r.now)
	require.NoError(r.t, c.Connect(r.server.conn.LocalAddr()))
	return end
}

// joined adds a client and waits until both ends know that it is connected.
func (r *rig) joined(p *netcode.Protocol, config netcode.Config) *clientEnd {
	c := r.join(p, config)
	r.until(func() bool {
		_, ok := r.server.ClientStats(c.ID())
		return c.State() == netcode.Connected && ok
	})
	return c
}

// connected is a server and one client, of protocol.
func connected(t testing.TB, config netcode.Config) (*rig, *clientEnd) {
	r := newRig(t, protocol(), config)
	return r, r.joined(r.server.Protocol(), netcode.Config{})
}

// until runs frames until a condition holds, at most ten virtual seconds.
func (r *rig) until(condition func() bool) {
	r.t.Helper()
	for range 600 {
		if condition() {
			return
		}
		r.step()
	}
	require.Fail(r.t, "the condition did not come true in ten seconds")
}

// run runs frames for a virtual time.
func (r *rig) run(d time.Duration) {
	for end := r.now + d; r.now < end; {
		r.step()
	}
}

// step runs one frame of each end.
func (r *rig) step() {
	r.now += frameTime
	r.serverFrame()
	for _, c := range r.clients {
		r.clientFrame(c)
	}
}

func (r *rig) serverFrame() {
	s := r.server
	s.BeginFrame(r.now)
	r.receive(s.conn, s.ReceiveAfter)
	for stage := range tick.Stage(tick.NumStages) {
		s.Dispatch(stage)
	}
	if s.TickDue() && s.Tick() > s.Store().Tick() {
		s.Store().Begin(s.Tick())
		if s.game != nil {
			s.game(s.Store())
		}
		s.Store().Commit()
	}
	if s.late != nil {
		s.late()
	}
	s.Send()
	s.Drain(s.send)
}

func (r *rig) clientFrame(c *clientEnd) {
	c.BeginFrame(r.now)
	r.receive(c.conn, c.ReceiveAfter)
	for stage := range tick.Stage(tick.NumStages) {
		c.Dispatch(stage)
	}
	if c.Replica() != nil {
		c.Replica().ClearChanged()
	}
	c.Send()
	c.Drain(c.send)
}

func (r *rig) receive(conn *memory.Conn, take func(transport.Addr, []byte, time.Duration)) {
	for {
		n, from, err := conn.Receive(r.buf[:])
		require.NoError(r.t, err)
		if n == 0 {
			return
		}
		take(from, r.buf[:n], r.waited)
	}
}

// spawn makes an entity with a position at the next tick.
func (r *rig) spawn(x float32) wire.NetworkID {
	var id wire.NetworkID
	r.change(func(store *snapshot.Store) {
		id = store.Spawn()
		r.set(store, id, x)
	})
	return id
}

// change runs a function within the next capture.
func (r *rig) change(f func(store *snapshot.Store)) {
	before := r.server.game
	done := false
	r.server.game = func(store *snapshot.Store) { f(store); done = true; r.server.game = before }
	r.until(func() bool { return done })
}

// set writes an entity's position; row 1 is position, row 0 health, by name. The lanes of a bare float are its bits.
func (r *rig) set(store *snapshot.Store, id wire.NetworkID, x float32) {
	store.Set(id, 1, []uint32{math.Float32bits(x), 0})
}

// x returns the X of an entity's position in a client's replica.
func (r *rig) x(c *clientEnd, id wire.NetworkID) (float32, bool) {
	e := c.Replica().Entity(id.Index)
	if !e.Alive || e.ID != id {
		return 0, false
	}
	return math.Float32frombits(c.Replica().Row(id.Index, 1)[0]), true
}

// sees waits until a client holds an entity at this place.
func (r *rig) sees(c *clientEnd, id wire.NetworkID, want float32) {
	r.t.Helper()
	r.until(func() bool { x, ok := r.x(c, id); return ok && x == want })
}
