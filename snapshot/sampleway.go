package snapshot

import (
	"reflect"
	"time"

	"github.com/arche-netcode/netcode/quantize"
	"github.com/arche-netcode/netcode/tick"
)

// Interpolation says how a row is shown between its versions.
type Interpolation struct {
	Row      int                    // of the component
	Speed    int                    // the row that holds its velocities, -1 without one
	Teleport int                    // the row that says of an entity that it did not go its last way, -1 without one
	Twin     reflect.Type           // the component type that the shown value goes to
	Ahead    time.Duration          // how far it goes on beyond the newest version
	Blend    func() *quantize.Blend // a blend of its own for each goroutine
}

// Way is where a row is at a moment, between versions that Around found for that moment. It is false when the entity lacks
// the row then.
func (in *Interpolation) Way(s *Sample, at tick.Time, rate int, way *quantize.Way) bool {
	from := s.From.Row(in.Row)
	if from == nil {
		return false
	}
	*way = quantize.Way{From: from, To: from}
	switch {
	case s.To.Tick != tick.None:
		to := s.To.Row(in.Row)
		if to == nil || in.teleported(&s.From, &s.To) {
			return true
		}
		way.To = to
		way.Part = min(max(at.Along(s.Start, s.To.Tick), 0), tick.OneTick).Float()
		in.speeds(way, &s.From, &s.To, s.Start, rate)
		if s.Start > s.From.Tick {
			way.FromSpeed = nil // it rested
		}
	case !s.Still && s.Before.Tick != tick.None:
		before := s.Before.Row(in.Row)
		if before == nil || in.Ahead <= 0 || in.teleported(&s.Before, &s.From) {
			return true
		}
		beyond := min(at.Sub(s.From.Tick.Begin()), tick.SpanOf(in.Ahead, rate))
		way.From = before
		way.Part = 1 + beyond.Float()/float64(s.From.Tick-s.BeforeStart)
		in.speeds(way, &s.Before, &s.From, s.BeforeStart, rate)
	}
	return true
}

// speeds gives the way the velocities of its two versions.
func (in *Interpolation) speeds(way *quantize.Way, from, to *Version, start tick.Tick, rate int) {
	if in.Speed >= 0 {
		way.FromSpeed, way.ToSpeed = from.Row(in.Speed), to.Row(in.Speed)
		way.Seconds = float64(to.Tick-start) / float64(rate)
	}
}

// teleported reports whether an entity got from one version to another without being anywhere between.
func (in *Interpolation) teleported(from, to *Version) bool {
	if in.Teleport < 0 {
		return false
	}
	a, b := from.Row(in.Teleport), to.Row(in.Teleport)
	if a == nil || b == nil {
		return (a == nil) != (b == nil)
	}
	for i := range a {
		if a[i] != b[i] {
			return true
		}
	}
	return false
}
