package admission

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/arche-netcode/netcode/wire"
)

func network(n byte) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, n, 7}) }

func TestAPlayerReturnsUnderItsID(t *testing.T) {
	p := NewPlayers()
	one, returned := p.Enter("one", 7)
	require.False(t, returned)
	require.Equal(t, wire.ClientID(7), one.ID)
	p.GoAway(one, network(1), 10*time.Second)
	require.Same(t, one, p.Of(7), "interest and owners find it while it is away")
	p.Shift(time.Second)
	require.Nil(t, p.Due(10*time.Second), "a stall of the server is none of the player's time")
	require.Same(t, one, p.Due(11*time.Second))
	again, returned := p.Enter("one", 8)
	require.True(t, returned)
	require.Same(t, one, again)
	require.Equal(t, wire.ClientID(7), again.ID)
	require.Empty(t, p.Away)
}

func TestAPlayerThatLeftIsAnotherOneNextTime(t *testing.T) {
	for name, leave := range map[string]func(p *Players, one *Player){
		"for good":                     func(p *Players, one *Player) { p.Leave(one) },
		"after it was away":            func(p *Players, one *Player) { p.GoAway(one, network(1), 0); p.Leave(one) },
		"its last messages are read":   func(p *Players, one *Player) { p.Release(one) },
		"the new one is there already": func(p *Players, one *Player) { p.Release(one); p.Enter("one", 8); p.Leave(one) },
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPlayers()
			one, _ := p.Enter("one", 7)
			leave(&p, one)
			next, _ := p.Enter("one", 8)
			require.NotSame(t, one, next)
			require.Equal(t, wire.ClientID(8), next.ID)
			require.Same(t, one, p.Of(7), "until the game was told")
			p.Forget(7)
			require.Nil(t, p.Of(7))
			require.Empty(t, p.Away)
		})
	}
}

func TestTooManyPlayersOfANetworkMakeRoom(t *testing.T) {
	p := NewPlayers()
	for i, from := range []byte{1, 2, 2, 2, 3} {
		one, _ := p.Enter(fmt.Sprint(i), wire.ClientID(i+1))
		p.GoAway(one, network(from), time.Hour)
	}
	require.Nil(t, p.TooMany(5))
	require.Equal(t, "1", p.TooMany(4).Identity, "the first of the network with the most")
}

// A customer's /48 of IPv6 is one network: a client that comes from a /64 each time pushes out its own players.
func TestManyHostsOfANetworkPushOutTheirOwn(t *testing.T) {
	p := NewPlayers()
	honest, _ := p.Enter("honest", 1)
	p.GoAway(honest, netip.MustParseAddr("2001:db8:1::1"), time.Hour)
	for i := range 20 {
		one, _ := p.Enter(fmt.Sprint(i), wire.ClientID(i+2))
		p.GoAway(one, netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 6: byte(i), 7: byte(i)}), time.Hour)
		if drop := p.TooMany(10); drop != nil {
			require.NotSame(t, honest, drop)
			p.Leave(drop)
		}
	}
}

// Players behave as two lists do.
func TestPlayersAgainstAModel(t *testing.T) {
	type entry struct {
		id   wire.ClientID
		away bool
	}
	rapid.Check(t, func(t *rapid.T) {
		p, model, next := NewPlayers(), map[string]*entry{}, wire.ClientID(0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "identity")
			m := model[name]
			switch rapid.SampledFrom([]string{"enter", "away", "leave"}).Draw(t, "step") {
			case "enter":
				if m != nil && !m.away {
					continue
				}
				next++
				one, returned := p.Enter(name, next)
				if returned != (m != nil) {
					t.Fatalf("%s returned: %t", name, returned)
				}
				if m == nil {
					m = &entry{id: next}
					model[name] = m
				}
				if m.away = false; one.ID != m.id {
					t.Fatalf("%s has the id %d, not %d", name, one.ID, m.id)
				}
			case "away":
				if m != nil && !m.away {
					m.away = true
					p.GoAway(p.Find(name), network(1), time.Hour)
				}
			case "leave":
				if m != nil {
					p.Leave(p.Find(name))
					p.Forget(m.id)
					delete(model, name)
				}
			}
			away := 0
			for _, m := range model {
				if m.away {
					away++
				}
			}
			if len(p.Away) != away {
				t.Fatalf("%d are away, not %d", len(p.Away), away)
			}
		}
	})
}
