package peer

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// Every minSkip to maxSkip packets one sequence number is skipped, so that an end that acknowledges packets which it cannot have
// received is detected.
const (
	minSkip = 64
	maxSkip = 191
)

// SkipSeed is the secret of one connection that decides which numbers it skips.
type SkipSeed [32]byte

// NewSkipSeed draws a seed.
func NewSkipSeed(random io.Reader) (seed SkipSeed, err error) {
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return seed, fmt.Errorf("netcode: Config.Random: %w", err)
	}
	return seed, nil
}

// Skipper decides after which packets a sequence number is skipped.
type Skipper struct {
	random *rand.ChaCha8
	left   int
}

// NewSkipper returns the Skipper of a seed.
func NewSkipper(seed SkipSeed) Skipper {
	s := Skipper{random: rand.NewChaCha8(seed)}
	s.draw()
	return s
}

// Due reports whether a number is skipped now. Call it after each packet.
func (s *Skipper) Due() bool {
	if s.left--; s.left > 0 {
		return false
	}
	s.draw()
	return true
}

// draw draws the number of packets until the next skip. 2^64 is a multiple of 128, so all counts are equally likely.
func (s *Skipper) draw() {
	s.left = minSkip + int(s.random.Uint64()%(maxSkip-minSkip+1))
}
