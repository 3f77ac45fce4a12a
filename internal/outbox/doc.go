// Package outbox collects the datagrams of a frame until they are passed to a socket. outbox.go contains everything.
package outbox
