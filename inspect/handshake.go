package inspect

import (
	"encoding/binary"
	"fmt"

	"github.com/arche-netcode/netcode/internal/peer"
	"github.com/arche-netcode/netcode/wire"
)

// welcomed is the size of the part of a Welcome in front of its token.
const welcomed = 13

// appendHandshake appends a handshake datagram as one line. It returns false for one that it cannot read. The checksums of
// Join, Welcome and Resume depend on the session and are not verified.
func appendHandshake(dst, datagram []byte) ([]byte, bool) {
	kind := peer.KindOf(datagram)
	begin := func(name string) []byte {
		return fmt.Appendf(dst, "handshake datagram of kind %d, %s, %d bytes: ", datagram[0]&^wire.HandshakeFlag, name, len(datagram))
	}
	switch kind {
	case peer.KindHello:
		if h, err := peer.ParseHello(datagram); err == nil {
			return fmt.Appendf(begin("Hello"), "version %d, nonce %016x, protocol %016x of %d entries, %s\n", h.Version, h.Nonce, h.Protocol, h.Digest.Types(), cookieText(h.Cookie)), true
		}
	case peer.KindChallenge:
		if c, err := peer.ParseChallenge(datagram); err == nil {
			return fmt.Appendf(begin("Challenge"), "nonce %016x, %s\n", c.Nonce, cookieText(c.Cookie)), true
		}
	case peer.KindAccept:
		if a, err := peer.ParseAccept(datagram); err == nil {
			return fmt.Appendf(begin("Accept"), "nonce %016x, epoch %08x, %d ticks a second, window %d, packets of %d bytes\n", a.Nonce, a.Epoch, a.Rate, a.Window, a.PacketSize), true
		}
	case peer.KindRefuse:
		if r, err := peer.ParseRefuse(datagram); err == nil {
			return fmt.Appendf(begin("Refuse"), "nonce %016x, %v, %q\n", r.Nonce, r.Reason, r.Detail), true
		}
	case peer.KindJoin:
		if j, err := peer.ParseJoin(datagram); err == nil {
			return fmt.Appendf(begin("Join"), "nonce %016x, %s, payload of %d bytes\n", j.Nonce, cookieText(j.Cookie), len(j.Payload)), true
		}
	case peer.KindWelcome:
		if client, tick, ok := parseWelcome(datagram); ok {
			return fmt.Appendf(begin("Welcome"), "client %d, tick %d\n", client, tick), true
		}
	case peer.KindResume:
		if r, err := peer.ParseResume(datagram); err == nil {
			return fmt.Appendf(begin("Resume"), "client %d, nonce %016x, path %016x, number %d, %s\n", r.Client, r.Nonce, r.Path, r.Number, cookieText(r.Cookie)), true
		}
	case peer.KindReset:
		if r, err := peer.ParseReset(datagram); err == nil {
			return fmt.Appendf(begin("Reset"), "client %d, nonce %016x, path %016x, %v\n", r.Client, r.Nonce, r.Path, r.Reason), true
		}
	}
	return dst, false
}

// cookieText tells whether there is a cookie.
func cookieText(c peer.Cookie) string {
	if c.IsZero() {
		return "no cookie"
	}
	return fmt.Sprintf("cookie %x", c[:])
}

// parseWelcome reads the client and the tick of a Welcome.
func parseWelcome(datagram []byte) (client wire.ClientID, tick uint64, ok bool) {
	if peer.KindOf(datagram) != peer.KindWelcome || len(datagram) < welcomed {
		return 0, 0, false
	}
	client, tick = wire.ClientID(binary.LittleEndian.Uint32(datagram[1:])), binary.LittleEndian.Uint64(datagram[5:])
	return client, tick, client != 0 && tick <= uint64(peer.MaxTick)
}
