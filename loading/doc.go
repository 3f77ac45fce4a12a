// Package loading tells a client after it joined how much of its visible world has arrived, and when all of it has: for a loading
// bar. [Register] adds the feature to a protocol, [Of] returns the progress. It uses netcode's Extension API. loading.go contains
// everything.
package loading
