package nettest_test

import (
	"fmt"

	"github.com/arche-netcode/netcode"
)

// gameWord is a message of a game, numbered by its talk.
type gameWord struct {
	Mode   uint8 // of delivery, by gameModes
	ToAll  bool
	Number uint32
}

// gameModes are all modes of delivery.
var gameModes = [...]netcode.Delivery{netcode.Unreliable, netcode.UnreliableSequenced, netcode.Reliable, netcode.ReliableOrdered}

// gameTalk has the messages in one direction of a connection and one mode: the client's id is another in each connection.
type gameTalk struct {
	client   netcode.ClientID
	toServer bool
	gameTopic
}

type gameTopic struct {
	mode  uint8
	toAll bool
}

// gameTalks are the sent and the received messages.
type gameTalks struct {
	said  map[gameTalk]uint32
	heard map[gameTalk]map[uint32]bool
	last  map[gameTalk]uint32
	all   [len(gameModes)]uint32 // said to all clients
}

func newGameTalks() gameTalks {
	return gameTalks{said: map[gameTalk]uint32{}, heard: map[gameTalk]map[uint32]bool{}, last: map[gameTalk]uint32{}}
}

// say counts what was sent, and is the next word of a talk.
func (t *gameTalks) say(talk gameTalk, send func(m *gameWord, how ...netcode.How) error) {
	m := &gameWord{Mode: talk.mode, Number: t.said[talk] + 1}
	if send(m, netcode.Via(gameModes[talk.mode]), netcode.Channel(int(talk.mode))) == nil {
		t.said[talk]++
	}
}

// speak has the server say something to a client or to all.
func (g *match) speak(*gameEntity) {
	s, mode := g.net.Server.Server, uint8(g.r.IntN(len(gameModes)))
	c := g.someClient()
	if c == 0 {
		return
	}
	if g.r.IntN(3) == 0 {
		g.talks.all[mode]++
		m := &gameWord{Mode: mode, ToAll: true, Number: g.talks.all[mode]}
		_ = netcode.Send(s, netcode.ToAll(), m, netcode.Via(gameModes[mode]), netcode.Channel(int(mode)))
		return
	}
	g.talks.say(gameTalk{c, false, gameTopic{mode, false}}, func(m *gameWord, how ...netcode.How) error {
		return netcode.Send(s, netcode.To(c), m, how...)
	})
}

// speak has a client say something to the server.
func (p *gamePlayer) speak() {
	talk := gameTalk{p.ID(), true, gameTopic{uint8(p.r.IntN(len(gameModes))), false}}
	p.g.talks.say(talk, func(m *gameWord, how ...netcode.How) error {
		return netcode.Send(p.c.Client, netcode.ToServer(), m, how...)
	})
}

// hear holds what came to what was promised of its mode: nothing twice, and in order what is in order.
func (g *match) hear(ctx *netcode.Context, m *gameWord) {
	talk := gameTalk{ctx.Local, false, gameTopic{m.Mode, m.ToAll}}
	if ctx.Sender != 0 {
		talk.client, talk.toServer = ctx.Sender, true
	}
	t := &g.talks
	if t.heard[talk] == nil {
		t.heard[talk] = map[uint32]bool{}
	}
	what := fmt.Sprintf("%+v: number %d after %d", talk, m.Number, t.last[talk])
	g.hold(ctx.Delivery() == gameModes[m.Mode], what, "of another mode")
	g.hold(!t.heard[talk][m.Number], what, "came twice")
	switch gameModes[m.Mode] {
	case netcode.ReliableOrdered:
		g.hold(m.Number == t.last[talk]+1 || m.ToAll && (m.Number > t.last[talk]), what, "out of order")
	case netcode.UnreliableSequenced:
		g.hold(m.Number > t.last[talk], what, "out of order")
	}
	t.heard[talk][m.Number] = true
	t.last[talk] = max(t.last[talk], m.Number)
	g.met["words heard"]++
}

// wordsMissing tells which reliable words to and from a client have not come.
func (p *gamePlayer) wordsMissing() string {
	t := &p.g.talks
	for mode, delivery := range gameModes {
		for _, toServer := range []bool{false, true} {
			talk := gameTalk{p.ID(), toServer, gameTopic{uint8(mode), false}}
			if delivery >= netcode.Reliable && len(t.heard[talk]) != int(t.said[talk]) {
				return fmt.Sprintf("of %+v %d were said and %d heard", talk, t.said[talk], len(t.heard[talk]))
			}
		}
	}
	return ""
}
