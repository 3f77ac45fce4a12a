package handover

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// kind tells what is sealed, so that nothing passes for something else.
type kind byte

const (
	kindPass    kind = 1
	kindCarried kind = 2
	kindReceipt kind = 3
)

// sealMagic begins all that is sealed.
const sealMagic = "nmv1"

// errSealed means that bytes were not sealed with this key, for this use.
var errSealed = errors.New("netcode: handover: not sealed with the key of this server, or changed")

// seal is the key of the servers.
type seal struct {
	aead   cipher.AEAD
	random io.Reader
}

// newSeal makes a seal.
func newSeal(key [32]byte, random io.Reader) (seal, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return seal{}, err
	}
	aead, err := cipher.NewGCM(block)
	return seal{aead: aead, random: random}, err
}

// close seals bytes.
func (s *seal) close(k kind, plain []byte) ([]byte, error) {
	b := append([]byte(sealMagic), byte(k))
	b = append(b, make([]byte, s.aead.NonceSize())...)
	nonce := b[len(sealMagic)+1:]
	if _, err := io.ReadFull(s.random, nonce); err != nil {
		return nil, fmt.Errorf("netcode: handover: Config.Random: %w", err)
	}
	return s.aead.Seal(b, nonce, plain, b[:len(sealMagic)+1]), nil
}

// open opens sealed bytes, which may be hostile.
func (s *seal) open(k kind, b []byte) ([]byte, error) {
	head := len(sealMagic) + 1
	if len(b) < head+s.aead.NonceSize() || string(b[:head]) != sealMagic+string(rune(k)) {
		return nil, errSealed
	}
	plain, err := s.aead.Open(nil, b[head:head+s.aead.NonceSize()], b[head+s.aead.NonceSize():], b[:head])
	if err != nil {
		return nil, errSealed
	}
	return plain, nil
}

// nonce is random, and names one session of one server that waits for a player.
type nonce [2]uint64

// pass names a player, by the word of the old server.
type pass struct {
	id   ID
	user string
}

// append appends the pass.
func (p *pass) append(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(p.id)), p.user...)
}

// parsePass reads a pass that was opened.
func parsePass(b []byte) (p pass, err error) {
	if len(b) < 8 {
		return pass{}, errSealed
	}
	return pass{id: ID(binary.LittleEndian.Uint64(b)), user: string(b[8:])}, nil
}

// carried has the state of a player on its way to one session.
type carried struct {
	id    ID
	nonce nonce
	data  []byte // of the game
	saved []byte // a saved game
}

// append appends what is carried.
func (c *carried) append(b []byte) []byte {
	b = appendProof(b, c.id, c.nonce)
	b = binary.AppendUvarint(b, uint64(len(c.data)))
	return append(append(b, c.data...), c.saved...)
}

// parseCarried reads what is carried, once opened.
func parseCarried(b []byte) (c carried, err error) {
	if c.id, c.nonce, err = parseProof(b); err != nil {
		return carried{}, err
	}
	b = b[proofSize:]
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return carried{}, errSealed
	}
	c.data, c.saved = b[size:size+int(n)], b[size+int(n):]
	return c, nil
}

// proofSize is the size of an id and a nonce.
const proofSize = 24

// appendProof appends an id and a nonce: alone it is a receipt.
func appendProof(b []byte, id ID, n nonce) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(id))
	b = binary.LittleEndian.AppendUint64(b, n[0])
	return binary.LittleEndian.AppendUint64(b, n[1])
}

// parseProof reads an id and a nonce.
func parseProof(b []byte) (ID, nonce, error) {
	if len(b) < proofSize {
		return 0, nonce{}, errSealed
	}
	read := binary.LittleEndian.Uint64
	return ID(read(b)), nonce{read(b[8:]), read(b[16:])}, nil
}

// draw returns a random number that is not 0.
func draw(random io.Reader) (uint64, error) {
	var b [8]byte
	for {
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return 0, fmt.Errorf("netcode: handover: Config.Random: %w", err)
		}
		if n := binary.LittleEndian.Uint64(b[:]); n != 0 {
			return n, nil
		}
	}
}
