package netcode

import (
	"errors"

	"github.com/arche-netcode/netcode/errs"
	"github.com/arche-netcode/netcode/internal/door"
	"github.com/arche-netcode/netcode/internal/endpoint"
	"github.com/arche-netcode/netcode/internal/handshake"
	"github.com/arche-netcode/netcode/internal/link"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/internal/report"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// A constructor ties the layers together, and may use all.

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
	p.freeze()
	s := &Server{
		config:    config,
		frame:     tick.Frame{Clock: tick.NewClock(config.TickRate, config.CatchUp)},
		store:     snapshot.NewStore(p.types.Schema, config.snapshot()),
		homes:     link.Homes{},
		byAddress: map[transport.Addr]*session{},
		byID:      map[wire.ClientID]*session{},
		report:    report.New(config.Logger),
		asksBands: len(p.types.Schema.Banded()) > 0,
	}
	var err error
	if s.door, err = handshake.NewDoor(config.door(p), (*doorSessions)(s), &s.frame, handshake.Outbox{Buffer: &s.out, Full: &s.core.Counters.Links.OutputFull, Stats: &s.stats.HandshakeStats}, &s.report); err != nil {
		return nil, err
	}
	tag, err := random32(config.Random)
	if err != nil {
		return nil, err
	}
	s.inside = door.New(serverInside{s})
	s.steps = serverSteps{receive: s.receiveDatagram, send: s.sendFrame, observe: s.observe, admit: s.admitLocal, leave: s.startLeaving}
	s.frame.Clock.Set(config.FirstTick - 1)
	s.shared = shared{protocol: p, tag: tag, core: endpoint.End{
		Role: peer.RoleServer, Types: &p.types, Frame: &s.frame, Report: &s.report, Out: &s.out, Store: s.store, Config: config.end(config.Clients),
	}}
	s.core.Open(serverInside{s}, s)
	s.events.Contain = s.core.CallGame
	s.events.Over = s.core.DropCalls
	s.events.Gone = s.forgetLeft
	s.extend()
	return s, nil
}

// NewClient makes a client for a protocol and freezes the protocol. It is not connected to anything yet. The error
// names the field of Config that is out of range, or says that Config.Random failed.
func NewClient(p *Protocol, config Config) (*Client, error) {
	if p == nil {
		return nil, errors.New("netcode: NewClient: the protocol is nil: make it with NewProtocol")
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	tag, err := random32(config.Random)
	if err != nil {
		return nil, err
	}
	p.freeze()
	c := &Client{
		config: config,
		agreed: config,
		frame:  tick.Frame{Clock: tick.NewClock(config.TickRate, config.CatchUp)},
		report: report.New(config.Logger),
	}
	c.shared = shared{protocol: p, tag: tag, core: endpoint.End{
		Role: peer.RoleClient, Types: &p.types, Frame: &c.frame, Report: &c.report, Out: &c.out, Config: config.end(1),
	}}
	c.core.Open(clientInside{c}, c)
	c.link = c.core.NewLink(nil)
	c.inside = door.New(clientInside{c})
	c.events.Contain, c.events.OfClient = c.core.CallGame, true
	c.events.Over = func(_ wire.ClientID, reason *errs.CloseError) { c.core.DropCalls(0, reason) }
	c.extend()
	return c, nil
}
