package netcode_test

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// A message of a type that this end lacks is ignored in every form that a message has. The connection stays, the messages in
// front of it and behind it are handled, and it is counted.
func TestUnknownMessageTypesAreIgnored(t *testing.T) {
	before, after := []byte{16, 4, 4, 0, 1, 0, 0, 0}, []byte{16, 4, 4, 0, 2, 0, 0, 0}
	first := slices.Concat([]byte{18, 0}, before, after) // Two messages of the first batch.
	for name, c := range map[string]struct {
		batches []byte
		unknown uint64
	}{
		"unreliable":        {slices.Concat([]byte{23, 0}, before, []byte{99, 4, 1, 0, 7}, after), 1},
		"empty":             {slices.Concat([]byte{22, 0}, before, []byte{254, 0, 0, 0}, after), 1},
		"with a tick":       {slices.Concat([]byte{24, 0}, before, []byte{99, 0x0C, 2, 0, 5, 0}, after), 1},
		"with an entity":    {slices.Concat([]byte{24, 0}, before, []byte{99, 0x14, 2, 0, 3, 1}, after), 1},
		"a question":        {slices.Concat([]byte{24, 0}, before, []byte{99, 0x24, 2, 0, 9, 0}, after), 1},
		"sequenced":         {slices.Concat(first, []byte{8, 0, 0x41, 99, 4, 1, 0, 7}), 1},
		"reliable":          {slices.Concat(first, []byte{9, 0, 0x80, 99, 4, 2, 0, 0, 0}), 1},
		"ordered, twice":    {slices.Concat(first, []byte{15, 0, 0xC0, 99, 4, 2, 0, 0, 0, 99, 4, 2, 0, 1, 0}), 2},
		"in pieces":         {slices.Concat(first, []byte{25, 0, 0x80, 6, 0, 7, 0, 0, 0, 99, 4, 0, 2, 1, 6, 0, 7, 0, 1, 0, 99, 4, 1, 2, 1}), 1},
		"ordered in pieces": {slices.Concat(first, []byte{25, 0, 0xC0, 6, 0, 7, 0, 0, 0, 99, 4, 0, 2, 1, 6, 0, 7, 0, 1, 0, 99, 4, 1, 2, 1}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := protocol()
			var got []uint32
			netcode.Handle(p, func(_ *netcode.Context, m *chat) { got = append(got, m.Number) })
			var out bytes.Buffer
			r := newRig(t, p, netcode.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
			th := newThief(t, r, p)
			for range 3 {
				th.raw(c.batches...)
				r.step()
			}
			require.Len(t, r.server.log, 1, "it is still connected")
			require.Equal(t, []uint32{1, 2, 1, 2, 1, 2}, got)
			unknown := 3 * c.unknown
			if strings.Contains(name, "reliable") && name != "unreliable" || strings.Contains(name, "ordered") || name == "in pieces" {
				unknown = c.unknown // The repeats are duplicates.
			}
			require.Equal(t, unknown, r.server.Stats().UnknownTypes)
			require.Equal(t, 1, strings.Count(out.String(), "unknown type"), "one line for a type")
			require.Zero(t, r.server.Stats().Malformed)
		})
	}
}

// Unknown messages on an ordered channel cost nothing that lasts: more of them than the credit are taken, and what is behind them
// is handled in its turn.
func TestUnknownMessagesGiveTheirCreditBack(t *testing.T) {
	p := protocol()
	var got []uint32
	netcode.Handle(p, func(_ *netcode.Context, m *chat) { got = append(got, m.Number) })
	r := newRig(t, p, netcode.Config{})
	th := newThief(t, r, p)
	for n := range uint16(300) {
		batch := binary.LittleEndian.AppendUint16([]byte{2, 0, 0xF1, 0x03, 0xC0, 99, 4, 0xEA, 0x03}, n) // 1000 bytes and the number
		th.raw(append(batch, make([]byte, 1000)...)...)
		if n%20 == 19 {
			r.step()
		}
	}
	require.EqualValues(t, 300, r.server.Stats().UnknownTypes)
	th.raw(append(binary.LittleEndian.AppendUint16([]byte{2, 0, 13, 0, 0xC0, 16, 4, 6, 0}, 300), 5, 0, 0, 0)...)
	r.step()
	require.Equal(t, []uint32{5}, got)
	require.Len(t, r.server.log, 1)
}

// A question of an unknown type is refused, so that the asker does not wait for its deadline.
func TestUnknownQuestionsAreRefused(t *testing.T) {
	p := protocol()
	r := newRig(t, p, netcode.Config{})
	th := newThief(t, r, p)
	th.raw(2, 0, 11, 0, 0x80, 99, 0x24, 4, 0, 0, 0, 9, 0)
	refused := false
	for range 4 {
		r.step()
		for n, _, _ := th.socket.Receive(r.buf[:]); n > 0; n, _, _ = th.socket.Receive(r.buf[:]) {
			refused = refused || bytes.Contains(r.buf[:n], []byte("nobody answers that here"))
		}
	}
	require.True(t, refused)
	require.Len(t, r.server.log, 1)
}

// The same at a client: a server of a later build has a message more.
func TestUnknownMessageTypesAreIgnoredByClients(t *testing.T) {
	p := protocol()
	var got []uint32
	netcode.Handle(p, func(_ *netcode.Context, m *chat) { got = append(got, m.Number) })
	r := newRig(t, p, netcode.Config{})
	var check wire.Checksum
	changed := 0
	r.tamper = func(from, _ transport.Addr, packet []byte) []byte {
		if from != r.server.conn.LocalAddr() {
			return packet
		}
		if accept, err := peer.ParseAccept(packet); err == nil {
			check = ^wire.NewChecksum(accept.Epoch, p.Hash())
			return packet
		}
		at := bytes.Index(packet, []byte{16, 4, 4, 0, 77, 0, 0, 0})
		if at < 0 {
			return packet
		}
		changed++
		packet = slices.Clone(packet)
		packet[at] = 99
		end := len(packet) - wire.ChecksumSize
		return binary.LittleEndian.AppendUint32(packet[:end], check.Sum(packet[:end]))
	}
	c := r.joined(p, netcode.Config{})
	for _, number := range []uint32{1, 77, 2} {
		require.NoError(t, netcode.Send(r.server.Server, netcode.To(1), &chat{number}))
	}
	r.run(time.Second)
	require.Equal(t, 1, changed)
	require.Equal(t, []uint32{1, 2}, got)
	require.EqualValues(t, 1, c.Stats().UnknownTypes)
	require.Equal(t, netcode.Connected, c.State())
}
