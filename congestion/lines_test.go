package congestion

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type scene struct {
	name   string
	hz     int
	rates  []int64 // KiB/s each for `each`
	each   time.Duration
	flows  int
	tcp    string
	loss   float64
	delay  time.Duration
	jitter time.Duration
	warm   time.Duration
	demand int64

	demandUntil time.Duration // 0: to the end
	tcpUntil    time.Duration // 0: to the end
	queue       time.Duration // longest wait; 0: 200 ms
	up          int64         // KiB/s of acknowledgements; 0: no limit
	inOrder     bool          // jitter does not change the order
	slow        bool          // the sender takes packets in once a tick, not 60 times a second
}

func (s scene) String() string { return s.name }

// frame is the time between two moments at which a sender takes packets in.
func (s scene) frame() time.Duration {
	if s.slow {
		return time.Second / time.Duration(s.hz)
	}
	return time.Second / 60
}

type outcome struct {
	goodput, tcp, overflow float64
	p50, p95               int
	shares                 []float64
	final                  State
}

func (s scene) play(seed uint64, with func(interval time.Duration) control) outcome {
	w := &world{}
	q := &queue{rate: s.rates[0] << 10, most: cmp.Or(s.queue, 200*ms)}
	r := rand.New(rand.NewPCG(seed, 1))
	interval := time.Second / time.Duration(s.hz)
	group := &Group{} // one sender's, to one address
	var flows []*flow
	var up *queue
	if s.up > 0 {
		up = &queue{rate: s.up << 10, most: 200 * ms}
	}
	phase := time.Duration(r.Int64N(int64(interval)))
	for range s.flows {
		f := &flow{w: w, q: q, interval: interval, frame: s.frame(), delay: s.delay / 2, jitter: s.jitter, loss: s.loss, random: r,
			demand: s.demand, demandUntil: s.demandUntil, up: up, inOrder: s.inOrder, phase: phase, theirs: time.Duration(r.Int64N(int64(interval)))}
		f.c = with(interval)
		if c, ok := f.c.(*Controller); ok {
			group.Join(c)
		}
		flows = append(flows, f)
		f.start()
	}
	flows[len(flows)-1].group = group
	var t *tcp
	if s.tcp != "" {
		t = &tcp{w: w, q: q, delay: s.delay / 2, cubic: s.tcp == "cubic"}
		w.at(5*time.Second, t.start)
		if s.tcpUntil > 0 {
			w.at(s.tcpUntil, func() { t.over = true })
		}
	}
	w.run(s.warm)
	for _, f := range flows {
		f.record = true
	}
	if t != nil {
		t.record = true
	}
	var capacity float64
	for i, rate := range s.rates {
		q.set(w.now, rate<<10)
		from := w.now
		end := from + s.each
		if i == 0 {
			end = s.each
		}
		w.run(end)
		capacity += float64(rate<<10) * (w.now - from).Seconds()
	}
	var o outcome
	var in, over int64
	waits := slices.Clone(flows[0].waits)
	clear(waits)
	for _, f := range flows {
		o.goodput += float64(f.delivered) / capacity
		o.shares = append(o.shares, float64(f.delivered)/capacity)
		in += f.entered
		over += f.overflow
		for i, n := range f.waits {
			waits[i] += n
		}
	}
	if t != nil {
		o.tcp = float64(t.delivered) / capacity
	}
	o.overflow = float64(over) / float64(max(in, 1))
	total := int64(0)
	for _, n := range waits {
		total += int64(n)
	}
	sum := int64(0)
	for i, n := range waits {
		sum += int64(n)
		if sum*2 >= total && o.p50 == 0 {
			o.p50 = i
		}
		if sum*100 >= total*95 {
			o.p95 = i
			break
		}
	}
	o.final = flows[0].c.State()
	return o
}

