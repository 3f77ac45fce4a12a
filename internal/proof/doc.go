// Package proof proves addresses and the ends of sessions without stored state, for every handshake of the module. [Cookies] prove that a
// sender receives at its address. [Tokens] prove that a Reset is from the server of a session.
package proof
