// Package rewind shows a server the world as one client's player saw it: when it aimed. It is a feature beside the kernel of
// package netcode, and needs no registration: [At] gives the view, [Limit] bounds how far back a client is believed.
package rewind