// named are the lines of issue 22, at two tick rates.
func named() []scene {
	var all []scene
	for _, hz := range []int{30, 60} {
		for _, k := range []int64{16, 32, 128, 1024} {
			base := scene{hz: hz, rates: []int64{k}, each: 60 * time.Second, flows: 1, delay: 60 * ms}
			add := func(name string, change func(*scene)) {
				s := base
				s.name = fmt.Sprintf("%dHz/%d/%s", hz, k, name)
				change(&s)
				all = append(all, s)
			}
			add("alone", func(*scene) {})
			add("loss10", func(s *scene) { s.loss = .1 })
			add("four", func(s *scene) { s.flows = 4 })
			add("loss40", func(s *scene) { s.loss = .4 })
			add("jitter", func(s *scene) { s.jitter = 20 * ms })
			add("far", func(s *scene) { s.delay = 200 * ms })
			add("reno", func(s *scene) { s.tcp = "reno"; s.each = 120 * time.Second })
			add("cubic", func(s *scene) { s.tcp = "cubic"; s.each = 120 * time.Second })
		}
		all = append(all, scene{name: fmt.Sprintf("%dHz/steps", hz), hz: hz, rates: []int64{16, 32, 128, 1024, 128, 32, 16}, each: 30 * time.Second, flows: 1, delay: 60 * ms})
		all = append(all, scene{name: fmt.Sprintf("%dHz/drop", hz), hz: hz, rates: []int64{1024, 16, 1024, 16}, each: 30 * time.Second, flows: 1, delay: 60 * ms})
	}
	return all
}

// draw draws a line. Those on which the rules are tuned have other seeds, rates and frame rates than those that are held out.
func draw(seed uint64, rates []int64, hz []int) scene {
	r := rand.New(rand.NewPCG(seed, 99))
	pick := func(all ...time.Duration) time.Duration { return all[r.IntN(len(all))] * ms }
	rate := rates[r.IntN(len(rates))]
	s := scene{
		hz: hz[r.IntN(len(hz))], rates: []int64{rate}, each: 60 * time.Second, flows: 1, delay: 2 * pick(5, 15, 30, 60, 120),
		jitter: pick(0, 0, 0, 5, 20), inOrder: r.IntN(2) == 0, queue: pick(100, 200, 500),
	}
	if way := r.IntN(3); way > 0 { // a tenth of the rate upwards, or a third, and enough for acknowledgements
		s.up = max(rate*int64(way*way)/10, 8)
	}
	kind := r.IntN(8)
	switch kind {
	case 0:
		s.loss = []float64{.02, .1, .4}[r.IntN(3)]
	case 1:
		s.flows = 2 + r.IntN(3)
		s.up *= int64(s.flows)
	case 2, 3:
		s.tcp = []string{"reno", "cubic"}[kind-2]
		s.each *= 2
		s.queue = max(s.queue, 200*ms) // two segments of TCP at the least rate
	case 4:
		other := rates[r.IntN(len(rates))]
		s.rates, s.each = []int64{rate, other, rate}, 30*time.Second
	}
	s.slow = r.IntN(2) == 0
	s.name = fmt.Sprintf("%d: %d Hz %v KiB/s up %d, queue %v, rtt %v jitter %v inorder %v slow %v, loss %v flows %d %s", seed, s.hz, s.rates, s.up, s.queue, s.delay, s.jitter, s.inOrder, s.slow, s.loss, s.flows, s.tcp)
	return s
}

const (
	tunedSeed, heldOutSeed = 1000, 700_000
	drawn                  = 240
)

// tunedRates are spread evenly over doublings, and have none of those that are held out.
func tunedRates() []int64 {
	return []int64{14, 16, 18, 24, 28, 32, 40, 56, 64, 80, 128, 150, 200, 256, 400, 512, 640, 1024}
}

func tunedLines() []scene {
	var all []scene
	for i := range uint64(drawn) {
		all = append(all, draw(tunedSeed+i, tunedRates(), []int{30, 60}))
	}
	return all
}

// heldOutLines are not for tuning: look at the share of them alone.
func heldOutLines() []scene {
	var all []scene
	for i := range uint64(drawn) {
		all = append(all, draw(heldOutSeed+i, []int64{20, 48, 100, 300, 800}, []int{30, 60}))
	}
	return all
}

