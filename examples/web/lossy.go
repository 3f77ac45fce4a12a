package main

import (
	"math/rand/v2"

	"github.com/arche-netcode/netcode/transport"
)

// lossy loses datagrams in both directions. What it sends one by one it cannot send in batches, so it has Send alone.
type lossy struct {
	transport.Conn
	loss   float64 // Probability, for each direction.
	random *rand.Rand
}

func (l *lossy) Send(to transport.Addr, datagram []byte) error {
	if l.random.Float64() < l.loss {
		return nil
	}
	return l.Conn.Send(to, datagram)
}

func (l *lossy) Receive(buf []byte) (n int, from transport.Addr, err error) {
	for {
		n, from, err = l.Conn.Receive(buf)
		if n == 0 || err != nil || l.random.Float64() >= l.loss {
			return n, from, err
		}
	}
}

// Rank implements transport.Ranker.
func (l *lossy) Rank(session bool) { transport.RankOf(l.Conn, session) }
