package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// scripted returns the events of a script: four bytes each are the ticks since the one before, the kind, the client and the span.
func scripted(script []byte, rest int) (events []event) {
	kinds := []kind{
		joinOne, joinBurst, closeOne, killOne, kickOne, reconnect, sleepOne, darkOne, darkAll, loseState, stopServer, roomsFlap, liarsChange,
		narrowOne, moveOne, sendFile, hostLeaves,
	}
	tick := 0
	for ; len(script) >= 4 && tick < rest && len(events) < 64; script = script[4:] {
		tick += int(script[0])
		k, span := kinds[int(script[1])%len(kinds)], 1+int(script[3])
		if k == joinBurst {
			span = 1 + span%4
		}
		events = append(events, event{tick, k, int(script[2]), span})
	}
	return events
}

// FuzzSession plays a short phase of a small game with the faults of a script. All invariants hold whatever it is.
func FuzzSession(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{40, 11, 0, 90, 0, 3, 1, 0, 30, 9, 0, 0, 0, 7, 1, 60, 60, 14, 0, 0})         // rooms flap, a kill, lost baselines, a blackout, a move
	f.Add([]byte{20, 13, 0, 200, 5, 15, 0, 255, 60, 8, 0, 80, 0, 15, 1, 255, 90, 10, 0, 60}) // narrow, files, dark, a stop
	f.Add([]byte{30, 6, 0, 250, 0, 5, 1, 0, 1, 5, 1, 0, 250, 16, 0, 0, 1, 12, 77, 0, 50, 1, 0, 3})
	f.Fuzz(func(t *testing.T, script []byte) {
		o := defaults()
		o.phase, o.all, o.measures = shortPhase(), false, false
		o.Ticks, o.Clients, o.Entities, o.Adversaries, o.only = o.phase.ticks, 2, 20, 1, scripted(script, o.phase.rest)
		r := run(o)
		require.Empty(t, r.Failure, r.text())
	})
}
