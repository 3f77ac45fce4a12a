package transfer

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// The example of PROTOCOL.md, and the other messages by its table: varints, a string, bytes, a bool.
func TestTheBytesOfMessages(t *testing.T) {
	for want, m := range map[string]wire.Serializable{
		"01fa0493e0056c6576656c": &begin{ID: 1, Size: 300000, Name: "level"},
		"0103070809":             &piece{ID: 1, Data: []byte{7, 8, 9}},
		"01f10a":                 &got{ID: 1, Bytes: 250},
		"0101026e6f":             &stop{ID: 1, Sender: true, Text: "no"},
	} {
		var s wire.Serializer
		buf := make([]byte, 600)
		n, err := s.Write(buf, m)
		require.NoError(t, err)
		require.Equal(t, want, hex.EncodeToString(buf[:n]))
	}
	page, err := os.ReadFile("../PROTOCOL.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(page), "`01 fa 04 93 e0 05 6c 65 76 65 6c`"))
}
