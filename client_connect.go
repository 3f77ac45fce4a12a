package netcode

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/replica"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// helloEvery is the interval between Hellos until one is answered.
	helloEvery = 250 * time.Millisecond
	// joinEvery is the interval between Joins of an accepted client. They end with the Welcome.
	joinEvery = 100 * time.Millisecond
)

// attempt is one try to connect.
type attempt struct {
	server netip.AddrPort
	nonce  uint64
	seed   peer.SkipSeed
	cookie peer.Cookie
	began  time.Duration
	fresh  bool          // The first frame after Connect sets began: only frames know the time.
	sayAt  time.Duration // When the next Hello or Join is due.
	asked  time.Duration // When the first Join went out,
	waits  bool          // if one did.
	busy   bool          // The server answered that too many try from here.

	accept   peer.Accept // The offer of the server,
	accepted bool        // if it did: then this end joins, until it is welcome.
}

// Connect starts to connect to a server; OnConnect or OnDisconnect tells how it went. A connection or attempt that is
// under way ends with peer.ReasonReplaced. Each connection is a fresh session: a new ID, and a Replica that holds
// nothing. The error says that the address names no server, or that Config.Random failed.
func (c *Client) Connect(server netip.AddrPort) error {
	if !server.IsValid() || server.Port() == 0 {
		return fmt.Errorf("netcode: Connect(%v): not the address of a server", server)
	}
	nonce, err := random64(c.config.Random)
	if err != nil {
		return err
	}
	seed, err := peer.NewSkipSeed(c.config.Random)
	if err != nil {
		return err
	}
	c.unhost(&peer.Error{Reason: peer.ReasonReplaced, Detail: "Connect was called again"})
	server = netip.AddrPortFrom(server.Addr().Unmap(), server.Port())
	if c.state == Connected && server != c.attempt.server {
		c.link.part(&peer.Error{Reason: peer.ReasonClosed}, false) // Once: this end forgets the connection now.
	}
	if c.state == Connecting || c.state == Connected {
		c.over(&peer.Error{Reason: peer.ReasonReplaced, Detail: "Connect was called again"})
	}
	if c.leaving {
		c.over(c.reason)
	}
	c.drop()
	c.attempt = attempt{server: server, nonce: nonce, seed: seed, fresh: true}
	c.state, c.err = Connecting, nil
	c.events.fire()
	return nil
}

// receiveHandshake takes the server's answer to a Hello or a Join. Only an end that saw the Hello knows its nonce. A Welcome that
// comes again has no effect.
func (c *Client) receiveHandshake(kind peer.Kind, packet []byte) {
	switch {
	case c.state == Connected && kind == peer.KindWelcome:
		if _, err := c.parseWelcome(packet); err == nil {
			return
		}
	case c.state == Connecting && c.takeAnswer(kind, packet):
		return
	}
	c.stats.BadHandshakes++
}

// parseWelcome reads a Welcome of the session that was accepted.
func (c *Client) parseWelcome(packet []byte) (peer.Welcome, error) {
	_, fromServer := checksums(c.attempt.accept.Epoch, c.protocol.canon.Hash)
	return peer.ParseWelcome(packet, fromServer)
}

// takeAnswer says whether the datagram was an answer to this attempt.
func (c *Client) takeAnswer(kind peer.Kind, packet []byte) bool {
	switch kind {
	case peer.KindChallenge:
		challenge, err := peer.ParseChallenge(packet)
		if err != nil || challenge.Nonce != c.attempt.nonce {
			return false
		}
		c.challenged(challenge.Cookie)
	case peer.KindAccept:
		accept, err := peer.ParseAccept(packet)
		if accept.Nonce != c.attempt.nonce || err != nil && !c.outOfRange(err) {
			return false
		}
		if err == nil && !c.attempt.accepted {
			c.attempt.accept, c.attempt.accepted, c.attempt.sayAt = accept, true, c.frame.now
		}
	case peer.KindRefuse:
		refuse, err := peer.ParseRefuse(packet)
		if err != nil || refuse.Nonce != c.attempt.nonce {
			return false
		}
		c.refused(refuse)
	case peer.KindWelcome:
		if !c.attempt.waits {
			return false
		}
		welcome, err := c.parseWelcome(packet)
		if err != nil {
			return c.outOfRange(err)
		}
		c.enter(c.attempt.accept, welcome)
	default:
		return false
	}
	return true
}

// challenged takes a cookie. One that is new while this end joins says that the one before is not good any more.
func (c *Client) challenged(cookie peer.Cookie) {
	c.stats.Challenges++
	if a := &c.attempt; cookie != a.cookie {
		a.cookie, a.sayAt, a.waits, a.accepted = cookie, c.frame.now, false, false
	}
}

// outOfRange ends the attempt if an answer of the server's has a value that no server can have, and says whether that is so.
func (c *Client) outOfRange(err error) bool {
	var field *peer.FieldError
	if !errors.As(err, &field) {
		return false
	}
	c.stats.Malformed++
	c.end(&peer.Error{Reason: peer.ReasonMalformed, Detail: err.Error()})
	return true
}

