package systems

import (
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/tick"
)

// ServerSystems has the systems of one server, for one world and one socket.
type ServerSystems struct {
	stages
	Server  *netcode.Server // The server that the systems run.
	Receive *Receive        // The first system of a frame.
	Tick    *Tick           // At the end of PreLateUpdate: captures the world on a network tick.
	Send    *Send           // The last system of a frame.
	Accept  *Accept         // Nil for a protocol without components that clients write.
	Away    *Away           // After Receive: entities of players that are away.

	detaching bool   // Detach was called, and clients are still being told.
	next      Socket // The socket after the Detach; nil: Offline.
}

// NewServer makes the systems of a server. now returns the time since any fixed moment: WallClock() in a game, a virtual
// clock in a test.
//
// It panics on a nil argument, and on a server that another group runs. It panics with a *errs.PlainError on an
// unencrypted socket that the internet may reach: see Server.MayListen.
func NewServer(server *netcode.Server, socket Socket, now func() time.Duration) *ServerSystems {
	mustBeThere(server != nil, "NewServer", "the server")
	mustBeThere(there(socket), "NewServer", "the socket")
	mustBeThere(now != nil, "NewServer", "the clock")
	mustBePrivate(server, socket)
	mustBeAlone(server, "NewServer", "the server")
	s := &ServerSystems{
		Server:  server,
		Receive: &Receive{End: server, Socket: socket, Now: now},
		Tick:    &Tick{Server: server},
		Send:    &Send{End: server, Socket: socket},
	}
	if authority.ClientsWrite(server.Protocol()) {
		s.Accept = &Accept{Server: server, Tick: s.Tick}
	}
	s.Away = newAway(server, s.Tick)
	return s
}

// OnSpawn adds a function that is called for each entity that got its network id, before anything about it is sent. It is
// the place to Hide the entity from clients. The world is unlocked; the next tick captures changes that the function
// makes. The functions are called in the order of these calls, after Tick.Spawned if the game has set that.
//
// If it panics, Server.OnError gets a *errs.PanicError, and the frame continues. OnSpawn panics on nil.
func (s *ServerSystems) OnSpawn(f func(e netecs.Entity, id netcode.NetworkID)) {
	mustBeGiven(f != nil, "OnSpawn")
	before := s.Tick.Spawned
	s.Tick.Spawned = func(e netecs.Entity, id netcode.NetworkID) {
		if before != nil {
			before(e, id)
		}
		steps.Contain(steps.OfServer(s.Server), "OnSpawn", func() { f(e, id) })
	}
}

// Systems implements Group. It lists a server's frame: see the package comment.
func (s *ServerSystems) Systems() []System {
	f := s.newFrame(s.Server)
	f.run(s.Receive, &detacher{s}, s.Away)
	f.stage(tick.Initialization)
	s.update(f)
	f.stage(tick.PostLateUpdate)
	f.run(s.Send)
	return f.systems
}

// update lists the frame between the first stage and the last.
func (s *ServerSystems) update(f *frame) {
	if s.Accept != nil {
		f.run(s.Accept)
	}
	f.stage(tick.EarlyUpdate, tick.FixedUpdate, tick.PreUpdate, tick.Update, tick.PreLateUpdate)
	f.run(s.Tick)
}

// Entity returns the living entity of a network id.
func (s *ServerSystems) Entity(id netcode.NetworkID) (netecs.Entity, bool) { return s.Tick.Entity(id) }

// ID returns the network id of an entity with a components.Replicated. A new entity gets its id in this call. The id may
// be used at once: in messages About it and ToSeers, SetOwner, Show, Hide, interest.Grid.Follow, authority.Grant,
// collections, messages and answers. For clients the entity exists from the next network tick on. If it is removed
// before, nothing about it is sent.
func (s *ServerSystems) ID(e netecs.Entity) (netcode.NetworkID, bool) { return s.Tick.ID(e) }

// Close implements Group. It tells all clients that the server is shutting down.
func (s *ServerSystems) Close() {
	s.Server.Close(0) // Reason 0: the default.
}

// Closed implements Group.
func (s *ServerSystems) Closed() bool { return s.Server.Closed() }
