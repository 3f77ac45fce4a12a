// Package held stores messages to one end that cannot be sent yet. They wait for the capture of the state that they
// follow, for the first record of their entity, or behind such a message on their channel. The package keeps their order and
// limits; the caller decides when each is sent. queue.go contains everything.
package held
