package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/memory"
)

const (
	segmentHeader = 9  // number, frame, whether it is the last of its frame
	segmentAcks   = 64 // of segments behind the first that is missing
)

// stream sends what a server would send, reliably and in order, over the same kind of link: what is lost is sent again as
// soon as three later ones are acknowledged or 1.25 round trips are over, there is no limit to what may be in flight, and
// the round trip is known from the start. A real one would do worse.
type stream struct {
	frame     int64
	roundTrip time.Duration

	sender, receiver *transport.Conditioner
	segments         []segment
	first            int // of the segments: all before it are acknowledged
	sent             int64
	newest           int64 // transmission that is known to have arrived

	arrived   []bool // by segment
	delivered int    // segments handed over, in order
	complete  int    // frames of which everything was handed over
}

// segment is a part of a frame's bytes.
type segment struct {
	frame, size  int
	last         bool
	acked        bool
	transmission int64 // the number of its newest transmission
	at           int64 // frame of it
}

func (s *stream) elapsed() time.Duration {
	return time.Duration(s.frame * int64(time.Second) / bytesHz)
}

// playStream sends so many bytes in each frame and returns how old each moving body is at the receiver.
func playStream(perFrame []int, moves changes, p lossPoint) (*histogram, error) {
	s := &stream{roundTrip: p.roundTrip}
	network := memory.NewNetwork()
	ends := make([]*transport.Conditioner, 2)
	for i := range ends {
		end, err := network.Listen(transport.AddrOf(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(9000+i))))
		if err != nil {
			return nil, err
		}
		ends[i] = transport.Condition(end, p.link(), uint64(i)+1, s.elapsed)
	}
	s.sender, s.receiver = ends[0], ends[1]
	ages := &histogram{}
	for now, bytes := range perFrame {
		s.frame++
		if err := s.send(now, bytes); err != nil {
			return nil, err
		}
		if err := s.receive(); err != nil {
			return nil, err
		}
		for _, end := range ends { // what was sent is under way from now on
			if err := end.Poll(); err != nil {
				return nil, err
			}
		}
		for i := range moves.at {
			if moves.moving(i, now) {
				ages.add(moves.age(i, s.complete-1, now))
			}
		}
	}
	if s.complete == 0 {
		return nil, fmt.Errorf("nothing was delivered in %d frames", len(perFrame))
	}
	return ages, nil
}

// send takes in acks, sends this frame's bytes and again what is lost.
func (s *stream) send(frame, bytes int) error {
	if err := s.takeAcks(); err != nil {
		return err
	}
	for first := true; first || bytes > 0; first = false {
		size := min(bytes, packetBytes)
		bytes -= size
		s.segments = append(s.segments, segment{frame: frame, size: max(size, segmentHeader), last: bytes <= 0, transmission: -1})
	}
	patience := int64(1.25*s.roundTrip.Seconds()*bytesHz) + 2
	for s.first < len(s.segments) && s.segments[s.first].acked {
		s.first++
	}
	for i := s.first; i < len(s.segments); i++ {
		g := &s.segments[i]
		fresh := g.transmission < 0
		lost := g.transmission+3 <= s.newest || s.frame-g.at >= patience
		if g.acked || !fresh && !lost {
			continue
		}
		s.sent++
		g.transmission, g.at = s.sent, s.frame
		datagram := make([]byte, g.size)
		binary.LittleEndian.PutUint32(datagram, uint32(i))
		binary.LittleEndian.PutUint32(datagram[4:], uint32(g.frame))
		if g.last {
			datagram[8] = 1
		}
		if err := s.sender.Send(s.receiver.LocalAddr(), datagram); err != nil {
			return err
		}
	}
	return nil
}

// takeAcks reads the first segment that is missing at the receiver, and which of the next are not.
func (s *stream) takeAcks() error {
	var ack [12]byte
	for {
		n, _, err := s.sender.Receive(ack[:])
		if err != nil || n == 0 {
			return err
		}
		missing, more := int(binary.LittleEndian.Uint32(ack[:])), binary.LittleEndian.Uint64(ack[4:])
		for i := s.first; i < min(missing+1+segmentAcks, len(s.segments)); i++ {
			if i < missing || i > missing && more&(1<<(i-missing-1)) != 0 {
				s.segments[i].acked = true
				s.newest = max(s.newest, s.segments[i].transmission)
			}
		}
	}
}

// receive hands over what is complete and acknowledges.
func (s *stream) receive() error {
	var datagram [packetBytes]byte
	for {
		n, _, err := s.receiver.Receive(datagram[:])
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		i := int(binary.LittleEndian.Uint32(datagram[:]))
		for len(s.arrived) <= i {
			s.arrived = append(s.arrived, false)
		}
		s.arrived[i] = true
	}
	for s.delivered < len(s.arrived) && s.arrived[s.delivered] {
		if s.segments[s.delivered].last {
			s.complete++
		}
		s.delivered++
	}
	var ack [12]byte
	binary.LittleEndian.PutUint32(ack[:], uint32(s.delivered))
	more := uint64(0)
	for i := range segmentAcks {
		if k := s.delivered + 1 + i; k < len(s.arrived) && s.arrived[k] {
			more |= 1 << i
		}
	}
	binary.LittleEndian.PutUint64(ack[4:], more)
	return s.receiver.Send(s.sender.LocalAddr(), ack[:])
}
