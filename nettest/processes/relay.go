package main

import (
	"maps"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// relayMTU is the largest datagram that passes a relay which spoils.
const relayMTU = 900

// relay passes datagrams between clients and a server, and spoils them. Each client has a socket of its own to the server.
type relay struct {
	mutex  sync.Mutex
	front  *net.UDPConn
	server *net.UDPAddr
	back   map[string]*net.UDPConn // by the address of the client
	spoils bool
	random *rand.Rand
	faults map[string]int
	over   bool
}

// newRelay begins to relay to a server.
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

// forward passes what clients send.
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

// socket returns the socket of a client to the server, nil if there is none to be had.
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

// backward passes what the server sends to a client, until the socket is closed.
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

// pass sends a datagram on, or spoils it. The mutex is locked.
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

// spoil begins or ends the faults.
func (r *relay) spoil(on bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.spoils = on
}

// rebind gives all clients another port at the server.
func (r *relay) rebind() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for client, s := range r.back {
		_ = s.Close()
		delete(r.back, client)
		r.faults["new ports"]++
	}
}

// counts returns how often each fault was injected.
func (r *relay) counts() map[string]int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return maps.Clone(r.faults)
}

// end ends the relay.
func (r *relay) end() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.over = true
	_ = r.front.Close()
	for _, s := range r.back {
		_ = s.Close()
	}
}
