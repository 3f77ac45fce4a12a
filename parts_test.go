package netcode

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/peer"
)

func TestExplainBearsAnyText(t *testing.T) {
	p := NewProtocol()
	Replicate[struct{ X int8 }](p, Named("thing"))
	p.freeze()
	rapid.Check(t, func(t *rapid.T) {
		require.NotEmpty(t, p.canon.Explain(rapid.String().Draw(t, "detail")))
	})
	for _, detail := range []string{"", "-1 x", "0", "0 limits", "1 component thing{X:i16", "99 component x{", "1 component thing{X:i8}"} {
		require.NotEmpty(t, p.canon.Explain(detail), detail)
	}
}

// Whatever a client says that its protocol is, the server has words for the difference.
func TestDifferenceBearsAnyDigest(t *testing.T) {
	p := NewProtocol()
	Replicate[struct{ X int8 }](p, Named("thing"))
	Handle[struct{ Y int8 }](p, nil, Named("message"))
	p.freeze()
	ours := []uint32{p.canon.Digest.At(0), p.canon.Digest.At(1), p.canon.Digest.At(2)}
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(ours), rapid.Uint32()), 0, 600).Draw(t, "hashes")
		require.NotEmpty(t, p.canon.Difference(peer.NewDigest(hashes)))
		require.NotEmpty(t, p.canon.Difference(peer.NewDigest(append(ours[:2:2], hashes...))))
	})
}

func TestStateNames(t *testing.T) {
	for s, name := range map[State]string{Disconnected: "Disconnected", Connecting: "Connecting", Connected: "Connected", Closing: "Closing", 9: "State(9)"} {
		require.Equal(t, name, s.String())
	}
}
