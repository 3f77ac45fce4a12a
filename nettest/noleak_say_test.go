package nettest_test

import (
	"math/rand/v2"

	"github.com/arche-netcode/netcode"
)

// leakDeliveries is all modes in which messages are sent.
var leakDeliveries = [...]netcode.Delivery{netcode.Unreliable, netcode.UnreliableSequenced, netcode.Reliable, netcode.ReliableOrdered}

func leakHow(r *rand.Rand) []netcode.How {
	return []netcode.How{netcode.Via(leakDeliveries[r.IntN(len(leakDeliveries))]), netcode.Channel(r.IntN(3))}
}

// nobody is an id that the client reads as nobody: that of one whom it never sees, or none.
func (g *leakGame) nobody() (id netcode.NetworkID) {
	if e := g.some(g.secret, isSecret); e != nil && g.secret.IntN(3) > 0 {
		return e.id
	}
	return id
}

// say sends messages that the client gets, and changes collections that it sees: of those that name somebody some name one whom the
// client does not see, another one in each game.
func (g *leakGame) say() {
	s, e := g.net.Server.Server, g.some(g.open, func(e *leakEntity) bool { return isOpen(e) && isSeen(e) })
	if e == nil {
		return
	}
	of, blind := e.id, g.open.IntN(2) == 0
	if blind {
		of = g.nobody()
	}
	how := leakHow(g.open)
	if g.open.IntN(2) == 0 {
		how = append(how, netcode.About(e.id))
	}
	to := []netcode.Recipient{netcode.To(1), netcode.ToAll(), netcode.ToSeers(e.id)}[g.open.IntN(3)]
	if netcode.Send(s, to, &leakWord{Number: g.open.Uint32(), Of: of}, how...) == nil {
		g.met["messages"]++
	}
	list, marks := g.list.Of(s, e.id), g.set.Of(s, e.id)
	switch g.open.IntN(5) {
	case 0:
		_ = list.Clear()
	case 1:
		if list.Len() > 0 {
			_ = list.Remove(g.open.IntN(list.Len()))
		}
	case 2:
		_ = marks.Add(g.open.Uint32N(20))
	default:
		if list.Append(thing{Kind: uint16(g.open.IntN(100)), Of: of}) == nil {
			g.met["collections"]++
		}
	}
}

// saySecretly says and changes what the client is not to know of.
func (g *leakGame) saySecretly() {
	s, r := g.net.Server.Server, g.secret
	e := g.some(r, isSecret)
	if e == nil || e.id.IsZero() {
		return
	}
	word := &leakWord{Number: r.Uint32(), Of: e.id}
	switch r.IntN(6) {
	case 0:
		_ = netcode.Send(s, netcode.To(1), word, append(leakHow(r), netcode.About(e.id))...)
	case 1:
		_ = netcode.Send(s, netcode.ToAll(), word, append(leakHow(r), netcode.About(e.id))...)
	case 2:
		_ = netcode.Send(s, netcode.ToSeers(e.id), word, leakHow(r)...)
	case 3:
		_ = netcode.Send(s, netcode.To(2), word, leakHow(r)...)
	case 4:
		_ = netcode.Send(s, netcode.ToOwner(e.id), word, append(leakHow(r), netcode.About(e.id))...)
	case 5:
		list := g.list.Of(s, e.id)
		if list.Append(thing{Kind: uint16(r.IntN(100)), Of: e.id}) == nil {
			g.met["hidden collections"]++
		}
		if r.IntN(4) == 0 {
			_ = list.Clear()
		}
	}
	g.met["hidden messages"]++
}
