package rig

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/wire"
)

// Position is the component of Spawn and Set.
type Position struct {
	X, Y float32 // Not quantised: one lane each.
}

// Health is a second component.
type Health struct {
	Points uint16 // Any number.
}

// Random returns a seeded value for Config.Random.
func Random(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	return rand.NewChaCha8(key)
}

// FrameTime is the virtual time between two frames; a tick is two frames.
const FrameTime = time.Second / 60

// Rig is a server and clients on a virtual network and clock.
type Rig struct {
	T       testing.TB      // The test that a failure ends.
	Now     time.Duration   // Time of the newest frame.
	Server  *ServerEnd      // Set by New.
	Clients []*ClientEnd    // In order of joining.
	Waited  time.Duration   // Time that each datagram waited before its frame.
	Network *memory.Network // Of all sockets.
	From    transport.Addr  // Address of the next client; zero: any.
	Buf     [2048]byte      // For Receive.

	// Tamper may change a packet in flight, or drop it by returning nil.
	Tamper func(from, to transport.Addr, packet []byte) []byte
}

// ServerEnd is the server and its socket.
type ServerEnd struct {
	*netcode.Server
	Conn   *memory.Conn                 // Its socket.
	Log    []string                     // Connects and disconnects.
	Errors []error                      // Errors reported to OnError.
	Game   func(store *snapshot.Store)  // Writes the store in each tick; may be nil.
	Late   func()                       // Runs between the capture and Send of a frame; may be nil.
	Out    func(transport.Addr, []byte) // Sends a datagram through Tamper.
}

// ClientEnd is a client and its socket.
type ClientEnd struct {
	*netcode.Client
	Conn *memory.Conn                 // Its socket.
	Log  []string                     // Connects and disconnects.
	Out  func(transport.Addr, []byte) // Sends a datagram through Tamper.
}

// Protocol returns a protocol with the two components.
func Protocol() *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Health](p)
	return p
}

// New makes a Rig with a server.
func New(t testing.TB, p *netcode.Protocol, config netcode.Config) *Rig {
	r := &Rig{T: t, Network: memory.NewNetwork(), Now: 5 * time.Second}
	if config.Random == nil {
		config.Random = Random(1)
	}
	s, err := netcode.NewServer(p, config)
	r.must(err)
	end := &ServerEnd{Server: s}
	end.Conn, err = r.Network.Listen(transport.Addr{})
	r.must(err)
	end.Out = r.Sender(end.Conn)
	s.OnConnect(func(id wire.ClientID) { end.Log = append(end.Log, fmt.Sprintf("connect %d", id)) })
	s.OnDisconnect(func(id wire.ClientID, reason *errs.CloseError) {
		end.Log = append(end.Log, fmt.Sprintf("disconnect %d: %v", id, reason))
	})
	s.OnError(func(err error) { end.Errors = append(end.Errors, err) })
	r.Server = end
	return r
}

// Sender returns a function that sends packets through Tamper.
func (r *Rig) Sender(conn *memory.Conn) func(transport.Addr, []byte) {
	return func(to transport.Addr, packet []byte) {
		if r.Tamper != nil {
			packet = r.Tamper(conn.LocalAddr(), to, packet)
		}
		if packet != nil {
			r.must(conn.Send(to, packet))
		}
	}
}

// must ends the test on an error.
func (r *Rig) must(err error) {
	if err != nil {
		r.T.Helper()
		r.T.Fatal(err)
	}
}

// Join adds a client and starts to connect it.
func (r *Rig) Join(p *netcode.Protocol, config netcode.Config) *ClientEnd {
	if config.Random == nil {
		config.Random = Random(uint64(100 + len(r.Clients)))
	}
	c, err := netcode.NewClient(p, config)
	r.must(err)
	end := &ClientEnd{Client: c}
	end.Conn, err = r.Network.Listen(r.From)
	r.must(err)
	end.Out = r.Sender(end.Conn)
	c.OnConnect(func(id wire.ClientID) { end.Log = append(end.Log, fmt.Sprintf("connect %d", id)) })
	c.OnDisconnect(func(id wire.ClientID, reason *errs.CloseError) {
		end.Log = append(end.Log, fmt.Sprintf("disconnect %d: %v", id, reason))
	})
	r.Clients = append(r.Clients, end)
	steps.OfClient(end).BeginFrame(r.Now)
	r.must(c.Connect(r.Server.Conn.LocalAddr()))
	return end
}

// Joined adds a client and runs until both ends know that it is connected.
func (r *Rig) Joined(p *netcode.Protocol, config netcode.Config) *ClientEnd {
	c := r.Join(p, config)
	r.Until(func() bool {
		_, ok := r.Server.ClientStats(c.ID())
		return c.State() == netcode.Connected && ok
	})
	return c
}

