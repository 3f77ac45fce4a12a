//go:build unix && !aix && !linux && !darwin && !freebsd

package udp

import "net/netip"

func appendLocal(control []byte, ipv6 bool, local netip.Addr) []byte { return control }
