package record_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/collections"
	"github.com/arche-netcode/netcode/components"
	ecs "github.com/arche-netcode/netcode/internal/world"
	generic "github.com/arche-netcode/netcode/internal/world/typed"
	"github.com/arche-netcode/netcode/nettest"
	"github.com/arche-netcode/netcode/record"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/tick"
)

// slot is an element that names an entity.
type slot struct {
	N  uint16
	Of netcode.NetworkID `net:"entity"`
}

// bags are the collections of a test.
type bags struct {
	protocol *netcode.Protocol
	list     *collections.List[slot]
	set      *collections.Set[uint16]
	table    *collections.Map[uint16, int32]
}

func newBags() *bags {
	p := replayProtocol()
	return &bags{p, collections.NewList[slot](p, "list"), collections.NewSet[uint16](p, "set"), collections.NewMap[uint16, int32](p, "table")}
}

// text returns the contents of an end as text, with ids mapped by was.
func (b *bags) text(s *netcode.Server, at netcode.Endpoint, was func(netcode.NetworkID) netcode.NetworkID) map[netcode.NetworkID]string {
	all := map[netcode.NetworkID]string{}
	for id := range s.Store().All {
		text := ""
		for _, one := range b.list.Of(at, id).All() {
			if !s.Has(one.Of) {
				one.Of = netcode.NetworkID{}
			}
			text += fmt.Sprint(one.N, was(one.Of), " ")
		}
		for one := range b.set.Of(at, id).All() {
			text += fmt.Sprint(one, ",")
		}
		for key, value := range b.table.Of(at, id).All() {
			text += fmt.Sprint(key, "=", value, ";")
		}
		if text != "" {
			all[was(id)] = text
		}
	}
	return all
}

// change changes collections at random.
func (b *bags) change(r *rand.Rand, s *netcode.Server) {
	for id := range s.Store().All {
		list, set, table, n := b.list.Of(s, id), b.set.Of(s, id), b.table.Of(s, id), uint16(r.IntN(12))
		switch r.IntN(12) {
		case 0, 1:
			_ = list.Append(slot{n, id})
		case 2:
			_ = list.Set(r.IntN(4), slot{n, id})
		case 3:
			_ = list.Remove(0)
		case 4:
			_ = set.Add(n)
		case 5:
			_ = set.Remove(n)
		case 6, 7:
			_ = table.Set(n, r.Int32())
		case 8:
			_ = table.Remove(n)
		case 9:
			if r.IntN(8) == 0 {
				_ = list.Clear()
			}
		}
	}
}

// A playback and its spectators have the collections of each tick, also after seeks, with the entities of the playback.
func TestCollectionsArePlayed(t *testing.T) {
	b, game, r := newBags(), replayGame(5, 3), rand.New(rand.NewPCG(1, 2))
	var file bytes.Buffer
	was := map[tick.Tick]map[netcode.NetworkID]string{}
	var ticks []tick.Tick
	live := nettest.New(t, nettest.Config{Protocol: b.protocol, Rate: replayRate, Server: netcode.Config{TickRate: replayRate}, Game: game})
	stop, err := record.Start(live.Server.Server, &file, record.Collections())
	require.NoError(t, err)
	for range 6 * replayRate {
		b.change(r, live.Server.Server)
		live.Step()
		now := live.Server.Store().Tick()
		was[now], ticks = b.text(live.Server.Server, live.Server.Server, itself), append(ticks, now)
	}
	require.NoError(t, stop())

	again := newBags()
	var p *record.Player
	n := nettest.New(t, nettest.Config{
		Protocol: again.protocol, Clients: 1, Rate: replayRate, Server: netcode.Config{TickRate: replayRate},
		Setup: func(s *systems.ServerSystems, w *ecs.World) {
			generic.NewMap1[components.Replicated](w) // gives the playback other ids
			s.Server.Spawn()
			p, err = record.Play(s.Server, bytes.NewReader(file.Bytes()))
			require.NoError(t, err)
		},
	})
	check := func() {
		require.Equal(t, was[p.Tick()], again.text(n.Server.Server, n.Server.Server, p.Recorded), "tick %d", p.Tick())
	}
	for range 50 {
		n.Step()
		check()
	}
	p.Pause(true)
	for i := range 30 {
		seek(n, p, ticks[r.IntN(len(ticks))])
		check()
		if i%10 == 0 {
			n.Run(time.Second)
			require.Equal(t, was[p.Tick()], again.text(n.Server.Server, n.Clients[0].Client, p.Recorded), "at the spectator")
		}
	}
}