// kind names the trouble of a line.
func (s scene) kind() string {
	switch {
	case s.tcp != "":
		return "TCP"
	case s.flows > 1:
		return "several"
	case s.loss > 0:
		return "loss"
	case len(s.rates) > 1:
		return "steps"
	case s.jitter > 0:
		return "jitter"
	}
	return "alone"
}

// meets reports whether a line met what issue 22 asks of it. Of a line that loses at random, what is left of it can get through.
func (s scene) meets(o outcome) bool {
	if s.tcp != "" {
		return min(o.goodput, o.tcp) >= 1./3
	}
	return o.goodput >= 0.9*(1-s.loss) && o.overflow <= 0.01 && o.p95 <= 50
}

// mostWait is the longest queue of any line at 95 %, in ms, of those that no TCP download fills.
const mostWait = 150

// bearable reports whether a line is not so bad that no share of lines makes up for it.
func (s scene) bearable(o outcome) bool {
	if s.tcp != "" {
		return min(o.goodput, o.tcp) >= 0.1 // TCP fills the queue
	}
	return o.goodput >= 0.3*(1-s.loss) && o.p95 <= mostWait && o.overflow <= 0.05
}

// shareMet plays lines and returns the share of them that is met. each, if not nil, is told of each line.
func shareMet(t *testing.T, lines []scene, with func(time.Duration) control, each func(scene, outcome, bool)) float64 {
	t.Helper()
	met, all, total := map[string]int{}, map[string]int{}, 0
	for _, s := range lines {
		o := s.play(7, with)
		ok := s.meets(o)
		all[s.kind()]++
		if ok {
			met[s.kind()]++
			total++
		}
		if each != nil {
			each(s, o, ok)
		}
	}
	for _, k := range []string{"alone", "jitter", "steps", "loss", "several", "TCP"} {
		t.Logf("%-8s %d of %d", k, met[k], all[k])
	}
	return float64(total) / float64(len(lines))
}

// every returns each n-th line, and all with -heavy.
func every(n int, lines []scene) []scene {
	if *heavy {
		return lines
	}
	var some []scene
	for i := 0; i < len(lines); i += n {
		some = append(some, lines[i])
	}
	return some
}

// A sender that has always more to send uses a line, keeps its queue short and overflows it rarely, alone, beside loss, beside its
// like and where the line changes. No line is unbearable. Beside TCP neither gets less than a third. ADR 40 says where not.
func TestLinesAreUsedAndNotFilled(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []scene
		least float64
	}{{"named", named(), 0.7}, {"tuned", tunedLines(), 0.8}} {
		t.Run(c.name, func(t *testing.T) {
			met := shareMet(t, every(7, c.lines), own, func(s scene, o outcome, ok bool) {
				require.True(t, s.bearable(o), "%s: %+v", s.name, o)
				if !ok {
					t.Logf("missed: goodput %.3f, TCP %.3f, queue %d ms half of the time and %d ms 95 %%, overflow %.4f, shares %.2f: %s", o.goodput, o.tcp, o.p50, o.p95, o.overflow, o.shares, s.name)
				}
			})
			t.Logf("met: %.1f %%", 100*met)
			require.Greater(t, met, c.least)
		})
	}
}

// On lines that no rule was tuned with, more are met by the age than by Copa's round trips, which a tick makes coarse.
func TestHeldOutLines(t *testing.T) {
	lines := every(7, heldOutLines())
	ours := shareMet(t, lines, own, func(s scene, o outcome, _ bool) { require.True(t, s.bearable(o), "%s: %+v", s.name, o) })
	copas := shareMet(t, lines, newCopa, nil)
	t.Logf("held out: the age meets %.1f %%, Copa %.1f %%", 100*ours, 100*copas)
	require.Greater(t, ours, 0.7)
	if *heavy {
		require.Greater(t, ours, 0.79)
	}
	require.Greater(t, ours, 2*copas)
}
