package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type describedSteering struct{ X, Y uint16 }

// Entries of components with writers end in [owner] or [named], and two messages are added.
func TestWritersAreDescribed(t *testing.T) {
	p := NewProtocol()
	Replicate[describedSteering](p, Named("Steering"), WrittenBy(OwnerWrites))
	Replicate[goldenPosition](p, Named("Load"), WrittenBy(NamedWrites))
	p.freeze()
	var texts []string
	for _, e := range p.canon.Entries[1:] {
		texts = append(texts, e.Text)
	}
	require.Equal(t, []string{
		"component Load{X:f32[-512,512,0.002];Y:f32}[named]",
		"component Steering{X:u16;Y:u16}[owner]",
		"message netcode.right{Entity.Index:u32;Entity.Generation:u32;Rows:u64;Tick:u32}[from server;ReliableOrdered 63]",
		"message netcode.wish{Entity.Index:u32;Entity.Generation:u32;GiveUp:bool}[from client;ReliableOrdered 63]",
	}, texts)
}
