package secure

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/flynn/noise"

	"github.com/arche-netcode/netcode/transport"
)

// ClientConfig configures a client's end. Token or ServerKey is required.
type ClientConfig struct {
	Token     []byte    // A connect token, from Issue. It contains the server's public key.
	ServerKey PublicKey // The public key of a server with Open. With a Token it must be zero or equal to the token's key.

	Timeout    time.Duration // Maximum duration of a handshake; default 10 s.
	Silence    time.Duration // A session ends if nothing comes for this long while the client sends; the next Send makes a new one. Default 15 s.
	RekeyEvery time.Duration // Maximum time in use of a key; default 2 min, at least 1 min.
	Ciphers    Cipher        // Ciphers that the client accepts; default: those that are fast on this machine.

	Now    func() time.Duration // Time since any fixed moment; default: since Dial.
	Wall   func() time.Time     // Calendar time, for the expiry of tokens; default time.Now.
	Random io.Reader            // Default: the operating system's random bytes.
	// KeyLog receives a line with the keys of each session. The keys let anyone read and forge the session: for debugging only.
	KeyLog io.Writer
}

const (
	// requestEvery and initiateEvery are the intervals between repeats of a handshake datagram in the time quickFor, slowRetry that later.
	requestEvery, initiateEvery, slowRetry = 100 * time.Millisecond, 50 * time.Millisecond, time.Second
	quickFor                               = 5 * time.Second
	// cookieFor is the least time for which a client uses a cookie.
	cookieFor = 1750 * time.Millisecond
)

// progress is the state of a client's handshake.
type progress uint8

const (
	idle       progress = iota // The next Send begins a handshake.
	requesting                 // A cookie was requested.
	initiating                 // The first message of Noise was sent.
	open                       // The session is established.
	failed                     // Err has the reason.
)

// Client is the client's end. It implements transport.Conn. The first Send to an address begins a handshake with the server
// there, which Receive drives. Until it is complete only the newest datagram is stored, older ones are dropped. All methods are
// called from one goroutine.
type Client struct {
	inner  transport.Conn
	config ClientConfig
	server PublicKey
	token  []byte
	stats  ClientStats

	state    progress
	peer     transport.Addr
	began    time.Duration // Start of the handshake, or time of its failure.
	again    time.Duration // When hello is sent again.
	cookieAt time.Duration // When the cookie of the Initiate came.
	nonce    [8]byte
	hs       *noise.HandshakeState
	hello    []byte // The handshake datagram that is repeated until an answer comes.
	hint     error
	err      error // Error of the last handshake.
	untold   bool  // Receive has not returned err yet.
	id       uint32
	reset    [resetToken]byte // Secret token by which the server proves that the session is over.
	to       sealer
	from     opener
	heard    time.Duration
	asked    time.Duration // Time of the first Send after heard. If it is not after heard, there was none.
	waiting  []byte        // The newest datagram, while there is no session.
	scratch  []byte
	out      []byte
}

var _ transport.Conn = (*Client)(nil)

// Dial wraps a client's connection. The Client owns the connection and closes it. Nothing is sent before the first Send. The
// error is ErrTokenMalformed or ErrTokenExpired, or names what is missing.
func Dial(inner transport.Conn, config ClientConfig) (*Client, error) {
	orTime := func(v *time.Duration, other time.Duration) {
		if *v <= 0 {
			*v = other
		}
	}
	orTime(&config.Timeout, 10*time.Second)
	orTime(&config.Silence, 15*time.Second)
	orTime(&config.RekeyEvery, 2*time.Minute)
	config.RekeyEvery = max(config.RekeyEvery, time.Minute)
	if config.Ciphers == 0 {
		config.Ciphers = usualCiphers()
	}
	if config.Now == nil {
		config.Now = wallClock()
	}
	if config.Wall == nil {
		config.Wall = time.Now
	}
	config.Random = randomOr(config.Random)
	if inner == nil {
		return nil, errors.New("secure: Dial: the connection is nil")
	}
	c := &Client{inner: inner, config: config, server: config.ServerKey, scratch: make([]byte, transport.MaxDatagram)}
	if len(config.Token) > 0 {
		if err := c.SetToken(config.Token); err != nil {
			return nil, err
		}
	}
	if c.server == (PublicKey{}) {
		return nil, errors.New("secure: Dial: set ClientConfig.Token, or ServerKey to the key that `netcode key` printed at the server")
	}
	return c, nil
}

