package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/wire"
)

// Limits of what a server decides for both ends.
const (
	// MaxTickRate is the highest network tick rate, in ticks a second.
	MaxTickRate = 1000
	// MinWindow is the shortest history window, in ticks.
	MinWindow = 64
	// MaxWindow is the longest history window, in ticks.
	MaxWindow = 4096
	// MinSessionPacket is the smallest limit of a session's packets, in bytes.
	MinSessionPacket = 256
	// MaxSessionPacket is the largest limit of a session's packets, in bytes.
	MaxSessionPacket = 8192
)

// Accept is the server's answer to a Hello with a valid cookie: the epoch of the session that the client may
// join, and the settings of both ends. The server keeps nothing for it: the same Hello gets the same Accept.
//
//	byte 0     1       9       13     15       17       19
//	+------+-------+-------+------+--------+--------+----------+
//	| 0x83 | nonce | epoch | rate | window | packet | checksum |
//	+------+-------+-------+------+--------+--------+----------+
//	 1      8       4       2      2        2        4
type Accept struct {
	Nonce      uint64 // of the Hello
	Epoch      uint32 // of the session, secret until now, never 0
	Rate       uint16 // network ticks per second, 1..MaxTickRate
	Window     uint16 // history window W in ticks, MinWindow..MaxWindow
	PacketSize uint16 // largest packet in bytes, MinSessionPacket..MaxSessionPacket
}

const acceptSize = 19 + wire.ChecksumSize

// check returns a *FieldError for the first field that is out of its range.
func (a *Accept) check() error {
	for _, f := range [...]FieldError{
		{"the epoch of an Accept", uint64(a.Epoch), 1, 1<<32 - 1},
		{"the tick rate of an Accept", uint64(a.Rate), 1, MaxTickRate},
		{"the window of an Accept", uint64(a.Window), MinWindow, MaxWindow},
		{"the packet size of an Accept", uint64(a.PacketSize), MinSessionPacket, MaxSessionPacket},
	} {
		if f.Value < f.Min || f.Value > f.Max {
			return f.escape()
		}
	}
	return nil
}

// AppendAccept appends the datagram.
func AppendAccept(b []byte, a Accept) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindAccept))
	b = binary.LittleEndian.AppendUint64(b, a.Nonce)
	b = binary.LittleEndian.AppendUint32(b, a.Epoch)
	b = binary.LittleEndian.AppendUint16(b, a.Rate)
	b = binary.LittleEndian.AppendUint16(b, a.Window)
	b = binary.LittleEndian.AppendUint16(b, a.PacketSize)
	return sealDatagram(b, start)
}

// ParseAccept reads an Accept datagram. Errors are ErrChecksum, ErrMalformed and, for a value out of the ranges above, a
// *FieldError; with that the Accept is returned too, so that its nonce can be looked at.
func ParseAccept(datagram []byte) (Accept, error) {
	if len(datagram) != acceptSize {
		return Accept{}, ErrMalformed
	}
	b, err := openDatagram(datagram, KindAccept)
	if err != nil {
		return Accept{}, err
	}
	a := Accept{
		Nonce:      binary.LittleEndian.Uint64(b),
		Epoch:      binary.LittleEndian.Uint32(b[8:]),
		Rate:       binary.LittleEndian.Uint16(b[12:]),
		Window:     binary.LittleEndian.Uint16(b[14:]),
		PacketSize: binary.LittleEndian.Uint16(b[16:]),
	}
	return a, a.check()
}
