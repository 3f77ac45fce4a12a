// Package rig runs a server and clients in tests, on a virtual network and clock and without a world: the test writes the store.
package rig
