package predict

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/wire"
)

// ErrMispredicts is told to OnError of a client, once in a connection: the client mispredicts the entities of its own
// player tick by tick, so that server and client do not simulate the same. The text has the systems of both ends if they
// differ.
var ErrMispredicts = errors.New("netcode: predict: this client mispredicts its own entities tick by tick")

const (
	// wrongInARow is the number of mispredicted ticks in a row that are reported, wrongWithOthers that with other systems than the server's.
	wrongInARow, wrongWithOthers = 30, 3
	// wrongWeight is the number of compared ticks without a misprediction that count as much as one with it.
	wrongWeight = 2
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
			if r, ok := netcode.ExtensionOf[*clientState](c); ok {
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
			name = "func literal"
		}
		names = append(names, strings.ToValidUTF8(name[:min(len(name), systemText)], ""))
	}
	return names
}

// tellSystems sends the list of systems to the clients that joined.
func (s *server) tellSystems() {
	s.state.joined = slices.DeleteFunc(s.state.joined, func(client netcode.ClientID) bool {
		c := s.end.Session(client)
		return c == nil || c.Local() || netcode.Send(s.end, netcode.To(client), &systemList{namesOf(s.sim.systems)}) == nil
	})
}

// determinism counts the ticks in which a client mispredicts the entities of its player.
type determinism struct {
	wrong    bool // In this frame such a misprediction was found.
	compared bool // In this frame a state was compared.
	inARow   int  // wrongWeight for each wrong tick, less 1 for each right one, not below 0.
	told     bool
}

// noteWrong counts a misprediction of an entity.
func (c *client) noteWrong(n int) {
	c.determinism.wrong = c.determinism.wrong || c.sim.all.owner < 0 || c.sim.step.Owner(c.slots[n].entity) == c.end.ID()
}

// judge tells the game if it mispredicts its own entities tick by tick.
func (c *client) judge() {
	d := &c.determinism
	switch {
	case d.wrong:
		d.inARow += wrongWeight
	case d.compared:
		d.inARow = max(d.inARow-1, 0)
	}
	d.wrong, d.compared = false, false
	if d.told || d.inARow < wrongWeight*wrongWithOthers {
		return
	}
	theirs := c.received.serverSystems
	switch {
	case theirs != nil && !slices.Equal(theirs, c.names):
		c.end.Report(fmt.Errorf("%w: the server's predict.Simulate has the systems [%s], this client's [%s]: give both the same, in the same order",
			ErrMispredicts, strings.Join(theirs, ", "), strings.Join(c.names, ", ")))
	case d.inARow >= wrongWeight*wrongInARow:
		c.end.Report(fmt.Errorf("%w: a system differs from the server's or comes in another order, reads a clock, keeps state of its own, "+
			"or uses entities that are not predicted; predict.Explain(protocol) and Simulation.OnExplanation name it", ErrMispredicts))
	default:
		return
	}
	d.told = true
}
