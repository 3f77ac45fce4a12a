package components

// LocalOnly tells that an entity of a server's world is meant to stay there although it has components that are replicated, and no
// Replicated: a capture does not tell OnError of it (netecs.Unreplicated). It is never sent.
type LocalOnly struct{}
