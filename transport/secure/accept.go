package secure

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

// handshake answers a datagram that is none of a session. Nothing is stored and no curve operation is done before the cookie is good.
// Each answer is shorter than the datagram.
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

// challenge sends a cookie.
func (s *Server) challenge(from transport.Addr, nonce []byte, now time.Duration) {
	s.out = appendHello(s.out[:0], kindChallenge, nonce)
	s.out = s.cookies.append(s.out, from, nonce, now)
	s.reply(from)
}

// refuse sends a hint. A client believes it only if nothing better comes.
func (s *Server) refuse(from transport.Addr, nonce []byte, why status) {
	s.out = append(appendHello(s.out[:0], kindRefuse, nonce), byte(why))
	s.reply(from)
}

// reply sends the answer in s.out. A fault is that of a client's address, and counted.
func (s *Server) reply(to transport.Addr) {
	if err := s.inner.Send(to, s.out); err != nil {
		s.stats.SendErrors++
	}
}

// initiate takes the first message of Noise from an address that is proved.
func (s *Server) initiate(from transport.Addr, packet []byte, now time.Duration) {
	message := packet[challengeSize:]
	if c := s.pending[from]; c != nil && bytes.Equal(c.ephemeral[:], message[:32]) {
		s.stats.RepeatedInitiates++
		s.out = append(s.out[:0], c.answer...)
		s.reply(from)
		return
	}
	if c := s.byAddress[from]; c != nil && bytes.Equal(c.ephemeral[:], message[:32]) {
		s.stats.RepeatedInitiates++ // Late: the client is past it.
		return
	}
	if !s.limits.take(from, now, s.config.Handshakes, s.config.HandshakesPerHost) {
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

// judge decides about a client by the payload of its Initiate: the ciphers it can do, and a token. It gives an accepted one
// a session number.
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

// full reports whether there is no room for a session. The one that it would replace counts too.
func (s *Server) full(c *session) bool {
	if len(s.sessions) >= s.config.Sessions || len(s.pending) >= max(1, s.config.Sessions/2) {
		return true
	}
	return s.hostIsFull(c.from)
}

// hostIsFull reports whether the host of an address has all the sessions that one may have.
func (s *Server) hostIsFull(from transport.Addr) bool {
	host, ok := hostOf(from)
	return ok && s.config.SessionsPerHost > 0 && s.hosts[host] >= s.config.SessionsPerHost
}

// countHost adds to the sessions of the host of an address.
func (s *Server) countHost(from transport.Addr, more int) {
	host, ok := hostOf(from)
	if !ok {
		return
	}
	if s.hosts[host] += more; s.hosts[host] <= 0 {
		delete(s.hosts, host)
	}
}

// keep stores an unconfirmed session in place of another of its address.
func (s *Server) keep(c *session) {
	if old := s.pending[c.from]; old != nil {
		s.end(old)
	}
	s.sessions[c.id], s.pending[c.from] = c, c
	s.countHost(c.from, 1)
}

// logKeys writes the first keys of a session, for a program that reads a recording of it.
func logKeys(to io.Writer, id uint32, cipher Cipher, toServer, toClient [32]byte) {
	if to != nil {
		_, _ = fmt.Fprintf(to, keyLogWord+" %08x %s %x %x\n", id, cipher, toServer, toClient)
	}
}

// limits bounds handshakes by second, in a table of fixed size. Hosts that share a slot share its limit.
type limits struct {
	seed   maphash.Seed
	second time.Duration
	all    int
	hosts  [hostSlots]uint16
}

// take reports whether one more handshake may be done in this second.
func (l *limits) take(from transport.Addr, now time.Duration, all, host int) bool {
	if second := now / time.Second; second != l.second {
		l.second, l.all = second, 0
		clear(l.hosts[:])
	}
	if all > 0 && l.all >= all {
		return false
	}
	if prefix, ok := hostOf(from); ok && host > 0 {
		slot := &l.hosts[maphash.Comparable(l.seed, prefix)%hostSlots]
		if int(*slot) >= min(host, 1<<16-1) {
			return false
		}
		*slot++
	}
	l.all++
	return true
}
