package handover

import (
	"errors"
	"fmt"
	"slices"

	"github.com/arche-netcode/netcode"
	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/transport"
)

// Session is a game at a client, for one server: the client, its world, the systems of netcode and of the game.
type Session struct {
	Systems *systems.ClientSystems // the client's systems, with those of the game
	World   *netecs.World          // the world of these systems, which has no other
	Server  transport.Addr         // the address to connect to
	Payload []byte                 // for OnApprove of the first server; see netcode.Client.ConnectWith
	Close   func()                 // closes the socket, after the last frame; nil: nothing
}

// Open makes a session for a server and calls done, at once or in a later frame, in the goroutine of the frames (Runner.Do). It
// does not connect. The systems of the game run in a session that is not shown too: they set inputs, and predict. What the player
// sees and hears is for Shown alone.
type Open func(to Destination, done func(*Session, error))

// ErrEnded means that the connection to the old server has ended before the player could move.
var ErrEnded = errors.New("netcode: handover: the old server is gone")

// Client runs the sessions of one player. It implements systems.Group: a Runner runs it, with any world.
type Client struct {
	open     Open
	shown    *session
	next     *session   // its new session, while the player moves
	ending   []*session // sessions that are not shown any more
	to       Destination
	shift    tick.Span // of Present
	frames   uint64
	closed   bool
	onSwitch []func(from, to *Session)
	onFail   []func(error)
	onLoss   []func(of *Session, u *Undelivered)
}

// session is the state of a netcode.Client: see Session.
type session struct {
	Session
	client  *netcode.Client
	mover   *Client // nil: no Client runs it
	list    []systems.System
	id      ID // the move that made it
	left    ID // the move that it was left by
	ended   *netcode.CloseError
	carries bool         // what the player carries was sent to it
	has     bool         // it has the player's entities,
	from    netcode.Tick // which came in this tick
	receipt []byte
	onShow  func() // begins its next move; nil: none
	losses  losses
	closeAt uint64 // frame in which it closes; 0: not yet known
}

// NewClient makes the sessions of one player. Start connects the first one.
func NewClient(open Open) *Client {
	if open == nil {
		panic("netcode: handover.NewClient: the function that opens a session is nil")
	}
	return &Client{open: open}
}

// Start connects to a server. A session that is shown is closed, and is shown until the new one exists.
func (c *Client) Start(to Destination) {
	c.open(to, func(of *Session, err error) {
		if err != nil {
			c.fail(err)
			return
		}
		s, err := c.begin(of, of.Payload)
		if err != nil {
			c.fail(err)
			return
		}
		if c.shown != nil {
			c.dropNext()
			c.retire(c.shown)
			c.shown.closeAt = c.frames
		}
		c.show(s)
	})
}

// OnSwitch adds a function that is called when another session is shown than before; from is nil for the first.
func (c *Client) OnSwitch(f func(from, to *Session)) { c.onSwitch = append(c.onSwitch, f) }

// OnFail adds a function that is called when a move has failed: the player stays where it was. It is also called with the error of
// Open for Start.
func (c *Client) OnFail(f func(err error)) { c.onFail = append(c.onFail, f) }

// OnUndelivered adds a function that is told each reliable message that may not have been handled, when a connection has ended for any
// reason.
func (c *Client) OnUndelivered(f func(of *Session, u *Undelivered)) { c.onLoss = append(c.onLoss, f) }

// Shown returns the session that is shown, nil before the first.
func (c *Client) Shown() *Session {
	if c.shown == nil {
		return nil
	}
	return &c.shown.Session
}

// Moving reports whether the player has a second session now.
func (c *Client) Moving() bool { return c.next != nil }

// Shown reports whether a client's session is the one that the player sees. Sounds, pictures and menus are for that one alone. It is true for a
// client that no Client of this package runs.
func Shown(client *netcode.Client) bool {
	s, ok := extend.ExtensionOf[*session](client)
	return !ok || s.mover == nil || s.mover.shown == s
}

// Present is Client.Present of the session that is shown, in ticks that go on counting when another session is shown. It never goes
// back.
func (c *Client) Present() tick.Time {
	if c.shown == nil {
		return tick.Time{}
	}
	return c.shown.client.Present().Add(c.shift)
}

