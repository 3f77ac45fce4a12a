package main

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
	"github.com/arche-netcode/netcode/transport/secure"
)

const (
	sealTarget  = 1.3  // times the AEAD alone
	floodTarget = 2000 // ns of processor time for a datagram of a flood
	sealSize    = 1200 // bytes
	sealBatch   = 256
)

// errSecure is the error of a session that does not come about.
var errSecure = errors.New("the secure session did not come about")

// secureEnds is a server and a client of transport/secure without a network between them.
type secureEnds struct {
	network *memory.Network
	server  *secure.Server
	client  *secure.Client
	stray   *memory.Conn
	now     time.Duration
	key     secure.Key
	buf     []byte
}

// slot is a connection that keeps the last datagram of the other end, so that its own work is next to nothing.
type slot struct {
	transport.Conn
	other    *slot
	datagram []byte
	direct   bool
}

// Send implements transport.Conn.
func (s *slot) Send(to transport.Addr, datagram []byte) error {
	if !s.direct {
		return s.Conn.Send(to, datagram)
	}
	s.other.datagram = append(s.other.datagram[:0], datagram...)
	return nil
}

// Receive implements transport.Conn.
func (s *slot) Receive(buf []byte) (int, transport.Addr, error) {
	if !s.direct {
		return s.Conn.Receive(buf)
	}
	n := copy(buf, s.datagram)
	s.datagram = s.datagram[:0]
	return n, s.other.LocalAddr(), nil
}

// newSecureEnds makes a session. Its cipher is AES-256-GCM.
func newSecureEnds() (*secureEnds, error) {
	e := &secureEnds{network: memory.NewNetwork(), buf: make([]byte, 2048), key: secure.Key{1}}
	a, err := e.network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	b, err := e.network.Listen(transport.Addr{})
	if err != nil {
		return nil, err
	}
	if e.stray, err = e.network.Listen(transport.Addr{}); err != nil {
		return nil, err
	}
	here, there := &slot{Conn: a}, &slot{Conn: b}
	here.other, there.other = there, here
	now := func() time.Duration { return e.now }
	if e.server, err = secure.Listen(here, secure.Config{Key: e.key, Admit: secure.Tokens(), Handshakes: -1, Now: now}); err != nil {
		return nil, err
	}
	if e.client, err = e.dial(there); err != nil {
		return nil, err
	}
	here.direct, there.direct = true, true
	return e, nil
}

// dial makes a client with a token, and joins.
func (e *secureEnds) dial(inner transport.Conn) (*secure.Client, error) {
	token, err := secure.Issue(e.key, secure.Token{User: "bench", Servers: []string{e.server.LocalAddr().String()}, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		return nil, err
	}
	c, err := secure.Dial(inner, secure.ClientConfig{Token: token, Ciphers: secure.AESGCM, Now: func() time.Duration { return e.now }})
	if err != nil {
		return nil, err
	}
	for range 4 {
		if err := c.Send(e.server.LocalAddr(), e.buf[:1]); err != nil {
			return nil, err
		}
		for _, end := range []transport.Conn{e.server, c, e.server} {
			if _, _, err := end.Receive(e.buf); err != nil {
				return nil, err
			}
		}
	}
	if !c.Open() {
		return nil, errSecure
	}
	return c, nil
}

// runSecure measures transport/secure: sealing, what a flood costs, handshakes, and a tick.
func runSecure(o options) error {
	e, err := newSecureEnds()
	if err != nil {
		return err
	}
	if err := e.measureSeal(o); err != nil {
		return err
	}
	if e, err = newSecureEnds(); err != nil {
		return err
	}
	return errors.Join(e.measureFlood(o), measureHandshakes(o), measureSecureTick(o))
}

// measureSeal takes turns: a batch of datagrams through both ends, and a batch through the AEAD alone.
func (e *secureEnds) measureSeal(o options) error {
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return err
	}
	datagram, sealed, nonce := make([]byte, sealSize), make([]byte, 0, 2048), make([]byte, 12)
	var ours, floors []float64
	var allocations uint64
	var before, after runtime.MemStats
	ours, floors = make([]float64, 0, 1<<16), make([]float64, 0, 1<<16)
	for start := time.Now(); time.Since(start) < o.budget && len(ours) < cap(ours) || len(ours) < 5; {
		runtime.ReadMemStats(&before)
		began := time.Now()
		for range sealBatch {
			if err := e.client.Send(e.server.LocalAddr(), datagram); err != nil {
				return err
			}
			if n, _, err := e.server.Receive(e.buf); n != sealSize || err != nil {
				return fmt.Errorf("%w: %d bytes, %w", errSecure, n, err)
			}
		}
		ours = append(ours, float64(time.Since(began))/sealBatch)
		runtime.ReadMemStats(&after)
		allocations += after.Mallocs - before.Mallocs
		began = time.Now()
		for range sealBatch {
			sealed = aead.Seal(sealed[:0], nonce, datagram, nil)
			if _, err := aead.Open(e.buf[:0], nonce, sealed, nil); err != nil {
				return err
			}
		}
		floors = append(floors, float64(time.Since(began))/sealBatch)
	}
	perDatagram := float64(allocations) / float64(len(ours)*sealBatch)
	o.report(result{
		Scenario: "secure.seal", Value: median(ours), Unit: "ns/datagram", Main: true,
		Params: map[string]any{"bytes": sealSize, "cipher": secure.AESGCM.String(), "batches": len(ours), "allocs_per_datagram": perDatagram},
	}.against(median(floors)).ratioTarget(sealTarget, perDatagram < 0.001))
	return nil
}

