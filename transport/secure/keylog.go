package secure

import (
	"bufio"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrKeyLog means that a file contains no session keys.
var ErrKeyLog = errors.New("secure: no key log: give the file that Config.KeyLog or ClientConfig.KeyLog wrote")

// Limits of a key log.
const (
	keyLogWord = "NETCODE_SECURE_1"
	mostLogged = 1 << 16 // sessions
)

// KeyLog opens captured datagrams with the keys that Config.KeyLog or ClientConfig.KeyLog wrote. It accepts datagrams in any
// order, and repeats. It belongs to one goroutine.
type KeyLog struct{ sessions map[uint32][]*loggedSession }

// loggedSession is the keys of one session. Two servers may use the same session number.
type loggedSession struct{ ways [2]loggedWay }

// loggedWay is one direction of a session.
type loggedWay struct {
	cipher Cipher
	keys   [][32]byte // By key epoch, as far as needed so far.
	epoch  uint64     // Key epoch of aead.
	aead   cipher.AEAD
	window window // Completes 32-bit numbers to 64 bits.
}

// ReadKeyLog reads a key log. It skips lines of other programs. It returns ErrKeyLog or an error of in.
func ReadKeyLog(in io.Reader) (*KeyLog, error) {
	l := &KeyLog{sessions: map[uint32][]*loggedSession{}}
	count, lines := 0, bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0] != keyLogWord {
			continue
		}
		s, id, ok := parseLogged(words)
		if !ok {
			return nil, fmt.Errorf("%w: line %d is %q", ErrKeyLog, n, cutText(lines.Text()))
		}
		if count++; count > mostLogged {
			return nil, fmt.Errorf("%w: it has more than %d sessions: cut off the oldest lines", ErrKeyLog, mostLogged)
		}
		l.sessions[id] = append(l.sessions[id], s)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, ErrKeyLog
	}
	return l, nil
}

// cutText returns the start of a line, without its keys, for an error message.
func cutText(line string) string { return line[:min(len(line), len(keyLogWord)+9)] }

// parseLogged parses a line of logKeys.
func parseLogged(words []string) (s *loggedSession, id uint32, ok bool) {
	if len(words) != 5 {
		return nil, 0, false
	}
	number, err := hex.DecodeString(words[1])
	if err != nil || len(number) != 4 {
		return nil, 0, false
	}
	s = &loggedSession{}
	for way := range s.ways {
		key, err := parseHex[[32]byte](words[3+way])
		if err != nil {
			return nil, 0, false
		}
		w := &s.ways[way]
		for _, c := range []Cipher{AESGCM, ChaCha20Poly1305} {
			if c.String() == words[2] {
				w.cipher, w.keys, w.aead = c, [][32]byte{key}, newAEAD(c, key)
			}
		}
		if w.aead == nil {
			return nil, 0, false
		}
	}
	return s, binary.BigEndian.Uint32(number), true
}

// Open returns a copy of the datagram inside a captured one. If there is none it returns nil and describes the captured datagram
// in words.
func (l *KeyLog) Open(datagram []byte) (plain []byte, what string) {
	names := [...]string{kindRequest: "Request", kindChallenge: "Challenge", kindInitiate: "Initiate", kindAccept: "Accept", kindRefuse: "Refuse", kindReset: "Reset"}
	switch {
	case len(datagram) == 0 || datagram[0] == 0 || datagram[0] > kindReset:
		return nil, "no datagram of transport/secure"
	case datagram[0] != kindData:
		return nil, names[datagram[0]]
	case len(datagram) < Overhead:
		return nil, "cut off"
	}
	id := binary.BigEndian.Uint32(datagram[1:])
	for _, s := range l.sessions[id] {
		for way := range s.ways {
			text, ok := s.ways[way].unseal(datagram)
			switch {
			case !ok:
				continue
			case len(text) == 0:
				return nil, fmt.Sprintf("Data of session %08x, empty", id)
			}
			return text, ""
		}
	}
	if len(l.sessions[id]) == 0 {
		return nil, fmt.Sprintf("session %08x is not in the key log", id)
	}
	return nil, fmt.Sprintf("the keys of session %08x do not open it", id)
}

// unseal opens a datagram of the direction. Only a datagram that opens moves the window, so that a forged number derives at most
// 2^31 numbers' keys.
func (w *loggedWay) unseal(datagram []byte) (text []byte, ok bool) {
	number := w.window.expand(binary.BigEndian.Uint32(datagram[5:]))
	if epoch := number >> epochBits; epoch != w.epoch {
		for uint64(len(w.keys)) <= epoch {
			w.keys = append(w.keys, nextKey(w.keys[len(w.keys)-1]))
		}
		w.epoch, w.aead = epoch, newAEAD(w.cipher, w.keys[epoch])
	}
	var nonce [nonceSize]byte
	binary.BigEndian.PutUint64(nonce[4:], number)
	text, err := w.aead.Open(nil, nonce[:], datagram[headerSize:], datagram[:headerSize])
	if err != nil {
		return nil, false
	}
	w.window.next = max(w.window.next, number+1)
	return text, true
}
