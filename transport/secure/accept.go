package secure

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/internal/proof"
	"github.com/arche-netcode/netcode/transport"
)

// handshake answers a datagram without a session. It stores nothing and does no curve operation before the cookie is valid. Each
// answer is shorter than the datagram, so that it amplifies no attack.
func (s *Server) handshake(from transport.Addr, packet []byte, now time.Duration) {
	if len(packet) < requestSize || len(packet) > maxInitiate || packet[0] != kindRequest && packet[0] != kindInitiate {
		s.stats.Malformed++
		return
	}
	nonce := packet[2:helloSize]
	if packet[1] != version {
		s.stats.Version++
		s.refuse(from, nonce, refusedVersion)
		return
	}
	if packet[0] == kindRequest {
		if len(packet) != requestSize {
			s.stats.Malformed++
			return
		}
		s.stats.Requests++
		s.challenge(from, nonce, now)
		return
	}
	if len(packet) < minInitiate {
		s.stats.Malformed++
		return
	}
	if _, proved := s.cookies.Check(proof.Cookie(packet[helloSize:]), from, binary.BigEndian.Uint64(nonce), 0, now); !proved {
		s.stats.BadCookie++
		s.challenge(from, nonce, now)
		return
	}
	s.initiate(from, packet, now)
}

// challenge sends a cookie to the client.
func (s *Server) challenge(from transport.Addr, nonce []byte, now time.Duration) {
	s.out = appendHello(s.out[:0], kindChallenge, nonce)
	cookie := s.cookies.Make(from, binary.BigEndian.Uint64(nonce), 0, now)
	s.out = append(s.out, cookie[:]...)
	s.reply(from)
}

// refuse sends a refusal without authentication. The client reports it only if no better answer comes before the timeout.
func (s *Server) refuse(from transport.Addr, nonce []byte, why status) {
	s.out = append(appendHello(s.out[:0], kindRefuse, nonce), byte(why))
	s.reply(from)
}

// reply sends the answer in s.out. A failure concerns one client's address: it is counted and no error.
func (s *Server) reply(to transport.Addr) {
	if err := s.inner.Send(to, s.out); err != nil {
		s.stats.SendErrors++
	}
}

// initiate handles the first message of Noise from an address with a valid cookie.
func (s *Server) initiate(from transport.Addr, packet []byte, now time.Duration) {
	message := packet[challengeSize:]
	if c := s.initiates[[32]byte(message)]; c != nil {
		s.stats.RepeatedInitiates++
		if !c.confirmed && c.from == from { // Otherwise it is a late copy: the client has finished the handshake.
			s.out = append(s.out[:0], c.answer...)
			s.reply(from)
		}
		return
	}
	if host, limited := hosts.Of(from.IP.Addr()); !s.mayAnswer(from, hosts.Proven, now) || !s.limiter.Share(host, limited, s.config.Handshakes, now) {
		s.stats.Busy++
		return
	}
	s.stats.Handshakes++
	nonce := packet[2:helloSize]
	hs, err := newHandshake(s.static, nil, packet[:challengeSize], s.config.Random)
	if err != nil {
		s.stats.SendErrors++
		return
	}
	payload, _, _, err := hs.ReadMessage(nil, message)
	if err != nil || len(payload) == 0 {
		s.stats.WrongKey++
		s.refuse(from, nonce, refusedKey)
		return
	}
	c := &session{from: from, heard: now, ephemeral: [32]byte(message)}
	cipher, result := s.judge(c, payload, now)
	body, token := [acceptPayload]byte{byte(result)<<4 | byte(cipher)}, s.tokens.Make(c.id, 0)
	binary.BigEndian.PutUint32(body[1:], c.id)
	copy(body[5:], token[:])
	s.out = appendHello(s.out[:0], kindAccept, nonce)
	out, toServer, toClient, err := hs.WriteMessage(s.out, body[:])
	if err != nil {
		s.stats.SendErrors++
		return
	}
	s.out = out
	if result == accepted {
		keyIn, keyOut := toServer.UnsafeKey(), toClient.UnsafeKey()
		c.in, c.out = newOpener(cipher, keyIn), newSealer(cipher, keyOut, now, s.config.RekeyEvery)
		c.answer = append([]byte(nil), s.out...)
		s.keep(c)
		logKeys(s.config.KeyLog, c.id, cipher, keyIn, keyOut)
	}
	s.reply(from)
}

// judge decides about a client by the payload of its Initiate: its ciphers and a token. An accepted client gets a session number.
func (s *Server) judge(c *session, payload []byte, now time.Duration) (cipher Cipher, result status) {
	for _, one := range [...]Cipher{AESGCM, ChaCha20Poly1305} {
		if cipher == 0 && one&s.config.Ciphers&Cipher(payload[0]) != 0 {
			cipher = one
		}
	}
	if cipher == 0 {
		s.stats.NoCipher++
		return 0, refusedCipher
	}
	c.who, c.token, c.expires, result = s.gate.check(payload[1:], s.config.Wall())
	if result == accepted && s.full(c) {
		result = refusedFull
	}
	s.stats.count(result)
	if result != accepted {
		return cipher, result
	}
	for c.id == 0 || s.sessions[c.id] != nil {
		var b [4]byte
		if _, err := io.ReadFull(s.config.Random, b[:]); err != nil {
			return cipher, refusedFull
		}
		c.id = binary.BigEndian.Uint32(b[:])
	}
	return cipher, accepted
}

