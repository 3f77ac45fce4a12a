package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/internal/steps"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transfer"
)

// mostBytes is the maximum size of a file. It is transferred within the rest even at the lowest rate of congestion control.
const mostBytes = 8 << 10

// narrowRate is the rate of a narrow link in bytes per second.
const narrowRate = 6000

// narrow limits the link of a client in both directions.
func (s *soak) narrow(c *nettest.Client) {
	link := s.link
	link.Rate = narrowRate
	s.net.SetLinks(c, link, link)
}

// fileOf returns the name and bytes of a file; the name has the seed and the size.
func fileOf(seed uint64, size int) (name string, data []byte) {
	r := rand.NewChaCha8([32]byte{0: byte(seed), 1: byte(seed >> 8), 2: byte(seed >> 16), 3: byte(seed >> 24)})
	data = make([]byte, size)
	_, _ = r.Read(data) // never fails
	return fmt.Sprintf("%d %d", seed, size), data
}

// sendFile sends a file in both directions. Each arrives complete, or its session ends.
func (s *soak) sendFile(c *nettest.Client, size int) {
	if c.State() != netcode.Connected {
		return
	}
	name, data := fileOf(uint64(s.tick), size)
	if _, err := transfer.Send(s.net.Server.Server, c.ID(), name, data); err == nil {
		s.injected["files sent"]++
	}
	if _, err := transfer.Send(c.Client, 0, name, data); err == nil {
		s.injected["files sent"]++
	}
}

// files returns the handler of received files.
func (s *soak) files() transfer.Handler {
	return transfer.Handler{Done: func(r *transfer.Receiving, data []byte) {
		if s.isLiar(r.From()) {
			return
		}
		var seed uint64
		var size int
		_, err := fmt.Sscanf(r.Name(), "%d %d", &seed, &size)
		if _, want := fileOf(seed, size); err != nil || string(want) != string(data) {
			s.checks.broken("I3 Order", "the file %q from %d has other bytes than were sent", r.Name(), r.From())
		}
		s.injected["files"]++
		s.checks.count["I3 Order"]++
	}}
}

// newHost makes the player at the server. It runs in the server's frames, and joins again after it has left.
func (s *soak) newHost() {
	host, err := netcode.NewClient(s.protocol, netcode.Config{})
	if err != nil {
		s.h.Fatalf("%v", err)
	}
	s.host = host
	transfer.On(host, s.files())
	r := rand.New(rand.NewPCG(s.o.Seed, 0x4057))
	s.net.Each(func() {
		steps.OfClient(host).BeginFrame(s.net.Now())
		if host.State() == netcode.Disconnected && s.playing {
			if err := netcode.Host(s.net.Server.Server, host); err != nil {
				s.h.Errorf("Host: %v", err)
			}
		}
		for stage := tick.Initialization; stage <= tick.PostLateUpdate; stage++ {
			steps.OfClient(host).Dispatch(stage)
		}
		if host.State() == netcode.Connected && s.playing {
			s.playHost(r)
		}
		steps.OfClient(host).Send()
	})
}

// playHost runs the player's game in a frame: it writes its entities in the server's world.
func (s *soak) playHost(r *rand.Rand) {
	if err := input.Set(s.host, &control{Push: int8(r.IntN(256) - 128)}); err != nil {
		s.h.Errorf("input.Set at the host: %v", err)
	}
	for _, t := range s.world.all {
		if s.world.ownerOf(t) == uint32(s.host.ID()) && has[mine](s.world, t.Entity) && r.IntN(6) == 0 {
			*s.world.mines.Get(t.Entity) = mine{By: uint32(s.host.ID()), V: r.Uint32()}
		}
	}
	if s.tick%10 == 3 {
		s.checks.say(s.host.ID()|toServer, func(m *word) error { return netcode.Send(s.host, netcode.ToServer(), m) })
	}
}
