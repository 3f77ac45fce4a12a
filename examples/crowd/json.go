package main

import (
	"encoding/json"
	"io"
)

// Result is the JSON object at the end of a run with -json.
//
// The steady part, over which ticks and allocations are measured, begins one second into the motion (at its
// half where it is shorter than two seconds) and ends when motion stops.
type Result struct {
	Converged     bool    `json:"converged"`
	TickP50       float64 `json:"tick_p50_us"`     // what the netcode does in the frame of a tick, without the motion itself
	TickP99       float64 `json:"tick_p99_us"`     //
	KbitPerClient float64 `json:"kbit_per_client"` // kbit/s from the server to one client while the bodies move; UDP payload
	Packets       uint64  `json:"packets"`         // sent by all sockets of this process in the whole run
	LossSeen      float64 `json:"loss_seen"`       // 0..1, as the server's connections estimated it when motion stopped
	// RTT is the mean of the connections' estimates when motion stopped. It is more than that of the link, 90 to 130 for 80 at 30 ticks a second: the other
	// end waits for its next tick before it acknowledges, both ends for their frames, and jitter and loss add theirs.
	RTT           float64 `json:"rtt_ms"`
	AllocsPerTick float64 `json:"allocs_per_tick"` // heap allocations in the server's frames of the steady part, per tick
	Churn         float64 `json:"churn_per_s"`     // spawns and despawns per second of the steady part, as the server captured them
	Interest      bool    `json:"interest"`        // clients see only what is near; in the clients' half always false
	Seen          float64 `json:"seen_per_client"` // entities that a client may see when motion stopped, on average
	Came          uint64  `json:"came"`            // how often an entity came into a client's sight in the whole run, all clients together
	Went          uint64  `json:"went"`            // how often one went out of it
	Difference    string  `json:"difference,omitempty"`
	Bits          *Bits   `json:"bits,omitempty"` // with -bits
}

func (r *Result) print(out io.Writer) error { return json.NewEncoder(out).Encode(r) }
