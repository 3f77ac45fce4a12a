package secure

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
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
	if !s.cookies.good(packet[helloSize:challengeSize], from, nonce, now) {
		s.stats.BadCookie++
		s.challenge(from, nonce, now)
		return
	}
	s.initiate(from, packet, now)
}

// challenge sends a cookie to the client.
func (s *Server) challenge(from transport.Addr, nonce []byte, now time.Duration) {
	s.out = appendHello(s.out[:0], kindChallenge, nonce)
	s.out = s.cookies.append(s.out, from, nonce, now)
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
	body := [acceptPayload]byte{byte(result), byte(cipher)}
	binary.BigEndian.PutUint32(body[2:], c.id)
	copy(body[6:], s.resets.token(c.id))
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

// full reports whether there is no room for a session. The session of the same user at the same address, which the new one replaces, does
// not count: nobody is locked out by the own old session.
func (s *Server) full(c *session) bool {
	replaced := 0
	var held *hosts.Held[*session]
	if old := s.users[c.userAt()]; old != nil {
		replaced, held = 1, old.held
	}
	if s.hostIsFull(c.from, held) {
		return true
	}
	return (len(s.sessions)-replaced >= s.config.Sessions || s.pendingIsFull()) && !s.makeRoom(c.from)
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
	worst := table.Worst(table.LoadOf(from.IP.Addr(), nil) + 1)
	if worst == nil {
		return false
	}
	s.stats.Evicted++
	s.end(worst.Of)
	return true
}

// hostIsFull reports whether the host of an address, or its network, has Config.SessionsPerHost sessions, without one, nil for none.
func (s *Server) hostIsFull(from transport.Addr, without *hosts.Held[*session]) bool {
	return s.config.SessionsPerHost > 0 && s.hosts.LoadOf(from.IP.Addr(), without) >= s.config.SessionsPerHost
}

// claim names an unconfirmed session: one token has one, and without a token one address.
type claim struct {
	token tokenID
	from  transport.Addr
}

// claim returns the claim of a session. Its address changes only after it was confirmed.
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