// enter begins the session that the server made.
func (c *Client) enter(accept peer.Accept, welcome peer.Welcome) {
	c.agreed = c.config
	c.agreed.TickRate, c.agreed.Window, c.agreed.PacketSize = int(accept.Rate), int(accept.Window), int(accept.PacketSize)
	c.state, c.id = Connected, welcome.Client
	c.stats.TicksSlipped += c.frame.clock.Slipped()
	c.frame.clock = tick.NewClock(c.agreed.TickRate, c.agreed.CatchUp)
	c.frame.clock.Advance(c.frame.now)
	c.frame.clock.Set(welcome.Tick)
	c.frame.due = true
	before := max(welcome.Tick-1, tick.None) // The first snapshot may be of the tick of Welcome.
	c.replica = replica.New(c.protocol.schema, c.agreed.snapshot(), before)
	out, in := checksums(accept.Epoch, c.protocol.canon.Hash)
	c.pool = peer.NewPool(c.agreed.PacketSize)
	c.start(c.attempt.server, peer.NewConn(c.agreed.conn(out, in)), 0, c.pool, c.attempt.seed)
	c.link.early, c.sentUpTo = new(early), tick.None
	c.inbound.SetLocal(c.id)
	c.applied = false
	c.time.restart(c.agreed.TickRate, c.agreed.CatchUp, c.agreed.Pulse, welcome.Tick, c.frame.now-c.attempt.asked)
	c.own = newUpstream(c.protocol, c.agreed.snapshot())
	call(c.hooks.opened)
	c.spoke = c.frame.now - c.agreed.KeepAlive // The server repeats Welcome until a packet comes.
	c.stats.Connected++
	c.events.waiting = append(c.events.waiting, event{client: c.id})
	if c.report.Enabled(slog.LevelInfo) {
		c.report.Log(slog.LevelInfo, "connected", "server", c.address, "client", c.id)
	}
}

// refused ends the attempt with the server's reason.
func (c *Client) refused(refuse peer.Refuse) {
	reason := &peer.Error{Reason: refuse.Reason, Detail: refuse.Detail}
	switch refuse.Reason {
	case peer.ReasonWrongProtocol:
		c.stats.RefusedProtocol++
		reason.Detail = c.protocol.canon.Explain(refuse.Detail)
	case peer.ReasonWrongVersion:
		c.stats.RefusedProtocol++
	case peer.ReasonFull:
		c.stats.RefusedFull++
	case peer.ReasonCrowded:
		c.stats.RefusedAddress++
	case peer.ReasonBusy: // It passes: this end tries on until its time is over.
		c.stats.BusyAddress++
		c.attempt.busy = true
		return
	}
	c.end(reason)
}

// ask says Hello, and when that was accepted Join, again and again until there is an answer or the time is over.
func (c *Client) ask() {
	if c.frame.now-c.attempt.began >= c.config.HandshakeTimeout {
		c.giveUp()
		return
	}
	if c.frame.now < c.attempt.sayAt {
		return
	}
	room := c.out.Room(peer.HelloSize)
	if room == nil {
		c.stats.OutputFull++
		return
	}
	if c.attempt.accepted {
		c.out.Commit(c.attempt.server, len(c.appendJoin(room[:0])))
		return
	}
	c.attempt.sayAt = c.frame.now + helloEvery
	c.stats.Hellos++
	hello := peer.AppendHello(room[:0], peer.Hello{
		Version: peer.Version, Nonce: c.attempt.nonce, Protocol: c.protocol.canon.Hash,
		Cookie: c.attempt.cookie, Digest: c.protocol.canon.Digest,
	})
	c.out.Commit(c.attempt.server, len(hello))
}

// appendJoin appends a Join.
func (c *Client) appendJoin(b []byte) []byte {
	a := &c.attempt
	a.sayAt = c.frame.now + joinEvery
	if !a.waits {
		a.asked, a.waits = c.frame.now, true
	}
	c.stats.Joins++
	fromClient, _ := checksums(a.accept.Epoch, c.protocol.canon.Hash)
	return peer.AppendJoin(b, peer.Join{Nonce: a.nonce, Cookie: a.cookie}, fromClient)
}

// giveUp ends an attempt that took too long.
func (c *Client) giveUp() {
	reason := &peer.Error{Reason: peer.ReasonHandshakeTimeout, Detail: fmt.Sprintf("no answer from %v in %v", c.attempt.server, c.config.HandshakeTimeout)}
	switch {
	case c.attempt.busy:
		reason.Reason = peer.ReasonBusy
		reason.Detail = fmt.Sprintf("%v answered nothing else in %v", c.attempt.server, c.config.HandshakeTimeout)
	case c.attempt.accepted:
		reason.Detail = fmt.Sprintf("%v accepted, and made no session in %v", c.attempt.server, c.config.HandshakeTimeout)
	}
	c.stats.HandshakeTimeouts++
	c.end(reason)
}
