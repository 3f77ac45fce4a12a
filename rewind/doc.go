// Package rewind shows a server the world as one client's player saw it at the time of its action: lag compensation. It
// is a feature built on the extension API of package netcode and needs no registration. [At] calls a function with the
// [View] of a client. [Of] returns a component in a view. [Limit] bounds how far back a client is trusted. All code is in
// rewind.go.
package rewind
