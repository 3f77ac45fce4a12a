package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Accept is the server's answer to a Hello with a valid cookie: the connection
// and what both ends have to know about it.
//
//	byte 0     1       9       13       17     25     27       29       31
//	+------+-------+-------+--------+------+------+--------+--------+----------+
//	| 0x83 | nonce | epoch | client | tick | rate | window | packet | checksum |
//	+------+-------+-------+--------+------+------+--------+--------+----------+
//	 1      8       4       4        8      2      2        2        4
type Accept struct {
	Nonce      uint64        // of the Hello
	Epoch      uint32        // of the session, random, never 0
	Client     wire.ClientID // from 1
	Tick       tick.Tick     // the server's tick when it accepted, from 0
	Rate       uint16        // network ticks per second, from 1
	Window     uint16        // history window W in ticks, from 1
	PacketSize uint16        // largest packet in bytes, MinPacketSize..MaxPacketSize
}

const acceptSize = 31 + wire.ChecksumSize

func (a *Accept) legal() bool {
	return a.Epoch != 0 && a.Client != 0 && a.Tick >= 0 && a.Rate != 0 && a.Window != 0 &&
		a.PacketSize >= MinPacketSize && a.PacketSize <= MaxPacketSize
}

// AppendAccept appends the datagram.
func AppendAccept(b []byte, a Accept) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindAccept))
	b = binary.LittleEndian.AppendUint64(b, a.Nonce)
	b = binary.LittleEndian.AppendUint32(b, a.Epoch)
	b = binary.LittleEndian.AppendUint32(b, uint32(a.Client))
	b = binary.LittleEndian.AppendUint64(b, uint64(a.Tick))
	b = binary.LittleEndian.AppendUint16(b, a.Rate)
	b = binary.LittleEndian.AppendUint16(b, a.Window)
	b = binary.LittleEndian.AppendUint16(b, a.PacketSize)
	return sealDatagram(b, start)
}

// ParseAccept reads an Accept datagram. Errors are ErrChecksum and ErrMalformed,
// the latter also for values out of the ranges above.
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
		Client:     wire.ClientID(binary.LittleEndian.Uint32(b[12:])),
		Tick:       tick.Tick(binary.LittleEndian.Uint64(b[16:])),
		Rate:       binary.LittleEndian.Uint16(b[24:]),
		Window:     binary.LittleEndian.Uint16(b[26:]),
		PacketSize: binary.LittleEndian.Uint16(b[28:]),
	}
	if !a.legal() {
		return Accept{}, ErrMalformed
	}
	return a, nil
}
