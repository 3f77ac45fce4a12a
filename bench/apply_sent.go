package main

import (
	"encoding/binary"
	"errors"
	"math"

	netecs "github.com/arche-netcode/netcode/ecs"
	"github.com/arche-netcode/netcode/tick"
	"github.com/arche-netcode/netcode/wire"
)

// sentTick has the packets of a tick, and the same rows for the anchor.
type sentTick struct {
	tick     tick.Tick
	bytes    []byte // of all packets
	ends     []int  // of each packet, in bytes
	rows     []byte // of the movers, as plainApply has them
	digest   uint64 // of the server's rows
	compared bool   // digest was made
}

// nextTick is the next tick for the client. The server makes some more when there is none.
func (a *applyRun) nextTick() (*sentTick, error) {
	if a.arrived == len(a.sent) {
		a.arrived = 0
		for len(a.sent) < a.ahead {
			a.sent = append(a.sent, sentTick{})
		}
		for i := range a.sent {
			if err := a.send(&a.sent[i]); err != nil {
				return nil, err
			}
		}
	}
	a.arrived++
	return &a.sent[a.arrived-1], nil
}

// send makes the packets of the next tick, in which every mover has moved. They are all acknowledged at once, if any is.
func (a *applyRun) send(t *sentTick) error {
	for k, i := range a.movers {
		p, r, v := a.orbits[k].nextPose()
		a.server.write(a.server.entities[i], p, r, v)
	}
	a.capture.Run(a.store.Tick() + 1)
	a.view.Observe()
	t.tick, t.bytes, t.ends = a.store.Tick(), t.bytes[:0], t.ends[:0]
	for first := a.seq + 1; a.view.Pending(); {
		n := a.view.Write(t.room(applyRoom), a.seq+1)
		if n == 0 {
			return errors.New("the view wrote nothing though something is pending")
		}
		a.seq++
		t.bytes = t.bytes[:len(t.bytes)+n]
		t.ends = append(t.ends, len(t.bytes))
		if !a.whole && !a.view.Pending() {
			for seq := first; seq <= a.seq; seq++ {
				a.view.Acked(seq)
			}
		}
	}
	a.snapshotBytes = len(t.bytes)
	if t.compared = t.tick%applyCompared == 0; t.compared {
		t.digest = netecs.DigestStore(a.store, a.schema, func(wire.NetworkID) bool { return true })
	}
	t.plain(a)
	return nil
}

// room is so many bytes behind those that there are.
func (t *sentTick) room(n int) []byte {
	if cap(t.bytes)-len(t.bytes) < n {
		grown := make([]byte, len(t.bytes), 2*cap(t.bytes)+4*n)
		copy(grown, t.bytes)
		t.bytes = grown
	}
	return t.bytes[len(t.bytes):][:n]
}

// plain takes the movers' rows from the server's world, in ascending order of index.
func (t *sentTick) plain(a *applyRun) {
	t.rows = t.rows[:0]
	for i, moves := range a.moves {
		if moves {
			at, q, v := a.server.read(a.server.entities[i])
			t.rows = appendPlain(t.rows, uint32(i), at, q, v)
		}
	}
}

func appendPlain(rows []byte, index uint32, at position, q rotation, v velocity) []byte {
	rows = binary.LittleEndian.AppendUint32(rows, index)
	for _, f := range [...]float32{at.X, at.Y, at.Z, q.Q[0], q.Q[1], q.Q[2], q.Q[3], v.X, v.Y, v.Z} {
		rows = binary.LittleEndian.AppendUint32(rows, math.Float32bits(f))
	}
	return rows
}

// receive copies a tick's packets to where they are received, as the kernel does.
func (a *applyRun) receive(t *sentTick) {
	a.socket = append(a.socket[:0], t.bytes...)
	a.packets = a.packets[:0]
	from := 0
	for _, to := range t.ends {
		a.packets = append(a.packets, a.socket[from:to:to])
		from = to
	}
}
