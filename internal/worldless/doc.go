// Package worldless stores the entities of a server that are in no Arche world. Server.Spawn makes one, Put gives it components.
// The next capture writes them to the store. entities.go contains everything.
package worldless
