package netcode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/peer"
	"github.com/arche-netcode/netcode/wire"
)

// A KeepAlive is padded with zeros, and with nothing else: there is one way to write it.
func TestPaddingIsZeros(t *testing.T) {
	for _, c := range []struct {
		name    string
		payload []byte
		legal   bool
	}{
		{"none", nil, true},
		{"one", []byte{0}, true},
		{"a packet full", make([]byte, 1100), true},
		{"a byte at the end", append(make([]byte, 1000), 1), false},
		{"a byte at the start", append([]byte{1}, make([]byte, 1000)...), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := protocol()
			r := newRig(t, p, netcode.Config{})
			th := newThief(t, r, p)
			th.send(wire.MessageKeepAlive, 0, c.payload)
			_, there := r.server.ClientStats(1)
			require.Equal(t, c.legal, there)

			im := newImposter(t, p, netcode.Config{})
			b := im.conn.Begin(make([]byte, 1200))
			payload := append([]byte{7, 0}, c.payload...)
			copy(b.Payload(), payload)
			require.True(t, b.Add(wire.MessageKeepAlive, 0, len(payload)))
			im.client.Receive(im.socket.LocalAddr(), im.conn.Finish(&b, 1, 0))
			require.Equal(t, c.legal, im.client.State() == netcode.Connected)
			if !c.legal {
				require.ErrorIs(t, im.client.Err(), peer.ReasonMalformed)
			}
		})
	}
}
