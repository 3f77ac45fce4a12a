package authority_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/authority"
)

type describedSteering struct{ X, Y uint16 }

type describedLoad struct {
	X float32 `net:"min=-512,max=512,step=0.002"`
	Y float32
}

// Entries of components with writers end in [owner] or [named], and two messages are added.
func TestWritersAreDescribed(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[describedSteering](p, netcode.Named("Steering"), authority.WrittenBy(authority.OwnerWrites))
	netcode.Replicate[describedLoad](p, netcode.Named("Load"), authority.WrittenBy(authority.NamedWrites))
	require.Equal(t, []string{
		"component Load{X:f32[-512,512,0.002];Y:f32}[named]",
		"component Steering{X:u16;Y:u16}[owner]",
		"message netcode.right{Entity.Index:u32;Entity.Generation:u32;Rows:u64;Renewed:u64;Number:u32;Tick:u32}[from server;ReliableOrdered 63]",
		"message netcode.wish{Entity.Index:u32;Entity.Generation:u32;Number:u32;GiveUp:bool}[from client;ReliableOrdered 63]",
	}, p.Description()[1:])
}
