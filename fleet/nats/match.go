package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// MatchConfig configures a match. ID and Group are needed; Orphan.Open takes the ID and Data of the orphan.
type MatchConfig struct {
	ID    string                 // As a Config.Server: letters, digits, '-' and '_'.
	Data  string                 // The game's own, for the directory.
	Group *systems.ServerSystems // Of the server; no other match has it.

	// Checkpoint is the time between two saves of the match; 0: none, so that it ends with its process. Each costs the loop a record.Save.
	Checkpoint time.Duration
	// Extra returns what the game adds to a checkpoint, at most MaxExtra bytes. Nil: nothing. It runs in the loop.
	Extra func() []byte
	// Restore is the checkpoint with which the match begins: Orphan.Load.
	Restore *Checkpoint
	// Restored is called in the first frame with the entities of Restore; it may make more. err tells why there are none.
	Restored func(entities []netecs.Entity, err error)

	// Record stores a recording of the match, with these options; nil: none. See Node.Recording.
	Record []record.Option

	// Presence is called in the loop when a player of the fleet has come to a match, or has gone: then ok is false and p has only the User. Several
	// changes of a player since the last frame are one. Those who were there before Open are not told: Node.Players has them.
	Presence func(p Presence, ok bool)

	// Lost is called once, in the loop, when another process has taken the match over, since this one had no lease for too long. The match never runs
	// again here: close its clients' connections and end its loop. Nil: Server.Close does the former.
	Lost func()
}

// Match is a match of this process: the loop of one server. It is the Group of the systems.Runner. In a frame without a lease no system runs, neither
// the game's nor netcode's: to clients the server is silent, as one that is stopped. It goes on when the lease is back.
type Match struct {
	node   *Node
	config MatchConfig
	server *netcode.Server
	inbox  *inbox
	stop   chan struct{}   // Closed at the end.
	alive  context.Context // Done at the end.
	finish context.CancelFunc
	ended  sync.Once
	work   sync.WaitGroup

	key struct { // The match's key in the directory.
		sync.Mutex
		entry    matchEntry
		revision uint64
		gone     int // Times in a row that it was not there.
	}
	fence atomic.Uint64 // Under which the directory has the match.
	lost  atomic.Bool
	tick  atomic.Uint64 // Of the loop, for Publish from other goroutines.

	users struct {
		sync.Mutex
		clients map[string]netcode.ClientID
		former  map[string]*former // Players of the checkpoint that have not come back.
	}

	news struct { // Players whose presence has changed, for MatchConfig.Presence.
		sync.Mutex
		users map[string]struct{}
	}

	// The loop owns these.
	world    *netecs.World
	handling func(it *item)
	hold     bool
	closing  bool
	told     bool // Lost was called.
	given    bool // GiveAway was called.
	begun    bool
	saver    *saver
	scratch  message.Scratch
	context  Context
	carried  map[netcode.ClientID][]netcode.NetworkID
	stopRec  func() error
}

// Errors of Open.
var (
	ErrRunning = errors.New("nats: the fleet has this match already")
	ErrTaken   = errors.New("nats: another process has taken this match")
	ErrNoLease = errors.New("nats: this process has no lease at the moment")
)

// Open enters a new match into the directory and connects it with its loop. Call it before the game adds systems to the group, so that messages are
// handled before them, and before the first frame. Give the Match to systems.NewRunner in the place of the group. The errors are ErrConfig, ErrRunning,
// ErrNoLease, and those of NATS.
func (n *Node) Open(ctx context.Context, config MatchConfig) (*Match, error) {
	fence := n.Fence()
	switch {
	case !legalName(config.ID) || !legalData(config.Data) || config.Group == nil:
		return nil, fmt.Errorf("%w: match %q: a name of letters, digits, '-' and '_', %d bytes of Data at most, and a Group", ErrConfig, config.ID, MaxData)
	case fence == 0:
		return nil, ErrNoLease
	}
	e := matchEntry{Server: n.config.Server, Fence: fence, Data: config.Data}
	revision, err := n.kv.Create(ctx, matchKey(config.ID), encode(e))
	if rewritten(err) {
		return nil, fmt.Errorf("%w: %s", ErrRunning, config.ID)
	}
	if err != nil {
		return nil, err
	}
	n.directory.put(matchKey(config.ID), encode(e), revision)
	return n.begin(config, e, revision)
}