// Until runs frames until a condition holds, for at most ten virtual seconds.
func (r *Rig) Until(condition func() bool) {
	r.T.Helper()
	for range 600 {
		if condition() {
			return
		}
		r.Step()
	}
	r.T.Fatal("the condition did not come true in ten seconds")
}

// Run runs frames for a virtual time.
func (r *Rig) Run(d time.Duration) {
	for end := r.Now + d; r.Now < end; {
		r.Step()
	}
}

// Step runs one frame of each end.
func (r *Rig) Step() {
	r.Now += FrameTime
	r.ServerFrame()
	for _, c := range r.Clients {
		r.ClientFrame(c)
	}
}

// ServerFrame runs a frame of the server.
func (r *Rig) ServerFrame() {
	s := r.Server
	steps.OfServer(s).BeginFrame(r.Now)
	r.Receive(s.Conn, steps.OfServer(s).ReceiveAfter)
	for stage := range tick.Stage(tick.NumStages) {
		steps.OfServer(s).Dispatch(stage)
	}
	if s.TickDue() && s.Tick() > s.Store().Tick() {
		s.Store().Begin(s.Tick())
		if s.Game != nil {
			s.Game(s.Store())
		}
		s.Store().Commit()
	}
	if s.Late != nil {
		s.Late()
	}
	steps.OfServer(s).Send()
	steps.OfServer(s).Drain(s.Out)
}

// ClientFrame runs a frame of a client.
func (r *Rig) ClientFrame(c *ClientEnd) {
	steps.OfClient(c).BeginFrame(r.Now)
	r.Receive(c.Conn, steps.OfClient(c).ReceiveAfter)
	for stage := range tick.Stage(tick.NumStages) {
		steps.OfClient(c).Dispatch(stage)
	}
	if c.Replica() != nil {
		c.Replica().ClearChanged()
	}
	steps.OfClient(c).Send()
	steps.OfClient(c).Drain(c.Out)
}

// Receive passes the datagrams that wait at a socket to an end.
func (r *Rig) Receive(conn *memory.Conn, take func(transport.Addr, []byte, time.Duration)) {
	for {
		n, from, err := conn.Receive(r.Buf[:])
		r.must(err)
		if n == 0 {
			return
		}
		take(from, r.Buf[:n], r.Waited)
	}
}

// Spawn spawns an entity with a position in the next tick.
func (r *Rig) Spawn(x float32) wire.NetworkID {
	var id wire.NetworkID
	r.Change(func(store *snapshot.Store) {
		id = store.Spawn()
		r.Set(store, id, x)
	})
	return id
}

// Change calls a function within the next capture.
func (r *Rig) Change(f func(store *snapshot.Store)) {
	before := r.Server.Game
	done := false
	r.Server.Game = func(store *snapshot.Store) { f(store); done = true; r.Server.Game = before }
	r.Until(func() bool { return done })
}

// Set writes an entity's position. Rows are sorted by name: 0 is health, 1 is position. The lane of an unquantised float is its
// bits.
func (r *Rig) Set(store *snapshot.Store, id wire.NetworkID, x float32) {
	store.Set(id, 1, []uint32{math.Float32bits(x), 0})
}

// X returns the X of an entity's position in a client's replica.
func (r *Rig) X(c *ClientEnd, id wire.NetworkID) (float32, bool) {
	e := c.Replica().Entity(id.Index)
	if !e.Alive || e.ID != id {
		return 0, false
	}
	return math.Float32frombits(c.Replica().Row(id.Index, 1)[0]), true
}

// Sees runs until a client has an entity at this position.
func (r *Rig) Sees(c *ClientEnd, id wire.NetworkID, want float32) {
	r.T.Helper()
	r.Until(func() bool { x, ok := r.X(c, id); return ok && x == want })
}

// Marked is a component of a hidden entity with secrets: a unique number and a reference to an entity.
type Marked struct {
	Marker uint64         // MarkerHead followed by 16 bits.
	Of     wire.NetworkID `net:"entity"` // The referenced entity.
}

// MarkerHead is the upper 48 bits of every marker; the lower 16 change all the time.
const MarkerHead = 0xDEC0ADDE5EC2

// HoldsMarker reports whether a packet contains MarkerHead at any bit offset.
func HoldsMarker(packet []byte) bool {
	for at := range len(packet) {
		var window [8]byte
		copy(window[:], packet[at:])
		for shift := range 8 {
			if binary.LittleEndian.Uint64(window[:])>>shift&(1<<48-1) == MarkerHead && at+6 <= len(packet) {
				return true
			}
		}
	}
	return false
}
