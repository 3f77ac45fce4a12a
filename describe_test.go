package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type goldenPosition struct {
	X float32 `net:"min=-512,max=512,step=0.002"`
	Y float32
}

type goldenChat struct {
	Number uint32
}

// The canonical description and its hash are part of the wire format: a second implementation has to come to the same.
func TestCanonicalDescriptionIsAsWritten(t *testing.T) {
	p := NewProtocol()
	Handle[goldenChat](p, nil, Named("Chat"))
	Replicate[goldenPosition](p, Named("Position"))
	p.freeze()
	var texts []string
	for _, e := range p.entries {
		texts = append(texts, e.text)
	}
	require.Equal(t, []string{
		"limits netcode{version:1;acks:33;rows:64;entities:1048576;window:64..4096;packet:256..8192;reliable:1024;credit:131072;fragments:32}",
		"component Position{X:f32[-512,512,0.002];Y:f32}",
		"message Chat{Number:u32}[both ways;Unreliable 0]",
	}, texts)
	require.Equal(t, uint64(0xcc25b5ffbb3dbd1b), p.Hash())
}
