package main

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

// Bit-packing as in the articles on snapshot compression, with acknowledgements that are simulated over the network of a
// lossPoint. A packet brings every body that differs from the newest snapshot that is known to have arrived: so it costs
// what its baseline's age costs, and a client that gets any packet has everything as of its frame.
const (
	packedCount  = 10 // bits: how many bodies differ
	packedPlace  = 50 // its position
	packedTurned = 29 // its orientation
)

// packedBits returns the size of a snapshot against an earlier one: of each body that differs its index relative to the one before,
// the flag, and what changed of position and orientation, as differences where these are short.
func packedBits(now, base []quantised) (sum int) {
	sum, last := packedCount, -1
	for i := range now {
		a, b := &now[i], &base[i]
		if *a == *b {
			continue
		}
		sum += packedIndex(i-last) + 1 + 2
		last = i
		if a.position != b.position {
			sum += packedOffsets(a.position, b.position, 5, 9, packedPlace)
		}
		switch {
		case a.largest != b.largest:
			sum += 1 + packedTurned
		case a.orientation != b.orientation:
			sum += 1 + packedOffsets(a.orientation, b.orientation, 5, 8, packedTurned)
		}
	}
	return sum
}

// packedIndex returns the bits of a step to the next body: 1, then classes of 4, 8, 16, 32 and 64 steps, else in full.
func packedIndex(step int) int {
	if step == 1 {
		return 1
	}
	most := 5
	for width := 2; width <= 6; width++ {
		if step <= most {
			return width + width
		}
		most += 2 << width
	}
	return 6 + 10
}

// packedOffsets returns the bits of three numbers: each in few bits or in more, or all of them in full.
func packedOffsets(now, base [3]int32, few, more, full int) int {
	sum := 1
	for i := range now {
		d := now[i] - base[i]
		switch width := bits.Len32(uint32(d<<1 ^ d>>31)); {
		case width <= few:
			sum += 1 + few
		case width <= more:
			sum += 1 + more
		default:
			return 1 + full
		}
	}
	return sum
}

// packed is bit-packing over one network.
type packed struct {
	bits      int
	staleness histogram // what a client has that is brought up to date by every packet: nothing sent once a frame is fresher
}

// playPacked sends the snapshot of each frame and hears in each frame what arrived last, in both directions over the network.
// The first is known to both ends.
func playPacked(frames [][]quantised, moves *changes, p lossPoint) (*packed, error) {
	frame := int64(0)
	now := func() time.Duration { return time.Duration(frame * int64(time.Second) / bytesHz) }
	network := memory.NewNetwork()
	var ends [2]*transport.Conditioner // of the sender, of the receiver
	for i := range ends {
		end, err := network.Listen(transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(9000+i))))
		if err != nil {
			return nil, err
		}
		ends[i] = transport.Condition(end, p.link(), uint64(i)+1, now)
	}
	result, known, held := &packed{}, 0, 0
	for ; int(frame) < len(frames)-1; frame++ {
		at := int(frame) + 1
		var err error
		if known, err = newestOf(ends[0], known); err != nil {
			return nil, err
		}
		if at-known >= len(frames) {
			return nil, fmt.Errorf("frame %d against %d", at, known)
		}
		result.bits += packedBits(frames[at], frames[known])
		if err := tellFrame(ends[0], ends[1], at); err != nil {
			return nil, err
		}
		if held, err = newestOf(ends[1], held); err != nil {
			return nil, err
		}
		for i := range moves.at {
			if moves.moving(i, at-1) {
				result.staleness.add(moves.age(i, held-1, at-1))
			}
		}
		if err := tellFrame(ends[1], ends[0], held); err != nil {
			return nil, err
		}
		for _, end := range ends { // what was sent is under way from now on
			if err := end.Poll(); err != nil {
				return nil, err
			}
		}
	}
	return result, nil
}

// tellFrame sends the number of a frame.
func tellFrame(from, to *transport.Conditioner, n int) error {
	return from.Send(to.LocalAddr(), binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

// newestOf reads all that came and returns the newest frame of which there was word.
func newestOf(end *transport.Conditioner, newest int) (int, error) {
	var datagram [4]byte
	for {
		n, _, err := end.Receive(datagram[:])
		if n == 0 || err != nil {
			return newest, err
		}
		newest = max(newest, int(binary.LittleEndian.Uint32(datagram[:])))
	}
}

// quantisedFrames is so many frames of a motion behind its first one, that one before them.
func quantisedFrames(source motion, n int) (frames [][]quantised, err error) {
	for len(frames) <= n {
		bodies, more, err := source.next()
		if err != nil || !more {
			return frames, err
		}
		frame := make([]quantised, len(bodies))
		for i, b := range bodies {
			frame[i] = quantise(b)
		}
		frames = append(frames, frame)
	}
	return frames, nil
}
