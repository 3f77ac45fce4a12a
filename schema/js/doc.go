// Package js writes the protocol of a lock file as a module for the JavaScript client (clients/js), with its types for TypeScript.
//
// # Files
//
//   - write.go: Module and Types
//   - types.go: fields to types
//   - layout.go: types of messages that a method writes
package js
