package resume

import (
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
)

// resumed tells a client that the match went on after this tick.
type resumed struct{ Tick uint64 }

// server is the state at a server: the tick of the checkpoint, 0 for a match that began here.
type server struct{ from netcode.Tick }

// Resumes is the state at a client: [Of].
type Resumes struct {
	client *netcode.Client
	shown  netcode.Tick // The newest tick that this connection showed.
	before netcode.Tick // That of the connection before.
	f      func(lost time.Duration)
}

type serverSide struct{}

// Server implements extend.ServerSide.
func (serverSide) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	state := &server{}
	s.OnConnect(func(client netcode.ClientID) {
		if state.from != 0 {
			_ = netcode.Send(s, netcode.To(client), &resumed{uint64(state.from)}) // A client that has no room for it is closed.
		}
	})
	return extend.ServerHooks{State: state}
}

type clientSide struct{}

// Client implements extend.ClientSide.
func (clientSide) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	r := &Resumes{client: c}
	return extend.ClientHooks{
		State:  r,
		Opened: func() { r.before, r.shown = max(r.shown, r.before), 0 },
		Applied: func(shown tick.Time) { // Without news the moment moves on for a while, and shows nothing new.
			if state := c.Replica(); state != nil {
				r.shown = max(r.shown, min(shown.Tick, state.NewestKnown()))
			}
		},
	}
}

// Register adds the feature to a protocol.
func Register(p *netcode.Protocol) {
	netcode.Handle(p, func(ctx *netcode.Context, m *resumed) {
		if r, ok := extend.ExtensionOf[*Resumes](ctx.End); ok {
			r.take(netcode.Tick(m.Tick))
		}
	}, netcode.Named("netcode.fleet.resumed"), netcode.FromServer(), netcode.Over(netcode.Reliable), netcode.AtStage(tick.EarlyUpdate))
	extend.OfProtocol(p).Extend(extend.Extension{Name: "netcode.fleet.resume", Server: serverSide{}, Client: clientSide{}})
}

// From tells the clients that connect from now on that the match went on after a tick. It does nothing without [Register].
func From(s *netcode.Server, at netcode.Tick) {
	if state, ok := extend.ExtensionOf[*server](s); ok {
		state.from = at
	}
}

// Of returns the state of a client. It panics without [Register].
func Of(c *netcode.Client) *Resumes {
	r, ok := extend.ExtensionOf[*Resumes](c)
	if !ok {
		panic("resume: the protocol has no resume: call Register before it is used")
	}
	return r
}

// OnResumed sets the function that is called at a client after it came back to a match that went on from a checkpoint. lost is what the player had
// seen since the checkpoint, and which never happened now; 0 for one that was not there.
func (r *Resumes) OnResumed(f func(lost time.Duration)) { r.f = f }

// take takes the message.
func (r *Resumes) take(from netcode.Tick) {
	lost := time.Duration(0)
	if ticks := r.before - from; from < r.before && ticks < 1<<20 { // More is a server that lies.
		lost = time.Duration(ticks) * r.client.Interval()
	}
	r.before = 0
	if r.f != nil {
		r.f(lost)
	}
}
