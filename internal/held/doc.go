// Package held keeps messages for one end that are not sent yet: they wait for an entity, for the capture of the state that they follow,
// or behind such a message on their channel. It keeps their order and their bounds; the caller decides when each may leave.
package held
