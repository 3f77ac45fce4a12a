package message

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// Load of a frame: messages of 16 bytes in four stages, from 64 senders, 60 per packet.
const (
	loadMessages = 30_000
	loadSenders  = 64
	loadPacket   = 60
	loadStages   = 4
)

// load is one frame's packets, as batches of framed messages.
type load struct {
	packets [][]byte
	senders []int
	sum     uint64 // of all serials
}

func newLoad(of wire.MessageType) *load {
	l := &load{}
	var packet []byte
	for i := range loadMessages {
		header := make([]byte, wire.MessageHeaderSize)
		wire.MessageHeader{Type: of, Stage: tick.Stage(2 + i%loadStages), Size: 16}.Put(header)
		packet = append(packet, header...)
		packet = binary.LittleEndian.AppendUint32(packet, uint32(i))
		packet = binary.LittleEndian.AppendUint32(packet, 7)
		packet = binary.LittleEndian.AppendUint64(packet, uint64(i)*3)
		l.sum += uint64(i) * 3
		if i%loadPacket == loadPacket-1 {
			l.packets = append(l.packets, packet)
			l.senders = append(l.senders, len(l.senders)%loadSenders)
			packet = nil
		}
	}
	return l
}

// next parses a header of the load itself, so that the packet reader's cost is not measured.
func next(b []byte) (of wire.MessageType, stage tick.Stage, payload, rest []byte) {
	size := int(binary.LittleEndian.Uint16(b[2:]))
	return wire.MessageType(b[0]), tick.Stage(b[1]), b[4 : 4+size], b[4+size:]
}

// loadRig runs the load through an Inbound.
type loadRig struct {
	*rig
	load    *load
	sources [loadSenders]*Source
	sum     uint64
	count   int
	now     tick.Tick
}

func newLoadRig(t testing.TB, history *History) *loadRig {
	r := &loadRig{rig: &rig{}}
	r.order = r.registry.Add(Type{Name: "order", Codec: codec(t, "order", func(_ *Context, m *order) { r.sum += m.Serial; r.count++ })})
	r.registry.Freeze()
	r.Inbound = NewInbound(Config{Registry: &r.registry})
	r.Keep(history)
	r.load = newLoad(r.order.ID())
	for i := range r.sources {
		r.sources[i] = NewSource(wire.ClientID(i + 1))
	}
	return r
}

func (r *loadRig) frame() {
	r.now++
	r.Begin(time.Duration(r.now)*time.Millisecond, r.now)
	for i, packet := range r.load.packets {
		r.From(r.sources[r.load.senders[i]], r.now, time.Duration(r.now))
		for rest := packet; len(rest) > 0; {
			var payload []byte
			var of wire.MessageType
			var stage tick.Stage
			of, stage, payload, rest = next(rest)
			_ = r.Push(&Message{Type: of, Stage: stage}, payload)
		}
	}
	for stage := range tick.Stage(tick.NumStages) {
		r.Drain(stage)
	}
}

func TestLoadIsHandledWhole(t *testing.T) {
	for _, history := range []*History{nil, NewHistory(2, 1<<20)} {
		r := newLoadRig(t, history)
		for range 3 {
			r.sum, r.count = 0, 0
			r.frame()
			require.Equal(t, loadMessages, r.count)
			require.Equal(t, r.load.sum, r.sum)
		}
		r.frame()
		alloctest.Zero(t, 3, r.frame, "with a history: %v", history != nil)
	}
}
