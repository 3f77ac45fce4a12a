package components

import "github.com/arche-netcode/netcode/wire"

// Simulate marks the entities that the simulation of package predict moves here: at the server all with a predicted component, at
// a client those that it predicts. Systems of the simulation put it into their filters. Package predict adds it and takes it
// away; it never travels.
type Simulate struct{}

// Predicted has a client predict an entity that it does not own, as one that its own entities push. Game code on the server writes
// it. It is to be registered with netcode.Replicate.
type Predicted struct {
	Client wire.ClientID // Predicts it, beside its owner; 0: every client does.
}

// SpawnOf names the step that spawned an entity, so that the client whose input it was recognises the one that it has spawned
// itself. predict.Step.Spawn writes it, and predict.Spawns registers it. Tick and Ordinal go around.
type SpawnOf struct {
	Client  wire.ClientID // The owner of the entity.
	Tick    uint16        // The low bits of the tick that was simulated.
	Ordinal uint8         // The number of the spawn for this client in the step.
}
