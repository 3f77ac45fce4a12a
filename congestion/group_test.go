package congestion

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Four clients behind one line use it, keep its queue short and get about the same, where their controllers know of each other.
func TestClientsOfAnAddressShareItsLine(t *testing.T) {
	for _, hz := range []int{30, 60} {
		for _, k := range []int64{32, 128, 1024} {
			s := scene{name: fmt.Sprintf("%d Hz, %d KiB/s", hz, k), hz: hz, rates: []int64{k}, each: 60 * time.Second, flows: 4, delay: 60 * ms}
			o := s.play(7, own)
			require.True(t, s.meets(o), "%s: %+v", s.name, o)
			for _, share := range o.shares {
				require.InDelta(t, 0.25, share, 0.08, "%s: %v", s.name, o.shares)
			}
		}
	}
}

// apart plays clients of one address that have lines of their own, and returns how much of each line is used, and its queue at 95 %, in ms.
func apart(rates []int64, loss []float64, group *Group) (used []float64, waits []int) {
	w, interval := &world{}, time.Second/60
	var flows []*flow
	for i, k := range rates {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		f := &flow{w: w, q: &queue{rate: k << 10, most: 200 * ms}, interval: interval, frame: interval, delay: time.Duration(10+20*i) * ms, loss: loss[i],
			random: r, theirs: time.Duration(r.Int64N(int64(interval))), c: own(interval), record: true}
		if group != nil {
			group.Join(f.c.(*Controller))
		}
		flows = append(flows, f)
		f.start()
	}
	flows[len(flows)-1].group = group
	w.run(60 * time.Second)
	for i, f := range flows {
		used = append(used, float64(f.delivered)/float64(rates[i]<<10*60)/(1-loss[i]))
		sum := 0
		for wait, n := range f.waits {
			if sum += n; sum*100 >= int(f.entered-f.overflow)*95 {
				waits = append(waits, wait)
				break
			}
		}
	}
	return used, waits
}

// Clients of one address with lines of their own, as behind the NAT of a provider, get what they get without each other: a slow line or a
// loss of one does not slow the others.
func TestClientsWithLinesOfTheirOwnAreLeftAlone(t *testing.T) {
	rates, loss := []int64{1024, 16, 64, 256, 128}, []float64{0, 0, 0.1, 0, 0.3}
	without, waitsWithout := apart(rates, loss, nil)
	with, waits := apart(rates, loss, &Group{})
	for i := range rates {
		require.Greater(t, with[i], 0.9*without[i], "%d KiB/s: %v without each other, %v with", rates[i], without, with)
		require.LessOrEqual(t, waits[i], waitsWithout[i]+20, "%d KiB/s: %v without each other, %v with", rates[i], waitsWithout, waits)
	}
}

// Clients that join at the same time start with the first rate together. One that comes later starts with all of it.
func TestStartersShareTheFirstRate(t *testing.T) {
	group := &Group{}
	var members []*Controller
	join := func() {
		c := New(1<<20, 33*ms)
		members = append(members, &c)
		group.Join(&c)
	}
	for range 4 {
		join()
	}
	for _, c := range members {
		require.Equal(t, startRate/4, c.State().Rate)
		c.path.taken = 1
	}
	join()
	require.Equal(t, startRate, members[4].State().Rate)
	for i, c := range members {
		require.Equal(t, 4-i, group.Leave(c))
	}
}

// Members that drain together come nearer to the same rate. The sum stays.
func TestADrainBringsRatesNearer(t *testing.T) {
	group, a, b := &Group{}, New(1<<20, 33*ms), New(1<<20, 33*ms)
	for c, rate := range map[*Controller]int64{&a: 90_000, &b: 60_000} {
		group.Join(c)
		c.phase, c.path.taken, c.path.queued, c.limited = probing, 1, 60*ms, true
		c.setRate(rate)
	}
	group.drain(time.Second)
	require.Equal(t, draining, a.phase)
	require.Equal(t, draining, b.phase)
	require.Less(t, a.line, int64(90_000*7/10))
	require.Greater(t, b.line, int64(60_000*7/10))
	require.InDelta(t, 150_000*7/10, a.line+b.line, 2)
}

// Clients that tell of queues that are none do not starve a neighbour with a line of its own, also not while that starts: behind an address
// of a provider anybody may be one.
func TestClientsThatLieDoNotStarveTheirNeighbour(t *testing.T) {
	drains := 0
	play := func(liars int) float64 {
		w, interval, group := &world{}, time.Second/60, &Group{}
		honest := &flow{w: w, q: &queue{rate: 256 << 10, most: 200 * ms}, interval: interval, frame: interval, delay: 30 * ms,
			random: rand.New(rand.NewPCG(1, 3)), c: own(interval), record: true, phase: 120 * interval}
		honest.start()
		for i := range liars {
			c := own(interval).(*Controller)
			group.Join(c)
			var sent []uint32
			var lie func()
			lie = func() { // It acknowledges 12 ticks late in every other 24.
				w.at(w.now+interval, lie)
				sent = append(sent, c.Sent(w.now, 200, true))
				behind := 1
				if (int(w.now/interval)+7*i)%48 < 24 {
					behind += 12
				}
				for ; len(sent) > behind; sent = sent[1:] {
					c.Acked(w.now, sent[0], 200, true)
				}
				if c.Tick(w.now, true); c.drainsSince(w.now) {
					drains++
				}
			}
			w.at(0, lie)
		}
		w.at(honest.phase-1, func() { group.Join(honest.c.(*Controller)) })
		var end func()
		end = func() { // Behind the ticks of all.
			w.at(w.now+interval, end)
			group.Tick(w.now)
		}
		w.at(0, end)
		w.run(12 * time.Second)
		return float64(honest.delivered) / float64(256<<10*10)
	}
	alone := play(0)
	for _, liars := range []int{1, 3, 30, 200} {
		drains = 0
		require.Greater(t, play(liars), 0.85*alone, "%d", liars)
		require.Greater(t, drains, 10*liars)
	}
}
