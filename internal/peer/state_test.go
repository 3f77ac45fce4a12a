package peer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/wire"
)

// TestCase12EveryTypeInEveryState walks the table, against its rules in words.
func TestCase12EveryTypeInEveryState(t *testing.T) {
	counted := map[Verdict]int{}
	for state := range State(8) {
		for role := range Role(4) {
			for kind := range 256 {
				kind := wire.MessageType(kind)
				got := Allowed(state, role, kind)
				require.NotEqual(t, "no verdict", got.String())
				counted[got]++
				own := kind >= wire.MessageSnapshot && kind <= wire.MessageInput
				users := kind >= wire.FirstUserMessage && kind <= wire.MaxMessageType
				want := VerdictDrop
				switch {
				case role > RoleClient:
				case state == StateConnected && !own && !users:
					want = VerdictClose
				case state == StateConnected && kind == wire.MessageInput && role == RoleClient:
					want = VerdictClose
				case state == StateConnected && kind == wire.MessageFeedback && role == RoleServer:
					want = VerdictClose
				case state == StateConnected:
					want = VerdictAccept
				case state == StateClosing && (kind == wire.MessageKeepAlive || kind == wire.MessageClose || kind == wire.MessageCredit):
					want = VerdictAccept
				}
				require.Equal(t, want, got, "%v, role %d, type %d", state, role, kind)
			}
		}
	}
	require.Len(t, counted, 3)
	require.Len(t, verdictTable, int(kindNone+1)*verdictRow)
	names := map[string]bool{}
	for state := range State(5) {
		names[state.String()] = true
	}
	require.Len(t, names, 5)
}
