package load

import (
	"time"

	"github.com/arche-netcode/netcode/transport"
)

// line is a bot's connection with a bad link in both directions. Sent datagrams wait in a queue, cross a Conditioner, and leave
// with the next Send, Receive or flush.
type line struct {
	socket transport.Conn
	down   *transport.Conditioner
	up     *transport.Conditioner
	queue  *outgoing
	buffer []byte
}

// newLine wraps a socket in a link.
func newLine(socket transport.Conn, link transport.Link, seed uint64, now func() time.Duration) *line {
	queue := &outgoing{}
	return &line{
		socket: socket, queue: queue, buffer: make([]byte, 2048),
		down: transport.Condition(socket, link, seed, now),
		up:   transport.Condition(queue, link, seed^1<<63, now),
	}
}

// Send implements systems.Socket.
func (l *line) Send(to transport.Addr, datagram []byte) error {
	l.queue.put(to, datagram)
	return l.flush()
}

// Receive implements systems.Socket.
func (l *line) Receive(buf []byte) (n int, from transport.Addr, err error) {
	if err := l.flush(); err != nil {
		return 0, transport.Addr{}, err
	}
	return l.down.Receive(buf)
}

// Waited implements transport.Timed, so that a measured round trip excludes the time until the bot's next frame.
func (l *line) Waited() time.Duration { return l.down.Waited() }

// Close closes the socket.
func (l *line) Close() error { return l.socket.Close() }

// flush sends the datagrams that have crossed the link.
func (l *line) flush() error {
	for {
		n, to, err := l.up.Receive(l.buffer)
		if err != nil || n == 0 {
			return err
		}
		if err := l.socket.Send(to, l.buffer[:n]); err != nil {
			return err
		}
	}
}

// outgoing is a connection whose Receive returns the queued datagrams of the bot, with the destination as the sender.
type outgoing struct {
	waits []datagram
	free  [][]byte
}

type datagram struct {
	to    transport.Addr
	bytes []byte
}

func (o *outgoing) put(to transport.Addr, bytes []byte) {
	var room []byte
	if n := len(o.free) - 1; n >= 0 {
		room, o.free = o.free[n], o.free[:n]
	}
	o.waits = append(o.waits, datagram{to, append(room[:0], bytes...)})
}

// Send implements transport.Conn. It is never called: the Conditioner only receives.
func (o *outgoing) Send(to transport.Addr, bytes []byte) error {
	o.put(to, bytes)
	return nil
}

// Receive implements transport.Conn.
func (o *outgoing) Receive(buf []byte) (n int, from transport.Addr, err error) {
	if len(o.waits) == 0 {
		return 0, from, nil
	}
	first := o.waits[0]
	o.waits = append(o.waits[:0], o.waits[1:]...)
	o.free = append(o.free, first.bytes)
	return copy(buf, first.bytes), first.to, nil
}

// LocalAddr implements transport.Conn.
func (o *outgoing) LocalAddr() transport.Addr { return transport.Addr{} }

// Close implements transport.Conn.
func (o *outgoing) Close() error { return nil }
