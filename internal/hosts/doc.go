// Package hosts tells limits which host is behind an address, counts what hosts have, and shares work among them. Every limit of the
// module that counts addresses counts by it.
//
//   - Host: an IPv4 address or an IPv6 /64, with the networks around it
//   - Counts: what each host has at present, such as sessions
//   - Table: Counts with what is counted, and which one makes room for another
//   - Limiter: what each host has used up of work per second, such as handshakes
package hosts
