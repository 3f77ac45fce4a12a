package netcode

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/internal/worldless"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Server is the end that owns the world: clients connect to it and it sends them what they lack. It does no I/O and
// reads no clock: the systems of package systems, or a test, hand it datagrams and the time. A Server belongs to one
// goroutine; only its Protocol may be shared.
//
// A frame is BeginFrame, Receive for each datagram, Dispatch for each stage, the capture of the world into Store when
// TickDue, Send, Drain. Package systems calls these; which methods are for games is listed in the package comment.
type Server struct {
	protocol *Protocol
	config   Config
	tag      uint32
	frame    frame

	courier
	store     *snapshot.Store
	worldless *worldless.Entities
	hooks     serverHooks

	interest Interest // Nil: all is visible unless hidden.
	cookies  *peer.Cookies
	admission
	secretAt time.Duration // When the cookies' secret was last made anew.
	out      outbox.Buffer
	crew     crew

	row  []uint32 // A message that names entities, as it is,
	body []byte   // and as a client gets it.

	byAddress map[netip.AddrPort]*Session
	byID      map[wire.ClientID]*Session
	near      [numNear]*Session // Connected ones among them, at their id's remainder.
	leavers   []*message.Source // Those of the sessions that are leaving, in seeOff.
	sessions  []*Session        // In ascending order of id; the ended ones leave in sweep.
	lastID    wire.ClientID
	counts    [numSessionStates]int
	closing   bool
	sentUpTo  tick.Tick     // The tick of the newest Send.
	refused   []string      // The differences that OnError was told of.
	refusedAt time.Duration // When a refusal for another protocol was last logged; 0: never.

	report report.Reporter
	events events
	stats  Stats
	ended  peer.Stats // Packet counters of the sessions that are gone.
}

// NewServer makes a server for a protocol and freezes the protocol. The error names the field of Config that is out of
// range, or says that Config.Random failed.
func NewServer(p *Protocol, config Config) (*Server, error) {
	if p == nil {
		return nil, errors.New("netcode: NewServer: the protocol is nil: make it with NewProtocol")
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	var secret [32]byte
	var places [16]byte
	for _, b := range [][]byte{secret[:], places[:]} {
		if _, err := io.ReadFull(config.Random, b); err != nil {
			return nil, fmt.Errorf("netcode: Config.Random: %w", err)
		}
	}
	tag, err := random32(config.Random)
	if err != nil {
		return nil, err
	}
	p.freeze()
	s := &Server{
		protocol:  p,
		config:    config,
		tag:       tag,
		frame:     frame{clock: tick.NewClock(config.TickRate, config.CatchUp)},
		store:     snapshot.NewStore(p.schema, config.snapshot()),
		cookies:   peer.NewCookies(secret),
		admission: admission{limiter: peer.NewLimiter(places), places: map[netip.Prefix]int{}, past: peer.NewPastSessions()},
		byAddress: map[netip.AddrPort]*Session{},
		byID:      map[wire.ClientID]*Session{},
		report:    report.New(config.Logger),
	}
	s.worldless = worldless.New(s.store)
	s.setUpCrew()
	s.frame.clock.Set(config.FirstTick - 1)
	s.courier = courier{server: s, protocol: p, frame: &s.frame, report: &s.report, stats: &s.stats}
	s.setUp(s, config)
	s.events.end = &s.courier
	s.events.over = s.forgetAfter
	s.extend()
	return s, nil
}

// BeginFrame starts a frame. now is the time since any fixed moment and never runs backwards.
func (s *Server) BeginFrame(now time.Duration) {
	stall := s.frame.begin(now)
	s.report.Now = s.frame.now
	for _, c := range s.sessions {
		c.heard += stall
		c.leaveEnd += stall
	}
	s.beginFrame()
	call(s.hooks.beginFrame)
}

// Dispatch hands the messages that wait for a stage to their handlers, and makes it the stage that the server is in. A stage
// may be dispatched any number of times in a frame; what waits for one that is not waits on. A handler that panics ends
// the connection of the sender, unless the server sent the message to itself. OnError is given a *PanicError, and the log has its stack.
func (s *Server) Dispatch(stage Stage) {
	s.inbound.Drain(stage)
}

// Drain hands out the datagrams that wait to be sent, in order. A packet is good until the function returns.
func (s *Server) Drain(send func(to netip.AddrPort, packet []byte)) { s.out.Drain(send) }

// DrainAll is Drain for a socket that takes several datagrams at once. runs[i] goes to to[i]: one packet, or several one behind the other, of sizes[i]
// bytes each, the last of which may be shorter. It calls send once, or not at all if nothing waits.
func (s *Server) DrainAll(send func(to []netip.AddrPort, runs [][]byte, sizes []int)) {
	s.out.DrainAll(send)
}

// TickDue tells if a network tick falls into this frame: then the world is to be captured and Send sends what changed.
func (s *Server) TickDue() bool { return s.frame.due }

// ID is 0: the server is nobody's client.
func (s *Server) ID() ClientID { return 0 }

// Tick is the current network tick.
func (s *Server) Tick() Tick { return s.frame.clock.Tick() }

// TickRate is the number of network ticks a second.
func (s *Server) TickRate() int { return s.config.TickRate }

// Steps counts the ticks that fell into this frame: 0 where TickDue is false, 1 usually, and after a stall up to Config.CatchUp. A
// game that lets no tick slip simulates those from Tick-Steps+1 to Tick.
func (s *Server) Steps() int { return s.frame.steps }

// Config is the configuration of the server, with defaults.
func (s *Server) Config() Config { return s.config }

// Interval is the time between two network ticks.
func (s *Server) Interval() time.Duration { return s.config.interval() }

// Store holds the captured world; only the capture writes it.
func (s *Server) Store() *snapshot.Store { return s.store }

// Protocol is the protocol of the server.
func (s *Server) Protocol() *Protocol { return s.protocol }

// Tag tells the entities of this server from those of any other one in the same process.
func (s *Server) Tag() uint32 { return s.tag }

// OnConnect adds a function that is called when a client is connected: it may be sent to, shown entities, kicked. If it
// panics, the connection ends with peer.ReasonHandlerPanic, as for a handler. This and the other calls that add a function panic on
// nil, as that would only panic when the function is called.
func (s *Server) OnConnect(f func(client ClientID)) {
	mustBeGiven(f != nil, "Server.OnConnect")
	s.events.connected = append(s.events.connected, f)
}

// OnDisconnect adds a function that is called once for each connected client when its connection ended, with the
// reason. Nothing reaches this client any more, and no later client has its id. When the client closed in order, it is called
// after the handlers of the reliable messages that the client had sent (Config.LeaveTimeout); meanwhile the client is none of
// Clients and cannot be sent to, and its place is taken. If it panics, OnError is given a *PanicError.
func (s *Server) OnDisconnect(f func(client ClientID, reason *CloseError)) {
	mustBeGiven(f != nil, "Server.OnDisconnect")
	s.events.disconnected = append(s.events.disconnected, f)
}

// OnError adds a function that is given every error that has no caller: socket faults, values that cannot travel,
// systems out of order, handlers that panic (*PanicError). It may be called many times in a frame. It is the
// last resort: a panic of its own is not contained.
func (s *Server) OnError(f func(error)) {
	mustBeGiven(f != nil, "Server.OnError")
	s.report.OnError = append(s.report.OnError, f)
}

// Report passes an error that has no caller to OnError and to the log.
func (s *Server) Report(err error) { s.report.Error(err) }
