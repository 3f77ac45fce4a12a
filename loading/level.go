package loading

import (
	"slices"
	"time"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
)

// levelBegins tells a client to load a level. Round counts the calls of Begin: a level may be played again.
type levelBegins struct{ Round, Level uint32 }

// levelState tells a client that it has all state of the frame in which Begin was called, or in which it joined later.
type levelState struct{ Round uint32 }

// levelLoaded tells the server that a client has loaded the level of a round and has its state.
type levelLoaded struct{ Round uint32 }

// levels has the newest level of a server.
type levels struct {
	server       *netcode.Server
	round, level uint32
	open         bool         // The barrier waits.
	until        netcode.Tick // It waits up to this tick.
	all          func(late []netcode.ClientID)
	untold       bool // A client may not know the newest round.
	onLoaded     []func(netcode.ClientID)
}

// Begin starts a level at the server: all clients load it, see [Loading.OnLevel]. Call it in the frame that builds the level's
// entities. A client has loaded the level when its game says so and it has all state of this frame that it may see.
//
// all is called once, at the beginning of a frame: when every client has loaded the level, or after patience. late has
// those that have not, in ascending order. A client that leaves is not waited for. One that joins in the meantime is waited
// for, within the same patience; one that comes back is a new client. A later joiner loads the level too: see [OnLoaded].
// A second Begin replaces the first, whose all is not called any more. Begin panics without [Register].
func Begin(s *netcode.Server, level uint32, patience time.Duration, all func(late []netcode.ClientID)) {
	l := levelsOf(s)
	l.round, l.level, l.open, l.untold, l.all = l.round+1, level, true, true, all
	l.until = s.Tick() + max(netcode.Tick(patience/s.Interval()), 1)
}

// Waiting returns the clients that have not loaded the level of the newest Begin, in ascending order. It panics without [Register].
func Waiting(s *netcode.Server) (clients []netcode.ClientID) {
	l := levelsOf(s)
	for id := range s.Clients {
		if j, ok := extend.ExtensionOf[*joined](extend.OfServer(s).Session(id)); ok && j.loaded != l.round {
			clients = append(clients, id)
		}
	}
	slices.Sort(clients)
	return clients
}

// OnLoaded adds a function that is called at the server when a client has loaded the level of the newest Begin, also a client
// that was late or joined later. It panics without [Register].
func OnLoaded(s *netcode.Server, f func(client netcode.ClientID)) {
	l := levelsOf(s)
	l.onLoaded = append(l.onLoaded, f)
}

func levelsOf(s *netcode.Server) *levels {
	l, ok := extend.ExtensionOf[*levels](s)
	if !ok {
		panic("loading: the protocol has no loading: call Register before it is used")
	}
	return l
}

// beginFrame calls all if nobody is waited for any more.
func (l *levels) beginFrame() {
	if !l.open {
		return
	}
	if late := Waiting(l.server); len(late) == 0 || l.server.Tick() >= l.until {
		l.open = false
		if l.all != nil {
			l.all(late)
		}
	}
}

// beforeSend tells clients the newest level.
func (l *levels) beforeSend() {
	s := l.server
	if !l.untold || l.round == 0 {
		return
	}
	l.untold = false
	for id := range s.Clients {
		j, ok := extend.ExtensionOf[*joined](extend.OfServer(s).Session(id))
		if !ok || j.told == l.round {
			continue
		}
		if netcode.Send(s, netcode.To(id), &levelBegins{l.round, l.level}) == nil &&
			netcode.Send(s, netcode.To(id), &levelState{l.round}, netcode.AfterAllState()) == nil {
			j.told = l.round
		} else {
			l.untold = true // Its queue is full.
		}
	}
}

// take takes a client's message that it has loaded a round.
func (l *levels) take(from netcode.ClientID, round uint32) {
	j, ok := extend.ExtensionOf[*joined](extend.OfServer(l.server).Session(from))
	if !ok || round != l.round || j.told != round || j.loaded == round {
		return
	}
	j.loaded = round
	for _, f := range l.onLoaded {
		f(from)
	}
}

// registerLevels adds the messages of levels.
func registerLevels(p *netcode.Protocol) {
	netcode.Handle(p, func(ctx *netcode.Context, m *levelBegins) {
		if l, ok := extend.ExtensionOf[*Loading](ctx.End); ok {
			l.begin(m.Round, m.Level)
		}
	}, netcode.Named("netcode.loading.level"), netcode.Over(netcode.Reliable), netcode.FromServer(), netcode.AtStage(tick.EarlyUpdate))
	netcode.Handle(p, func(ctx *netcode.Context, m *levelState) {
		if l, ok := extend.ExtensionOf[*Loading](ctx.End); ok {
			l.stateOf = max(l.stateOf, m.Round)
		}
	}, netcode.Named("netcode.loading.state"), netcode.Over(netcode.Reliable), netcode.FromServer(), netcode.AtStage(tick.EarlyUpdate))
	netcode.Handle(p, func(ctx *netcode.Context, m *levelLoaded) {
		if l, ok := extend.ExtensionOf[*levels](ctx.End); ok {
			l.take(ctx.Sender, m.Round)
		}
	}, netcode.Named("netcode.loading.loaded"), netcode.Over(netcode.Reliable), netcode.FromClient(), netcode.AtStage(tick.EarlyUpdate))
}

// level is the newest level of a client's connection.
type level struct {
	round   uint32 // 0: none yet
	stateOf uint32 // Newest round whose state has come.
	done    bool   // The game has loaded it.
	told    bool   // The server knows.
	load    func(level uint32, done func())
}

// OnLevel sets the function that loads a level at a client. It is called for each Begin of the server, and after a join if a level
// has begun. It calls done when the level is loaded, at once or in a later frame, on the goroutine of the client. A done of an
// earlier call has no effect. Without a function a client has loaded each level when its state is here.
func (l *Loading) OnLevel(load func(level uint32, done func())) { l.load = load }

// begin begins to load a level.
func (l *level) begin(round, number uint32) {
	if round <= l.round {
		return
	}
	l.round, l.done, l.told = round, l.load == nil, false
	if l.load != nil {
		l.load(number, func() { l.done = l.done || l.round == round })
	}
}

// tell tells the server that the level is loaded.
func (l *level) tell(c *netcode.Client) {
	if l.done && !l.told && l.stateOf == l.round {
		l.told = netcode.Send(c, netcode.ToServer(), &levelLoaded{l.round}) == nil
	}
}

// connect begins a connection.
func (l *level) connect() { *l = level{load: l.load} }