// begin makes the match of a key.
func (n *Node) begin(config MatchConfig, e matchEntry, revision uint64) (*Match, error) {
	m := &Match{
		node: n, config: config, server: config.Group.Server, inbox: newInbox(n.config.Queue, n.config.Patience), stop: make(chan struct{}),
		carried: map[netcode.ClientID][]netcode.NetworkID{},
	}
	m.alive, m.finish = context.WithCancel(context.Background())
	m.key.entry, m.key.revision = e, revision
	m.users.clients, m.users.former = map[string]netcode.ClientID{}, map[string]*former{}
	m.news.users = map[string]struct{}{}
	m.fence.Store(e.Fence)
	n.mu.Lock()
	taken := n.matches[config.ID] != nil
	if !taken {
		n.matches[config.ID] = m
	}
	n.mu.Unlock()
	if taken {
		return nil, fmt.Errorf("%w: %s", ErrRunning, config.ID)
	}
	if err := n.subscribe("m." + config.ID); err != nil {
		return nil, err
	}
	m.attach()
	return m, nil
}

// attach adds what runs in the loop.
func (m *Match) attach() {
	for stage := range tick.Stage(tick.NumStages) {
		m.config.Group.Add(stage, systems.Func(func(*netecs.World) { m.drain(stage) }))
	}
	m.handling = m.handle // Made once, so that a frame allocates nothing.
	m.server.OnConnect(m.enter)
	m.server.OnLeave(m.leave)
	if m.config.Checkpoint > 0 {
		m.saver = newSaver(m)
	}
	if m.config.Record != nil {
		m.startRecording()
	}
}

// ID is the match's.
func (m *Match) ID() string { return m.config.ID }

// Node is that of the process.
func (m *Match) Node() *Node { return m.node }

// Hold reports whether the match may not simulate now: this process has no lease, or not the one under which the directory has the match. A loop
// that is no systems.Runner asks in each frame, before anything of the game runs.
func (m *Match) Hold() bool {
	fence := m.node.lease.held(m.node.now())
	return fence == 0 || fence != m.fence.Load() || m.lost.Load()
}

// Systems implements systems.Group: the systems of the group, which do not run in a frame on Hold.
func (m *Match) Systems() []systems.System {
	list := []systems.System{systems.Func(m.beginFrame)}
	for _, s := range m.config.Group.Systems() {
		list = append(list, &gated{System: s, match: m})
	}
	return append(list, systems.Func(func(*netecs.World) { m.endFrame() }))
}

// Close implements systems.Group, in the loop. It ends the recording. A match that ends so is taken out of the directory by End, or by Node.Close.
func (m *Match) Close() {
	m.closing = true
	if m.stopRec != nil {
		_ = m.stopRec() // Its errors were told to Server.OnError.
		m.stopRec = nil
	}
	m.config.Group.Close()
}

// Closed implements systems.Group.
func (m *Match) Closed() bool { return m.config.Group.Closed() }

// gated is a system that does not run in a frame on hold.
type gated struct {
	systems.System
	match *Match
}

// Update implements systems.System. What tells clients that the match has ended runs on hold too.
func (g *gated) Update(w *netecs.World) {
	if g.match.hold {
		switch g.System.(type) {
		case *systems.Receive, *systems.Send:
			if !g.match.closing {
				return
			}
		default:
			return
		}
	}
	g.System.Update(w)
}

