package predict

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/wire"
)

// ErrMispredicts is told to OnError of a client, once in a connection: the client mispredicts the entities of its own
// player tick by tick, so that server and client do not simulate the same. The text has the systems of both ends if they
// differ.
var ErrMispredicts = errors.New("netcode: predict: this client mispredicts its own entities tick by tick")

const (
	// wrongInARow is the number of mispredicted ticks in a row that are reported.
	wrongInARow = 30
	// wrongWeight is the number of compared ticks without a misprediction that count as much as one with it: it is reported if
	// more than a third of the ticks are wrong. wrongOrderWeight is that for a client that has the server's systems in another
	// order. Such a client mispredicts the ticks in which something changes alone. Systems that only one end has prove
	// nothing: they may be for the screen.
	wrongWeight, wrongOrderWeight = 2, 20
	// funcLiteral is the name of function literals.
	funcLiteral = "func literal"
	// systemsAtMost bounds the systems of a message, systemText the name of one in bytes.
	systemsAtMost, systemText = 64, 64
)

// systemList has the names of a server's systems. Each client gets it when it joins.
type systemList struct {
	Names []string
}

// Serialize implements wire.Serializable.
func (m *systemList) Serialize(s *wire.Serializer) {
	n := len(m.Names)
	s.Count(&n, systemsAtMost, 1)
	if s.IsReading() {
		m.Names = make([]string, n)
	}
	for i := range m.Names {
		s.String(&m.Names[i], systemText)
	}
}

// handleSystems registers the message.
func handleSystems(p *netcode.Protocol) {
	netcode.Handle(p, func(ctx *netcode.Context, m *systemList) {
		if c := netcode.ClientOf(ctx.End); c != nil {
			if r, ok := extend.ExtensionOf[*clientState](c); ok {
				r.serverSystems = slices.Clone(m.Names)
			}
		}
	}, netcode.Named("netcode.predict.systems"), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(wire.MaxChannels-1), netcode.FromServer())
}

// namesOf returns the names of systems. Function literals have one name, since their numbers differ between programs.
func namesOf(list []System) (names []string) {
	for _, system := range list[:min(len(list), systemsAtMost)] {
		name := systemName(system)
		if _, literal, ok := strings.Cut(name, ".func"); ok && strings.Trim(literal, "0123456789.") == "" {
			name = funcLiteral
		}
		names = append(names, strings.ToValidUTF8(name[:min(len(name), systemText)], ""))
	}
	return names
}

// tellSystems sends the list of systems to the clients that joined.
func (s *server) tellSystems() {
	s.state.joined = slices.DeleteFunc(s.state.joined, func(client netcode.ClientID) bool {
		c := extend.OfServer(s.end).Session(client)
		return c == nil || c.Local() || netcode.Send(s.end, netcode.To(client), &systemList{namesOf(s.sim.systems)}) == nil
	})
}

// determinism counts the ticks in which a client mispredicts the entities of its player.
type determinism struct {
	wrong    bool // In this frame such a misprediction was found.
	compared bool // In this frame a state was compared.
	inARow   int  // The weight for each wrong tick, less 1 for each right one, not below 0.
	told     bool
}

// otherOrder reports whether systems that both lists have come in another order. Function literals cannot be told apart.
func otherOrder(ours, theirs []string) bool {
	last := -1
	for i, name := range ours {
		if name == funcLiteral {
			continue
		}
		nth := 0 // Of several systems of a name.
		for _, before := range ours[:i] {
			if before == name {
				nth++
			}
		}
		for at, other := range theirs {
			if other != name {
				continue
			}
			if nth--; nth < 0 {
				if at < last {
					return true
				}
				last = at
				break
			}
		}
	}
	return false
}

// noteWrong counts a misprediction of an entity.
func (c *client) noteWrong(n int) {
	c.determinism.wrong = c.determinism.wrong || c.sim.all.owner < 0 || c.sim.step.Owner(c.slots[n].entity) == c.end.ID()
}

// judge tells the game if it mispredicts its own entities tick by tick.
func (c *client) judge() {
	d, theirs := &c.determinism, c.received.serverSystems
	wrong, right := d.wrong, d.compared && !d.wrong
	if d.wrong, d.compared = false, false; right {
		d.inARow = max(d.inARow-1, 0)
	}
	if !wrong || d.told {
		return
	}
	weight := wrongWeight
	if otherOrder(c.names, theirs) {
		weight = wrongOrderWeight
	}
	if d.inARow += weight; d.inARow < weight*wrongInARow {
		return
	}
	if d.told = true; theirs != nil && !slices.Equal(theirs, c.names) {
		c.end.Report(fmt.Errorf("%w: the server's predict.Simulate has the systems [%s], this client's [%s]: give both the same, in the same order",
			ErrMispredicts, strings.Join(theirs, ", "), strings.Join(c.names, ", ")))
		return
	}
	c.end.Report(fmt.Errorf("%w: a system differs from the server's or comes in another order, reads a clock, keeps state of its own, "+
		"or uses entities that are not predicted; predict.Explain(protocol) and Simulation.OnExplanation name it", ErrMispredicts))
}