// SetToken sets the token of the next handshake, for example after ErrTokenExpired. An established session stays.
func (c *Client) SetToken(token []byte) error {
	t, err := parseToken(token)
	switch {
	case err != nil:
		return err
	case c.config.Wall().Unix() > t.expires+int64(MaxTokenLife/time.Second):
		return ErrTokenExpired // Clearly expired. For the last day the server's clock decides.
	case c.config.ServerKey != PublicKey{} && c.config.ServerKey != t.key:
		return fmt.Errorf("%w: the token is for %v", ErrServerKey, t.key)
	}
	c.token, c.server = append([]byte(nil), token...), t.key
	if c.state == failed {
		c.state = idle
	}
	return nil
}

// Secure implements transport.Secured: it returns true.
func (c *Client) Secure() bool { return true }

// Waited implements transport.Timed: it asks the inner connection.
func (c *Client) Waited() time.Duration { return transport.WaitedOf(c.inner) }

// LocalAddr implements transport.Conn.
func (c *Client) LocalAddr() transport.Addr { return c.inner.LocalAddr() }

// Close closes the inner connection.
func (c *Client) Close() error { return c.inner.Close() }

// Stats returns the counters since Dial.
func (c *Client) Stats() ClientStats { return c.stats }

// Err returns the error of the last handshake, nil after a successful one.
func (c *Client) Err() error { return c.err }

// Open reports whether a session is established.
func (c *Client) Open() bool { return c.state == open }

// Send seals and sends a datagram. Without a session it begins a handshake with the server at the address.
func (c *Client) Send(to transport.Addr, datagram []byte) error {
	if len(datagram) == 0 {
		return nil
	}
	if len(datagram) > transport.MaxDatagram-Overhead {
		return transport.ErrTooLarge
	}
	now := c.config.Now()
	if to != c.peer || c.state == idle || c.state == failed && c.mayRetry(now) {
		if err := c.begin(to, now); err != nil {
			return err
		}
	}
	if c.state != open {
		if c.state != failed {
			c.waiting = append(c.waiting[:0], datagram...)
		}
		c.stats.Dropped++
		return c.drive(now)
	}
	if c.asked < c.heard {
		c.asked = now
	} else if now-c.asked > c.config.Silence {
		c.state = idle // The next Send begins a new handshake.
	}
	return c.seal(datagram, now)
}

// mayRetry reports whether a failed handshake may be repeated. After some errors it may only with another token or key.
func (c *Client) mayRetry(now time.Duration) bool {
	return (errors.Is(c.err, ErrNoAnswer) || errors.Is(c.err, ErrFull)) && now-c.began >= slowRetry
}

// seal seals and sends a datagram of the session.
func (c *Client) seal(datagram []byte, now time.Duration) error {
	c.out = c.to.seal(c.out[:0], kindData, c.id, now, datagram)
	c.stats.Sealed++
	return c.inner.Send(c.peer, c.out)
}

// begin starts a handshake.
func (c *Client) begin(to transport.Addr, now time.Duration) error {
	if _, err := io.ReadFull(c.config.Random, c.nonce[:]); err != nil {
		return fmt.Errorf("secure: ClientConfig.Random: %w", err)
	}
	c.stats.Handshakes++
	c.state, c.peer, c.began, c.hint, c.err, c.untold = requesting, to, now, nil, nil, false
	c.hello = appendHello(c.hello[:0], kindRequest, c.nonce[:])
	c.hello = append(c.hello, make([]byte, requestSize-helloSize)...)
	c.again = now
	return nil
}

// drive repeats the handshake datagram while no answer comes, and ends the handshake after the timeout.
func (c *Client) drive(now time.Duration) error {
	if c.state != requesting && c.state != initiating {
		return nil
	}
	if now-c.began >= c.config.Timeout {
		c.fail(c.hint, now)
		return nil
	}
	if now < c.again {
		return nil
	}
	switch {
	case now-c.began >= quickFor:
		c.again = now + slowRetry
	case c.state == initiating:
		c.again = now + initiateEvery
	default:
		c.again = now + requestEvery
	}
	return c.inner.Send(c.peer, c.hello)
}

// fail ends a handshake. The next Receive returns the error.
func (c *Client) fail(err error, now time.Duration) {
	if err == nil {
		err = ErrNoAnswer
	}
	c.state, c.err, c.untold, c.began, c.hs, c.waiting = failed, err, true, now, nil, c.waiting[:0]
}

// Receive returns the next datagram of the server and drives the handshake. It returns the error of a failed handshake once.
func (c *Client) Receive(buf []byte) (n int, from transport.Addr, err error) {
	now := c.config.Now()
	for range pullLimit {
		n, from, err := c.inner.Receive(c.scratch)
		if err != nil {
			return 0, transport.Addr{}, err
		}
		if n == 0 {
			break
		}
		if from != c.peer || c.state == idle {
			c.stats.Unknown++
			continue
		}
		packet := c.scratch[:n]
		switch packet[0] {
		case kindData:
			n, err = c.open(buf, packet, now)
		case kindReset:
			n = 0
			c.forget(packet)
		default:
			n = 0
			err = c.answer(packet, now)
		}
		if n > 0 || err != nil {
			return n, from, err
		}
	}
	if err := c.drive(now); err != nil {
		return 0, transport.Addr{}, err
	}
	if c.untold {
		c.untold = false
		return 0, transport.Addr{}, c.err
	}
	return 0, transport.Addr{}, nil
}

