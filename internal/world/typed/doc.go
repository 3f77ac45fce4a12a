// Package typed is for tests that run on every ECS: maps and filters by component types, over the façade. Its names are
// those of Arche's package generic.
package typed
