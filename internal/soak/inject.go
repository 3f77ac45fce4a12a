package main

import (
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
	"github.com/arche-netcode/netcode/interest"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/nettest/adversary"
	"github.com/arche-netcode/netcode/transport"
)

// inject injects a fault.
func (s *soak) inject(e event) {
	s.injected[string(e.Kind)]++
	switch e.Kind {
	case planted:
		s.h.Errorf("planted")
		return
	case joinOne:
		s.join(s.tick + e.Span)
		return
	case joinBurst:
		for range e.Span {
			s.join(s.tick + 5*ticksASecond)
		}
		return
	case darkAll:
		s.darkAll, s.calm = s.tick+e.Span, s.tick+e.Span
		s.net.SetLink(transport.Link{Down: true})
		return
	case stopServer:
		s.stopped, s.calm = s.tick+e.Span, s.tick+e.Span
		s.net.SuspendServer()
		return
	case hostLeaves:
		s.host.Close()
		return
	case liarsChange:
		lies := adversary.ClientLies()
		for i, l := range s.liars {
			l.Honest()
			l.lie = lies[(e.Whom+7*i)%len(lies)]
		}
		for _, l := range adversary.StrangerLies(s.net.Address()) {
			l.Tell(s.stranger)
		}
		return
	}
	if len(s.net.Clients) > 0 {
		s.befall(s.net.Clients[e.Whom%len(s.net.Clients)], e)
	}
}

// befall injects a fault into one client.
func (s *soak) befall(c *nettest.Client, e event) {
	p := s.players[c]
	p.calm = max(p.calm, s.tick+e.Span)
	switch e.Kind {
	case closeOne:
		c.Close()
	case killOne:
		if p.leaves > 0 {
			s.remove(c)
		}
	case kickOne:
		s.net.Server.Kick(c.ID(), "soak")
	case reconnect:
		s.connect(c)
	case sleepOne:
		p.asleep = s.tick + e.Span
		s.net.Suspend(c)
	case darkOne:
		p.dark = s.tick + e.Span
		s.net.SetLinks(c, transport.Link{Down: true}, transport.Link{Down: true})
	case narrowOne:
		p.narrow = s.tick + e.Span
		s.narrow(c)
	case moveOne:
		s.net.Rebind(c)
		p.calm = s.tick + ticksASecond
	case sendFile:
		s.sendFile(c, e.Span)
	case loseState:
		if r := c.Replica(); r != nil && c.State() == netcode.Connected {
			r.Lose()
			p.calm = s.tick + 2*ticksASecond // a resync is served once in two seconds
		}
	case roomsFlap:
		p.flap = s.tick + e.Span
	}
}

// remove removes a client.
func (s *soak) remove(c *nettest.Client) {
	s.net.Remove(c)
	delete(s.players, c)
}

// phase ends faults that are over, reconnects clients, and begins and ends the rest at the end of a phase.
func (s *soak) phase() {
	at := s.tick % s.o.phase.ticks
	switch at {
	case 0:
		s.playing = true
		s.net.SetLink(s.link)
		s.calm = s.tick
	case s.o.phase.rest:
		s.playing = false
		s.darkAll, s.stopped = min(s.darkAll, s.tick), min(s.stopped, s.tick)
		s.net.WakeServer()
		s.net.Heal()
	case s.o.phase.compare:
		s.checks.compare()
	}
	if s.stopped == s.tick {
		s.net.WakeServer()
	}
	if s.darkAll == s.tick && s.playing {
		s.net.SetLink(s.link)
		for c, p := range s.players { // the order does not matter: each player has its own link
			if p.dark > s.tick {
				s.net.SetLinks(c, transport.Link{Down: true}, transport.Link{Down: true})
			}
		}
	}
	for _, c := range append([]*nettest.Client(nil), s.net.Clients...) {
		s.care(c, s.players[c])
	}
}

// care ends the faults of one client in time.
func (s *soak) care(c *nettest.Client, p *player) {
	if p.leaves > s.tick && !s.playing {
		p.leaves = s.tick
	}
	if p.leaves > 0 && s.tick >= p.leaves {
		if c.State() == netcode.Connected {
			c.Close()
		}
		if s.tick >= p.leaves+2*ticksASecond {
			s.remove(c)
		}
		return
	}
	if p.asleep == s.tick || !s.playing && p.asleep > 0 {
		p.asleep = 0
		s.net.Wake(c)
	}
	if s.playing && (p.dark == s.tick || p.narrow == s.tick) {
		s.net.SetLinks(c, s.link, s.link)
	}
	_, over := s.checks.over[c.ID()] // During the rest no client waits for a timeout.
	if p.asleep == 0 && (c.State() == netcode.Disconnected || c.State() == netcode.Connected && over && !s.playing) {
		s.connect(c)
		p.calm = s.tick
	}
	if id := c.ID(); p.flap > s.tick && c.State() == netcode.Connected && s.playing {
		s.rooms.Leave(id)
		s.rooms.Enter(id, interest.Room(1+s.tick%rooms))
		s.injected["rooms changed"]++
	}
}

func mayWrite(c *netcode.Client, id netcode.NetworkID) bool { return authority.MayWrite[mine](c, id) }

// nanotime returns the time of the machine's clock; used only for the longest frame.
func nanotime() time.Duration { return time.Duration(time.Now().UnixNano()) }
