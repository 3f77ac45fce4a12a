package screen

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ebitengine/oto/v3"

	"github.com/arche-netcode/netcode/examples/brawl/rules"
)

const (
	sampleRate = 22050
	maxTones   = 8 // That play at once.
)

// The sounds beside those of the effects of the simulation.
const (
	hitSound = 100 + iota
	goalSound
)

// sound plays tones that are made here. A machine without a device for it is silent, and a page until its player clicks or presses a key.
type sound struct {
	context *oto.Context
	ready   <-chan struct{} // Closed once the device is open.
	tones   map[uint16][]byte
	playing []*oto.Player
}

func (s *sound) init() {
	context, ready, err := oto.NewContext(&oto.NewContextOptions{SampleRate: sampleRate, ChannelCount: 1, Format: oto.FormatSignedInt16LE})
	if err != nil {
		return
	}
	s.context, s.ready = context, ready
	s.tones = map[uint16][]byte{
		rules.Muzzle: tone(700, 180, .09, .3), rules.Beam: tone(1800, 90, .35, .1), rules.Whoosh: tone(160, 420, .18, .8),
		rules.Kick: tone(130, 60, .1, .2), hitSound: tone(1300, 1300, .06, 0), goalSound: tone(392, 784, .9, 0),
	}
}

// tone makes a sound that glides from one frequency to another, in Hz, and fades. noise is the share that has none, from 0 to 1.
func tone(from, to, seconds, noise float64) (samples []byte) {
	phase, n := 0., int(seconds*sampleRate)
	for i := range n {
		part := float64(i) / float64(n)
		phase += 2 * math.Pi * (from + (to-from)*part) / sampleRate
		wave := (1-noise)*math.Sin(phase) + noise*(2*rand.Float64()-1)
		samples = binary.LittleEndian.AppendUint16(samples, uint16(int16(6000*wave*(1-part))))
	}
	return samples
}

// play plays a sound, unless too many do.
func (s *sound) play(kind uint16) {
	select {
	case <-s.ready: // Nil, without a device, is never ready.
	default:
		return
	}
	s.playing = slices.DeleteFunc(s.playing, func(p *oto.Player) bool { return !p.IsPlaying() })
	if s.context.Err() != nil || s.tones[kind] == nil || len(s.playing) >= maxTones {
		return
	}
	p := s.context.NewPlayer(bytes.NewReader(s.tones[kind]))
	p.Play()
	s.playing = append(s.playing, p)
}
