package netcode

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
)

const (
	// helloEvery is how often a client says hello until it is answered.
	helloEvery = 250 * time.Millisecond
	// greetEvery is how often a client shows that it is there, until the server's first packet comes.
	greetEvery = 100 * time.Millisecond
)

// attempt is one try to connect.
type attempt struct {
	server  netip.AddrPort
	nonce   uint64
	seed    skipSeed
	cookie  peer.Cookie
	began   time.Duration
	fresh   bool          // The first frame after Connect sets began: only frames know the time.
	helloAt time.Duration // When the next Hello is due.
	asked   time.Duration // When the first Hello with this cookie went out,
	waits   bool          // if one did.
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
	seed, err := randomSeed(c.config.Random)
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

// receiveHandshake takes the server's answer to a Hello. Only who saw the Hello can know its nonce.
func (c *Client) receiveHandshake(kind peer.Kind, packet []byte) {
	if c.state != Connecting || !c.takeAnswer(kind, packet) {
		c.stats.BadHandshakes++
	}
}

// takeAnswer says whether the datagram was an answer to this attempt.
func (c *Client) takeAnswer(kind peer.Kind, packet []byte) bool {
	switch kind {
	case peer.KindChallenge:
		challenge, err := peer.ParseChallenge(packet)
		if err != nil || challenge.Nonce != c.attempt.nonce {
			return false
		}
		c.stats.Challenges++
		if challenge.Cookie != c.attempt.cookie {
			c.attempt.cookie, c.attempt.helloAt, c.attempt.waits = challenge.Cookie, c.frame.now, false
		}
	case peer.KindAccept:
		accept, err := peer.ParseAccept(packet)
		if err != nil || accept.Nonce != c.attempt.nonce || !c.agree(accept) {
			return false
		}
		c.enter(accept)
	case peer.KindRefuse:
		refuse, err := peer.ParseRefuse(packet)
		if err != nil || refuse.Nonce != c.attempt.nonce {
			return false
		}
		c.refused(refuse)
	default:
		return false
	}
	return true
}

// agree takes over what the server decides for both ends.
func (c *Client) agree(accept peer.Accept) bool {
	agreed := c.config
	agreed.TickRate, agreed.Window, agreed.PacketSize = int(accept.Rate), int(accept.Window), int(accept.PacketSize)
	if agreed.check() != nil {
		return false
	}
	c.agreed = agreed
	return true
}

// enter begins the session that the server opened.
func (c *Client) enter(accept peer.Accept) {
	c.state, c.id, c.greeted = Connected, accept.Client, false
	c.stats.TicksSlipped += c.frame.clock.Slipped()
	c.frame.clock = tick.NewClock(c.agreed.TickRate, c.agreed.CatchUp)
	c.frame.clock.Advance(c.frame.now)
	c.frame.clock.Set(accept.Tick)
	c.frame.due = true
	c.replica = snapshot.NewReplica(c.protocol.schema, c.agreed.snapshot(), accept.Tick)
	out, in := checksums(accept.Epoch, c.protocol.hash)
	c.pool = peer.NewPool(c.agreed.PacketSize)
	c.start(c.attempt.server, peer.NewConn(c.agreed.conn(out, in)), 0, c.pool, c.attempt.seed)
	c.link.early, c.sentUpTo = new(early), tick.None
	c.inbound.SetLocal(c.id)
	c.applied = false
	c.time.restart(c.agreed.TickRate, c.agreed.CatchUp, c.agreed.Pulse, accept.Tick, c.frame.now-c.attempt.asked)
	c.inputs.restart(&c.protocol.inputs)
	c.writes.restart(c.protocol, c.agreed.snapshot())
	c.spoke = c.frame.now - greetEvery
	c.stats.Connected++
	c.events.waiting = append(c.events.waiting, event{client: c.id})
	if c.report.enabled(slog.LevelInfo) {
		c.report.log(slog.LevelInfo, "connected", "server", c.address, "client", c.id)
	}
}

// refused ends the attempt with the server's reason.
func (c *Client) refused(refuse peer.Refuse) {
	reason := &peer.Error{Reason: refuse.Reason, Detail: refuse.Detail}
	switch refuse.Reason {
	case peer.ReasonWrongProtocol:
		c.stats.RefusedProtocol++
		reason.Detail = c.protocol.explain(refuse.Detail)
	case peer.ReasonWrongVersion:
		c.stats.RefusedProtocol++
	case peer.ReasonFull:
		c.stats.RefusedFull++
	}
	c.end(reason)
}

// sayHello asks for a session, again and again until there is an answer or the time is over.
func (c *Client) sayHello() {
	if c.frame.now-c.attempt.began >= c.config.HandshakeTimeout {
		c.stats.HandshakeTimeouts++
		c.end(&peer.Error{Reason: peer.ReasonHandshakeTimeout, Detail: fmt.Sprintf("no answer from %v in %v", c.attempt.server, c.config.HandshakeTimeout)})
		return
	}
	if c.frame.now < c.attempt.helloAt {
		return
	}
	room := c.out.room(peer.HelloSize)
	if room == nil {
		c.stats.OutputFull++
		return
	}
	c.attempt.helloAt = c.frame.now + helloEvery
	if !c.attempt.waits {
		c.attempt.asked, c.attempt.waits = c.frame.now, true
	}
	c.stats.Hellos++
	hello := peer.AppendHello(room[:0], peer.Hello{
		Version: peer.Version, Nonce: c.attempt.nonce, Protocol: c.protocol.hash,
		Cookie: c.attempt.cookie, Digest: c.protocol.digest,
	})
	c.out.commit(c.attempt.server, len(hello))
}
