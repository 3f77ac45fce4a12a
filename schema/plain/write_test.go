package plain_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	ecs "github.com/arche-netcode/netcode/internal/world"
	"github.com/arche-netcode/netcode/schema"
	"github.com/arche-netcode/netcode/schema/plain"
	"github.com/arche-netcode/netcode/wire"
)

type (
	health   struct{ Points uint8 }
	position struct {
		X float32 `net:"min=-512,max=512,step=0.5"`
		Y float32 `net:"min=-512,max=512,step=0.5"`
	}
	kinds struct {
		A float32
		B float64 `net:"min=-1,max=2.5,step=0.001"`
		C int64   `net:"min=-5,max=1000"`
		D uint64
		E bool
		F float64    `net:"half"`
		G float32    `net:"axis"`
		H float64    `net:"angle,bits=12"`
		I uint16     `net:"short"`
		J [4]float32 `net:"quat,bits=10"`
		K ecs.Entity `net:"entity"`
		L int64
	}
	named struct {
		Text wire.Text32
		Bag  wire.List[slot, [8]slot]
	}
	chat struct{ Text wire.Text64 }
	slot struct {
		Kind  uint16
		Count uint8 `net:"min=0,max=99"`
	}
	stick struct {
		X    int8
		Jump bool `net:"event"`
	}
	blob struct{ b []byte }
)

func (b *blob) Serialize(s *wire.Serializer) { s.Bytes(&b.b, 100) }

// TestWords writes each kind of field, and finds its form.
func TestWords(t *testing.T) {
	p := netcode.NewProtocol()
	p.Plain()
	netcode.Replicate[kinds](p)
	netcode.Replicate[named](p)
	netcode.Replicate[position](p, netcode.Bands(netcode.Band{Beyond: 64, Scale: 8}))
	input.Register[stick](p)
	netcode.Handle[health](p, nil, netcode.FromServer(), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(3))
	netcode.Handle[blob](p, nil, netcode.FromServer())
	lock := schema.Of(p)
	words, err := plain.Words(lock)
	require.NoError(t, err)
	head, rest, _ := strings.Cut(words, "component kinds\n")
	require.Regexp(t, `^hash( \d+){8}\nentries( \d+)+\n$`, head)
	require.Len(t, strings.Fields(head), 2+8+2+4*len(lock.Entries))
	require.Equal(t, `field A float 32 0 0 0
field B scaled 12 3500 -1 2.5
field C int 10 1005 -5 0
field D int 64 0 0 0
field E bool 1 0 0 0
field F half 16 63487 0 0
field G scaled 8 254 -1 1
field H angle 12 4096 0 6.283185307179586
field I short 0 65535 0 0
field J quat 10 0 0 0
field K entity 0 0 0 0
field L int 64 0 -9223372036854775808 0
component named
field Text text 0 32 0 0
field Bag list 0 8 0 0
element Kind int 16 0 0 0
element Count int 7 99 0 0
component position
field X scaled 12 2048 -512 512
field Y scaled 12 2048 -512 512
component position
field X scaled 9 256 -512 512
field Y scaled 9 256 -512 512
input stick
field X int 8 0 -128 0
field Jump bool 1 0 0 0
message blob 0
field body bytes 0 0 0 0
message health 195
field Points int 8 0 0 0
`, rest)
}

// TestThePageShowsAFile finds the file of docs/plain.md.
func TestThePageShowsAFile(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[health](p, netcode.Named("Health"))
	netcode.Replicate[position](p, netcode.Named("Position"))
	input.Register[stick](p, netcode.Named("Stick"))
	netcode.Handle[chat](p, nil, netcode.Named("Chat"), netcode.Over(netcode.ReliableOrdered))
	words, err := plain.Words(schema.Of(p))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(words, "component")
	page, err := os.ReadFile("../../docs/plain.md")
	require.NoError(t, err)
	require.Contains(t, string(page), "    component"+strings.ReplaceAll(strings.TrimSuffix(rest, "\n"), "\n", "\n    ")+"\n\n")
}

// TestAnUnknownKindIsAnError reads locks that no build of today writes.
func TestAnUnknownKindIsAnError(t *testing.T) {
	for _, field := range []string{"X", "X:", "X:u", "X:u99", "X:u8[1]", "X:u8[9,1]", "X:f32[1,2]", "X:f32[1,2,0]", "X:f32[1,2,x]", "X:f16", "X:textx", "X:quat", "X:list(", "X:f32angle"} {
		lock := &schema.Lock{Entries: []schema.Entry{{Kind: "limits", Name: "netcode"}, {Kind: "component", Name: "A", Fields: []string{field}}}}
		_, err := plain.Words(lock)
		require.ErrorContains(t, err, "component A", field)
	}
	_, err := plain.Words(&schema.Lock{Entries: []schema.Entry{{Kind: "message", Name: "M"}}})
	require.ErrorContains(t, err, "message M")
}
