package main

import (
	"github.com/arche-netcode/netcode/components"
	"github.com/arche-netcode/netcode/wire"
)

// Button is a boolean of four bytes, 0 or 1, as the engine that this input comes from holds it.
type Button uint32

// Input is a player's action in one tick: two sticks within [-1, 1] and five buttons. 36 bytes in memory.
type Input struct {
	Move, Smash                         components.Vector2
	Attack, Special, Shield, Grab, Jump Button
}

// Write writes 5 bytes: each axis in one, and all buttons in the last.
func (i *Input) Write(w *wire.Writer) {
	for _, axis := range i.axes() {
		w.Axis(*axis)
	}
	w.Uint8(i.buttons())
}

// Read reads bytes that Write wrote. It refuses all others.
func (i *Input) Read(r *wire.Reader) error {
	for _, axis := range i.axes() {
		*axis = r.Axis()
	}
	pressed, buttons := r.Uint8(), i.list()
	for bit, button := range buttons {
		*button = Button(pressed >> bit & 1)
	}
	if r.Err() == nil && pressed>>len(buttons) != 0 {
		return wire.ErrMalformed
	}
	return r.Err()
}

// axes are the numbers of both sticks in the order of the wire.
func (i *Input) axes() [4]*float32 {
	return [...]*float32{&i.Move.X, &i.Move.Y, &i.Smash.X, &i.Smash.Y}
}

// list is the buttons by their bits, the lowest first.
func (i *Input) list() [5]*Button {
	return [...]*Button{&i.Attack, &i.Special, &i.Shield, &i.Grab, &i.Jump}
}

// buttons is one bit for each button.
func (i *Input) buttons() (pressed uint8) {
	for bit, button := range i.list() {
		if *button != 0 {
			pressed |= 1 << bit
		}
	}
	return pressed
}

// TwinJoysticks is two sticks with all that a float32 holds: 16 bytes on the wire, always.
type TwinJoysticks struct{ Left, Right components.Vector2 }

// Serialize reads, writes and measures.
func (t *TwinJoysticks) Serialize(s *wire.Serializer) {
	s.Nested(&t.Left)
	s.Nested(&t.Right)
}
