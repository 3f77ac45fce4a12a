package main

import (
	"errors"
	"runtime"
	"time"
)

// measure runs one combination: three servers in turns, each tick followed by the clients' answer.
func measure(c combination, budget time.Duration) (lines []result, err error) {
	necs, err := newTheirs(newScene(c)) // each has a scene of its own, so that bodies move evenly in all of them
	if err != nil {
		return nil, err
	}
	var both [2]*ours
	for i := range both {
		if both[i], err = newOurs(newScene(c), c.clients, i == 0); err != nil {
			return nil, err
		}
		defer both[i].conn.Close()
	}
	f, err := startFar(c.clients, both[0].conn.LocalAddr(), both[1].conn.LocalAddr(), necs.address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.stop(), necs.join(0)) }()
	if err := errors.Join(necs.join(c.clients), both[0].join(f), both[1].join(f)); err != nil {
		return nil, err
	}
	if err := warm(both[:], f); err != nil {
		return nil, err
	}
	sides := []side{necs, both[0], both[1]}
	started := time.Now()
	for n := 0; n < warmUp+fewestTicks || time.Since(started) < budget; n++ {
		if n == warmUp {
			started = time.Now()
		}
		if err := turns(n, sides, f); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(necs.verify(f), both[0].verify(f), both[1].verify(f)); err != nil {
		return nil, err
	}
	return []result{lineOf(c, both[0], &necs.sample, true), lineOf(c, both[1], &necs.sample, true)}, nil
}

// warm runs netcode's servers until their rings and histories have the size that they keep. necs keeps nothing.
func warm(both []*ours, f *far) error {
	for range warmUpOurs {
		for _, o := range both {
			o.game()
			if err := errors.Join(o.receive(), o.tick(), o.settle(f)); err != nil {
				return err
			}
		}
	}
	return nil
}

// side is one of the servers.
type side interface {
	game()             // what moves does, and is written into its world
	receive() error    // what comes before the tick in a frame; nothing of necs's, whose goroutines read by themselves
	tick() error       // what is measured
	settle(*far) error // the clients take in what was sent
	sent() int64       // bytes so far, the headers of websockets, TCP, UDP and IP not counted
	samples() *sample
}

// turns is a tick of necs and some of each of netcode's servers; who begins goes round.
func turns(n int, sides []side, f *far) error {
	for k := range sides {
		one, ticks := sides[(n+k)%len(sides)], blockTicks
		if _, necs := one.(*theirs); necs {
			ticks = 1
		}
		runtime.GC() // or what necs leaves behind is collected in the time of the others
		for left := ticks - 1; left >= 0; left-- {
			one.game()
			if err := one.samples().take(one, f, n >= warmUp, left == 0, left > 0 || ticks == 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// take is one tick of a side and its clients' answer. To count allocations stops the process right before the tick, which is nothing
// beside a tick of necs; of netcode's no tick is counted and timed.
func (t *sample) take(one side, f *far, keep, counted, timed bool) error {
	var before, after runtime.MemStats
	if counted {
		runtime.ReadMemStats(&before)
	}
	began, sent := time.Now(), one.sent()
	failed := one.receive()
	ready := time.Now()
	err := errors.Join(failed, one.tick())
	took, whole := time.Since(ready), time.Since(began)
	if counted {
		runtime.ReadMemStats(&after)
	}
	if err := errors.Join(err, one.settle(f)); err != nil {
		return err
	}
	if keep {
		t.bytes.add(float64(one.sent() - sent))
		if timed {
			t.ns, t.wholes = append(t.ns, float64(took)), append(t.wholes, float64(whole))
		}
		if counted {
			t.allocs.add(float64(after.Mallocs - before.Mallocs))
		}
	}
	return nil
}
