// Package worldless stores the entities of a server that are in no Arche world: Server.Spawn names one, Put gives it components.
// The next capture publishes them in the store.
package worldless
