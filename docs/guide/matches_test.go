package guide_test

import (
	"testing"
	"time"

	"github.com/mlange-42/arche/ecs"
	"github.com/mlange-42/arche/generic"
	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/loading"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport"
)

// The code between the marks is that of matches.md.

// begin guide
// Match is a singleton: clients draw the lobby, the loading screen or the game by it.
type Match struct{ Phase, Level uint32 }

const lobby, loads, plays = 0, 1, 2

type Ready struct{} // a player's "ready" in the lobby

func matchProtocol(p *netcode.Protocol, ready func(player netcode.ClientID)) {
	netcode.Replicate[Match](p)
	loading.Register(p)
	netcode.Handle(p, func(ctx *netcode.Context, _ *Ready) { ready(ctx.Sender) },
		netcode.FromClient(), netcode.Over(netcode.Reliable), netcode.AtStage(netcode.StageUpdate))
}

// end guide

// begin guide
type matches struct {
	server *netcode.Server
	world  *ecs.World
	match  ecs.Entity // has Match and Replicated
	ready  map[netcode.ClientID]bool
	build  func(level uint32)                                    // removes the old level's entities and adds the new one's
	enter  func(player netcode.ClientID)                         // spawns the player's avatar
}

func (m *matches) start() {
	loading.OnLoaded(m.server, func(player netcode.ClientID) {
		if m.phase().Phase == plays {
			m.enter(player) // late, or joined in the middle of the match
		}
	})
	m.server.OnDisconnect(func(player netcode.ClientID, _ *netcode.Reason) { delete(m.ready, player); m.maybeBegin() })
}

func (m *matches) onReady(player netcode.ClientID) {
	m.ready[player] = true
	m.maybeBegin()
}

func (m *matches) maybeBegin() {
	players := 0
	for range m.server.Clients {
		players++
	}
	if m.phase().Phase == lobby && players > 0 && len(m.ready) == players {
		m.begin(1)
	}
}

// begin begins a level: the first, the next, or the same once more.
func (m *matches) begin(level uint32) {
	*m.phase() = Match{loads, level}
	m.build(level) // in the frame of loading.Begin
	loading.Begin(m.server, level, 20*time.Second, func(late []netcode.ClientID) {
		m.phase().Phase = plays
		for player := range m.server.Clients {
			if !slices.Contains(late, player) {
				m.enter(player)
			}
		}
	})
}

// end takes everybody back to the lobby.
func (m *matches) end() {
	clear(m.ready)
	*m.phase() = Match{Phase: lobby}
}

func (m *matches) phase() *Match { return generic.NewMap1[Match](m.world).Get(m.match) }

// end guide