// full reports whether there is no room for a session, nor one that makes room. That is first a silent session of the same user, so that
// nobody is locked out by the own old session.
func (s *Server) full(c *session) bool {
	for {
		crowded := s.hostIsFull(c.from)
		if !crowded && len(s.sessions) < s.config.Sessions && !s.pendingIsFull() {
			return false
		}
		old := s.silentOf(c.who.User, c.heard)
		if old == nil || crowded && !hosts.Same(old.from.IP.Addr(), c.from.IP.Addr()) {
			return crowded || !s.makeRoom(c.from)
		}
		s.stats.Replaced++
		s.end(old)
	}
}

// silentAfter is the silence after which a session of a user ends for a new one.
const silentAfter = time.Second

// silentOf returns the session of a user that is silent for longest, nil if none is silent.
func (s *Server) silentOf(user string, now time.Duration) (found *session) {
	if user == "" {
		return nil
	}
	since := now - silentAfter
	for _, c := range s.sessions {
		if c.who.User == user && c.heard <= since {
			since, found = c.heard, c
		}
	}
	return found
}

// pendingIsFull reports whether half of the sessions are unconfirmed ones.
func (s *Server) pendingIsFull() bool { return len(s.pending) >= max(1, s.config.Sessions/2) }

// makeRoom ends the newest session of the host with the most, if that has more than the host of a new session would have. Only
// unconfirmed sessions end so; with Open, where strangers have confirmed ones, those too unless all unconfirmed places are taken.
func (s *Server) makeRoom(from transport.Addr) bool {
	table := s.unconfirmed
	if s.gate.open && !s.pendingIsFull() {
		table = s.hosts
	}
	worst := table.Worst(table.LoadOf(from.IP.Addr()) + 1)
	if worst == nil {
		return false
	}
	s.stats.Evicted++
	s.end(worst.Of)
	return true
}

// hostIsFull reports whether the host of an address, or its network, has Config.SessionsPerHost sessions.
func (s *Server) hostIsFull(from transport.Addr) bool {
	return s.config.SessionsPerHost > 0 && s.hosts.LoadOf(from.IP.Addr()) >= s.config.SessionsPerHost
}

// claim names an unconfirmed session: one token has one, and without a token one address.
type claim struct {
	token tokenID
	from  transport.Addr
}

// claim returns the claim of a session.
func (c *session) claim() claim {
	if c.expires != 0 {
		return claim{token: c.token}
	}
	return claim{from: c.from}
}

// keep stores an unconfirmed session. It replaces an unconfirmed one of the same claim.
func (s *Server) keep(c *session) {
	if old := s.pending[c.claim()]; old != nil {
		s.end(old)
	}
	s.serial++
	c.serial = s.serial
	s.sessions[c.id], s.pending[c.claim()], s.initiates[c.ephemeral] = c, c, c
	c.held, c.waits = s.hosts.Add(c.from.IP.Addr(), c), s.unconfirmed.Add(c.from.IP.Addr(), c)
}

// logKeys writes the first keys of a session to the key log.
func logKeys(to io.Writer, id uint32, cipher Cipher, toServer, toClient [32]byte) {
	if to != nil {
		_, _ = fmt.Fprintf(to, keyLogWord+" %08x %s %x %x\n", id, cipher, toServer, toClient)
	}
}

// mayAnswer takes a piece of work out of the budget of a host.
func (s *Server) mayAnswer(to transport.Addr, work hosts.Work, now time.Duration) bool {
	host, limited := hosts.Of(to.IP.Addr())
	return !limited || s.config.HandshakesPerHost <= 0 || s.limiter.Take(host.Prefix, work, s.config.HandshakesPerHost, now)
}

// newTokens makes the tokens that prove to a client that its session is over. They are derived from the server's key and names. A
// restarted server makes the same tokens; another server with the same key cannot.
func newTokens(key Key, local transport.Addr, names []string) *proof.Tokens {
	names = slices.Sorted(slices.Values(names))
	if len(names) == 0 {
		names = []string{local.String()}
	}
	return proof.NewTokens(key.derive("netcode secure reset key " + strings.Join(names, " ")))
}

// tellReset answers a datagram of an unknown session. The answer is shorter than the datagram, and limited by host. It costs a MAC, as a
// Challenge does, so that there is no total, which senders of forged addresses could use up.
func (s *Server) tellReset(to transport.Addr, packet []byte, now time.Duration) {
	if !s.mayAnswer(to, hosts.Unproven, now) {
		return
	}
	token := s.tokens.Make(binary.BigEndian.Uint32(packet[1:]), 0)
	s.out = append(append(s.out[:0], kindReset), packet[1:5]...)
	s.out = append(s.out, token[:resetToken]...)
	s.stats.Resets++
	s.reply(to)
}
