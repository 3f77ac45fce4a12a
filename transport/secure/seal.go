package secure

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"runtime"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// Cipher is the AEAD of a session's datagrams, or a set of them.
type Cipher uint8

const (
	// AESGCM is AES-256-GCM: faster on processors with AES instructions.
	AESGCM Cipher = 1 << iota
	// ChaCha20Poly1305 is faster on other processors.
	ChaCha20Poly1305
)

// String returns the name of the cipher.
func (c Cipher) String() string {
	switch c {
	case AESGCM:
		return "AES-256-GCM"
	case ChaCha20Poly1305:
		return "ChaCha20-Poly1305"
	}
	return "no cipher"
}

// usualCiphers returns the ciphers that are fast on this machine.
func usualCiphers() Cipher {
	switch runtime.GOARCH {
	case "amd64", "arm64", "s390x", "ppc64le":
		return AESGCM | ChaCha20Poly1305
	}
	return ChaCha20Poly1305
}

const (
	// Overhead is the number of bytes that a session adds to a datagram: kind, session, number and tag.
	Overhead = headerSize + tagSize

	headerSize = 1 + 4 + 4
	tagSize    = 16
	nonceSize  = 12
	epochBits  = 20 // A key epoch is 2^20 numbers.
	windowSize = 1024
)

// newAEAD returns a cipher with a key, nil for an unknown cipher.
func newAEAD(c Cipher, key [32]byte) cipher.AEAD {
	switch c {
	case AESGCM:
		if block, err := aes.NewCipher(key[:]); err == nil {
			if aead, err := cipher.NewGCM(block); err == nil {
				return aead
			}
		}
	case ChaCha20Poly1305:
		if aead, err := chacha20poly1305.New(key[:]); err == nil {
			return aead
		}
	}
	return nil
}

// nextKey returns the key of the next key epoch.
func nextKey(key [32]byte) [32]byte { return derive(key, "netcode secure next key") }

// sealer seals the datagrams of one direction.
type sealer struct {
	cipher Cipher
	aead   cipher.AEAD
	key    [32]byte
	epoch  uint64        // Key epoch of key.
	number uint64        // Number of the next datagram.
	since  time.Duration // When the key came into use.
	every  time.Duration // Maximum time in use of a key.
	nonce  [nonceSize]byte
}

// newSealer makes a sealer with the first key.
func newSealer(c Cipher, key [32]byte, now, every time.Duration) sealer {
	return sealer{cipher: c, aead: newAEAD(c, key), key: key, since: now, every: every}
}

// seal appends the sealed datagram to out, as a Data or a Path. If the key is too old the number jumps to the next key epoch.
func (s *sealer) seal(out []byte, kind byte, id uint32, now time.Duration, datagram []byte) []byte {
	if now-s.since >= s.every {
		s.number = (s.number>>epochBits + 1) << epochBits
	}
	if s.number>>epochBits != s.epoch {
		s.key, s.epoch, s.since = nextKey(s.key), s.epoch+1, now
		s.aead = newAEAD(s.cipher, s.key)
	}
	at := len(out)
	out = append(out, kind)
	out = binary.BigEndian.AppendUint32(out, id)
	out = binary.BigEndian.AppendUint32(out, uint32(s.number))
	binary.BigEndian.PutUint64(s.nonce[4:], s.number)
	s.number++
	return s.aead.Seal(out, s.nonce[:], datagram, out[at:at+headerSize])
}

// opener opens the datagrams of one direction.
type opener struct {
	cipher  Cipher
	current cipher.AEAD
	next    cipher.AEAD
	before  cipher.AEAD // nil in the first key epoch.
	key     [32]byte    // Key of next.
	epoch   uint64      // Key epoch of current.
	window  window
	nonce   [nonceSize]byte
}

// fault is the reason that a datagram was not opened.
type fault uint8

const (
	fine     fault = iota
	repeated       // Its number was opened before.
	tooOld         // Its number is behind the window.
	forged         // Its tag is wrong, or its key epoch is none of the three.
	tooLong        // It does not fit into the caller's buffer.
)

// newOpener makes an opener with the first key.
func newOpener(c Cipher, key [32]byte) opener {
	next := nextKey(key)
	return opener{cipher: c, current: newAEAD(c, key), next: newAEAD(c, next), key: next}
}

// open opens a sealed datagram into buf. State changes only if the datagram opens. packet has at least Overhead bytes.
func (o *opener) open(buf, packet []byte) (n int, result fault) {
	n = len(packet) - Overhead
	if n > len(buf) {
		return n, tooLong
	}
	number := o.window.expand(binary.BigEndian.Uint32(packet[5:]))
	if result = o.window.judge(number); result != fine {
		return 0, result
	}
	var aead cipher.AEAD
	switch epoch := number >> epochBits; epoch {
	case o.epoch:
		aead = o.current
	case o.epoch + 1:
		aead = o.next
	case o.epoch - 1:
		aead = o.before
	}
	if aead == nil {
		return 0, forged
	}
	binary.BigEndian.PutUint64(o.nonce[4:], number)
	if _, err := aead.Open(buf[:0], o.nonce[:], packet[headerSize:], packet[:headerSize]); err != nil {
		return 0, forged
	}
	o.window.add(number)
	if number>>epochBits > o.epoch {
		o.epoch++
		o.before, o.current, o.key = o.current, o.next, nextKey(o.key)
		o.next = newAEAD(o.cipher, o.key)
	}
	return n, fine
}

// window is a replay window: the newest opened number and the 1023 before it. The zero window is empty.
type window struct {
	next uint64 // The newest number plus one.
	bits [windowSize / 64]uint64
}

// expand completes the low 32 bits to the number nearest to the newest one.
func (w *window) expand(low uint32) uint64 {
	number := w.next + uint64(int64(int32(low-uint32(w.next))))
	if number > w.next && number-w.next > 1<<31 { // Below zero: a number of the first 2^32.
		number += 1 << 32
	}
	return number
}

// judge reports whether a number was not opened before.
func (w *window) judge(number uint64) fault {
	switch {
	case number >= w.next:
		return fine
	case w.next-number > windowSize:
		return tooOld
	case w.bits[number%windowSize/64]>>(number%64)&1 != 0:
		return repeated
	}
	return fine
}

// add records a number that judge accepted.
func (w *window) add(number uint64) {
	if number >= w.next {
		if number-w.next >= windowSize {
			clear(w.bits[:])
		} else {
			for i := w.next; i < number; i++ {
				w.bits[i%windowSize/64] &^= 1 << (i % 64)
			}
		}
		w.next = number + 1
	}
	w.bits[number%windowSize/64] |= 1 << (number % 64)
}
