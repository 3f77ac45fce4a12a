package peer

import (
	"encoding/binary"
	"math"

	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// MaxTick is the latest tick that a server may be in: 2^62, the latest first tick, and 2^53 ticks more.
const MaxTick tick.Tick = 1<<62 + 1<<53

// Welcome is the first datagram of the server's in a session: it has made one, and the client is connected. It is sealed
// with the checksum of the server's packets, and sent with each network tick until a packet of the client's comes.
//
//	byte 0     1        5      13
//	+------+--------+------+----------+
//	| 0x86 | client | tick | checksum |
//	+------+--------+------+----------+
//	 1      4        8      4
type Welcome struct {
	Client wire.ClientID // from 1; no session of this server had it before
	Tick   tick.Tick     // the server's tick when it was written, 0..MaxTick
}

const welcomeSize = 13 + wire.ChecksumSize

// check returns a *FieldError for the first field that is out of its range.
func (w *Welcome) check() error {
	switch {
	case w.Client == 0:
		return FieldError{"the client id of a Welcome", 0, 1, math.MaxUint32}.escape()
	case w.Tick < 0 || w.Tick > MaxTick:
		return FieldError{"the tick of a Welcome", uint64(w.Tick), 0, uint64(MaxTick)}.escape()
	}
	return nil
}

// AppendWelcome appends the datagram. check is that of the server's packets.
func AppendWelcome(b []byte, w Welcome, check wire.Checksum) []byte {
	start := len(b)
	b = append(b, wire.HandshakeFlag|byte(KindWelcome))
	b = binary.LittleEndian.AppendUint32(b, uint32(w.Client))
	b = binary.LittleEndian.AppendUint64(b, uint64(w.Tick))
	return seal(check, b, start)
}

// ParseWelcome reads a Welcome datagram. check is that of the server's packets. Errors are ErrChecksum, ErrMalformed and,
// for a value out of the ranges above, a *FieldError.
func ParseWelcome(datagram []byte, check wire.Checksum) (Welcome, error) {
	if len(datagram) != welcomeSize || KindOf(datagram) != KindWelcome {
		return Welcome{}, ErrMalformed
	}
	b, ok := unseal(check, datagram)
	if !ok {
		return Welcome{}, ErrChecksum
	}
	w := Welcome{Client: wire.ClientID(binary.LittleEndian.Uint32(b[1:])), Tick: tick.Tick(binary.LittleEndian.Uint64(b[5:]))}
	if err := w.check(); err != nil {
		return Welcome{}, err
	}
	return w, nil
}
