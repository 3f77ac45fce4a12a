// Package schema keeps the protocol of a game in a file, and says of two such files whether builds with these protocols play together.
//
// A test of the game holds the file up to date; its differences are reviewed with the code:
//
//	func TestSchema(t *testing.T) { schema.Check(t, newProtocol(), "testdata/schema.lock") }
//
// In CI, netcode schema check compares the file of the build that players have with that of the new one.
//
//   - [Lock]: what such a file has; netcode.WriteSchema writes it
//   - [Entry]: a component, a message or another entry of the canonical description of a protocol
//   - [Change]: one difference of two locks, and whom it breaks
package schema
