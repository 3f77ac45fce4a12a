package netcode

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// Every minSkip to maxSkip packets one sequence number is left out, so that an end that acknowledges what it cannot have
// received gives itself away.
const (
	minSkip = 64
	maxSkip = 191
)

// skipSeed is the secret of one connection from which it takes the places where it skips.
type skipSeed [32]byte

// randomSeed draws a seed.
func randomSeed(random io.Reader) (seed skipSeed, err error) {
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return seed, fmt.Errorf("netcode: Config.Random: %w", err)
	}
	return seed, nil
}

// skipper says after which packets a sequence number is left out.
type skipper struct {
	random *rand.ChaCha8
	left   int
}

func newSkipper(seed skipSeed) skipper {
	s := skipper{random: rand.NewChaCha8(seed)}
	s.draw()
	return s
}

// due is to be asked after each packet.
func (s *skipper) due() bool {
	if s.left--; s.left > 0 {
		return false
	}
	s.draw()
	return true
}

// draw takes the number of packets until the next one. 2^64 is 128 times some number: all counts are equally likely.
func (s *skipper) draw() {
	s.left = minSkip + int(s.random.Uint64()%(maxSkip-minSkip+1))
}
