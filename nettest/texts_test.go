package nettest_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/wire"
)

// sign is a row of as few lanes as rows that are coded side by side.
type sign struct{ Text wire.Text[[8]byte] }

// TestShortTextsOfManyEntities changes the texts of many entities at once on a line that loses packets.
func TestShortTextsOfManyEntities(t *testing.T) {
	p := netcode.NewProtocol()
	netcode.Replicate[sign](p)
	texts := []string{"", "a", "ab", "abcdefgh", "\u00e4", "abx"}
	n := nettest.New(t, nettest.Config{
		Protocol: p, Clients: 2, Seed: 3, Link: transport.Link{Delay: 30 * time.Millisecond, Loss: 0.2},
		Game: func(w *ecs.World, frame int) {
			if frame > 200 {
				return
			}
			at := frame
			for query := generic.NewFilter1[sign]().Query(w); query.Next(); at++ {
				if at%3 == 0 {
					query.Get().Text.Set(texts[at/3%len(texts)])
				}
			}
		},
	})
	build := generic.NewMap2[components.Replicated, sign](&n.Server.World)
	for range 200 {
		build.NewWith(&components.Replicated{}, &sign{})
	}
	n.Run(3 * time.Second)
	n.AssertConverge()
}
