package record

import (
	"bytes"
	"encoding/binary"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/tick"
)

// Memory stores the newest ticks of a recording, for a killcam. Pass it to Start, alone or in an io.MultiWriter beside
// a file.
type Memory struct {
	ticks  tick.Tick
	header []byte
	chunks []memoryChunk
}

// memoryChunk is a chunk in file format.
type memoryChunk struct {
	bytes []byte
	last  tick.Tick
}

// NewMemory returns a Memory of at least ticks ticks, once that many were recorded, and at most a second more.
func NewMemory(ticks int) *Memory { return &Memory{ticks: tick.Tick(max(ticks, 1))} }

// Write implements io.Writer for a Writer, which writes the header first and then each chunk in one call. It never
// fails.
func (m *Memory) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte(magic)) { // Start was called, perhaps again
		m.header, m.chunks = bytes.Clone(b), m.chunks[:0]
		return len(b), nil
	}
	last := tick.Tick(binary.LittleEndian.Uint64(b[12:])) + tick.Tick(binary.LittleEndian.Uint32(b[20:]))
	kept, room := m.chunks, []byte(nil)
	for len(kept) > 0 && kept[0].last+m.ticks <= last {
		room, kept = kept[0].bytes, kept[1:] // the ticks after the chunk are enough
	}
	m.chunks = append(m.chunks[:copy(m.chunks, kept)], memoryChunk{append(room[:0], b...), last})
	return len(b), nil
}

// Recording returns a copy of the stored recording, for Play and other readers. Call Flush first to include the newest
// ticks.
func (m *Memory) Recording() *bytes.Reader {
	all := bytes.Clone(m.header)
	for _, c := range m.chunks {
		all = append(all, c.bytes...)
	}
	return bytes.NewReader(all)
}

// Flush writes all ticks up to the newest, which otherwise wait for the end of their second. The next tick then starts
// a chunk with the whole world. It does nothing without a recording. Errors of the writer end the recording, see Start,
// and are passed to OnError.
func Flush(s *netcode.Server) {
	if r, ok := extend.ExtensionOf[*recording](s); ok && r.writer != nil {
		r.writer.flush()
		r.check(r.writer.failed)
	}
}