// beginFrame decides whether the frame runs.
func (m *Match) beginFrame(w *netecs.World) {
	m.world, m.hold = w, m.Hold()
	if m.hold {
		m.node.counters.held.Add(1)
		if m.lost.Load() && !m.told {
			m.told = true
			m.tellLost()
		}
		return
	}
	m.tick.Store(uint64(m.server.Tick()))
	if !m.begun {
		m.begun = true
		m.restore(w)
	}
	if m.config.Presence != nil {
		m.tellPresence()
	}
}

// heard notes that a player has come or gone, from any goroutine. There are as many as the directory has.
func (m *Match) heard(user string) {
	if m.config.Presence == nil {
		return
	}
	m.news.Lock()
	defer m.news.Unlock()
	if len(m.news.users) < maxPlayers {
		m.news.users[user] = struct{}{}
	}
}

// tellPresence calls MatchConfig.Presence for those who came and went since the last frame.
func (m *Match) tellPresence() {
	m.news.Lock()
	users := m.news.users
	if len(users) == 0 {
		m.news.Unlock()
		return
	}
	m.news.users = map[string]struct{}{}
	m.news.Unlock()
	for user := range users {
		p, ok := m.node.Player(user)
		p.User = user
		extend.Contain(extend.OfServer(m.server), "MatchConfig.Presence", func() { m.config.Presence(p, ok) })
	}
}

// tellLost tells the game that another process has the match.
func (m *Match) tellLost() {
	if !m.given {
		m.node.counters.lost.Add(1)
	}
	if m.config.Lost == nil {
		m.Close()
		return
	}
	extend.Contain(extend.OfServer(m.server), "MatchConfig.Lost", m.config.Lost)
}

// endFrame saves and records.
func (m *Match) endFrame() {
	if m.hold {
		return
	}
	if m.saver != nil && m.server.TickDue() {
		m.saver.frame()
	}
}

// drain handles the messages of a stage.
func (m *Match) drain(stage tick.Stage) {
	m.inbox.drain(stage, m.server.Tick(), m.node.now().mono, m.handling)
}

// handle calls the handler of a message.
func (m *Match) handle(it *item) {
	m.context = Context{Match: m, From: it.from, Tick: it.tick, Player: it.player}
	if it.player != "" {
		m.context.Client = m.client(it.player)
	}
	extend.Contain(extend.OfServer(m.server), "the handler of "+it.kind.name, func() {
		if it.kind.handle(&m.context, &m.scratch, it.body) {
			m.node.counters.handled.Add(1)
		}
	})
}

// wants reports whether a message is for this match.
func (m *Match) wants(recipient, player string) bool {
	kind, name, _ := strings.Cut(recipient, ".")
	switch kind {
	case "m":
		return name == m.config.ID
	case "p":
		return player != "" && m.client(player) != 0
	}
	return true
}

// client returns the client of a player that is in this match.
func (m *Match) client(user string) netcode.ClientID {
	m.users.Lock()
	defer m.users.Unlock()
	return m.users.clients[user]
}

// sends implements Sender.
func (m *Match) sends() (*Node, tick.Tick) { return m.node, tick.Tick(m.tick.Load()) }

// enter notes a player that connected.
func (m *Match) enter(client netcode.ClientID) {
	user := m.server.Identity(client)
	if user == "" {
		return
	}
	m.users.Lock()
	m.users.clients[user] = client
	m.users.Unlock()
	m.node.presence.enter(user, m.config.ID)
	m.giveBack(user, client)
}

// leave notes a player that has left for good.
func (m *Match) leave(client netcode.ClientID) {
	user := m.server.Identity(client)
	delete(m.carried, client)
	m.users.Lock()
	here := user != "" && m.users.clients[user] == client
	if here {
		delete(m.users.clients, user)
	}
	m.users.Unlock()
	if here {
		m.node.presence.leave(user, m.config.ID)
	}
}

