package main

import (
	"math"
	"slices"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

const (
	tcpSegment = 1500 // bytes, headers included
	tcpLeast   = time.Second
)

// tcpEvent is something that happens to a TCP flow.
type tcpEvent struct {
	at     time.Duration
	serial int
	do     func()
}

// tcpFlow is a download by TCP over a line: NewReno (RFC 6582), or the window of Cubic (RFC 9438), without SACK.
type tcpFlow struct {
	line   *transport.Line
	delay  time.Duration // one way
	cubic  bool
	now    time.Duration
	events []tcpEvent // the next one last
	serial int

	window, threshold    float64 // segments
	next, acked, recover int
	recovering           bool
	duplicates           int
	timer                int
	most                 float64 // the window before the last loss
	epoch                time.Duration
	rtt                  time.Duration
	sentAt               map[int]time.Duration

	got       map[int]bool
	expect    int
	delivered int64 // bytes that arrived, once each
}

func newTCPFlow(line *transport.Line, delay time.Duration, cubic bool, from time.Duration) *tcpFlow {
	f := &tcpFlow{
		line: line, delay: delay, cubic: cubic, window: 10, threshold: math.Inf(1), rtt: 200 * time.Millisecond,
		got: map[int]bool{}, sentAt: map[int]time.Duration{},
	}
	f.at(from, f.fillWindow)
	return f
}

func (f *tcpFlow) at(t time.Duration, do func()) {
	f.serial++
	e := tcpEvent{at: max(t, f.now), serial: f.serial, do: do}
	i, _ := slices.BinarySearchFunc(f.events, e, func(a, b tcpEvent) int {
		if a.at != b.at {
			return int(b.at - a.at)
		}
		return b.serial - a.serial
	})
	f.events = slices.Insert(f.events, i, e)
}

// runUntil lets all happen that does before a time.
func (f *tcpFlow) runUntil(t time.Duration) {
	for len(f.events) > 0 && f.events[len(f.events)-1].at < t {
		e := f.events[len(f.events)-1]
		f.events = f.events[:len(f.events)-1]
		f.now = e.at
		e.do()
	}
	f.now = t
}

func (f *tcpFlow) fillWindow() {
	for float64(f.next-f.acked) < f.window+float64(f.duplicates) {
		f.transmit(f.next)
		f.next++
	}
	f.timer++
	n := f.timer
	f.at(f.now+max(tcpLeast, 2*f.rtt), func() {
		if n == f.timer {
			f.threshold, f.most, f.epoch = max(f.window/2, 2), f.window, 0
			f.window, f.next, f.duplicates, f.recovering = 1, f.acked, 0, false
			f.fillWindow()
		}
	})
}

func (f *tcpFlow) transmit(n int) {
	f.sentAt[n] = f.now
	left, _, ok := f.line.Enter(f.now, tcpSegment)
	if !ok {
		return
	}
	f.at(left+f.delay, func() {
		if !f.got[n] && n >= f.expect {
			f.got[n] = true
			f.delivered += tcpSegment
		}
		for f.got[f.expect] {
			delete(f.got, f.expect)
			f.expect++
		}
		expect := f.expect
		f.at(f.now+f.delay, func() { f.acknowledged(expect, n) })
	})
}

// acknowledged takes an acknowledgement of all segments before one, which another one caused.
func (f *tcpFlow) acknowledged(before, cause int) {
	if at, ok := f.sentAt[cause]; ok {
		f.rtt += (f.now - at - f.rtt) / 8
		delete(f.sentAt, cause)
	}
	if before <= f.acked {
		if f.duplicates++; f.duplicates == 3 && !f.recovering {
			f.cut()
		}
		f.fillWindow()
		return
	}
	news := before - f.acked
	f.acked, f.next = before, max(f.next, before)
	switch {
	case f.recovering && before > f.recover:
		f.recovering, f.duplicates, f.window = false, 0, f.threshold
	case f.recovering:
		f.transmit(before)
		f.duplicates = max(f.duplicates-news, 0)
	case f.window < f.threshold:
		f.duplicates = 0
		f.window += float64(news)
	case f.cubic:
		f.duplicates = 0
		f.growCubic()
	default:
		f.duplicates = 0
		f.window += float64(news) / f.window
	}
	f.fillWindow()
}

// cut answers a loss.
func (f *tcpFlow) cut() {
	f.recovering, f.recover, f.most, f.epoch = true, f.next, f.window, 0
	beta := 0.5
	if f.cubic {
		beta = 0.7
	}
	f.threshold = max(f.window*beta, 2)
	f.window = f.threshold
	f.transmit(f.acked)
}

func (f *tcpFlow) growCubic() {
	if f.epoch == 0 {
		f.epoch = f.now
	}
	since := (f.now - f.epoch).Seconds()
	x := since + f.rtt.Seconds() - math.Cbrt(f.most*0.3/0.4)
	target := max(0.4*x*x*x+f.most, f.most*0.7+3*0.3/1.7*since/f.rtt.Seconds())
	if target > f.window {
		f.window += min((target-f.window)/f.window, 0.5)
	} else {
		f.window += 0.01 / f.window
	}
}