// begin connects a session.
func (c *Client) begin(of *Session, payload []byte) (*session, error) {
	s, ok := extend.ExtensionOf[*session](of.Systems.Client)
	switch {
	case !ok:
		return nil, ErrUnregistered
	case s.mover != nil:
		return nil, errors.New("netcode: handover: Open returned a session that exists already: make a client for each")
	}
	s.Session, s.mover = *of, c
	for _, f := range c.onLoss {
		s.losses.told = append(s.losses.told, func(u *Undelivered) { f(&s.Session, u) })
	}
	s.client.OnDisconnect(func(_ netcode.ClientID, reason *netcode.CloseError) { s.ended = reason })
	if err := s.client.ConnectWith(of.Server, payload); err != nil {
		return nil, err
	}
	s.list = of.Systems.Systems()
	for _, one := range s.list {
		one.Initialize(of.World)
	}
	return s, nil
}

// show shows a session.
func (c *Client) show(s *session) {
	from := c.Shown()
	if c.shown != nil {
		c.shift = c.Present().Sub(s.client.Present())
	}
	c.shown = s
	for _, f := range c.onSwitch {
		f(from, &s.Session)
	}
}

// retire keeps a session until its connection has ended.
func (c *Client) retire(s *session) {
	if !slices.Contains(c.ending, s) {
		c.ending = append(c.ending, s)
	}
}

// dropNext ends the session beside the one that is shown.
func (c *Client) dropNext() {
	if c.next != nil {
		c.next.closeAt = c.frames
		c.retire(c.next)
		c.next = nil
	}
}

// fail ends a move.
func (c *Client) fail(err error) {
	if c.next != nil && c.shown.ended == nil {
		sendOn(c.shown, &cancel{ID: uint64(c.next.id), Text: cut(err.Error())})
	}
	c.dropNext()
	for _, f := range c.onFail {
		f(err)
	}
}

// sendOn sends a message on a session. Without a connection it is dropped, as the session has ended then.
func sendOn[T any](s *session, m *T) { _ = netcode.Send(s.client, netcode.ToServer(), m) }

// offered handles the message offer.
func (c *Client) offered(at *session, m *offer) {
	to, ticket := Destination{Server: m.Server, Token: slices.Clone(m.Token)}, slices.Clone(m.Pass)
	switch {
	case c.closed:
	case at == c.next: // Its player has come there, and is to go on before the client shows it.
		at.onShow = func() { c.follow(at, ID(m.ID), to, ticket) }
	case at == c.shown && c.next == nil:
		c.follow(at, ID(m.ID), to, ticket)
	default:
		sendOn(at, &cancel{ID: m.ID, Text: "another move is under way"})
	}
}

// follow opens the session of a move from the session at.
func (c *Client) follow(at *session, id ID, to Destination, ticket []byte) {
	c.to = to
	c.open(to, func(of *Session, err error) {
		var s *session
		if err == nil {
			s, err = c.begin(of, ticket)
		}
		if err == nil && (at != c.shown || c.next != nil || at.ended != nil || c.closed) {
			err = ErrEnded
		}
		if err == nil {
			s.id, c.next = id, s
			return
		}
		if s != nil {
			s.closeAt = c.frames
			c.retire(s)
		}
		sendOn(at, &cancel{ID: uint64(id), Text: cut(err.Error())})
		c.fail(err)
	})
}

// complete handles the message here.
func (c *Client) complete(at *session, n nonce) {
	if at == c.next && c.shown.ended == nil {
		sendOn(c.shown, &ready{ID: uint64(at.id), Nonce: n})
	}
}

// carry handles the message carry.
func (c *Client) carry(at *session, m *carry) {
	if at != c.shown || c.next == nil || uint64(c.next.id) != m.ID || c.next.carries {
		return
	}
	c.next.carries = true
	if len(m.Sealed) == 0 {
		return // The old server delivers it.
	}
	now := at.client.Time()
	unused := now.Sub((tick.Near(m.Tick, now.Tick) + 1).Begin()) // since the first input that the old server has not used
	since := c.next.client.Time().Add(tick.OneTick/8 - unused)   // the nearest tick of the new server: the eighth is for the frames between
	sendOn(c.next, &bring{ID: m.ID, Since: uint16(since.Tick), Sealed: m.Sealed})
}

