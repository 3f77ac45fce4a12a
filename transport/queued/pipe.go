package queued

import (
	"errors"
	"sync"
	"time"

	"github.com/arche-netcode/netcode/internal/hosts"
	"github.com/arche-netcode/netcode/transport"
)

// Pipe is one blocking connection. Write and Read are each called from one goroutine, Close from any.
type Pipe interface {
	// Write sends one datagram. It blocks while the connection does. transport.ErrTooLarge concerns this datagram only; any other
	// error ends the connection.
	Write(datagram []byte) error
	// Read waits for a datagram and copies it into buf. transport.ErrTooLarge means that it did not fit; any other error ends the
	// connection.
	Read(buf []byte) (n int, err error)
	// Close ends the connection. Write and Read return.
	Close() error
}

// Peer is one connection of a Conn.
type Peer struct {
	conn *Conn
	addr transport.Addr
	pipe Pipe
	out  *ring
	held *hosts.Held[*Peer]
	end  sync.Once
	idle *time.Timer
	done chan struct{} // Closed when the connection has ended.
	err  error         // Set before done is closed.
}

// Addr returns the address of the peer. The Conn never gives it to another connection.
func (p *Peer) Addr() transport.Addr { return p.addr }

// Done returns a channel that is closed when the connection has ended.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err returns the reason why the connection ended, nil before.
func (p *Peer) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// stop ends the connection, once.
func (p *Peer) stop(err error) {
	p.end.Do(func() {
		p.conn.remove(p)
		p.idle.Stop()
		switch err {
		case ErrIdle:
			p.conn.stats.idle.Add(1)
		case ErrDisplaced:
			p.conn.stats.displaced.Add(1)
		}
		p.err = err
		_ = p.pipe.Close()
		close(p.done)
	})
}

// write is the writing goroutine.
func (p *Peer) write() {
	defer p.conn.running.Done()
	buf := make([]byte, p.conn.config.MaxDatagram)
	for {
		select {
		case <-p.done:
			return
		case <-p.out.ready:
		}
		for n := p.out.take(buf); n > 0; n = p.out.take(buf) {
			switch err := p.pipe.Write(buf[:n]); {
			case errors.Is(err, transport.ErrTooLarge):
				p.conn.stats.tooLarge.Add(1)
			case err != nil:
				p.stop(err)
				return
			default:
				p.conn.stats.sent.Add(1)
				p.conn.stats.bytesSent.Add(uint64(n))
			}
		}
	}
}

// read is the reading goroutine.
func (p *Peer) read() {
	defer p.conn.running.Done()
	buf, pause := make([]byte, p.conn.config.MaxDatagram), restTime
	for {
		n, err := p.pipe.Read(buf)
		switch {
		case errors.Is(err, transport.ErrTooLarge):
			p.conn.stats.tooLarge.Add(1)
		case err != nil:
			p.stop(err)
			return
		case n > 0:
			p.idle.Reset(p.conn.config.Idle)
			if p.conn.came(p, buf[:n]) {
				pause = restTime
				continue
			}
			p.rest(pause)
			pause = min(2*pause, longRest)
		}
	}
}

// rest pauses the reading of a connection that sends more than its share: what it sends waits at the other end, and costs nothing here.
func (p *Peer) rest(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.done:
	}
}