// measureFlood sends Requests and Initiates without a good cookie, which are answered with a Challenge each.
func (e *secureEnds) measureFlood(o options) error {
	inner, err := e.network.Listen(transport.Addr{})
	if err != nil {
		return err
	}
	server, err := secure.Listen(inner, secure.Config{Key: e.key, Admit: secure.Tokens()})
	if err != nil {
		return err
	}
	for name, size := range map[string]int{"request": 64, "initiate": 1100} {
		packet := make([]byte, size)
		packet[0], packet[1] = 1, 2 // a Request of version 2
		if name == "initiate" {
			packet[0] = 3
		}
		used, count := 0.0, 0
		for start := time.Now(); time.Since(start) < o.budget || count == 0; {
			for range sealBatch {
				if err := e.stray.Send(server.LocalAddr(), packet); err != nil {
					return err
				}
			}
			began := cpuTime()
			if _, _, err := server.Receive(e.buf); err != nil {
				return err
			}
			used += cpuTime() - began
			for answered := false; ; answered = true {
				n, _, err := e.stray.Receive(e.buf)
				if err != nil || n == 0 && !answered {
					return errors.Join(errSecure, err)
				}
				if n == 0 {
					break
				}
				count++
			}
		}
		o.report(result{
			Scenario: "secure.flood", Value: used / float64(count), Unit: "ns/datagram",
			Params: map[string]any{"of": name, "bytes": size, "datagrams": count, "network": "memory"},
		}.valueTarget(floodTarget, server.Stats().Handshakes == 0 && server.Stats().Version == 0))
	}
	return nil
}

// measureHandshakes makes sessions with tokens, one after the other. The client's half is in it.
func measureHandshakes(o options) error {
	e, err := newSecureEnds()
	if err != nil {
		return err
	}
	network := memory.NewNetwork()
	inner, err := network.Listen(transport.Addr{})
	if err != nil {
		return err
	}
	if e.server, err = secure.Listen(inner, secure.Config{Key: e.key, Admit: secure.Tokens(), Handshakes: -1, Sessions: 1 << 20, UsedTokens: 1 << 20, Now: func() time.Duration { return e.now }}); err != nil {
		return err
	}
	count, began := 0, cpuTime()
	for start := time.Now(); time.Since(start) < o.budget || count == 0; count++ {
		socket, err := network.Listen(transport.Addr{})
		if err != nil {
			return err
		}
		if _, err := e.dial(socket); err != nil {
			return err
		}
		if err := socket.Close(); err != nil {
			return err
		}
	}
	used := cpuTime() - began
	o.report(result{
		Scenario: "secure.handshakes", Value: float64(count) / (used / 1e9), Unit: "handshakes/s of a core",
		Params: map[string]any{"handshakes": count, "both_ends": true, "sessions": e.server.Stats().Confirmed},
	})
	return nil
}
