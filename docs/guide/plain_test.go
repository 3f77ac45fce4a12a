package guide_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
)

// plainProtocol is a server's protocol.
// begin guide
func plainProtocol() *netcode.Protocol {
	p := protocol()
	p.Plain() // thin clients may join too
	return p
}

// end guide

// TestPlainChangesNoHash finds that other clients, which do not call Plain, may join as before.
func TestPlainChangesNoHash(t *testing.T) {
	require.Equal(t, protocol().Hash(), plainProtocol().Hash())
}