// open opens a datagram of the session.
func (c *Client) open(buf, packet []byte, now time.Duration) (int, error) {
	if len(packet) < Overhead {
		c.stats.Malformed++
		return 0, nil
	}
	if c.state != open || binary.BigEndian.Uint32(packet[1:]) != c.id {
		c.stats.Unknown++
		return 0, nil
	}
	n, result := c.from.open(buf, packet)
	switch result {
	case fine:
		c.heard = now
		c.stats.Opened++
		return n, nil
	case repeated:
		c.stats.Repeated++
	case tooOld:
		c.stats.TooOld++
	case forged:
		c.stats.Forged++
	case tooLong:
		return 0, transport.ErrTooLarge
	}
	return 0, nil
}

// answer handles a datagram of the handshake.
func (c *Client) answer(packet []byte, now time.Duration) error {
	if len(packet) < refuseSize || packet[0] < kindChallenge || packet[0] > kindRefuse || packet[1] != version {
		c.stats.Malformed++
		return nil
	}
	if c.state != requesting && c.state != initiating || [8]byte(packet[2:]) != c.nonce {
		c.stats.Unknown++
		return nil
	}
	switch {
	case packet[0] == kindChallenge && len(packet) == challengeSize:
		c.stats.Challenges++
		return c.initiate(packet[helloSize:], now)
	case packet[0] == kindAccept && len(packet) == acceptSize && c.state == initiating:
		return c.accept(packet[helloSize:], now)
	case packet[0] == kindRefuse && len(packet) == refuseSize && packet[helloSize] < byte(numStatus):
		c.stats.Hints++
		c.hint = status(packet[helloSize]).err()
		return nil
	}
	c.stats.Malformed++
	return nil
}

// initiate sends the first message of Noise with the cookie. A repeated cookie changes nothing, so that the server recognises
// repeats of the Initiate, nor does another one soon after, which answers an earlier Request: an Accept may be on its way.
func (c *Client) initiate(cookie []byte, now time.Duration) error {
	if c.state == initiating && (now-c.cookieAt < cookieFor || string(cookie) == string(c.hello[helloSize:challengeSize])) {
		return nil
	}
	c.cookieAt = now
	c.hello = appendHello(c.hello[:0], kindInitiate, c.nonce[:])
	c.hello = append(c.hello, cookie...)
	hs, err := newHandshake(noise.DHKey{}, c.server[:], c.hello, c.config.Random)
	if err != nil {
		return fmt.Errorf("secure: %w", err)
	}
	payload := append([]byte{byte(c.config.Ciphers)}, c.token...)
	if c.hello, _, _, err = hs.WriteMessage(c.hello, payload); err != nil {
		c.fail(fmt.Errorf("%w: %w", ErrServerKey, err), now) // The server's public key is no point of the curve.
		return nil
	}
	c.hs, c.state, c.again = hs, initiating, now
	return c.drive(now)
}

// accept handles the second message of Noise. Only the server with the expected key can have made it.
func (c *Client) accept(message []byte, now time.Duration) error {
	body, toServer, toClient, err := c.hs.ReadMessage(nil, message)
	if err != nil || len(body) != acceptPayload || body[0]>>4 >= byte(numStatus) {
		c.stats.Forged++
		return nil
	}
	result, cipher := status(body[0]>>4), Cipher(body[0]&15)
	if result != accepted {
		c.stats.Refused++
		c.fail(result.err(), now)
		return nil
	}
	if cipher&c.config.Ciphers == 0 || cipher != AESGCM && cipher != ChaCha20Poly1305 {
		c.stats.Refused++
		c.fail(ErrCipher, now)
		return nil
	}
	keyOut, keyIn := toServer.UnsafeKey(), toClient.UnsafeKey()
	c.id, c.to, c.from = binary.BigEndian.Uint32(body[1:]), newSealer(cipher, keyOut, now, c.config.RekeyEvery), newOpener(cipher, keyIn)
	c.reset = [resetToken]byte(body[5:])
	c.state, c.hs, c.err, c.heard, c.asked = open, nil, nil, now, now-1
	c.stats.Sessions++
	logKeys(c.config.KeyLog, c.id, cipher, keyOut, keyIn)
	waiting := c.waiting
	c.waiting = c.waiting[:0]
	return c.seal(waiting, now) // Also an empty one: it confirms the session.
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
