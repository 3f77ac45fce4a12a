package main

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net"

	"github.com/arche-netcode/netcode/transport"
)

const (
	packetBytes     = 1200
	packetHeader    = 8
	rowsPerPacket   = (packetBytes - packetHeader) / rowBytes
	packetsPerWrite = 52 // what one segmented datagram of 64 KiB holds
)

// floorSender is the program that does nothing but memcpy and the kernel call: the dirty rows of a scene into packets,
// once a tick, and the same packets to every client. It has no acks and no state per client.
type floorSender struct {
	scene    *scene
	socket   *net.UDPConn
	clients  []transport.Addr
	buffer   []byte
	segments []byte // control message that makes the kernel cut a write into packets; nil where it cannot
	sequence uint64
}

func newFloorSender(s *scene, clients []transport.Addr) (*floorSender, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	if err := socket.SetWriteBuffer(4 << 20); err != nil {
		return nil, fmt.Errorf("write buffer: %w", err)
	}
	return &floorSender{
		scene: s, socket: socket, clients: clients, segments: segmentControl(packetBytes),
		buffer: make([]byte, (len(s.positions)/rowsPerPacket+2)*packetBytes),
	}, nil
}

// tick encodes and sends, and returns the bytes each client gets.
func (f *floorSender) tick() (int, error) {
	n := f.encode()
	return n, f.send(f.buffer[:n])
}

func (f *floorSender) encode() int {
	start, rows, end := 0, 0, 0
	for block, mask := range f.scene.dirty {
		for mask != 0 {
			i := block<<6 + bits.TrailingZeros64(mask)
			mask &= mask - 1
			if rows == 0 {
				binary.LittleEndian.PutUint64(f.buffer[start:], f.sequence)
				f.sequence++
				end = start + packetHeader
			}
			putRow(f.buffer[end:], i, &f.scene.positions[i], &f.scene.rotations[i], &f.scene.velocity[i])
			end += rowBytes
			if rows++; rows == rowsPerPacket {
				start += packetBytes
				rows, end = 0, start
			}
		}
	}
	return end
}

func (f *floorSender) send(data []byte) error {
	limit := packetBytes
	if f.segments != nil {
		limit = packetsPerWrite * packetBytes
	}
	for _, to := range f.clients {
		for rest := data; len(rest) > 0; {
			part := rest[:min(len(rest), limit)]
			var control []byte
			if len(part) > packetBytes {
				control = f.segments
			}
			if _, _, err := f.socket.WriteMsgUDPAddrPort(part, control, to.IP); err != nil {
				return err
			}
			rest = rest[len(part):]
		}
	}
	return nil
}
