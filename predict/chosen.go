package predict

import (
	"slices"

	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/extend"
	"github.com/arche-netcode/netcode/snapshot"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// chosen is the message of a client that starts or stops predicting an entity by its own choice.
type chosen struct {
	Entity wire.NetworkID
	On     bool
}

// chosenAtMost bounds the entities that a client chooses to predict, apart from those of Owner and Predicted. The server
// forgets the oldest choice.
const chosenAtMost = 32

// chosenEntities lists the entities that a client chose to predict, at the server. See Simulation.Predict.
type chosenEntities []netcode.NetworkID

// choices has the choices of a client's game.
type choices struct {
	wanted map[netcode.NetworkID]bool // The newest choice for each entity.
	unsent []chosen                   // Choices that were not yet sent to the server.
}

// handleChosen registers the message.
func handleChosen(p *netcode.Protocol) {
	netcode.Handle(p, func(ctx *netcode.Context, m *chosen) {
		server := netcode.ServerOf(ctx.End)
		if server == nil {
			return
		}
		session := extend.OfServer(server).Session(ctx.Sender)
		if state, ok := extend.ExtensionOf[*sessionState](session); ok {
			state.chosen.choose(m.Entity, m.On)
			if v := session.View(); m.On && v != nil {
				v.ShowOwned(m.Entity) // Step.Rand needs its SpawnOf.
			}
		}
		if at, ok := extend.ExtensionOf[*endState](server); ok {
			at.anyChosen = true
		}
	}, netcode.Named("netcode.predict.chosen"), netcode.Over(netcode.ReliableOrdered), netcode.OnChannel(wire.MaxChannels-1), netcode.FromClient(), netcode.AtStage(tick.Initialization))
}

// choose adds a chosen entity, or removes it.
func (l *chosenEntities) choose(id netcode.NetworkID, on bool) {
	*l = slices.DeleteFunc(*l, func(other netcode.NetworkID) bool { return other == id })
	if on {
		if len(*l) == chosenAtMost {
			*l = slices.Delete(*l, 0, 1)
		}
		*l = append(*l, id)
	}
}

// forget removes chosen entities that no longer exist.
func (l *chosenEntities) forget(store *snapshot.Store) {
	*l = slices.DeleteFunc(*l, func(id netcode.NetworkID) bool { return !store.Alive(id) })
}

// listChosen lists the entities that a client chose and sees. Hidden entities are left out: promptRows changes what all
// clients receive of a listed entity.
func (s *server) listChosen(client netcode.ClientID) {
	session := extend.OfServer(s.end).Session(client)
	if state, ok := extend.ExtensionOf[*sessionState](session); ok && len(state.chosen) > 0 {
		state.chosen.forget(s.end.Store())
		view := session.View()
		for _, id := range state.chosen {
			if view != nil && view.Visible(id) {
				s.listFor(client, id, true)
			}
		}
	}
}

// Predict sets whether this client predicts an entity, whoever owns it. A client's game calls it for an entity that its
// player is about to touch. The choice lasts until the connection ends. On a server it does nothing.
// The world must not be locked by a query.
func (s *Simulation) Predict(entity netcode.NetworkID, on bool) {
	if s.client == nil {
		return
	}
	if was, is := s.client.choices.wanted[entity]; is && was == on {
		return
	}
	s.client.choices.wanted[entity] = on
	s.client.choices.unsent = append(s.client.choices.unsent, chosen{entity, on})
	s.client.startOrStop(entity)
}

// sendChoices sends new choices to the server, until one cannot be sent.
func (c *client) sendChoices() {
	sent := 0
	for sent < len(c.choices.unsent) && netcode.Send(c.end, netcode.ToServer(), &c.choices.unsent[sent]) == nil {
		sent++
	}
	c.choices.unsent = slices.Delete(c.choices.unsent, 0, sent)
}
