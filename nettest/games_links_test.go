package nettest_test

import (
	"fmt"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/transport"
)

// gameLink is the behaviour of the network for a while.
type gameLink struct {
	delay, jitter time.Duration
	loss, others  float64
}

func (l gameLink) link() transport.Link {
	return transport.Link{Delay: l.delay, Jitter: l.jitter, Loss: l.loss, Duplicate: l.others, Reorder: l.others}
}

// bound is within what time what changed is known at a client, where nothing bounds what is sent: a way, or with losses what
// nettest gives clients to converge.
func (l gameLink) bound() time.Duration {
	if l.loss == 0 && l.others == 0 {
		return l.delay + l.jitter + 100*time.Millisecond
	}
	return 2*time.Second + 8*l.delay + 4*l.jitter
}

func (g *match) someLink() gameLink {
	l := gameLink{delay: time.Duration(g.r.IntN(120)) * time.Millisecond, jitter: time.Duration(g.r.IntN(60)) * time.Millisecond}
	l.jitter = min(l.jitter, l.delay)
	switch g.r.IntN(4) {
	case 1:
		l.loss, l.others = 0.05, 0.05
	case 2:
		l.loss, l.others = 0.3, 0.2
	case 3:
		l.loss = 0.6
	}
	return l
}

// phase plays for a while over a link of some kind, clients coming and going.
func (g *match) phase() {
	g.playing = true
	link := g.someLink()
	g.net.SetLink(link.link())
	eventful, down := g.r.IntN(3) > 0, false
	g.calm = g.net.Now()
	for range 80 + g.r.IntN(160) {
		g.net.Step()
		g.wake()
		if eventful && g.r.IntN(60) == 0 {
			down = g.event(link) || down
		}
		if down && g.r.IntN(30) == 0 {
			down, g.calm = false, g.net.Now()+gameRecovery
			g.net.SetLink(link.link())
		}
		if g.prompt && !down && link.loss < 0.5 && g.net.Now()-g.calm > link.bound() {
			g.fresh(link.bound())
		}
	}
	g.playing = false
}

// wake lets those go on who have slept.
func (g *match) wake() {
	for _, p := range g.players {
		if p.sleep > 0 {
			if p.sleep--; p.sleep == 0 {
				p.calm = g.net.Now()
				g.net.Wake(p.end())
			}
		}
	}
}

// event is something that befalls clients. It reports whether the links are down from now on.
func (g *match) event(link gameLink) (down bool) {
	p := g.players[g.r.IntN(len(g.players))]
	if !p.end().Running() {
		return false
	}
	p.calm = g.net.Now()
	switch g.r.IntN(8) {
	case 0, 1:
		if len(g.players) < 5 {
			g.met["joins"]++
			g.net.Join()
		}
	case 2:
		g.met["new connections"]++
		_ = p.c.Client.Connect(g.net.Address())
	case 3:
		g.met["sleeps"]++
		p.sleep = 1 + g.r.IntN(80)
		g.net.Suspend(p.end())
	case 4:
		g.met["blackouts"]++
		dark := link.link()
		dark.Down = true
		g.net.SetLink(dark)
		return true
	case 5:
		if p.connected() {
			g.met["resyncs"]++
			p.end().Replica().Lose()
			p.calm += 2 * time.Second // the server resyncs a client once in so long
		}
	case 6:
		g.met["closes"]++
		p.c.Client.Close()
	case 7:
		if len(g.players) > 2 && g.r.IntN(2) == 0 {
			g.met["kills"]++
			g.net.Kill(p.end())
		}
	}
	return false
}

// settle heals the links, has everybody connect, and gives clients time to be what they must be.
func (g *match) settle() {
	g.net.SetLink(gameLink{delay: 30 * time.Millisecond}.link())
	what := ""
	settled := g.net.RunUntil(20*time.Second, func() bool {
		g.wake()
		for _, p := range g.players {
			if p.end().Running() && p.c.Client.State() == netcode.Disconnected {
				_ = p.c.Client.Connect(g.net.Address())
			}
		}
		if g.net.Frame()%10 == 0 {
			what = g.differs()
		}
		return g.net.Frame()%10 == 0 && what == ""
	})
	g.hold(settled, what)
}

// differs tells which client is not yet what it must be.
func (g *match) differs() string {
	for _, p := range g.players {
		if !p.end().Running() {
			continue
		}
		if what := p.differs(); what != "" {
			return fmt.Sprintf("client %d: %s", p.i, what)
		}
	}
	if err := g.net.CheckConverge(); err != nil { // what was captured, to the bit
		return err.Error()
	}
	return ""
}
