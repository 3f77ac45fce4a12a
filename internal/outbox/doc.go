// Package outbox collects the datagrams of a frame until a socket takes them.
package outbox
