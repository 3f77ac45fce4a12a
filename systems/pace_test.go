package systems

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/tick"
)

// fixed is a group with a pace.
type fixed struct{ num, den int64 }

func (fixed) Systems() []System        { return nil }
func (fixed) Close()                   {}
func (fixed) Closed() bool             { return true }
func (f fixed) Pace() (num, den int64) { return f.num, f.den }

// plain is a group without a pace.
type plain struct{ Group }

func TestPacerRunsAtThePaceOfItsGroup(t *testing.T) {
	for _, c := range []struct {
		group Group
		want  int
	}{{plain{}, 600}, {fixed{1, 1}, 600}, {fixed{105, 100}, 630}, {fixed{95, 100}, 570}} {
		p, clock, frames := pacer{group: c.group}, tick.NewClock(60, 4), 0
		now := time.Duration(0)
		for now < 10*time.Second {
			frames += clock.Advance(p.advance(now))
			r := Runner{rate: 60}
			wait := p.real(r.untilNext(p.advance(now)))
			require.Positive(t, wait)
			require.Less(t, wait, time.Second/50)
			now += wait
		}
		require.InDelta(t, c.want, frames, 1)
	}
}

// A loop that stalled for long continues from there, at any pace.
func TestPacerAfterAStall(t *testing.T) {
	p := pacer{group: fixed{1 << 16, 1 << 16}}
	require.Equal(t, 200*365*24*time.Hour, p.advance(200*365*24*time.Hour))
	require.Equal(t, 200*365*24*time.Hour+time.Second, p.advance(200*365*24*time.Hour+time.Second))
}
