package components

import "github.com/arche-netcode/netcode/wire"

// Simulate marks the entities that the simulation of package predict moves here: at the server all with a predicted component, at
// a client those that it predicts. Systems of the simulation put it into their filters. Package predict adds it and takes it
// away; it is never sent.
type Simulate struct{}

// Predicted has a client predict an entity that it does not own, as one that its own entities push. Game code on the server writes
// it. It is to be registered with netcode.Replicate.
type Predicted struct {
	Client wire.ClientID // Predicts it, beside its owner; 0 and Mask 0: every client does.
	Mask   uint64        // Has the bits of more clients that predict it: see With. Clients whose numbers differ by 64 share one.
}

// With returns a Predicted that has one more client predict the entity.
func (p Predicted) With(client wire.ClientID) Predicted {
	p.Mask |= 1 << (client % 64)
	return p
}

// By tells if a client predicts the entity, for another reason than that it owns it.
func (p Predicted) By(client wire.ClientID) bool {
	return p == Predicted{} || client != 0 && p.Client == client || p.Mask>>(client%64)&1 != 0
}

// SpawnOf names the step that spawned an entity. The owner's client finds by it the entity that it has spawned in that step
// itself. predict.Step.Spawn writes it, and predict.Spawns registers it. Tick and Ordinal wrap around.
type SpawnOf struct {
	Client  wire.ClientID // The owner of the entity.
	Tick    uint16        // The low bits of the tick that was simulated.
	Ordinal uint8         // The number of the spawn for this client in the step.
}
