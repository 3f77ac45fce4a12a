package components

// LocalOnly marks an entity of a server's world that has replicated components but is not replicated on purpose. The capture then
// does not report netecs.Unreplicated to OnError. It is never sent.
type LocalOnly struct{}
