// Package rig runs a server and clients for tests, on a virtual network and clock. There is no world: the test writes the store.
// rig.go: the server and its clients; thief.go: a client that sends what no client sends.
package rig