// arrived handles the message arrived.
func (c *Client) arrived(at *session, m *arrived) {
	if at == c.next && uint64(at.id) == m.ID && !at.has {
		at.has, at.receipt = true, slices.Clone(m.Receipt)
		at.from = tick.Near(m.Tick, at.client.ServerTime().Tick)
	}
}

// stopped handles the message stop.
func (c *Client) stopped(at *session, m *stop) {
	if c.next == nil || uint64(c.next.id) != m.ID || at != c.shown && at != c.next {
		return
	}
	c.fail(fmt.Errorf("%w: %s", ErrCancelled, m.Text))
}

// finished handles the message done.
func (c *Client) finished(at *session, id uint64) {
	switch {
	case uint64(at.left) == id && id != 0:
		at.closeAt = c.frames + closeAfter
	case at == c.shown: // The player is at a server that this client has lost: it connects there as after a lost line.
		c.dropNext()
		c.Start(c.to)
	}
}

// closeAfter is the number of frames in which the handlers of a session's last messages run.
const closeAfter = 4

// Update implements systems.System: a frame of each session. A session is shown from the end of the frame on.
func (c *Client) Update(*netecs.World) {
	c.frames++
	for _, s := range slices.Clone(c.ending) {
		c.runEnding(s)
	}
	for _, s := range [...]*session{c.next, c.shown} {
		if s != nil {
			s.run()
		}
	}
	if c.next != nil {
		c.advance()
	}
}

// run runs a frame.
func (s *session) run() {
	for _, one := range s.list {
		one.Update(s.World)
	}
	s.losses.tell(extend.OfClient(s.client))
}

// runEnding runs a frame of a session that is not shown, and closes it in its time.
func (c *Client) runEnding(s *session) {
	s.run()
	if s.closeAt == 0 && s.ended != nil || s.closeAt != 0 && c.frames >= s.closeAt {
		s.closeAt = max(s.closeAt, 1)
		s.client.Close()
	}
	if !s.client.Closed() {
		return
	}
	c.ending = slices.DeleteFunc(c.ending, func(other *session) bool { return other == s })
	s.finalize()
}

// finalize ends the systems of a session.
func (s *session) finalize() {
	s.losses.tell(extend.OfClient(s.client))
	for _, one := range s.list {
		one.Finalize(s.World)
	}
	if s.list = nil; s.Close != nil {
		s.Close()
	}
}

// advance looks at the new session after its frame.
func (c *Client) advance() {
	next, shown := c.next, c.shown
	switch {
	case next.ended != nil:
		c.fail(fmt.Errorf("%w: %w", ErrCancelled, next.ended))
	case next.has && next.presents():
		shown.left = next.id
		sendOn(shown, &left{ID: uint64(next.id), Receipt: next.receipt})
		c.next = nil
		c.retire(shown)
		c.show(next)
		if next.onShow != nil {
			next.onShow()
		}
	case shown.ended != nil && !next.carries:
		c.fail(ErrEnded)
	}
}

// presents reports whether a session's picture has the player's entities.
func (s *session) presents() bool {
	return s.Systems.Interpolate == nil || s.client.Present().Tick >= s.from
}

// Systems implements systems.Group.
func (c *Client) Systems() []systems.System { return []systems.System{c} }

// Initialize implements systems.System.
func (c *Client) Initialize(*netecs.World) {}

// Finalize implements systems.System.
func (c *Client) Finalize(*netecs.World) {
	for _, s := range c.all() {
		s.finalize()
	}
}

// all returns the sessions that exist.
func (c *Client) all() []*session {
	list := slices.Clone(c.ending)
	for _, s := range [...]*session{c.next, c.shown} {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

// Pace implements systems.Paced: that of the session that is shown.
func (c *Client) Pace() (num, den int64) {
	if c.shown == nil {
		return 1, 1
	}
	return c.shown.client.Pace()
}

// Close implements systems.Group. The player leaves the game.
func (c *Client) Close() {
	c.closed = true
	for _, s := range c.all() {
		s.client.Close()
	}
}

// Closed implements systems.Group.
func (c *Client) Closed() bool {
	return !slices.ContainsFunc(c.all(), func(s *session) bool { return !s.client.Closed() })
}
