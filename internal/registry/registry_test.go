package registry

import (
	"fmt"
	"hash/fnv"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/message"
	"github.com/arche-netcode/netcode/quantize"
)

// replicate registers a component.
func replicate[T any](r *Registry, o Options) { r.AddComponent(reflect.TypeFor[T](), &o) }

// handle registers a message.
func handle[T any](r *Registry, name string) {
	o := Options{Name: name}
	r.MustTake("Handle", reflect.TypeFor[T](), &o)
	codec, err := message.NewCodec[T](name, nil)
	if err != nil {
		panic(err)
	}
	r.AddMessage("Handle", &o, Alone, nil, codec)
}

func TestExplainBearsAnyText(t *testing.T) {
	p := New()
	replicate[struct{ X int8 }](&p, Options{Name: "thing"})
	p.Freeze()
	rapid.Check(t, func(t *rapid.T) {
		require.NotEmpty(t, p.Canon.Explain(rapid.String().Draw(t, "detail")))
	})
	for _, detail := range []string{"", "-1 x", "0", "0 limits", "1 component thing{X:i16", "99 component x{", "1 component thing{X:i8}"} {
		require.NotEmpty(t, p.Canon.Explain(detail), detail)
	}
}

// The server describes the difference to any protocol that a client claims to have.
func TestDifferenceBearsAnyDigest(t *testing.T) {
	p := New()
	replicate[struct{ X int8 }](&p, Options{Name: "thing"})
	handle[struct{ Y int8 }](&p, "message")
	p.Freeze()
	ours := []uint32{p.Canon.Digest.At(0), p.Canon.Digest.At(1), p.Canon.Digest.At(2)}
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(ours), rapid.Uint32()), 0, 600).Draw(t, "hashes")
		require.NotEmpty(t, p.Canon.Difference(peer.NewDigest(hashes)))
		require.NotEmpty(t, p.Canon.Difference(peer.NewDigest(append(ours[:2:2], hashes...))))
	})
}

func TestExtrapolatedByIsInTheProtocol(t *testing.T) {
	still := func(extrapolated []uint32, v *quantize.Baselines) {}
	build := func(o Options) *Registry {
		p := New()
		replicate[goldenPosition](&p, o)
		p.Freeze()
		return &p
	}
	plain, first, second := build(Options{Name: "p"}), build(Options{Name: "p", Extrapolator: "still", Extrapolate: still}), build(Options{Name: "p", Extrapolator: "other", Extrapolate: still})
	require.Equal(t, "still", first.Schema.Plan(0).ExtrapolatedBy())
	require.NotEqual(t, plain.Canon.Hash, first.Canon.Hash)
	require.NotEqual(t, first.Canon.Hash, second.Canon.Hash)
	require.Contains(t, first.Canon.Explain(second.Canon.FirstDifference(first.Canon.Digest)), "the server has the field ~other, the client ~still")
}

type goldenPosition struct {
	X float32 `net:"min=-512,max=512,step=0.002"`
	Y float32
}

type goldenChat struct {
	Number uint32
}

// The canonical description and its hash are part of the wire format: a second implementation must produce the same.
func TestCanonicalDescriptionIsAsWritten(t *testing.T) {
	p := New()
	handle[goldenChat](&p, "Chat")
	replicate[goldenPosition](&p, Options{Name: "Position"})
	p.Freeze()
	var texts []string
	for _, e := range p.Canon.Entries {
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
	require.Equal(t, sum.Sum64(), p.Canon.Hash)
}

// Other tables are another protocol, and the refusal names the difference.
func TestTablesAreInTheHash(t *testing.T) {
	build := func(symbols ...int) *Registry {
		p := New()
		replicate[goldenPosition](&p, Options{Name: "Position"})
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
		p.Freeze()
		return &p
	}
	shipped, one, many := build(), build(1, 1, 1, 1), build(2, 2, 2, 2)
	require.NotEqual(t, shipped.Canon.Hash, one.Canon.Hash)
	require.NotEqual(t, one.Canon.Hash, many.Canon.Hash)
	require.Equal(t, one.Canon.Hash, build(1, 1, 1, 1).Canon.Hash)
	says := one.Canon.Explain(many.Canon.FirstDifference(one.Canon.Digest))
	require.Regexp(t, `^limits "netcode" differs: the server codes state with the tables [0-9a-f]{16}\+[0-9a-f]{16}, `+
		`the client with [0-9a-f]{16}\+[0-9a-f]{16}: give UseTables the same file on both sides$`, says)
	says = shipped.Canon.Explain(many.Canon.FirstDifference(shipped.Canon.Digest))
	require.Contains(t, says, "give UseTables the same file on both sides")
}
