package components

import "github.com/arche-netcode/netcode/wire"

// Simulate marks the entities that the simulation of package predict moves here. On the server these are all with a predicted
// component, on a client those that it predicts. Use it in the filters of the simulation's systems. Package predict adds and
// removes it; it is never sent.
type Simulate struct{}

// Predicted makes clients predict an entity that they do not own, for example one that their own entities push. Game code on the
// server writes it. Register it with netcode.Replicate.
type Predicted struct {
	Client wire.ClientID `net:"short"` // Client that predicts it, in addition to the owner. Client 0 and Mask 0: all clients.
	Mask   uint64        // Bits of further clients: see With. Clients whose numbers differ by 64 share a bit.
}

// With returns a Predicted that one more client predicts.
func (p Predicted) With(client wire.ClientID) Predicted {
	p.Mask |= 1 << (client % 64)
	return p
}

// By reports whether a client predicts the entity because of this component.
func (p Predicted) By(client wire.ClientID) bool {
	return p == Predicted{} || client != 0 && p.Client == client || p.Mask>>(client%64)&1 != 0
}

// SpawnOf identifies the simulation step that spawned an entity. With it the owner's client finds the entity that it spawned
// itself in that step. predict.Step.Spawn writes it, and predict.Spawns registers it. Tick and Ordinal wrap around.
// It goes to the owner alone, and to each client that sees an entity with Predicted.
type SpawnOf struct {
	Client  wire.ClientID `net:"short"` // Owner of the entity.
	Tick    uint16        // Low bits of the simulated tick.
	Ordinal uint8         `net:"short"` // Number of the spawn for this client in the step.
}
