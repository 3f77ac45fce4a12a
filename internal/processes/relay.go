package main

import (
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// relayMTU is the maximum size of a datagram through a relay with faults.
const relayMTU = 900

// relay forwards datagrams between clients and a server, and injects faults. Each client has its own socket to the server.
type relay struct {
	mutex  sync.Mutex
	front  *net.UDPConn
	server *net.UDPAddr
	back   map[string]*net.UDPConn // by client address
	spoils bool
	random *rand.Rand
	faults map[string]int
	over   bool
}

// newRelay starts a relay to a server.
func newRelay(server string) (*relay, error) {
	to, err := net.ResolveUDPAddr("udp", server)
	if err != nil {
		return nil, err
	}
	front, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	r := &relay{
		front: front, server: to, back: map[string]*net.UDPConn{}, random: rand.New(rand.NewPCG(2, 2)),
		faults: map[string]int{"damaged": 0, "doubled": 0, "overtaken": 0, "dropped": 0, "too large": 0, "new ports": 0},
	}
	go r.forward()
	return r, nil
}

func (r *relay) address() string { return r.front.LocalAddr().String() }

// forward forwards datagrams of clients.
func (r *relay) forward() {
	for buf := make([]byte, 1<<16); ; {
		n, from, err := r.front.ReadFromUDP(buf)
		r.mutex.Lock()
		if r.over {
			r.mutex.Unlock()
			return
		}
		if err == nil {
			if to := r.socket(from); to != nil {
				r.pass(buf[:n], func(b []byte) { _, _ = to.Write(b) })
			}
		}
		r.mutex.Unlock()
	}
}

// socket returns the socket of a client to the server, nil on an error.
func (r *relay) socket(client *net.UDPAddr) *net.UDPConn {
	s := r.back[client.String()]
	if s == nil {
		var err error
		if s, err = net.DialUDP("udp", nil, r.server); err != nil {
			return nil
		}
		r.back[client.String()] = s
		go r.backward(s, client)
	}
	return s
}

// backward forwards datagrams of the server to a client, until the socket is closed.
func (r *relay) backward(s *net.UDPConn, client *net.UDPAddr) {
	for buf := make([]byte, 1<<16); ; {
		n, err := s.Read(buf)
		r.mutex.Lock()
		if r.over || r.back[client.String()] != s {
			r.mutex.Unlock()
			return
		}
		if err == nil {
			r.pass(buf[:n], func(b []byte) { _, _ = r.front.WriteToUDP(b, client) })
		}
		r.mutex.Unlock()
	}
}

// pass forwards a datagram or injects a fault. The mutex is locked.
func (r *relay) pass(datagram []byte, send func([]byte)) {
	if !r.spoils {
		send(datagram)
		return
	}
	b := append([]byte(nil), datagram...)
	if len(b) > relayMTU {
		r.faults["too large"]++
		return
	}
	switch r.random.IntN(20) {
	case 0:
		r.faults["dropped"]++
		return
	case 1:
		if len(b) > 0 {
			r.faults["damaged"]++
			b[r.random.IntN(len(b))] ^= 1 << r.random.IntN(8)
		}
	case 2:
		r.faults["doubled"]++
		send(b)
	case 3:
		r.faults["overtaken"]++
		time.AfterFunc(50*time.Millisecond, func() {
			r.mutex.Lock()
			defer r.mutex.Unlock()
			if !r.over {
				send(b)
			}
		})
		return
	}
	send(b)
}

// spoil switches the faults on or off.
func (r *relay) spoil(on bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.spoils = on
}

// rebind gives all clients new ports towards the server.
func (r *relay) rebind() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for client, s := range r.back {
		_ = s.Close()
		delete(r.back, client)
		r.faults["new ports"]++
	}
}

// counts returns the number of injected faults by kind.
func (r *relay) counts() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return maps.Clone(r.faults)
}

// end stops the relay.
func (r *relay) end() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.over = true
	_ = r.front.Close()
	for _, s := range r.back {
		_ = s.Close()
	}
}