// renew enters the match under a new lease, in the goroutine of the keeper. If another process has it by now, it is lost.
func (m *Match) renew(ctx context.Context) {
	n := m.node
	fence := n.Fence()
	if fence == 0 || fence == m.fence.Load() || m.lost.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, n.config.Lease/3)
	defer cancel()
	m.key.Lock()
	defer m.key.Unlock()
	e := m.key.entry
	e.Fence = fence
	if m.write(ctx, e) == nil {
		m.fence.Store(fence)
	}
}

// write writes the match's key. The caller holds its lock. If somebody else has written it, the match is lost.
func (m *Match) write(ctx context.Context, e matchEntry) error {
	n := m.node
	revision, err := n.kv.Update(ctx, matchKey(m.config.ID), encode(e), m.key.revision)
	if err == nil {
		m.key.entry, m.key.revision, m.key.gone = e, revision, 0
		return nil
	}
	now, found := n.kv.Get(ctx, matchKey(m.config.ID))
	switch {
	case errors.Is(found, jetstream.ErrKeyNotFound) && rewritten(err): // A copy that is behind says so too, but not again and again.
		if m.key.gone++; m.key.gone >= 3 {
			m.lost.Store(true)
		}
		return err
	case found != nil || now.Revision() < m.key.revision:
		return err
	}
	_, in, bad := decodeMatch(now.Key(), now.Value())
	if bad != nil || in.Server != n.config.Server || in.Fence != e.Fence && in.Fence != m.key.entry.Fence {
		m.lost.Store(true)
		return err
	}
	m.key.entry, m.key.revision, m.key.gone = in, now.Revision(), 0 // An earlier attempt, whose answer was lost.
	if in == e {
		return nil
	}
	return err
}

// GiveAway gives the match to another process, as when this one is replaced by a new build: it is saved, and taken over as the match of a process that
// died, but at once and with its newest tick. Call it in the loop, as by Runner.Do, in the place of End. The match does not run here any more:
// MatchConfig.Lost is called, or the clients are told that the server closes, and go where the match is. A process with Config.Orphan may get it itself.
// The errors are ErrTaken, and those of the store; after one of the store the match runs on.
func (m *Match) GiveAway(ctx context.Context) error {
	if m.lost.Load() {
		return ErrTaken
	}
	c, err := (&saver{match: m}).checkpoint(m.server.Tick())
	if err != nil {
		return err
	}
	s := m.saver
	if s == nil {
		s = &saver{match: m}
	}
	if err := s.store(ctx, c); err != nil {
		return err
	}
	m.given = true
	return m.finished(func() error {
		m.key.Lock()
		defer m.key.Unlock()
		e := m.key.entry
		e.Fence = 0 // Nobody's lease.
		return m.write(ctx, e)
	})
}

// End takes the match out of the directory, with its checkpoint: it is over. Call it when its loop has ended. Its recording stays.
func (m *Match) End(ctx context.Context) error { return m.release(ctx) }

// release implements End.
func (m *Match) release(ctx context.Context) error {
	return m.finished(func() error {
		n := m.node
		m.key.Lock()
		defer m.key.Unlock()
		err := n.remove(ctx, matchKey(m.config.ID), m.key.revision)
		if err == nil && m.key.entry.Point != "" {
			err = n.objects.Delete(ctx, m.key.entry.Point)
		}
		return err
	})
}

// finished ends what runs for the match, once. last is what it says to the directory, if it is this process's still.
func (m *Match) finished(last func() error) (err error) {
	m.ended.Do(func() {
		close(m.stop)
		m.finish()
		m.work.Wait()
		n := m.node
		n.unsubscribe("m." + m.config.ID)
		n.mu.Lock()
		delete(n.matches, m.config.ID)
		n.mu.Unlock()
		if !m.lost.Load() {
			err = last()
		}
		m.lost.Store(true)
	})
	return err
}
