package peer

import (
	"encoding/binary"

	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Reader goes through the messages of a packet in the order in which the other end handed them over:
//
//	r := in.Messages()
//	for r.Next() {
//		… r.Channel, r.Header, r.Payload
//	}
//	err := r.Err()
//
// It is not to be declared in the for statement itself, which would copy it for each message.
type Reader struct {
	Channel wire.Channel       // of the message
	Header  wire.MessageHeader // type, stage and flags exist; whether the type is known, and legal here, is for the caller
	Payload []byte             // part of the packet, Header.Size bytes; with what the flags put in front

	batches []byte
	at, end int // the next message, and where its batch ends
	bad     bool
}

// Messages returns a reader before the first message. A copy of it is a mark.
func (in *Incoming) Messages() Reader { return readBatches(in.Batches) }

func readBatches(batches []byte) Reader {
	r := Reader{batches: batches}
	if len(batches) == 0 {
		return r
	}
	size, ok := batchSize(batches, wire.BatchHeaderSize)
	if !ok {
		r.fail()
		return r
	}
	r.at, r.end = wire.BatchHeaderSize, size
	return r
}

// Next goes to the next message and reports whether there is one.
func (r *Reader) Next() bool {
	if r.at >= r.end && !r.open() {
		return false
	}
	room := r.end - r.at - wire.MessageHeaderSize
	if room < 0 {
		return r.fail()
	}
	from := r.at + wire.MessageHeaderSize
	h, ok := wire.UnpackMessageHeader(binary.LittleEndian.Uint32(r.batches[r.at:from:from]))
	if !ok || int(h.Size) > room {
		return r.fail()
	}
	r.at = from + int(h.Size)
	r.Header = h
	r.Payload = r.batches[from:r.at:r.at]
	return true
}

// Plain goes over the messages up to the first that is no message of the game on channel 0 of Unreliable without flags, or not
// as long as sizes says of its type, and adds them to found. Next goes on from there. The messages that it goes over are legal.
func (r *Reader) Plain(sizes *message.Sizes, found []message.Simple) []message.Simple {
	if r.Channel != 0 {
		return found
	}
	batches := r.batches[:r.end]
	for len(batches)-r.at >= wire.MessageHeaderSize {
		v := binary.LittleEndian.Uint32(batches[r.at:])
		if sizes[uint8(v)] != v>>16 {
			break
		}
		n := row(batches[r.at:], v)
		if n == 0 {
			break
		}
		found = append(found, message.Simple{At: uint32(r.at), Count: uint16(n), Size: uint16(v >> 16), Type: wire.MessageType(v)})
		r.at += n * (wire.MessageHeaderSize + int(v>>16))
	}
	return found
}

// row returns how many whole messages with this header, whatever their stage if it exists, stand one after the other at the start of b. Where
// the next one begins is not read from the one before: that would have to be waited for each time. It is not inlined since in the midst of
// its caller its numbers lie on the stack.
//
//go:noinline
func row(b []byte, header uint32) (n int) {
	const stage = 0xFF << 8
	step := wire.MessageHeaderSize + int(header>>16)
	for len(b) >= step {
		v := binary.LittleEndian.Uint32(b)
		if (v^header)&^stage != 0 || v&stage >= tick.NumStages<<8 {
			break
		}
		n++
		b = b[step:]
	}
	return n
}

// Start returns where in the packet's batches Payload begins.
func (r *Reader) Start() int { return r.at - len(r.Payload) }

// Err returns nil when Next has reached the end of the packet or not stopped yet, and ErrMalformed when it stopped early.
func (r *Reader) Err() error {
	if r.bad {
		return ErrMalformed
	}
	return nil
}

// open goes into the next batch.
func (r *Reader) open() bool {
	rest := r.batches[r.end:]
	if len(rest) == 0 || r.bad {
		return false
	}
	size, ok := batchSize(rest, minFurtherBatch)
	if !ok || wire.Channel(rest[wire.BatchHeaderSize]) == r.Channel {
		return r.fail()
	}
	r.Channel = wire.Channel(rest[wire.BatchHeaderSize])
	r.at = r.end + furtherBatch
	r.end += size
	return true
}

func (r *Reader) fail() bool {
	r.bad = true
	r.at, r.end = len(r.batches), len(r.batches)
	return false
}

// minFurtherBatch is the smallest further batch: there is a message in it.
const minFurtherBatch = furtherBatch + wire.MessageHeaderSize

// batchSize returns the size of the batch at the start of b, least or more and not above len(b).
func batchSize(b []byte, least int) (size int, ok bool) {
	if len(b) < wire.BatchHeaderSize {
		return 0, false
	}
	size = int(binary.LittleEndian.Uint16(b))
	return size, size >= least && size <= len(b)
}

// legalBatches reports whether b is a first batch and any number of further ones, to the last byte. Their messages are not
// looked at.
func legalBatches(b []byte) bool {
	size, ok := batchSize(b, wire.BatchHeaderSize)
	if !ok {
		return false
	}
	channel := wire.Channel(0)
	for b = b[size:]; len(b) > 0; b = b[size:] {
		if size, ok = batchSize(b, minFurtherBatch); !ok || wire.Channel(b[wire.BatchHeaderSize]) == channel {
			return false
		}
		channel = wire.Channel(b[wire.BatchHeaderSize])
	}
	return true
}
