package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/udp"
)

// runDiscover prints a server's protocol as a lock file.
func runDiscover(args []string, out, progress io.Writer) error {
	if len(args) != 1 && (len(args) != 3 || args[1] != "-o") {
		return usage.Errorf("discover wants an address, as in netcode discover game.example:9000 -o game.lock")
	}
	server, err := udp.Resolve(args[0])
	if err != nil {
		return err
	}
	socket, err := udp.Listen(":0", udp.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = socket.Close() }()
	lock, err := schema.Discover(&serverLine{socket, server}, func(entries int, entry string) {
		fmt.Fprintf(progress, "\r%d entries: %s\x1b[K", entries, entry)
	})
	fmt.Fprintln(progress)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := lock.Write(&text); err != nil {
		return err
	}
	if len(args) == 3 {
		return os.WriteFile(args[2], text.Bytes(), 0o644)
	}
	_, err = out.Write(text.Bytes())
	return err
}

// serverLine is a socket that speaks with a server alone.
type serverLine struct {
	socket transport.Conn
	server transport.Addr
}

// Send implements schema.Line.
func (l *serverLine) Send(datagram []byte) error { return l.socket.Send(l.server, datagram) }

// Receive implements schema.Line.
func (l *serverLine) Receive(buf []byte) (int, error) {
	for {
		n, from, err := l.socket.Receive(buf)
		if n == 0 || err != nil || from == l.server {
			return n, err
		}
	}
}
