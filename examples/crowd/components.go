package main

import (
	"github.com/arche-netcode/netcode"
	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/message"
)

// Position of a body in metres; z is up. Steps of 1/512 m: 18 bits for x and y, 14 for z.
type Position struct {
	X, Y float32 `net:"min=-256,max=255.998046875,step=0.001953125"`
	Z    float32 `net:"min=0,max=31.998046875,step=0.001953125"`
}

// Quaternion is an orientation; Rotation says how it is sent.
type Quaternion struct{ X, Y, Z, W float32 }

// Rotation of a body: the smallest three components at 9 bits each.
type Rotation struct {
	Q Quaternion `net:"quat,bits=9"`
}

// Velocity of a body in m/s, in steps of 1/16 m/s: 10 bits an axis.
type Velocity struct {
	X, Y, Z float32 `net:"min=-32,max=31.9375,step=0.0625"`
}

// Resting marks a body that lies still. It comes and goes at run time, which replicates like any value.
type Resting struct{}

// Interacting is the one bit that recorded motion has beside position and orientation.
type Interacting struct{ On bool }

// Spin is a body's angular velocity in rad/s. It stays on the server: the protocol does not know it.
type Spin struct{ X, Y, Z float32 }

// Settled is sent by the server again and again once motion has stopped: always the same.
type Settled struct {
	Tick int64
	Hash uint64
}

// Report is sent by a client about its own world.
type Report struct {
	Tick     int64
	Hash     uint64
	Entities int32
	Settled  int64 // tick of the Settled that it knows; 0: of none, and then the report is no answer to it
}

// newProtocol is the same on both sides, whatever the motion comes from. Each world has its own, because the
// handlers belong to it: nil where the message is for the other half. Only what is registered must agree, in any order.
func newProtocol(trained *delta.Tables, onSettled func(*message.Context, *Settled), onReport func(*message.Context, *Report)) *netcode.Protocol {
	p := netcode.NewProtocol()
	netcode.Replicate[Position](p)
	netcode.Replicate[Rotation](p)
	netcode.Replicate[Velocity](p)
	netcode.Replicate[Resting](p)
	netcode.Replicate[Interacting](p)
	netcode.Handle(p, onSettled, netcode.FromServer())
	netcode.Handle(p, onReport, netcode.FromClient(), netcode.Over(netcode.UnreliableSequenced))
	if trained != nil {
		p.UseTables(trained)
	}
	return p
}
