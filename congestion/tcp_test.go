package congestion

import (
	"time"
)

// tcp is a NewReno or Cubic flow.
type tcp struct {
	w                    *world
	q                    *queue
	delay                time.Duration
	cubic                bool
	cwnd, ssthresh       float64
	next, acked, recover int
	inRecovery           bool
	got                  map[int]bool
	expect               int
	dups                 int
	delivered            int64
	record               bool
	srtt                 time.Duration
	timer                int
	wmax                 float64
	epoch                time.Duration
	over                 bool
	sentAt               map[int]time.Duration
}

const mss = 1500

func (t *tcp) start() {
	t.cwnd, t.ssthresh = 10, 1e9
	t.got = map[int]bool{}
	t.sentAt = map[int]time.Duration{}
	t.srtt = 200 * ms
	t.fill()
}

func (t *tcp) fill() {
	if t.over {
		return
	}
	for float64(t.next-t.acked) < t.cwnd+float64(t.dups) {
		t.send(t.next)
		t.next++
	}
	t.arm()
}

func (t *tcp) arm() {
	t.timer++
	n := t.timer
	t.w.at(t.w.now+max(time.Second, 2*t.srtt), func() {
		if n != t.timer {
			return
		}
		t.ssthresh = max(t.cwnd/2, 2)
		t.wmax = t.cwnd
		t.epoch = 0
		t.cwnd = 1
		t.next = t.acked
		t.dups = 0
		t.inRecovery = false
		t.fill()
	})
}

func (t *tcp) send(n int) {
	if t.over {
		return
	}
	t.sentAt[n] = t.w.now
	leaves, _, ok := t.q.enter(t.w.now, mss)
	if !ok {
		return
	}
	t.w.at(leaves+t.delay, func() {
		if !t.got[n] && n >= t.expect {
			t.got[n] = true
			if t.record {
				t.delivered += mss
			}
		}
		for t.got[t.expect] {
			delete(t.got, t.expect)
			t.expect++
		}
		e := t.expect
		t.w.at(t.w.now+t.delay, func() { t.ack(e, n) })
	})
}

func (t *tcp) ack(e, n int) {
	if at, ok := t.sentAt[n]; ok {
		t.srtt += (t.w.now - at - t.srtt) / 8
		delete(t.sentAt, n)
	}
	if e > t.acked {
		newly := e - t.acked
		t.acked = e
		t.next = max(t.next, e)
		if t.inRecovery {
			if e > t.recover {
				t.inRecovery = false
				t.dups = 0
				t.cwnd = t.ssthresh
			} else {
				t.send(e)
				t.dups = max(t.dups-newly, 0)
			}
		} else {
			t.dups = 0
			if t.cwnd < t.ssthresh {
				t.cwnd += float64(newly)
			} else if t.cubic {
				t.cubicGrow()
			} else {
				t.cwnd += float64(newly) / t.cwnd
			}
		}
	} else {
		t.dups++
		if t.dups == 3 && !t.inRecovery {
			t.inRecovery = true
			t.recover = t.next
			t.wmax = t.cwnd
			t.epoch = 0
			b := .5
			if t.cubic {
				b = .7
			}
			t.ssthresh = max(t.cwnd*b, 2)
			t.cwnd = t.ssthresh
			t.send(t.acked)
		}
	}
	t.fill()
}

func (t *tcp) cubicGrow() {
	if t.epoch == 0 {
		t.epoch = t.w.now
	}
	k := cbrt(t.wmax * .3 / .4)
	x := (t.w.now - t.epoch + t.srtt).Seconds() - k
	target := .4*x*x*x + t.wmax
	// TCP-friendly region
	est := t.wmax*.7 + 3*.3/1.7*(t.w.now-t.epoch).Seconds()/t.srtt.Seconds()
	target = max(target, est)
	if target > t.cwnd {
		t.cwnd += min((target-t.cwnd)/t.cwnd, .5)
	} else {
		t.cwnd += .01 / t.cwnd
	}
}

func cbrt(x float64) float64 {
	y := 1.0
	for range 60 {
		y = (2*y + x/(y*y)) / 3
	}
	return y
}
