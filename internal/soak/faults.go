package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// kind is a kind of fault.
type kind string

// Values of kind. event.Whom selects a client among those present.
const (
	joinOne     kind = "join"       // one more client, which leaves after Span ticks
	joinBurst   kind = "join burst" // Span clients at once, which leave after five seconds
	closeOne    kind = "close"      // a client closes and connects again
	killOne     kind = "kill"       // a client of joinOne dies
	kickOne     kind = "kick"       // the server ends a session; the client connects again
	reconnect   kind = "reconnect"  // a client connects again without closing
	sleepOne    kind = "sleep"      // a client runs no frame for Span ticks
	darkOne     kind = "blackout"   // a client's link is down for Span ticks
	darkAll     kind = "dark"       // all links are down for Span ticks
	loseState   kind = "lose"       // a client loses its baselines
	stopServer  kind = "stop"       // the server runs no frame for Span ticks
	roomsFlap   kind = "flap"       // a client changes its room in each tick, for Span ticks
	liarsChange kind = "lies"       // each liar changes to another lie
	narrowOne   kind = "narrow"     // a client's link is limited to 6 kB/s for Span ticks
	moveOne     kind = "move"       // a client gets another address
	sendFile    kind = "transfer"   // server and client send each other a file
	hostLeaves  kind = "host"       // the player at the server leaves and joins again
	planted     kind = "planted"    // the run fails: for tests of shrink, never drawn
)

// event is a fault in a tick.
type event struct {
	Tick int
	Kind kind
	Whom int
	Span int
}

// String formats the event as one line.
func (e event) String() string {
	return fmt.Sprintf("tick %d: %s, client %d, span %d", e.Tick, e.Kind, e.Whom, e.Span)
}

const ticksASecond = 30

// draw returns the random events of a run.
func draw(o options) (events []event) {
	r := rand.New(rand.NewPCG(o.Seed, 0xFA17))
	add := func(tick int, k kind, span int) { events = append(events, event{tick, k, r.IntN(1 << 16), span}) }
	for tick := range o.Ticks {
		often := func(aSecond float64) bool { return r.Float64() < aSecond/ticksASecond }
		if often(o.Churn) {
			add(tick, joinOne, 30+r.IntN(240))
		}
		if often(o.Churn / 10) {
			add(tick, killOne, 0)
		}
		if often(o.Churn / 20) {
			add(tick, joinBurst, 3+r.IntN(6))
		}
		if often(o.Blackout / 60) {
			add(tick, darkOne, 10+r.IntN(400))
		}
		for _, rare := range []struct {
			kind  kind
			every float64 // seconds
			span  int
		}{
			{closeOne, 20, 0}, {kickOne, 30, 0}, {reconnect, 20, 0}, {sleepOne, 15, 10 + r.IntN(300)}, {darkAll, 60, 5 + r.IntN(90)},
			{loseState, 10, 0}, {stopServer, 60, 5 + r.IntN(60)}, {roomsFlap, 10, 10 + r.IntN(100)}, {liarsChange, 3, 0},
			{narrowOne, 20, 30 + r.IntN(300)}, {moveOne, 10, 0}, {sendFile, 10, 1 + r.IntN(mostBytes)}, {hostLeaves, 20, 0},
		} {
			if often(1 / rare.every) {
				add(tick, rare.kind, rare.span)
			}
		}
	}
	return events
}

// shrinkRuns is the maximum number of runs of shrink.
const shrinkRuns = 60

// shrink searches a shorter list of events that still fails. It omits halves, quarters and so on of the list (Zeller's ddmin).
func shrink(o options, r *result) {
	if o.all {
		o.only = draw(o)
	}
	shrinkFrom(o, r, o.only)
}

// shrinkFrom is shrink for a given list of events.
func shrinkFrom(o options, r *result, events []event) {
	o.progress, o.all = nil, false
	if i := slices.IndexFunc(events, func(e event) bool { return e.Tick > r.Ticks }); i >= 0 {
		events = events[:i]
	}
	r.Shrunk, o.Ticks = len(events), r.Ticks+1
	runs := 0
	fails := func(list []event) bool {
		runs++
		o.only = list
		return run(o).Failure != ""
	}
	for size := max(len(events), 1); size >= 1 && runs < shrinkRuns; size /= 2 {
		for from := 0; from < len(events) && runs < shrinkRuns; {
			without := slices.Delete(slices.Clone(events), from, min(from+size, len(events)))
			if fails(without) {
				events = without
			} else {
				from += size
			}
		}
	}
	r.Events = events
}
