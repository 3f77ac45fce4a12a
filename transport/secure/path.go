package secure

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"hash"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/transport"
)

const (
	pathText  = 8                   // Size of the text that a client returns.
	pathSize  = Overhead + pathText // Size of a Path.
	resetSize = 1 + 4 + resetToken

	// pathAgain is the minimal time between two questions to new addresses of one session.
	pathAgain = 100 * time.Millisecond
	// pathSilence is the time without a datagram in either direction after which a client shows the server its address, which may
	// have changed.
	pathSilence = 250 * time.Millisecond
	// moveAgain is the minimal time between two moves that a client reports. Copies of its datagrams from other addresses cause
	// questions too.
	moveAgain = 5 * time.Second
	// madeName marks the key of a name that differs from the client's address, because another session had that name.
	madeName = 1 << 63
)

// path is an address to which a session may have moved. The zero path means none.
type path struct {
	to    transport.Addr
	text  [pathText]byte // Random: only a client with the session's keys that receives at the address can return it.
	asked time.Duration
}

// follow checks the address of a session's newest datagram. If it differs from the session's, the server sends a question to it.
// The session moves only when the client answers from there. size is the size of the datagram: the question is never longer.
func (c *session) follow(s *Server, from transport.Addr, size int, now time.Duration) {
	if from == c.from {
		c.path.to = transport.Addr{} // The client is at its address. Copies of its datagrams from elsewhere change nothing.
		return
	}
	if size < pathSize || c.path.asked != 0 && now-c.path.asked < pathAgain {
		return
	}
	if !c.mayMove(s, from) {
		s.stats.PathFull++
		return
	}
	if c.path.to != from {
		if _, err := io.ReadFull(s.config.Random, c.path.text[:]); err != nil {
			return
		}
	}
	c.path.to, c.path.asked = from, now
	s.out = c.out.seal(s.out[:0], kindPath, c.id, now, c.path.text[:])
	s.stats.Challenged++
	s.reply(from)
}

// answered handles a Path of a client. It moves the session if the client returns the text from the address that was asked.
func (c *session) answered(s *Server, from transport.Addr) {
	if from == c.from || from != c.path.to || s.text != c.path.text || !c.mayMove(s, from) {
		return
	}
	s.hosts.Move(c.held, from.IP.Addr())
	if !c.left.IsValid() {
		c.left = c.from
		s.moved = append(s.moved, c)
	}
	c.leave(s)
	c.from, c.path.to = from, transport.Addr{}
	c.arrive(s)
	s.stats.Moved++
}

// mayMove reports whether a session may move to an address: the host there must have room. Its own place never blocks it.
func (c *session) mayMove(s *Server, to transport.Addr) bool { return !s.hostIsFull(to, c.held) }

// userAt is a user of a token at an address.
type userAt struct {
	user string
	at   transport.Addr
}

// userAt returns the user and the present address of a session.
func (c *session) userAt() userAt { return userAt{c.who.User, c.from} }

// arrive makes a confirmed session the one of its user at its address. Other sessions there keep their keys and names.
func (c *session) arrive(s *Server) {
	if c.who.User != "" {
		s.users[c.userAt()] = c
	}
}

// leave undoes arrive.
func (c *session) leave(s *Server) {
	if s.users[c.userAt()] == c {
		delete(s.users, c.userAt())
	}
}

// resets makes the tokens that prove to a client that its session is over. They are derived from the server's key and names. A
// restarted server makes the same tokens; another server with the same key cannot.
type resets struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

// newResets derives the key of the reset tokens.
func newResets(key Key, local transport.Addr, names []string) *resets {
	names = slices.Sorted(slices.Values(names))
	if len(names) == 0 {
		names = []string{local.String()}
	}
	secret := key.derive("netcode secure reset key " + strings.Join(names, " "))
	return &resets{mac: hmac.New(sha256.New, secret[:])}
}

// token returns the reset token of a session. The result is valid until the next call.
func (r *resets) token(id uint32) []byte {
	var text [4]byte
	binary.BigEndian.PutUint32(text[:], id)
	r.mac.Reset()
	r.mac.Write(text[:])
	return r.mac.Sum(r.sum[:0])[:resetToken]
}

// answer answers a datagram of an unknown session. The answer is shorter than the datagram, and limited by host. It costs a MAC, as a
// Challenge does, so that there is no total, which senders of forged addresses could use up.
func (r *resets) answer(s *Server, to transport.Addr, packet []byte, now time.Duration) {
	if !s.mayAnswer(to, hosts.Unproven, now) {
		return
	}
	s.out = append(append(s.out[:0], kindReset), packet[1:5]...)
	s.out = append(s.out, r.token(binary.BigEndian.Uint32(packet[1:]))...)
	s.stats.Resets++
	s.reply(to)
}

// forget ends the session if the datagram is its Reset. The next Send begins a handshake.
func (c *Client) forget(packet []byte) {
	switch {
	case len(packet) != resetSize:
		c.stats.Malformed++
	case c.state != open || binary.BigEndian.Uint32(packet[1:]) != c.id:
		c.stats.Unknown++
	case subtle.ConstantTimeCompare(packet[5:], c.reset[:]) == 0:
		c.stats.Forged++
	default:
		c.stats.Resets++
		c.state = idle
	}
}

// showPath sends a Path after silence. If the client's address has changed, the server asks the new one. A client that sends at
// the rate of a game never needs it.
func (c *Client) showPath(now time.Duration) error {
	if c.state != open || now-c.heard < pathSilence || now-c.sentAt < pathSilence {
		return nil
	}
	c.text = [pathText]byte{}
	return c.sealPath(now)
}

// noteMove handles the text of a server's question. A new text means that the server sees this end at another address.
func (c *Client) noteMove() {
	if c.text != c.asks {
		c.asks, c.moved = c.text, true
	}
}

// Moved implements transport.Mover: the server sees this end at another address. It returns a move every 5 s at most.
func (c *Client) Moved() (m transport.Move, ok bool) {
	if !c.moved || c.config.Now() < c.mayMove {
		return m, false
	}
	c.moved, c.mayMove = false, c.config.Now()+moveAgain
	return transport.Move{Peer: c.peer, From: c.peer, To: c.peer}, true
}

// sealPath sends a Path.
func (c *Client) sealPath(now time.Duration) error {
	c.out = c.to.seal(c.out[:0], kindPath, c.id, now, c.text[:])
	c.sentAt = now
	return c.inner.Send(c.peer, c.out)
}
