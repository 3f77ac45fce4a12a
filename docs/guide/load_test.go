package guide_test

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/input"
	"github.com/arche-netcode/netcode/load"
)

// Buttons are the keys that a player holds.
type Buttons struct{ Right, Fire bool }

// The code between the marks is that of load.md.

// begin guide
// runBots is the command bots of the game: os.Exit(runBots(ctx, os.Args[2:], os.Stdout, os.Stderr)).
func runBots(ctx context.Context, args []string, out, complaints io.Writer) int {
	protocol := netcode.NewProtocol()
	input.Register[Buttons](protocol) // the game's whole protocol, as its client has it
	return load.Main(ctx, args, out, complaints, load.Game{
		Protocol: protocol,
		Play: func(b *load.Bot) { // b.World is what it sees
			_ = input.Set(b.Client, &Buttons{Right: b.Random.IntN(2) == 0, Fire: b.Random.IntN(30) == 0})
		},
	})
}

// end guide

func TestBotsNeedAServer(t *testing.T) {
	require.Equal(t, 2, runBots(context.Background(), nil, io.Discard, io.Discard))
}
