package netcode

import (
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/delta"
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
	for _, e := range p.canon.Entries {
		texts = append(texts, e.Text)
	}
	require.Equal(t, []string{
		fmt.Sprintf("limits netcode{version:1;acks:33;rows:64;entities:1048576;window:64..4096;packet:256..8192;reliable:1024;credit:131072;fragments:80;tables:%016x}", delta.Shipped().Hash()),
		"component Position{X:f32[-512,512,0.002];Y:f32}",
		"message Chat{Number:u32}[both ways;Unreliable 0]",
	}, texts)
	sum := fnv.New64a()
	for _, text := range texts {
		_, _ = sum.Write([]byte(text + "\n"))
	}
	require.Equal(t, sum.Sum64(), p.Hash())
}

// Other tables are another protocol, and the refusal says so.
func TestTablesAreInTheHash(t *testing.T) {
	build := func(symbols ...int) *Protocol {
		p := NewProtocol()
		Replicate[goldenPosition](p, Named("Position"))
		if len(symbols) > 0 {
			trainer := delta.NewTrainer()
			counter := trainer.Table("Position.which0", 4, delta.WhichContexts(2))
			for _, symbol := range symbols {
				counter.Count(0, symbol)
			}
			tables, err := trainer.Build()
			require.NoError(t, err)
			p.UseTables(tables)
		}
		p.freeze()
		return p
	}
	shipped, one, many := build(), build(1, 1, 1, 1), build(2, 2, 2, 2)
	require.NotEqual(t, shipped.Hash(), one.Hash())
	require.NotEqual(t, one.Hash(), many.Hash())
	require.Equal(t, one.Hash(), build(1, 1, 1, 1).Hash())
	says := one.canon.Explain(many.canon.FirstDifference(one.canon.Digest))
	require.Regexp(t, `^limits "netcode" differs: the server codes state with the tables [0-9a-f]{16}\+[0-9a-f]{16}, `+
		`the client with [0-9a-f]{16}\+[0-9a-f]{16}: give UseTables the same file on both sides$`, says)
	says = shipped.canon.Explain(many.canon.FirstDifference(shipped.canon.Digest))
	require.Contains(t, says, "give UseTables the same file on both sides")
}
