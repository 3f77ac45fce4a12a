package live

import (
	"context"
	"fmt"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/inspect"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// Phase is a part of a server's frame.
type Phase uint8

// The phases, in the order of the frame.
const (
	Receive Phase = iota // Datagrams are read from the socket and decoded.
	Apply                // Writes of clients are applied to the world.
	Game                 // The game's systems and message handlers run.
	Capture              // The world is copied into the server's store.
	Encode               // Packets are encoded.
	Send                 // Packets are passed to the socket.
	Inspect              // The inspector's own work.
	NumPhases
)

// String returns the phase's name in lower case.
func (p Phase) String() string {
	return [NumPhases]string{"receive", "apply", "game", "capture", "encode", "send", "inspect"}[p]
}

const (
	// publishEvery is the time between two snapshots.
	publishEvery = 250 * time.Millisecond
	// lookFor is the time for which the server is measured after a request.
	lookFor = 3 * time.Second
	// rowShare is the divisor of the time between two ticks that gives the maximum time for rows of clients.
	rowShare = 200
	// mostListeners is the maximum number of open pages.
	mostListeners = 16
	// backlog is the number of snapshots queued for a slow page. Further ones are added up in one.
	backlog = 8
)

// Inspector wraps a server's loop so that it can be inspected. It implements systems.Group and http.Handler.
type Inspector struct {
	group  systems.Group
	loop   *systems.ServerSystems // Part of group.
	server *netcode.Server
	now    func() time.Duration
	public bool
	frames func(times *[NumPhases]time.Duration, tick bool) // See OnFrame.
	reads  func(read *inspect.Attribution)                  // See OnRead.

	asked      atomic.Bool   // A request came since the loop last checked.
	askedTicks atomic.Bool   // The same for /ticks only.
	follow     atomic.Uint32 // Client whose packets are listed; 0: none.
	asks       chan *question
	tickAsks   chan chan TickTimes // Requests that wait at /ticks.

	mu        sync.Mutex                   // Guards listeners.
	listeners map[chan *Snapshot]*Snapshot // The value has the sums that a slow page missed; nil: none.

	// The loop owns all fields below.
	socket    systems.Socket // The socket with the tap.
	until     time.Duration  // End of measuring; 0: nobody looks.
	timeUntil time.Duration  // End of timing ticks for /ticks; 0: nobody asks.
	on        bool           // Somebody looked at the start of the frame.
	timed     bool           // on, or tick times are requested.
	measured  bool           // timed, or OnFrame was called.
	reading   bool           // Sent datagrams are counted: on, or OnRead was called.
	times     [NumPhases]time.Duration
	encoded   time.Duration // When the newest packets were encoded.
	published time.Duration
	summed    time.Duration // When /ticks was answered last.
	number    uint64        // Number of the newest snapshot.
	tap       tap
	ticks     []tickTime
	mark      mark
	window    []time.Duration // Durations of the ticks of the last second.
	used      []time.Duration // processorTime at the ends of these ticks.
	log       []string
	before    counters
	question  *question // The current question.
	figures   []figure
	rows      map[netcode.ClientID]Client // Rows of the table of clients.
	refreshed netcode.ClientID            // Client of the newest row.
}

// figure is a number that the game adds to the page.
type figure struct {
	name string
	of   func() float64
}

// New returns an inspector of a loop, which must be a *systems.ServerSystems or a *systems.HostSystems before its first frame.
// Run the inspector instead of it. New panics on another group.
func New(group systems.Group) *Inspector {
	var of *systems.ServerSystems
	switch g := group.(type) {
	case *systems.ServerSystems:
		of = g
	case *systems.HostSystems:
		of = g.ServerSystems
	default:
		panic(fmt.Sprintf("live: New: a %T has no server: give the group of systems.NewServer or systems.NewHost", group))
	}
	i := &Inspector{group: group, loop: of, server: of.Server, now: of.Receive.Now, listeners: map[chan *Snapshot]*Snapshot{}}
	i.asks, i.tickAsks = make(chan *question, mostListeners), make(chan chan TickTimes, mostListeners)
	i.tap.inspector = i
	i.tapSocket()
	extend.OfServer(i.server).Extend(extend.ServerHooks{AfterSend: func() {
		if i.measured {
			i.encoded = i.now()
		}
		if i.mark.in {
			i.mark.leave()
			i.mark.enter(Send)
		}
	}})
	i.server.OnError(func(err error) { i.note("error: %v", err) })
	i.server.OnConnect(func(id netcode.ClientID) { i.tap.news = true; i.note("client %d connected", id) })
	i.server.OnMigrate(func(id netcode.ClientID, _, to transport.Addr) {
		i.tap.news = true
		i.note("client %d is at %v now", id, to)
	})
	i.server.OnDisconnect(func(id netcode.ClientID, reason *netcode.CloseError) {
		i.tap.news = true
		delete(i.rows, id)
		i.note("client %d left: %v", id, reason)
	})
	return i
}

// tapSocket wraps the socket of the loop in the tap.
func (i *Inspector) tapSocket() {
	i.socket = i.tap.around(i.loop.Receive.Socket)
	i.loop.Receive.Socket, i.loop.Send.Socket = i.socket, i.socket
	i.loop.Send.Initialize(nil) // Detects the abilities of the socket.
}

// Label sets the profiler label "netcode" of the loop's goroutine to the name of the phase. go tool pprof -tagfocus encode then
// shows that phase only. ctx has the goroutine's other labels, from pprof.WithLabels. Call it before the first frame.
func (i *Inspector) Label(ctx context.Context) {
	i.mark.outside = ctx
	for p := range i.mark.labels {
		i.mark.labels[p] = pprof.WithLabels(ctx, pprof.Labels("netcode", Phase(p).String()))
	}
}

// Figure adds a number to the page, such as reported mispredictions or players in a match. The loop calls f four times a second
// while somebody looks. Call it before the first frame.
func (i *Inspector) Figure(name string, f func() float64) {
	i.figures = append(i.figures, figure{name, f})
}

// OnFrame sets a function for metrics. The loop calls it at the end of each frame with the time of each phase, and whether the
// frame had a network tick. Frames are then measured even while nobody looks. Call it before the first frame.
func (i *Inspector) OnFrame(f func(times *[NumPhases]time.Duration, tick bool)) { i.frames = f }

// OnRead sets a function for metrics. The loop calls it several times a second with the account of the datagrams that were sent since
// the last call: of all of them. The server's writers then count even while nobody looks. Call it before the first frame.
func (i *Inspector) OnRead(f func(read *inspect.Attribution)) { i.reads = f }

// Server returns the inspected server.
func (i *Inspector) Server() *netcode.Server { return i.server }

// Close implements systems.Group.
func (i *Inspector) Close() { i.group.Close() }

// Closed implements systems.Group.
func (i *Inspector) Closed() bool { return i.group.Closed() }

// Systems implements systems.Group. It wraps each system of the group in a clock.
func (i *Inspector) Systems() []systems.System {
	all := i.group.Systems()
	timed := make([]systems.System, 0, len(all)+2)
	timed = append(timed, systems.Func(func(*netecs.World) { i.begin() }))
	for _, s := range all {
		timed = append(timed, &timedSystem{System: s, inspector: i, phase: phaseOf(s)})
	}
	return append(timed, systems.Func(func(*netecs.World) { i.end() }))
}

// phaseOf returns the phase of a system.
func phaseOf(s systems.System) Phase {
	switch s.(type) {
	case *systems.Receive:
		return Receive
	case *systems.Accept, *systems.Away:
		return Apply
	case *systems.Tick:
		return Capture
	case *systems.Send:
		return Encode
	}
	return Game
}

// mark shows the running phase in profiles and traces.
type mark struct {
	in      bool // A phase is running.
	region  *trace.Region
	outside context.Context // nil: Label was not called.
	labels  [NumPhases]context.Context
}

// enter begins a phase.
func (m *mark) enter(p Phase) {
	m.in = true
	if trace.IsEnabled() {
		m.region = trace.StartRegion(context.Background(), "netcode "+p.String())
	}
	if m.outside != nil {
		pprof.SetGoroutineLabels(m.labels[p])
	}
}

// leave ends the phase.
func (m *mark) leave() {
	m.in = false
	if m.region != nil {
		m.region.End()
		m.region = nil
	}
	if m.outside != nil {
		pprof.SetGoroutineLabels(m.outside)
	}
}

// timedSystem measures a system.
type timedSystem struct {
	systems.System
	inspector *Inspector
	phase     Phase
}

// Update implements systems.System.
func (s *timedSystem) Update(w *netecs.World) {
	i := s.inspector
	i.mark.enter(s.phase)
	defer i.mark.leave()
	if !i.measured {
		s.System.Update(w)
		return
	}
	own, begun := i.times[Inspect], i.now()
	s.System.Update(w)
	ended := i.now()
	took := ended - begun - (i.times[Inspect] - own)
	if s.phase == Encode && i.encoded >= begun {
		sent := ended - i.encoded - (i.times[Inspect] - own) // Without the tap, which works while packets are sent.
		i.times[Send] += sent
		took -= sent
	}
	i.times[s.phase] += took
}

// begin begins a frame.
func (i *Inspector) begin() {
	if i.loop.Receive.Socket != i.socket { // Attach or Detach has changed it.
		i.tapSocket()
	}
	looked := i.on
	if i.on = i.looks(&i.asked, &i.until); i.on && !looked {
		i.published = i.now() // So that the first snapshot includes some ticks.
	}
	i.timed = i.looks(&i.askedTicks, &i.timeUntil) || i.on
	i.measured = i.timed || i.frames != nil
	i.times = [NumPhases]time.Duration{}
	if i.reading = i.on || i.reads != nil; i.reading {
		i.tap.beginFrame()
	} else if i.tap.account != nil {
		i.tap.forget()
	}
}

// looks reports whether a request came recently, and extends until if one came now.
func (i *Inspector) looks(asked *atomic.Bool, until *time.Duration) bool {
	if asked.Load() {
		asked.Store(false)
		*until = i.now() + lookFor
	}
	if *until > 0 && i.now() >= *until {
		*until = 0
	}
	return *until > 0
}

// end ends a frame: it publishes a snapshot and answers a question.
func (i *Inspector) end() {
	if i.frames != nil {
		i.frames(&i.times, i.server.TickDue())
	}
	if !i.timed && i.window != nil {
		i.window, i.used = nil, nil
	}
	if i.timed && i.server.TickDue() {
		i.addTick()
	}
	if !i.on {
		if i.rows != nil { // The last page has closed.
			i.ticks, i.before, i.rows = nil, nil, nil
			i.number++ // The next snapshot does not continue the last one.
		}
		if i.reading && i.now()-i.published >= publishEvery {
			i.tap.take()
			i.published = i.now()
		}
		i.answer()
		return
	}
	begun := i.now()
	if i.server.TickDue() {
		i.refresh(begun + i.server.Interval()/rowShare)
	}
	if begun-i.published >= publishEvery {
		i.publish(begun)
	}
	i.answer()
	i.tap.late += i.now() - begun // Counted in the next tick.
}

// mostTicks is the maximum number of ticks listed in a snapshot. Percentiles cover the last second.
const mostTicks = 256

// addTick records the phases of a tick.
func (i *Inspector) addTick() {
	i.times[Inspect] += i.tap.late
	i.tap.late = 0
	t, sum := tickTime{Tick: int64(i.server.Tick())}, time.Duration(0)
	for p, d := range i.times {
		sum += d
		t.Phases[p] = micros(d)
	}
	if i.on && len(i.ticks) < mostTicks {
		i.ticks = append(i.ticks, t)
	}
	if i.window == nil {
		i.summed = i.now() // So that the first answer includes some ticks.
	}
	i.window, i.used = append(i.window, sum), append(i.used, processorTime())
	if old := len(i.window) - i.server.TickRate(); old > 0 {
		i.window, i.used = slices.Delete(i.window, 0, old), slices.Delete(i.used, 0, old)
	}
	if now := i.now(); now-i.summed >= publishEvery {
		i.summed = now
		for len(i.tickAsks) > 0 {
			(<-i.tickAsks) <- i.percentiles()
		}
	}
}

// publish makes a snapshot and passes it to all pages. A slow page misses some; the sums of these are in its next one.
func (i *Inspector) publish(now time.Duration) {
	s := i.snapshot(now)
	i.published = now
	i.mu.Lock()
	defer i.mu.Unlock()
	for listener, missed := range i.listeners {
		own := s
		if missed != nil {
			own = s.behind(missed)
		}
		select {
		case listener <- own:
			i.listeners[listener] = nil
		default:
			i.listeners[listener] = own
		}
	}
}

// look notes a request.
func (i *Inspector) look() { i.asked.Store(true) }

// mostLog is the maximum number of log lines in a snapshot.
const mostLog = 64

// note adds a line to the log.
func (i *Inspector) note(format string, args ...any) {
	line := fmt.Sprintf("tick %d: ", i.server.Tick()) + fmt.Sprintf(format, args...)
	if len(i.log) == mostLog {
		i.log = slices.Delete(i.log, 0, 1)
	}
	i.log = append(i.log, line)
}
