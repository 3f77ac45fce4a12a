package record

import (
	"bytes"
	"encoding/binary"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/tick"
)

// Memory keeps the newest ticks of a recording, for a killcam: give it to Start, or to Start in an io.MultiWriter beside a file.
type Memory struct {
	ticks  tick.Tick
	header []byte
	chunks []memoryChunk
}

// memoryChunk is a chunk as it was written.
type memoryChunk struct {
	bytes []byte
	last  tick.Tick
}

// NewMemory returns a memory of at least so many ticks, fewer before they were recorded, and at most a second more.
func NewMemory(ticks int) *Memory { return &Memory{ticks: tick.Tick(max(ticks, 1))} }

// Write implements io.Writer for a Writer: the header comes first, then each chunk in one call. It never fails.
func (m *Memory) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, []byte(magic)) { // Start was called, also once more.
		m.header, m.chunks = bytes.Clone(b), m.chunks[:0]
		return len(b), nil
	}
	last := tick.Tick(binary.LittleEndian.Uint64(b[12:])) + tick.Tick(binary.LittleEndian.Uint32(b[20:]))
	kept, room := m.chunks, []byte(nil)
	for len(kept) > 0 && kept[0].last+m.ticks <= last {
		room, kept = kept[0].bytes, kept[1:] // The ticks behind the chunk are enough.
	}
	m.chunks = append(m.chunks[:copy(m.chunks, kept)], memoryChunk{append(room[:0], b...), last})
	return len(b), nil
}

// Recording returns what is kept, for Play and all else that reads recordings. It is a copy. Call Flush before, to have the newest ticks too.
func (m *Memory) Recording() *bytes.Reader {
	all := bytes.Clone(m.header)
	for _, c := range m.chunks {
		all = append(all, c.bytes...)
	}
	return bytes.NewReader(all)
}

// Flush makes the recording of a server write all ticks up to the newest, which else wait for the end of their second. The next tick begins
// with the whole world. It does nothing without a recording. Errors of the writer end the recording, as Start says, and go to OnError.
func Flush(s *netcode.Server) {
	if r, ok := netcode.ExtensionOf[*recording](s); ok && r.writer != nil {
		r.writer.flush()
		r.check(r.writer.failed)
	}
}
