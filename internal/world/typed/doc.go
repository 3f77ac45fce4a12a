// Package typed is for programs and tests of this module that run on every ECS: maps and filters by component types. Its
// names are those of Arche's package generic. On Arche they are aliases of these, on Ark they call Ark's own.
package typed
