package handshake

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/arche-netcode/netcode/internal/outbox"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/transport"
)

// Outbox queues an end's datagrams of the handshake.
type Outbox struct {
	Buffer *outbox.Buffer       // The buffer of all datagrams of the end.
	Full   *uint64              // Counts datagrams without room.
	Stats  *peer.HandshakeStats // Counts sent datagrams.
}

// send queues a datagram of at most size bytes. It reports whether there was room.
func (o Outbox) send(to transport.Addr, size int, write func(b []byte) []byte) bool {
	room := o.Buffer.Room(size)
	if room == nil {
		*o.Full++
		return false
	}
	o.Buffer.Commit(to, len(write(room[:0])))
	return true
}

// Random returns a random number from a Config.Random.
func Random(from io.Reader) (uint64, error) {
	var b [8]byte
	err := random(from, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// random fills b with random bytes.
func random(from io.Reader, b []byte) error {
	if _, err := io.ReadFull(from, b); err != nil {
		return fmt.Errorf("netcode: Config.Random: %w", err)
	}
	return nil
}
