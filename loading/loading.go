package loading

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
)

// every is the number of network ticks between two progress messages.
const every = 4

// progress tells how many entities the client has acknowledged, and how many it may see.
type progress struct{ Known, All uint32 }

// here tells that the client has acknowledged all that it could see when it joined.
type here struct{ All uint32 }

// Loading is the progress of a client's newest connection.
type Loading struct {
	known, all int
	here       bool
	onHere     []func()
	level
}

// joined is the state of a session.
type joined struct {
	since netcode.Tick // First tick whose state the client must have.
	done  bool
	// Rounds of levels: the newest that the client was told, and the newest that it has loaded.
	told, loaded uint32
}

// Register adds the feature to a protocol. Call it on both sides. It panics on a second call and on a frozen protocol.
func Register(p *netcode.Protocol) {
	extend.OfProtocol(p).Extend(extend.Extension{Name: "loading", Server: ends{}, Client: ends{}})
	registerLevels(p)
	netcode.Handle(p, func(ctx *netcode.Context, m *progress) {
		if l, ok := extend.ExtensionOf[*Loading](ctx.End); ok && !l.here {
			l.known, l.all = max(l.known, int(m.Known)), int(max(m.All, m.Known))
		}
	}, netcode.Named("netcode.loading.progress"), netcode.Over(netcode.UnreliableSequenced), netcode.OnChannel(61), netcode.FromServer(), netcode.AtStage(tick.Initialization))
	netcode.Handle(p, func(ctx *netcode.Context, m *here) {
		if l, ok := extend.ExtensionOf[*Loading](ctx.End); ok && !l.here {
			l.finish(int(m.All))
		}
	}, netcode.Named("netcode.loading.here"), netcode.Over(netcode.Reliable), netcode.FromServer(), netcode.AtStage(tick.EarlyUpdate))
}

// Of returns the progress of a client, nil without Register.
func Of(c *netcode.Client) *Loading {
	l, _ := extend.ExtensionOf[*Loading](c)
	return l
}

// Entities returns the number of entities that have arrived, as the server knows, and the number that the client may see. all is
// 0 before the first message.
func (l *Loading) Entities() (known, all int) { return l.known, l.all }

// Part returns the share that has arrived, 0 to 1. It is 1 only if all has arrived.
func (l *Loading) Part() float64 {
	switch {
	case l.here:
		return 1
	case l.all == 0:
		return 0
	}
	return min(float64(l.known)/float64(l.all), 0.99)
}

// Here reports whether everything has arrived that the client could see when it joined, up to the state of a common tick.
func (l *Loading) Here() bool { return l.here }

// OnHere adds a function that is called once in each connection when all has arrived. The world contains it by then.
func (l *Loading) OnHere(f func()) { l.onHere = append(l.onHere, f) }

// finish marks the loading as complete.
func (l *Loading) finish(all int) {
	l.here, l.known, l.all = true, all, all
	for _, f := range l.onHere {
		f()
	}
}

// ends makes the hooks of both ends.
type ends struct{}

// Client implements extend.ClientSide.
func (ends) Client(with extend.Client) extend.ClientHooks {
	c := netcode.ClientOf(with)
	l := &Loading{}
	return extend.ClientHooks{
		State:      l,
		Opened:     func() { l.known, l.all, l.here = 0, 0, false; l.connect() },
		BeforeSend: func() { l.tell(c) },
	}
}

// Server implements extend.ServerSide.
func (ends) Server(with extend.Server) extend.ServerHooks {
	s := netcode.ServerOf(with)
	loading, l := 0, &levels{server: s} // Sessions that are not done.
	return extend.ServerHooks{
		State:      l,
		Opened:     func(extend.Session) any { loading++; l.untold = true; return &joined{since: s.Tick() + 1} },
		BeginFrame: func() { l.beginFrame() },
		Closed: func(c extend.Session) {
			if j, ok := extend.ExtensionOf[*joined](c); ok && !j.done {
				loading--
			}
		},
		BeforeSend: func() {
			l.beforeSend()
			if loading == 0 || !s.TickDue() || s.Store().Tick() == 0 {
				return
			}
			for id := range s.Clients {
				c := extend.OfServer(s).Session(id)
				if j, ok := extend.ExtensionOf[*joined](c); ok && !j.done && (s.Tick()-j.since)%every == 0 {
					if j.tell(s, c); j.done {
						loading--
					}
				}
			}
		},
	}
}

// tell sends a client its progress.
func (j *joined) tell(s *netcode.Server, c extend.Session) {
	view, all := c.View(), 0
	for id := range s.Store().All {
		if view.Visible(id) {
			all++
		}
	}
	if c.Local() || view.Proved() >= j.since {
		j.done = netcode.Send(s, netcode.To(c.ID()), &here{All: uint32(all)}) == nil
		return
	}
	_ = netcode.Send(s, netcode.To(c.ID()), &progress{Known: uint32(view.Known()), All: uint32(all)}) // If it is lost another one follows.
}
